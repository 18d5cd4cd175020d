//! The definition of a static index: maps, a reduce, options of fields, settings.
//!
//! Its members have the names that clients know, so that the stored form and the one on the wire
//! are written and read here once.
//!
//! Invariants:
//! - What is read is checked; what is stored reads back to the same definition.

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, DocumentBuf, Object, Value};
use jackdaw_query::Measure;
use jackdaw_search::Analyzer;

use super::naming;

const VERSION: i64 = 2;

/// The name under which options for every field stand.
pub const ALL_FIELDS: &str = "__all_fields";
/// What the name of an index that is to replace another begins with.
pub const REPLACEMENT_PREFIX: &str = "ReplacementOf/";
/// Longest name of an index, in bytes.
const NAME_BYTES_MAX: usize = 512;
/// Most maps of an index.
const MAPS_MAX: usize = 256;
/// Longest text of a definition, all maps together, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// Whether a definition may be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockMode {
    /// It may.
    #[default]
    Unlock,
    /// Changes are passed over.
    LockedIgnore,
    /// Changes are refused.
    LockedError,
}

/// How soon an index takes changes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// It lets changes gather for longer.
    Low,
    /// The usual.
    #[default]
    Normal,
    /// It lets none gather.
    High,
}

/// Whether an index is to work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexState {
    /// It is.
    #[default]
    Normal,
    /// It is not, until it is enabled.
    Disabled,
}

/// How the text of a field is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// Not at all.
    No,
    /// By its words.
    Search,
    /// As it is, letter case included.
    Exact,
    /// By its words, kept for highlighting.
    Highlighting,
    /// As it is, in any letter case.
    Default,
}

/// Options of one field. What is `None` follows the options of every field, or the default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldSettings {
    /// Whether queries may project it from the index.
    pub storage: Option<bool>,
    /// How it is found.
    pub indexing: Option<Indexing>,
    /// Name of the analyzer of its text.
    pub analyzer: Option<String>,
    /// Whether suggestions are made from it.
    pub suggestions: Option<bool>,
    /// Kept for those who ask: term vectors are made from the stored values.
    pub term_vector: Option<String>,
    /// Options of a spatial field, as given.
    pub spatial: Option<DocumentBuf>,
    /// Options of a vector field, as given.
    pub vector: Option<DocumentBuf>,
}

/// What a definition maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceType {
    /// Documents.
    Documents,
    /// Counters of documents.
    Counters,
    /// Time series of documents.
    TimeSeries,
}

/// A static index, as it is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StaticDefinition {
    /// Its name.
    pub name: String,
    /// The maps, in C# or JavaScript; at least one.
    pub maps: Vec<String>,
    /// Makes results of what the maps gave.
    pub reduce: Option<String>,
    /// Options of fields by name; [`ALL_FIELDS`] stands for every field.
    pub fields: Vec<(String, FieldSettings)>,
    /// Analyzers that users wrote and fields name: the name in lower case, and the steps.
    pub analyzers: Vec<(String, String)>,
    /// Settings by key.
    pub configuration: Vec<(String, String)>,
    /// Further texts that maps use, by name.
    pub additional_sources: Vec<(String, String)>,
    /// Kept as given.
    pub additional_assemblies: Option<DocumentBuf>,
    /// Whether it may be changed.
    pub lock_mode: LockMode,
    /// How soon it takes changes in.
    pub priority: Priority,
    /// Whether it is to work.
    pub state: IndexState,
    /// Results are stored as documents of this collection too.
    pub output_collection: Option<String>,
    /// Pattern of the ids of documents that list results.
    pub reference_pattern: Option<String>,
    /// Collection of those documents.
    pub reference_collection: Option<String>,
    /// Kept as given.
    pub deployment_mode: Option<String>,
    /// Kept as given.
    pub archived_behavior: Option<String>,
    /// When it was made.
    pub created: Option<UnixTicks>,
}

