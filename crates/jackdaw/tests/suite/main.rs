//! The interface of the crate, against the real engine in memory or in a directory of the test.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod batches;
mod changes;
mod collections;
mod common;
mod documents;
mod extensions;
mod files;
mod indexes;
mod queries;
mod snapshots;
mod storage;
