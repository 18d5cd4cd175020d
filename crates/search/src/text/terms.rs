//! The terms of one field of one document, made as an index would make them.
//!
//! Filled by whoever evaluates a condition on a document directly; asked by `query`.
//!
//! Invariants:
//! - Tokens and positions are those of [`EntryTerms::text`](crate::EntryTerms::text).
//!
//! Threads: plain data.

use crate::FieldOptions;
use crate::analysis::{TOKENS_PER_FIELD_MAX, VALUE_GAP};

/// Terms with their positions, in the order of the text.
#[derive(Clone, Debug)]
pub struct FieldTerms {
    options: FieldOptions,
    arena: String,
    /// End of each term in the arena, and its position.
    terms: Vec<(usize, u32)>,
    next_position: u32,
}

impl FieldTerms {
    /// No terms yet.
    #[must_use]
    pub fn new(options: FieldOptions) -> FieldTerms {
        FieldTerms {
            options,
            arena: String::new(),
            terms: Vec::new(),
            next_position: 0,
        }
    }

    /// The options of the field.
    #[must_use]
    pub fn options(&self) -> FieldOptions {
        self.options
    }

    /// Adds one value.
    pub fn add(&mut self, text: &str) {
        let (arena, terms) = (&mut self.arena, &mut self.terms);
        let mut visit = |token: &str, position| {
            if terms.len() < TOKENS_PER_FIELD_MAX as usize {
                arena.push_str(token);
                terms.push((arena.len(), position));
            }
        };
        let analyzer = self.options.analyzer;
        let next = analyzer.tokens(text, self.next_position, &mut visit);
        self.next_position = next.saturating_add(VALUE_GAP);
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Number of terms, repeats included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// The terms and their positions.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        let mut start = 0;
        self.terms.iter().map(move |&(end, position)| {
            let term = &self.arena[start..end];
            start = end;
            (term, position)
        })
    }

    /// The positions of one term, ascending.
    pub(super) fn positions_of(&self, term: &str) -> Vec<u32> {
        self.iter()
            .filter(|(found, _)| *found == term)
            .map(|(_, position)| position)
            .collect()
    }
}
