//! RQL: text to syntax tree to plan to execution.
