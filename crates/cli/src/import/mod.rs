//! Imports: archives, NDJSON and CSV into a database, in stages with a thread and a counter each.

pub mod archive;
pub mod skip;
pub mod text;
pub mod xmcd;
