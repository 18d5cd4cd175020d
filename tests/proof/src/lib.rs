//! Proof suites of the storage engine and the index engine, run by `cargo xtask crash` and `sim`.
//!
//! `history` runs random operations with crashes and checks every recovery against a model; `sweep`
//! cuts the power at every moment of a script; `failures` lets every operation of the disk fail
//! once; `planted` makes mistakes on purpose and counts the seeds until one is found; `isolation`
//! decides whether what concurrent clients saw is possible in a serial order; `index` asks an index
//! questions whose answers are known, and compares what power loss leaves of one with a rebuilt
//! one.
#![forbid(unsafe_code)]

pub mod disk;
pub mod failures;
pub mod fixture;
pub mod history;
pub mod index;
pub mod isolation;
pub mod lying;
pub mod model;
mod named;
pub mod planted;
mod ranked;
pub mod sweep;
