//! The compiled maps and reduce of a definition, and what they say of the index.
//!
//! Threads: shared by all.

use jackdaw_base::lowercase::lowercase;
use jackdaw_script::index::{CompileError, CompileFault, MapProgram, MapSource, ReduceProgram};

use super::definition::{DefinitionError, SourceType, StaticDefinition};
use super::vectors;

/// See the file head.
pub(crate) struct Programs {
    pub(crate) maps: Vec<MapProgram>,
    pub(crate) reduce: Option<ReduceProgram>,
    /// Fields of entries that the texts name.
    pub(crate) fields: Vec<String>,
    /// Collections that maps load from, in lower case.
    referenced: Vec<String>,
    pub(crate) uses_exchange: bool,
    /// Whether entries may have fields whose names are values.
    pub(crate) makes_fields: bool,
}

impl Programs {
    pub(crate) fn compile(definition: &StaticDefinition) -> Result<Programs, DefinitionError> {
        let refuse = |why: String, text: &str, property| DefinitionError::Compilation {
            name: definition.name.clone(),
            why,
            text: text.to_owned(),
            property,
        };
        let refused = |error: &CompileError, text: &str, property| match error.fault {
            CompileFault::Declaration => {
                let name = &definition.name;
                DefinitionError::Creation(format!("JavaScript index {name}: {error}"))
            }
            CompileFault::Text => refuse(error.to_string(), text, property),
        };
        let sources = &definition.additional_sources;
        let mut maps = Vec::with_capacity(definition.maps.len());
        for text in &definition.maps {
            let compiled = MapProgram::compile(text, sources);
            let compiled = compiled.map_err(|error| refused(&error, text, "Maps"))?;
            maps.push(match &definition.reduce {
                Some(_) => compiled,
                None => compiled.without_reduce(),
            });
        }
        let first = source_type(&maps[0]);
        if let Some(slot) = maps.iter().position(|map| source_type(map) != first) {
            let why = "All maps of an index go over documents, or all over counters, or all over \
                       time series";
            return Err(refuse(why.to_owned(), &definition.maps[slot], "Maps"));
        }
        let reduce = definition.reduce.as_ref().map(|text| {
            let compiled = ReduceProgram::compile(text, sources);
            compiled.map_err(|error| refused(&error, text, "Reduce"))
        });
        let reduce = reduce.transpose()?;
        let programs = Programs {
            fields: match &reduce {
                Some(reduce) => reduce.fields().to_vec(),
                None => maps[0].fields().to_vec(),
            },
            referenced: referenced(&maps),
            makes_fields: reduce.is_none() && maps.iter().any(MapProgram::makes_fields),
            uses_exchange: maps.iter().any(MapProgram::uses_compare_exchange),
            maps,
            reduce,
        };
        check_analyzers(definition)?;
        vectors::check(definition)?;
        programs.check_fields(definition)?;
        programs.check_output(definition)?;
        Ok(programs)
    }

    /// Maps in C# have to give the same fields.
    fn check_fields(&self, definition: &StaticDefinition) -> Result<(), DefinitionError> {
        let baseline = self.maps[0].fields();
        for (map, text) in self.maps.iter().zip(&definition.maps).skip(1) {
            let fields = map.fields();
            if definition.is_javascript() || fields.is_empty() || baseline.is_empty() {
                continue;
            }
            let missing = missing(baseline, fields);
            let additional = self::missing(fields, baseline);
            if missing.is_empty() && additional.is_empty() {
                continue;
            }
            let common: Vec<&str> = fields
                .iter()
                .filter(|name| baseline.contains(name))
                .map(String::as_str)
                .collect();
            let why = format!(
                "Map and Reduce functions of a index must return identical types.\r\nBaseline \
                 function\t\t: {}\r\nNon matching function\t: {text}\r\n\r\nCommon fields\t\t\t: \
                 {}\r\nMissing fields\t\t\t: {}\r\nAdditional fields\t\t: {}",
                definition.maps[0],
                common.join(", "),
                missing.join(", "),
                additional.join(", "),
            );
            return Err(DefinitionError::Compilation {
                name: definition.name.clone(),
                why,
                text: text.clone(),
                property: "Maps",
            });
        }
        Ok(())
    }

