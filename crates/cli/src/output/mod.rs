//! How the command line shows things: numbers, tables, CSV.

pub mod numbers;
pub mod rows;
pub mod table;
