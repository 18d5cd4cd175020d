//! RQL: text to syntax tree to plan to execution.
#![forbid(unsafe_code)]

pub mod syntax;
