//! The inverted index against plain rows.
//!
//! `questions` changes an index at random and asks it questions of every kind; the answers have to
//! be those of `rows`, which looks at every row and computes every score. `images` cuts the power
//! at every moment of a script of batches; what an image holds has to be what an index holds that
//! is built from the rows as of then, entry by entry (`content`).

mod content;
pub mod images;
pub mod questions;
mod rows;