    /// Results that are documents must not be mapped by the same index.
    fn check_output(&self, definition: &StaticDefinition) -> Result<(), DefinitionError> {
        let Some(output) = &definition.output_collection else {
            return Ok(());
        };
        let is_mapped = match self.collections() {
            None => true,
            Some(collections) => collections.contains(&lowercase(output).into_owned()),
        };
        if !is_mapped && !self.referenced.contains(&lowercase(output).into_owned()) {
            return Ok(());
        }
        Err(DefinitionError::Creation(format!(
            "The collection name ({output}) cannot be used as this index ({}) is mapping this \
             collection and this will result in an infinite loop.",
            definition.name
        )))
    }

    pub(crate) fn source_type(&self) -> SourceType {
        source_type(&self.maps[0])
    }

    /// Collections that are mapped, in lower case; `None` when all documents are.
    pub(crate) fn collections(&self) -> Option<Vec<String>> {
        let mut all = Vec::new();
        for map in &self.maps {
            let collections = collections_of(map);
            if collections.is_empty() {
                return None;
            }
            all.extend(collections.iter().map(|name| lowercase(name).into_owned()));
        }
        all.sort_unstable();
        all.dedup();
        Some(all)
    }

    /// Collections that are mapped, as the texts write them.
    pub(crate) fn written_collections(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for name in self.maps.iter().flat_map(collections_of) {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        all
    }

    /// Collections that maps load from, in lower case.
    pub(crate) fn referenced(&self) -> &[String] {
        &self.referenced
    }
}

/// Analyzers have to be known.
fn check_analyzers(definition: &StaticDefinition) -> Result<(), DefinitionError> {
    for (field, settings) in &definition.fields {
        let Some(name) = &settings.analyzer else {
            continue;
        };
        if definition.analyzer(name).is_none() {
            return Err(DefinitionError::Analyzer {
                name: definition.name.clone(),
                analyzer: name.clone(),
                field: field.clone(),
            });
        }
    }
    Ok(())
}

impl StaticDefinition {
    /// Whether its maps are JavaScript.
    #[must_use]
    pub fn is_javascript(&self) -> bool {
        self.maps.first().is_some_and(|map| {
            let map = map.trim_start();
            let word_len = map
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(map.len());
            let (word, rest) = map.split_at(word_len);
            let rest = rest.trim_start();
            let is_call = |name: &str| {
                rest.strip_prefix('.')
                    .and_then(|rest| rest.trim_start().strip_prefix(name))
                    .is_some_and(|rest| rest.trim_start().starts_with('('))
            };
            match word {
                "from" | "docs" => false,
                "counters" | "timeSeries" => is_call("map"),
                _ => true,
            }
        })
    }
}

/// Whether a map is about the documents of a collection, given in lower case.
pub(crate) fn maps_collection(map: &MapProgram, folded: &str) -> bool {
    let collections = collections_of(map);
    collections.is_empty() || collections.iter().any(|name| *lowercase(name) == *folded)
}

/// Whether a map is about the counter or time series of this name.
pub(crate) fn maps_name(map: &MapProgram, name: &str) -> bool {
    match map.source() {
        MapSource::Documents { .. } => false,
        MapSource::Counters { names, .. } | MapSource::TimeSeries { names, .. } => {
            names.is_empty()
                || names
                    .iter()
                    .any(|known| lowercase(known) == lowercase(name))
        }
    }
}

fn collections_of(map: &MapProgram) -> &[String] {
    match map.source() {
        MapSource::Documents { collections }
        | MapSource::Counters { collections, .. }
        | MapSource::TimeSeries { collections, .. } => collections,
    }
}

fn source_type(map: &MapProgram) -> SourceType {
    match map.source() {
        MapSource::Documents { .. } => SourceType::Documents,
        MapSource::Counters { .. } => SourceType::Counters,
        MapSource::TimeSeries { .. } => SourceType::TimeSeries,
    }
}

fn referenced(maps: &[MapProgram]) -> Vec<String> {
    let names = maps.iter().flat_map(MapProgram::referenced_collections);
    let mut names: Vec<String> = names.map(|name| lowercase(name).into_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Names of `first` that `second` lacks.
fn missing<'f>(first: &'f [String], second: &[String]) -> Vec<&'f str> {
    first
        .iter()
        .filter(|name| !second.contains(name))
        .map(String::as_str)
        .collect()
}
