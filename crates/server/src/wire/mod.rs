//! The shapes on the wire: error bodies, query strings, text of values.
//!
//! Called by `http` and `routes`; knows no database and no connection.

mod error;
pub(crate) mod multipart;
mod query_string;
mod time_span;

pub(crate) use error::{Kind, WireError, kind};
pub(crate) use query_string::{QueryString, decode};
pub(crate) use time_span::{format_time_span, parse_time_span};
