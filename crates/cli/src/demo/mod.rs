//! `jackdaw demo`: a CD archive made up on the spot, imported, and asked a few questions.

mod album;
mod archive;
mod random;
mod tour;
mod words;

pub use album::{DemoAlbum, Generator};
pub use archive::DemoArchive;
pub use tour::{TOUR_INDEX, TourStop, tour};
