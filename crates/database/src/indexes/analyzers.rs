//! Analyzers that users write: from a class of C# to the steps that fields of indexes have.

use jackdaw_script::analyzer;
use jackdaw_search::{Analyzer, ChainError};

/// Why an analyzer was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalyzerError {
    /// Its class is not understood.
    #[error(transparent)]
    Class(#[from] analyzer::AnalyzerError),
    /// A tokenizer or filter of it is not executed.
    #[error("error: {0}")]
    Steps(#[from] ChainError),
}

/// Returns the steps of the class `name` of `code`, for [`StaticDefinition::analyzers`]. They
/// depend on the text alone.
///
/// # Errors
/// See [`AnalyzerError`].
///
/// [`StaticDefinition::analyzers`]: crate::StaticDefinition::analyzers
pub fn compile_analyzer(name: &str, code: &str) -> Result<String, AnalyzerError> {
    let steps = analyzer::compile(name, code)?;
    Analyzer::of_steps(&steps)?;
    Ok(steps)
}
