//! Imports: archives, NDJSON and CSV into a database, in stages with a thread and a counter each.

pub mod albums;
pub mod archive;
pub mod chunk;
pub mod counters;
pub mod csv;
pub mod dialect;
pub mod display;
mod encoding;
pub mod job;
pub mod json;
pub mod lines;
pub mod local;
pub mod marker;
pub mod parse;
pub mod pipeline;
pub mod remote;
pub mod sink;
pub mod skip;
pub mod skip_log;
pub mod source;
pub mod stop;
pub mod summary;
pub mod text;
pub mod xmcd;
