//! What the definition of a field says about its terms.
//!
//! Given to [`Batch::field`](crate::Batch::field) by the layer above; kept in the catalog.
//!
//! Invariants:
//! - The options of a field are stored with the index and never change.
//!
//! Threads: plain data.

use crate::analysis::Analyzer;
use crate::vector::VectorOptions;

/// How the values of a field become terms, and what is kept of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldOptions {
    /// From text to terms.
    pub analyzer: Analyzer,
    /// Keeps how often and where each term stands in an entry, and how long the entry's text is:
    /// what scores and phrases need. Costs about as much space as the terms themselves.
    pub positions: bool,
    /// Of a field of vectors: how they are kept. Such a field has no other terms.
    pub vector: Option<VectorOptions>,
}

impl FieldOptions {
    /// With positions exactly when the analyzer is one of full text.
    #[must_use]
    pub fn new(analyzer: Analyzer) -> FieldOptions {
        FieldOptions {
            analyzer,
            positions: analyzer.is_full_text(),
            vector: None,
        }
    }

    /// For a field of vectors.
    #[must_use]
    pub fn of_vectors(vector: VectorOptions) -> FieldOptions {
        FieldOptions {
            vector: Some(vector),
            ..FieldOptions::default()
        }
    }
}

impl From<Analyzer> for FieldOptions {
    fn from(analyzer: Analyzer) -> FieldOptions {
        FieldOptions::new(analyzer)
    }
}

impl Default for FieldOptions {
    /// Whole texts in lower case, without positions.
    fn default() -> FieldOptions {
        FieldOptions::new(Analyzer::LowercaseKeyword)
    }
}