/// Why a definition is refused. The text is for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// It is no definition.
    #[error("{0}")]
    Invalid(String),
    /// The name cannot be one.
    #[error("{0}")]
    Name(String),
    /// A setting is not known, or goes against another.
    #[error("{0}")]
    Creation(String),
    /// A map or the reduce cannot be compiled.
    #[error("Failed to compile index '{name}': {why}")]
    Compilation {
        /// The index.
        name: String,
        /// What is wrong, and where.
        why: String,
        /// The text that is wrong.
        text: String,
        /// `Maps` or `Reduce`.
        property: &'static str,
    },
    /// An analyzer is not known.
    #[error(
        "Failed to compile index '{name}': Cannot find analyzer type '{analyzer}' for field: \
         {field}"
    )]
    Analyzer {
        /// The index.
        name: String,
        /// The analyzer.
        analyzer: String,
        /// Its field.
        field: String,
    },
    /// It is locked, and may not be changed or deleted.
    #[error("Can not overwrite locked index: {0}")]
    Locked(String),
}

macro_rules! words {
    ($type:ty { $($variant:ident),+ }) => {
        impl $type {
            /// The word that clients know.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(<$type>::$variant => stringify!($variant),)+
                }
            }

            /// Reads the word, in any letter case.
            #[must_use]
            pub fn parse(text: &str) -> Option<$type> {
                $(if text.eq_ignore_ascii_case(stringify!($variant)) {
                    return Some(<$type>::$variant);
                })+
                None
            }
        }
    };
}

words!(LockMode {
    Unlock,
    LockedIgnore,
    LockedError
});
words!(Priority { Low, Normal, High });
words!(IndexState { Normal, Disabled });
words!(Indexing {
    No,
    Search,
    Exact,
    Highlighting,
    Default
});
words!(SourceType {
    Documents,
    Counters,
    TimeSeries
});

impl StaticDefinition {
    /// Reads a definition as clients send it, and checks what can be checked without its maps.
    ///
    /// # Errors
    /// See [`DefinitionError`].
    pub fn read(given: Object<'_>) -> Result<StaticDefinition, DefinitionError> {
        let definition = read(given)?;
        definition.check()?;
        Ok(definition)
    }

    fn check(&self) -> Result<(), DefinitionError> {
        naming::check(&self.name, NAME_BYTES_MAX)?;
        let invalid = |text: String| Err(DefinitionError::Invalid(text));
        if self.maps.is_empty() || self.maps.iter().all(|map| map.trim().is_empty()) {
            return invalid("Index must have a 'Maps' fields".to_owned());
        }
        if self.maps.len() > MAPS_MAX {
            return invalid(format!("An index has at most {MAPS_MAX} maps"));
        }
        let texts = self.maps.iter().chain(&self.reduce).map(String::len);
        let sources = self.additional_sources.iter().map(|(_, text)| text.len());
        if texts.chain(sources).sum::<usize>() > TEXT_BYTES_MAX {
            return invalid(format!(
                "The texts of an index have at most {TEXT_BYTES_MAX} bytes"
            ));
        }
        for (key, _) in &self.configuration {
            naming::check_setting(&self.name, key)?;
        }
        if self.output_collection.is_some() && self.reduce.is_none() {
            return Err(DefinitionError::Creation(format!(
                "Index '{}' stores its results as documents, which only an index with a reduce can",
                self.name
            )));
        }
        if self.reference_pattern.is_some() && self.output_collection.is_none() {
            return Err(DefinitionError::Creation(format!(
                "Index '{}' has a pattern of references and no collection of results: set \
                 OutputReduceToCollection",
                self.name
            )));
        }
        Ok(())
    }

