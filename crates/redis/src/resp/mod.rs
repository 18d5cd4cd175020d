//! The Redis protocol: requests read in place, replies written into one buffer a batch.

mod inline;
mod parser;
mod reply;

pub use parser::{ParserLimits, ProtocolError, RequestParser};
pub(crate) use reply::Out;
