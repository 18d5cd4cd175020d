//! Imports as the command line runs them: progress on a terminal, a summary, an exit status.
//!
//! What reads, parses and stores is `jackdaw_transfer`.

pub mod allowance;
pub mod display;
pub mod job;
pub mod remote;
pub mod signals;
pub mod summary;
