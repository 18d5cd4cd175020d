//! Simulated disk with faults, workloads and checkers: a development dependency only.
#![forbid(unsafe_code)]

pub mod layout;
