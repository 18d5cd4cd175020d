//! Sorters: classes of C# that compare the results of queries, for `order by custom(F, 'Name')`.
//!
//! A [`Sorter`] is compiled when it is put: read (`parser`, `phrases`, `terms`), given types and
//! translated to JavaScript (`classes`, `statements`, `expressions`, `members`, `known`). [`sort`]
//! asks comparators as Lucene's collector of the best hits does, in a realm of its own
//! (`machine`, `prelude.js`). Decision: docs/decisions/0044.
//!
//! `analyzer` reads other classes with the same parser: those that divide text.
//!
//! Invariants:
//! - What is translated means what it means in C#. Whatever is not understood is refused with its
//!   line and column when the sorter is compiled; nothing is guessed.
//! - A sorter leaves nothing behind: each query begins anew, static fields too.

pub(crate) mod analyzer;
mod classes;
mod expressions;
mod known;
mod machine;
mod members;
mod parser;
mod phrases;
mod statements;
mod terms;
mod tree;
mod types;

#[cfg(test)]
mod tests;

pub use machine::{Clause, SortError, SorterHost, sort};

use crate::index::CompileError;
use crate::limits::ScriptLimits;

/// A compiled sorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorter {
    name: String,
    code: String,
    /// A function that makes the class.
    script: String,
}

/// Why a sorter was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SorterError {
    /// There is no class of the sorter's name.
    #[error("Could not find type '{0}' in given assembly.")]
    NoType(String),
    /// The source is not C#, or C# that is not understood.
    #[error("({},{}): {}", .0.position.0, .0.position.1, .0.message)]
    Source(CompileError),
}

impl Sorter {
    /// Compiles the class `name` of `code`.
    ///
    /// # Errors
    /// See [`SorterError`].
    pub fn compile(name: &str, code: &str) -> Result<Sorter, SorterError> {
        let whole = |message: String| SorterError::Source(CompileError::new(message, "", (1, 1)));
        let limit_bytes = ScriptLimits::default().text_bytes_max;
        if code.len() > limit_bytes {
            return Err(whole(format!(
                "error: the source is {} bytes long; the limit is {limit_bytes}",
                code.len()
            )));
        }
        let refused = |refusal: parser::Refusal| SorterError::Source(refusal.placed(code));
        let parsed = parser::Parser::new(code, 0, code.len());
        let classes = parsed.and_then(|mut parser| parser.classes());
        let classes = classes.map_err(refused)?;
        if !classes.iter().any(|class| class.name == name) {
            return Err(SorterError::NoType(name.to_owned()));
        }
        let script = classes::translate(&classes, name).map_err(refused)?;
        machine::check(&script)
            .map_err(|error| whole(format!("error: it cannot be translated: {error}")))?;
        Ok(Sorter {
            name: name.to_owned(),
            code: code.to_owned(),
            script,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it was compiled from.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }
}
