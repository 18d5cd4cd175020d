//! Proof suites of the storage engine, run by `cargo xtask crash` and `cargo xtask sim`.
//!
//! `history` runs random operations with crashes and checks every recovery against a model; `sweep`
//! cuts the power at every moment of a script; `failures` lets every operation of the disk fail
//! once; `planted` makes mistakes on purpose and counts the seeds until one is found; `isolation`
//! decides whether what concurrent clients saw is possible in a serial order.
#![forbid(unsafe_code)]

pub mod disk;
pub mod failures;
pub mod fixture;
pub mod history;
pub mod isolation;
pub mod lying;
pub mod model;
mod named;
pub mod planted;
mod ranked;
pub mod sweep;