    /// Whether entries would be others with `other`: what does not count is who may change an
    /// index, whether it works and how soon.
    #[must_use]
    pub fn maps_alike(&self, other: &StaticDefinition) -> bool {
        let texts = |definition: &StaticDefinition| -> Vec<String> {
            definition
                .maps
                .iter()
                .chain(&definition.reduce)
                .map(|text| folded(text))
                .collect()
        };
        texts(self) == texts(other)
            && self.reduce.is_some() == other.reduce.is_some()
            && sorted(&self.fields) == sorted(&other.fields)
            && sorted(&self.analyzers) == sorted(&other.analyzers)
            && sorted(&self.configuration) == sorted(&other.configuration)
            && sorted(&self.additional_sources) == sorted(&other.additional_sources)
            && self.output_collection == other.output_collection
            && self.reference_pattern == other.reference_pattern
            && self.reference_collection == other.reference_collection
    }

    /// Whether it says the same as `other` in everything a client sets.
    #[must_use]
    pub fn is_same(&self, other: &StaticDefinition) -> bool {
        self.maps_alike(other)
            && self.lock_mode == other.lock_mode
            && self.priority == other.priority
            && self.state == other.state
    }

    /// Whether a setting is `true`.
    #[must_use]
    pub fn has_setting(&self, key: &str) -> bool {
        let found = self
            .configuration
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(key));
        found.is_some_and(|(_, value)| value.eq_ignore_ascii_case("true"))
    }

    /// Options of the field `name`, with those of every field where it has none.
    #[must_use]
    pub fn field_settings(&self, name: &str) -> FieldSettings {
        let find = |wanted: &str| self.fields.iter().find(|(known, _)| known == wanted);
        let every = find(ALL_FIELDS)
            .map(|(_, settings)| settings.clone())
            .unwrap_or_default();
        let Some((_, own)) = find(name) else {
            return every;
        };
        FieldSettings {
            storage: own.storage.or(every.storage),
            indexing: own.indexing.or(every.indexing),
            analyzer: own.analyzer.clone().or(every.analyzer),
            suggestions: own.suggestions.or(every.suggestions),
            term_vector: own.term_vector.clone().or(every.term_vector),
            spatial: own.spatial.clone(),
            vector: own.vector.clone(),
        }
    }

    /// Names of the fields of shapes that are indexed as the boxes around them.
    pub(super) fn boxed_fields(&self) -> Vec<String> {
        let strategy = |settings: &FieldSettings| {
            let options = settings.spatial.as_ref()?.root();
            Some(options.get("Strategy")?.as_str()? == "BoundingBox")
        };
        let boxed = self.fields.iter();
        let boxed = boxed.filter(|(_, settings)| strategy(settings).unwrap_or(false));
        boxed.map(|(name, _)| name.clone()).collect()
    }

    /// Names of analyzers that fields have, in the order of the fields.
    pub fn analyzer_names(&self) -> impl Iterator<Item = &str> {
        let names = self.fields.iter();
        names.filter_map(|(_, settings)| settings.analyzer.as_deref())
    }

    /// The analyzer of a name: one that a user wrote before those that are built in.
    pub(crate) fn analyzer(&self, name: &str) -> Option<Analyzer> {
        let name = lowercase(name);
        let mut own = self.analyzers.iter();
        match own.find(|(known, _)| **known == *name) {
            Some((_, steps)) => Analyzer::of_steps(steps).ok(),
            None => Analyzer::parse(&name),
        }
    }

    /// What distances of the places in a field are measured in.
    pub(crate) fn measure(&self, field: &str) -> Measure {
        let settings = self.fields.iter().find(|(name, _)| name == field);
        let options = settings.and_then(|(_, settings)| settings.spatial.as_ref());
        let is = |option: &str, value: &str| {
            let given = options.and_then(|options| options.root().get(option)?.as_str());
            given.is_some_and(|given| given.eq_ignore_ascii_case(value))
        };
        match () {
            () if is("Type", "Cartesian") => Measure::Plane,
            () if is("Units", "Miles") => Measure::Miles,
            () => Measure::default(),
        }
    }

    /// Writes the members that clients read, but for those that follow from the maps.
    pub fn write(&self, builder: &mut Builder) {
        builder.key("Name").string(&self.name);
        builder.key("LockMode").string(self.lock_mode.as_str());
        write_text(
            builder,
            "ArchivedDataProcessingBehavior",
            self.archived_behavior.as_deref(),
        );
        builder.key("Priority").string(self.priority.as_str());
        builder.key("State").string(self.state.as_str());
        write_text(
            builder,
            "OutputReduceToCollection",
            self.output_collection.as_deref(),
        );
        write_text(builder, "DeploymentMode", self.deployment_mode.as_deref());
        let pattern = self.reference_pattern.as_deref();
        write_text(
            builder,
            "PatternForOutputReduceToCollectionReferences",
            pattern,
        );
        let collection = self.reference_collection.as_deref();
        write_text(builder, "PatternReferencesCollectionName", collection);
        write_texts(builder, "Configuration", &self.configuration);
        write_texts(builder, "AdditionalSources", &self.additional_sources);
        builder.key("AdditionalAssemblies");
        match &self.additional_assemblies {
            Some(given) => builder.value(given.root()),
            None => builder.begin_array().end_array(),
        };
        write_text(builder, "Reduce", self.reduce.as_deref());
        builder.key("Maps").begin_array();
        for map in &self.maps {
            builder.string(map);
        }
        builder.end_array();
        builder.key("Fields").begin_object();
        for (name, settings) in &self.fields {
            builder.key(name);
            settings.write(builder);
        }
        builder.end_object();
    }

    pub(crate) fn encode(&self) -> DocumentBuf {
        let mut builder = Builder::new();
        builder.begin_object().key("Version").long(VERSION);
        builder
            .key("Created")
            .long(self.created.map_or(0, |created| created.0));
        self.write(&mut builder);
        if !self.analyzers.is_empty() {
            write_texts(&mut builder, "Analyzers", &self.analyzers);
        }
        builder.end_object();
        builder.finish().expect("the calls are balanced")
    }

    /// Reads what [`StaticDefinition::encode`] wrote; `None` for anything else.
    pub(crate) fn decode(root: Value<'_>) -> Option<StaticDefinition> {
        (root.get("Version")?.as_i64()? == VERSION).then_some(())?;
        let created = root.get("Created")?.as_i64()?;
        let definition = read(root.as_object()?).ok()?;
        Some(StaticDefinition {
            analyzers: texts(root.as_object()?, "Analyzers").ok()?,
            created: (created != 0).then_some(UnixTicks(created)),
            ..definition
        })
    }
}

