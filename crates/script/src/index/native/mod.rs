//! The native form of maps and reduces, and running it over stored documents.
//!
//! `linq` compiles C# to [`Expression`]; `machine` runs it with [`run`]. Values live in an arena
//! for one run, and what stands in a document is read where it stands.
//!
//! Semantics: members of what is not there are [`Value::Missing`](value::Value::Missing),
//! arithmetic with nothing gives nothing, and only what C# cannot do at all fails the document.

mod arithmetic;
mod budget;
mod convert;
mod emit;
mod evaluate;
mod expression;
mod format;
mod functions;
mod members;
mod methods;
mod root;
mod sequences;
mod texts;
mod time;
mod value;
mod weight;

pub(crate) use emit::entries;
pub(crate) use evaluate::run;
pub(crate) use expression::*;
pub(crate) use format::{format_value, text_of};
pub(crate) use root::{root_of, root_of_entries};
pub(crate) use time::{as_date, format_span};
pub(crate) use value::Value;
