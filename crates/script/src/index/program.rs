//! Compiled maps and reduces, and what their texts say of them.
//!
//! Compiled by the database when a definition is stored or opened; run by `machine`.

use std::sync::Arc;

use crate::index::error::CompileError;
use crate::index::javascript::{self, Script};
use crate::index::linq::{self, Compiled};

/// One map of a static index. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MapProgram {
    map: Arc<Map>,
    /// No reduce computes with its entries.
    is_final: bool,
}

#[derive(Debug)]
struct Map {
    code: MapCode,
    facts: MapFacts,
}

/// What runs.
#[derive(Debug)]
pub(crate) enum MapCode {
    Native(Compiled),
    Script(Script),
}

/// What is known of a map from its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapFacts {
    pub(crate) source: MapSource,
    pub(crate) fields: Vec<String>,
    pub(crate) referenced_collections: Vec<String>,
    pub(crate) uses_compare_exchange: bool,
    pub(crate) has_fan_out: bool,
    pub(crate) makes_fields: bool,
}

/// What a map goes over. Names are as written; collections, counters and time series are called
/// in any letter case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapSource {
    /// Documents.
    Documents {
        /// Of these collections; empty for all documents.
        collections: Vec<String>,
    },
    /// Counters of documents.
    Counters {
        /// Of documents of these collections; empty for all.
        collections: Vec<String>,
        /// With these names; empty for all.
        names: Vec<String>,
    },
    /// Time series of documents.
    TimeSeries {
        /// Of documents of these collections; empty for all.
        collections: Vec<String>,
        /// With these names; empty for all.
        names: Vec<String>,
    },
}

impl Default for MapSource {
    fn default() -> MapSource {
        MapSource::Documents {
            collections: Vec::new(),
        }
    }
}

impl MapProgram {
    /// Compiles a map: C# LINQ or JavaScript, told apart by how it begins. `additional_sources`
    /// are names and texts of helper functions in the same language.
    ///
    /// # Errors
    /// What is not understood, and where it stands.
    pub fn compile(
        text: &str,
        additional_sources: &[(String, String)],
    ) -> Result<MapProgram, CompileError> {
        let (code, facts) = if linq::is_linq(text) {
            let (compiled, facts) = linq::compile_map(text, additional_sources)?;
            (MapCode::Native(compiled), facts)
        } else {
            let (script, facts) = javascript::compile_map(text, additional_sources)?;
            (MapCode::Script(script), facts)
        };
        Ok(MapProgram {
            map: Arc::new(Map { code, facts }),
            is_final: false,
        })
    }

    /// What it goes over.
    #[must_use]
    pub fn source(&self) -> &MapSource {
        &self.map.facts.source
    }

    /// Fields of its entries that the text names, in order. Fields of `CreateField` are not known
    /// before they are made; neither are those of JavaScript that builds its objects in steps.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        &self.map.facts.fields
    }

    /// Collections of the documents it loads, each once.
    #[must_use]
    pub fn referenced_collections(&self) -> &[String] {
        &self.map.facts.referenced_collections
    }

    /// Whether it looks at compare-exchange items.
    #[must_use]
    pub fn uses_compare_exchange(&self) -> bool {
        self.map.facts.uses_compare_exchange
    }

    /// Whether a document may have several entries. False is a promise; true is not.
    #[must_use]
    pub fn has_fan_out(&self) -> bool {
        self.map.facts.has_fan_out
    }

    /// Whether it may make fields whose names are values. False is a promise; true is not.
    #[must_use]
    pub fn makes_fields(&self) -> bool {
        self.map.facts.makes_fields
    }

    pub(crate) fn code(&self) -> &MapCode {
        &self.map.code
    }

    /// The same map, whose entries are those of the index: no reduce computes with them.
    #[must_use]
    pub fn without_reduce(mut self) -> MapProgram {
        self.is_final = true;
        self
    }

    pub(crate) fn is_final(&self) -> bool {
        self.is_final
    }
}

/// The reduce of a static index. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ReduceProgram(Arc<Reduce>);

#[derive(Debug)]
struct Reduce {
    code: ReduceCode,
    facts: ReduceFacts,
}

/// What runs.
#[derive(Debug)]
pub(crate) enum ReduceCode {
    Native(Compiled),
    Script(Script),
}

/// What is known of a reduce from its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReduceFacts {
    pub(crate) group_by: Vec<String>,
    pub(crate) fields: Vec<String>,
}

impl ReduceProgram {
    /// Compiles a reduce; see [`MapProgram::compile`].
    ///
    /// # Errors
    /// What is not understood, and where it stands.
    pub fn compile(
        text: &str,
        additional_sources: &[(String, String)],
    ) -> Result<ReduceProgram, CompileError> {
        let (code, facts) = if linq::is_linq(text) {
            let (compiled, facts) = linq::compile_reduce(text, additional_sources)?;
            (ReduceCode::Native(compiled), facts)
        } else {
            let (script, facts) = javascript::compile_reduce(text, additional_sources)?;
            (ReduceCode::Script(script), facts)
        };
        Ok(ReduceProgram(Arc::new(Reduce { code, facts })))
    }

    /// Fields of entries of which equal values make a group. None: all entries are one group.
    #[must_use]
    pub fn group_by(&self) -> &[String] {
        &self.0.facts.group_by
    }

    /// Fields of its results that the text names, in order.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        &self.0.facts.fields
    }

    pub(crate) fn code(&self) -> &ReduceCode {
        &self.0.code
    }
}
