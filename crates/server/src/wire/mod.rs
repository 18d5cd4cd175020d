//! The shapes on the wire: error bodies, query strings, text of values.
//!
//! Called by `http` and `routes`; knows no database and no connection.

mod error;
mod query_string;

pub(crate) use error::{WireError, kind};
pub(crate) use query_string::{QueryString, decode};
