//! Sandboxed JavaScript over documents: patches, projections, conditions.
//!
//! A [`Program`] is the text of a script with the names of the documents it is given. A [`Machine`]
//! runs one program in a realm of its own; [`Machines`] keeps machines by text, so a script is
//! compiled once. What a script may ask of the world goes through [`Host`].
//!
//! Limits: memory, stack, steps ([`ScriptLimits`]) and the time the host grants, and how many run
//! at a time in the process ([`bound_memory`]). Every bomb ends in a [`ScriptError`]. There are no
//! modules, files, timers or `eval`. Decision: docs/decisions/0014.
//!
//! [`index`] is the maps and reduces of static indexes, in JavaScript and C#.
//!
//! [`sorter`] is classes of C# that compare the results of queries.
//!
//! [`analyzer`] is classes of C# that put tokenizers and filters together.
//!
//! The crate knows documents and no database; it has no clock and makes no system calls.

#![deny(unsafe_code)]

mod assignments;
mod error;
mod functions;
mod host;
pub mod index;
mod input;
mod lenient;
mod limits;
mod machine;
mod machines;
mod memory;
mod program;
mod restore;
pub mod sorter;
mod tokens;
mod turns;

/// Analyzers of C#: see `sorter::analyzer`.
pub mod analyzer {
    pub use crate::sorter::analyzer::{AnalyzerError, compile};
}

pub use assignments::Assignments;
pub use error::{BoxError, ScriptError};
pub use host::{Host, HostError};
pub use input::{Argument, ScriptDocument};
pub use limits::ScriptLimits;
pub use machine::{Machine, Output, Wanted, check};
pub use machines::Machines;
pub use program::Program;
pub use turns::{Lane, bound_memory};