impl FieldSettings {
    fn write(&self, builder: &mut Builder) {
        builder.begin_object();
        write_text(builder, "Analyzer", self.analyzer.as_deref());
        write_text(builder, "Indexing", self.indexing.map(Indexing::as_str));
        let storage = self
            .storage
            .map(|is_stored| if is_stored { "Yes" } else { "No" });
        write_text(builder, "Storage", storage);
        builder.key("Suggestions");
        match self.suggestions {
            Some(suggestions) => builder.bool(suggestions),
            None => builder.null(),
        };
        write_text(builder, "TermVector", self.term_vector.as_deref());
        for (name, given) in [("Spatial", &self.spatial), ("Vector", &self.vector)] {
            builder.key(name);
            match given {
                Some(given) => builder.value(given.root()),
                None => builder.null(),
            };
        }
        builder.end_object();
    }
}

/// A text of a program without what its author may change and mean the same.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sorted<T: Clone>(list: &[(String, T)]) -> Vec<(String, T)> {
    let mut sorted = list.to_vec();
    sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
    sorted
}

fn write_text(builder: &mut Builder, name: &str, text: Option<&str>) {
    builder.key(name);
    match text {
        Some(text) => builder.string(text),
        None => builder.null(),
    };
}

fn write_texts(builder: &mut Builder, name: &str, texts: &[(String, String)]) {
    builder.key(name).begin_object();
    for (key, text) in texts {
        builder.key(key).string(text);
    }
    builder.end_object();
}

