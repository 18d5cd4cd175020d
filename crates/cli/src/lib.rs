//! The parts of the `jackdaw` binary, as a library so that tests and examples can use them.

#![forbid(unsafe_code)]

pub mod demo;
pub mod import;
pub mod output;
