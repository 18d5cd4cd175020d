//! What an index is: one that queries made, or one that somebody defined. Stored with the
//! documents, under the number that names the directory of the index.

use jackdaw_document::{Document, DocumentBuf};
use jackdaw_model::Scope;

use super::automatic::AutoDefinition;
use super::statics::StaticDefinition;
use crate::error::ReadError;

/// An index as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexDefinition {
    /// Made by queries.
    Auto(AutoDefinition),
    /// Defined by somebody.
    Static(Box<StaticDefinition>),
}

impl IndexDefinition {
    /// Its name: `Auto/Albums/ByArtistAndTitle`, `Albums/ByTitle`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            IndexDefinition::Auto(definition) => &definition.name,
            IndexDefinition::Static(definition) => &definition.name,
        }
    }

    /// The definition of an index that queries made.
    #[must_use]
    pub fn as_auto(&self) -> Option<&AutoDefinition> {
        match self {
            IndexDefinition::Auto(definition) => Some(definition),
            IndexDefinition::Static(_) => None,
        }
    }

    /// The definition of an index that somebody defined.
    #[must_use]
    pub fn as_static(&self) -> Option<&StaticDefinition> {
        match self {
            IndexDefinition::Auto(_) => None,
            IndexDefinition::Static(definition) => Some(definition),
        }
    }

    /// The documents of an automatic index; all of them for others, which choose themselves.
    pub(crate) fn scope(&self) -> &Scope {
        match self {
            IndexDefinition::Auto(definition) => &definition.scope,
            IndexDefinition::Static(_) => &Scope::All,
        }
    }

    pub(crate) fn encode(&self) -> DocumentBuf {
        match self {
            IndexDefinition::Auto(definition) => definition.encode(),
            IndexDefinition::Static(definition) => definition.encode(),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<IndexDefinition, ReadError> {
        let damaged = || ReadError::damaged("the definition of an index");
        let document = Document::open(bytes).map_err(|_| damaged())?;
        match StaticDefinition::decode(document.root()) {
            Some(definition) => Ok(IndexDefinition::Static(Box::new(definition))),
            None => AutoDefinition::decode(bytes).map(IndexDefinition::Auto),
        }
    }
}