fn read(given: Object<'_>) -> Result<StaticDefinition, DefinitionError> {
    let mut definition = StaticDefinition {
        name: text(given, "Name")?.unwrap_or_default().trim().to_owned(),
        reduce: text(given, "Reduce")?.filter(|text| !text.trim().is_empty()),
        configuration: texts(given, "Configuration")?,
        additional_sources: texts(given, "AdditionalSources")?,
        lock_mode: word(given, "LockMode", LockMode::parse)?.unwrap_or_default(),
        priority: word(given, "Priority", Priority::parse)?.unwrap_or_default(),
        output_collection: text(given, "OutputReduceToCollection")?,
        reference_pattern: text(given, "PatternForOutputReduceToCollectionReferences")?,
        reference_collection: text(given, "PatternReferencesCollectionName")?,
        deployment_mode: text(given, "DeploymentMode")?,
        archived_behavior: text(given, "ArchivedDataProcessingBehavior")?,
        ..StaticDefinition::default()
    };
    // States that the database finds out itself mean that the index is to work.
    definition.state = match text(given, "State")?.as_deref() {
        Some(text) if text.eq_ignore_ascii_case("Disabled") => IndexState::Disabled,
        _ => IndexState::Normal,
    };
    // An empty list is how a definition without any is stored and shown.
    definition.additional_assemblies = object_of(given, "AdditionalAssemblies")
        .filter(|list| !list.root().as_array().is_some_and(|list| list.is_empty()));
    if let Some(maps) = present(given, "Maps") {
        let array = maps
            .as_array()
            .ok_or_else(|| wrong("Maps", "an array of texts"))?;
        for map in array.iter() {
            let map = map
                .as_str()
                .ok_or_else(|| wrong("Maps", "an array of texts"))?;
            definition.maps.push(map.to_owned());
        }
    }
    if let Some(fields) = present(given, "Fields") {
        let fields = fields
            .as_object()
            .ok_or_else(|| wrong("Fields", "an object"))?;
        for (name, settings) in fields.iter() {
            if settings.is_null() {
                continue;
            }
            let object = settings
                .as_object()
                .ok_or_else(|| wrong("Fields", "objects"))?;
            definition
                .fields
                .push((name.to_owned(), read_settings(object)?));
        }
    }
    Ok(definition)
}

fn read_settings(given: Object<'_>) -> Result<FieldSettings, DefinitionError> {
    let storage = match text(given, "Storage")? {
        None => None,
        Some(text) if lowercase(&text) == "yes" => Some(true),
        Some(text) if lowercase(&text) == "no" => Some(false),
        Some(_) => return Err(wrong("Storage", "'Yes' or 'No'")),
    };
    Ok(FieldSettings {
        storage,
        indexing: word(given, "Indexing", Indexing::parse)?,
        analyzer: text(given, "Analyzer")?.filter(|name| !name.is_empty()),
        suggestions: present(given, "Suggestions").and_then(|value| value.as_bool()),
        term_vector: text(given, "TermVector")?,
        spatial: object_of(given, "Spatial"),
        vector: object_of(given, "Vector"),
    })
}

fn wrong(name: &str, expected: &str) -> DefinitionError {
    DefinitionError::Invalid(format!("'{name}' of an index must be {expected}"))
}

fn present<'d>(object: Object<'d>, name: &str) -> Option<Value<'d>> {
    object.get(name).filter(|value| !value.is_null())
}

fn text(object: Object<'_>, name: &str) -> Result<Option<String>, DefinitionError> {
    match present(object, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_owned())),
        Some(_) => Err(wrong(name, "a text")),
    }
}

fn word<T>(
    object: Object<'_>,
    name: &str,
    parse: fn(&str) -> Option<T>,
) -> Result<Option<T>, DefinitionError> {
    match text(object, name)? {
        None => Ok(None),
        Some(text) => match parse(&text) {
            Some(word) => Ok(Some(word)),
            None => Err(DefinitionError::Invalid(format!(
                "'{text}' is no {name} of an index"
            ))),
        },
    }
}

