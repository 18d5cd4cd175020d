//! Files into a database and out of it.
//!
//! Used by the command line and by programs that embed the database. Nothing here prints or ends
//! a process: progress is read from [`counters::Counters`], what was left out from
//! [`skip_log::SkipLog`].
//!
//! An import runs in stages with bounded queues between them ([`pipeline::run`]): a
//! [`source::ChunkSource`] reads entries, [`parse::EntryParser`]s make documents of them, and a
//! [`sink::Sink`] stores them with a [`marker::Marker`] of how far it came.
//!
//! - [`archive`], [`source`], [`lines`], [`values`]: bytes to entries.
//! - [`albums`], [`json`], [`csv`]: entries to documents.
//! - [`check`]: documents to nowhere, to measure and to look.
//! - [`local`]: documents into a database of this process.
//! - [`export`]: documents to NDJSON.

#![forbid(unsafe_code)]

pub mod albums;
pub mod archive;
mod buffered;
pub mod check;
pub mod chunk;
pub mod counters;
pub mod csv;
pub mod dialect;
pub mod encoding;
pub mod export;
pub mod json;
mod json_scan;
pub mod lines;
pub mod local;
pub mod marker;
pub mod parse;
pub mod pipeline;
pub mod sink;
pub mod skip;
pub mod skip_log;
pub mod source;
pub mod stop;
pub mod text;
pub mod values;
pub mod xmcd;
mod zip_members;

#[cfg(test)]
mod testing;
