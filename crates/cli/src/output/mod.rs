//! How the command line shows things: numbers, tables, CSV.

pub mod failure;
pub(crate) mod names;
pub mod numbers;
pub(crate) mod progress;
pub mod rows;
pub(crate) mod say;
pub(crate) mod shell;
pub mod table;