fn texts(object: Object<'_>, name: &str) -> Result<Vec<(String, String)>, DefinitionError> {
    let Some(value) = present(object, name) else {
        return Ok(Vec::new());
    };
    let members = value
        .as_object()
        .ok_or_else(|| wrong(name, "an object of texts"))?;
    let pair = |(key, value): (&str, Value<'_>)| match value {
        Value::String(text) => Ok((key.to_owned(), text.to_owned())),
        Value::Null => Ok((key.to_owned(), String::new())),
        other => Ok((key.to_owned(), other.to_json())),
    };
    members.iter().map(pair).collect()
}

/// A member kept as it is given.
fn object_of(object: Object<'_>, name: &str) -> Option<DocumentBuf> {
    let value = present(object, name)?;
    let mut builder = Builder::new();
    builder.value(value);
    builder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jackdaw_document::Limits;

    fn read_json(json: &str) -> Result<StaticDefinition, DefinitionError> {
        let document = DocumentBuf::from_json(json.as_bytes(), &Limits::default()).unwrap();
        StaticDefinition::read(document.root().as_object().unwrap())
    }

    #[test]
    fn definitions_read_back() {
        let mut definition = read_json(
            r#"{"Name":"A/B","Maps":["map('C', c => ({ x: c.x }))"],"Reduce":null,
            "Fields":{"x":{"Indexing":"Search","Storage":"Yes","Spatial":{"Type":"Geography"}},
            "__all_fields":{"Analyzer":"StandardAnalyzer","Suggestions":true}},
            "LockMode":"LockedError","Priority":"High","State":"Disabled",
            "Configuration":{"Indexing.IndexMissingFieldsAsNull":"true"},
            "AdditionalSources":{"a":"function f() {}"}}"#,
        )
        .unwrap();
        definition.created = Some(UnixTicks(7));
        let stored = definition.encode();
        assert_eq!(
            StaticDefinition::decode(stored.root()),
            Some(definition.clone())
        );
        assert!(definition.has_setting("indexing.indexmissingfieldsasnull"));
        let settings = definition.field_settings("x");
        assert_eq!(settings.indexing, Some(Indexing::Search));
        assert_eq!(settings.analyzer.as_deref(), Some("StandardAnalyzer"));
        assert_eq!(definition.field_settings("y").storage, None);
    }

    #[test]
    fn what_is_no_definition_is_refused() {
        for (json, expected) in [
            (r#"{"Name":"","Maps":["m"]}"#, "Index name cannot be empty!"),
            (
                r#"{"Name":"a","Maps":[]}"#,
                "Index must have a 'Maps' fields",
            ),
            (
                r#"{"Name":"a","Maps":[1]}"#,
                "'Maps' of an index must be an array of texts",
            ),
            (
                r#"{"Name":"Auto/Foo","Maps":["m"]}"#,
                "Index name 'Auto/Foo' is not permitted. Static index name cannot start with \
                 'Auto/'",
            ),
            (
                r#"{"Name":"E/2","Maps":["m"],"Configuration":{"Nope":"1"}}"#,
                "Could not create index 'E/2' because the configuration option key 'Nope' is not \
                 recognized",
            ),
            (
                r#"{"Name":"a","Maps":["m"],"LockMode":"x"}"#,
                "'x' is no LockMode of an index",
            ),
        ] {
            assert_eq!(read_json(json).unwrap_err().to_string(), expected, "{json}");
        }
    }

    #[test]
    fn white_space_and_settings_make_no_other_entries() {
        let first = read_json(r#"{"Name":"a","Maps":["from c in docs.C\n select new { c.F }"]}"#);
        let second = read_json(
            r#"{"Name":"a","Maps":["from c in docs.C select new { c.F }"],
            "LockMode":"LockedIgnore"}"#,
        );
        let (first, second) = (first.unwrap(), second.unwrap());
        assert!(first.maps_alike(&second) && !first.is_same(&second));
        let third = read_json(r#"{"Name":"a","Maps":["from c in docs.C select new { c.G }"]}"#);
        assert!(!first.maps_alike(&third.unwrap()));
    }
}
