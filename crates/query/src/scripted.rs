//! What is read and computed beside each match: documents of `load`, time series, and the query's
//! script.
//!
//! Bound by `bind::select`, run by `execute::rows` for each row that is given. A script reads
//! through the same snapshot as the query, and changes nothing.

use std::ops::ControlFlow;

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::{Array, DocumentBuf, Value, write_array, write_object};
use jackdaw_script::{
    Argument, Host, HostError, Machine, Program, ScriptDocument, ScriptError, ScriptLimits, Wanted,
};

use crate::bind::BoundQuery;
use crate::error::{BoxError, QueryError};
use crate::execute::ExecuteOptions;
use crate::fields::FieldPath;
use crate::project::for_each_id;
use crate::script_series::{
    SCRIPT_SERIES_ENTRIES_MAX, push_script_entry, script_series_name, script_series_range,
    script_series_stats, too_many_entries,
};
use crate::series::{self, SeriesAnswer};
use crate::source::{EMPTY_COLLECTION, ShownVector, Source, StoredDocument};

/// One item of `load`.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// Name in scripts and paths.
    pub(crate) name: String,
    pub(crate) ids: LoadIds,
    /// Whether it stands for a list.
    pub(crate) many: bool,
}

/// Where the ids of loaded documents come from.
#[derive(Clone, Debug)]
pub(crate) enum LoadIds {
    /// The values at a path of the document.
    At(FieldPath),
    /// The values at a path of the documents of an earlier item.
    Of(usize, FieldPath),
    /// A literal or parameter.
    Given(Vec<String>),
}

/// The script of a query.
#[derive(Clone, Debug)]
pub(crate) struct ScriptCall {
    pub(crate) program: Program,
    pub(crate) parameters: Option<DocumentBuf>,
    pub(crate) returned: Returned,
}

impl ScriptCall {
    /// Refuses a script that is no JavaScript.
    pub(crate) fn check(&self) -> Result<(), QueryError> {
        jackdaw_script::check(&self.program, &ScriptLimits::default()).map_err(failed)
    }
}

/// What the script returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returned {
    /// The row.
    Row,
    /// The row, or an array of rows.
    Rows,
    /// An array of fields of the row.
    Values,
}

/// What was made for one match.
#[derive(Default)]
pub(crate) struct Made<'s> {
    /// One for each item of `load`.
    pub(crate) loaded: Vec<Loaded<'s>>,
    /// What the script returned.
    pub(crate) value: Option<DocumentBuf>,
    /// One for each time series of the query.
    pub(crate) series: Vec<SeriesAnswer>,
    /// Whether time series inside rows have metadata: [`ExecuteOptions::marks_series`].
    pub(crate) marks_series: bool,
}

/// The documents of one item of `load` that are there.
pub(crate) enum Loaded<'s> {
    One(Option<StoredDocument<'s>>),
    Many(Vec<StoredDocument<'s>>),
}

impl<'s> Loaded<'s> {
    pub(crate) fn documents(&self) -> &[StoredDocument<'s>] {
        match self {
            Loaded::One(one) => one.as_slice(),
            Loaded::Many(list) => list,
        }
    }
}

/// Reads the documents that `load` names for `document`.
pub(crate) fn load_all<'s, S: Source>(
    load: &[Load],
    document: &StoredDocument<'_>,
    source: &'s S,
) -> Result<Vec<Loaded<'s>>, QueryError> {
    let mut loaded: Vec<Loaded<'s>> = Vec::with_capacity(load.len());
    for item in load {
        let mut ids = Vec::new();
        let mut push = |id: &str| ids.push(id.to_owned());
        match &item.ids {
            LoadIds::At(path) => for_each_id(document, path, &mut push),
            LoadIds::Of(slot, path) => {
                let documents = loaded.get(*slot).map_or(&[][..], Loaded::documents);
                for document in documents {
                    for_each_id(document, path, &mut push);
                }
            }
            LoadIds::Given(given) => ids.clone_from(given),
        }
        ids.retain(|id| !id.is_empty());
        let by_id = |id: &String| source.document_by_id(id).map_err(QueryError::Source);
        loaded.push(match item.many {
            true => {
                let found = ids.iter().filter_map(|id| by_id(id).transpose());
                Loaded::Many(found.collect::<Result<_, _>>()?)
            }
            false => Loaded::One(ids.first().map(by_id).transpose()?.flatten()),
        });
    }
    Ok(loaded)
}

/// The texts of a document that are put together for scripts.
pub(crate) struct Texts {
    change_vector: String,
    last_modified: String,
}

impl Texts {
    pub(crate) fn of(document: &StoredDocument<'_>) -> Texts {
        Texts {
            change_vector: document.change_vector.to_string(),
            last_modified: document.last_modified.to_string(),
        }
    }

    pub(crate) fn document<'d>(&'d self, document: &'d StoredDocument<'d>) -> ScriptDocument<'d> {
        let metadata = document.metadata.map(|metadata| metadata.root());
        ScriptDocument {
            body: document.body.root(),
            metadata: metadata.and_then(|metadata| metadata.as_object()),
            collection: (document.collection != EMPTY_COLLECTION).then_some(document.collection),
            id: document.id,
            change_vector: Some(&self.change_vector),
            last_modified: Some(&self.last_modified),
        }
    }
}

/// The texts of the documents of each item of `load`.
pub(crate) fn texts_of_loaded(loaded: &[Loaded<'_>]) -> Vec<Vec<Texts>> {
    let texts_of = |loaded: &Loaded<'_>| loaded.documents().iter().map(Texts::of).collect();
    loaded.iter().map(texts_of).collect()
}

/// Appends each item of `load` as an argument of a script.
pub(crate) fn push_loaded<'d>(
    loaded: &'d [Loaded<'_>],
    texts: &'d [Vec<Texts>],
    arguments: &mut Vec<Argument<'d>>,
) {
    for (loaded, texts) in loaded.iter().zip(texts) {
        let pairs = loaded.documents().iter().zip(texts);
        let mut documents = pairs.map(|(one, texts)| texts.document(one));
        arguments.push(match loaded {
            Loaded::One(_) => documents
                .next()
                .map_or(Argument::Nothing, Argument::Document),
            Loaded::Many(_) => Argument::Documents(documents.map(Some).collect()),
        });
    }
}

/// The script of a query while it runs: compiled at its first row.
#[derive(Default)]
pub(crate) struct Scripted {
    machine: Option<Machine>,
    /// Ids that the script asked to include.
    pub(crate) included: Vec<String>,
    /// Keys of compare-exchange that it asked to include.
    pub(crate) included_keys: Vec<String>,
}

impl Scripted {
    /// Reads and computes what the row of `document` holds beside it.
    pub(crate) fn make<'s, S: Source>(
        &mut self,
        query: &BoundQuery,
        document: &StoredDocument<'_>,
        source: &'s S,
        options: &ExecuteOptions<'_>,
    ) -> Result<Made<'s>, QueryError> {
        let loaded = load_all(&query.load, document, source)?;
        let value = match &query.script {
            Some(call) => Some(self.run(call, document, &loaded, source, options)?),
            None => None,
        };
        let answers = query.series.iter();
        let answers = answers.map(|query| series::run(query, document, &loaded, source, options));
        let series = answers.collect::<Result<_, _>>()?;
        Ok(Made {
            loaded,
            value,
            series,
            marks_series: options.marks_series,
        })
    }

    /// Runs the script for one match.
    fn run<S: Source>(
        &mut self,
        call: &ScriptCall,
        document: &StoredDocument<'_>,
        loaded: &[Loaded<'_>],
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<DocumentBuf, QueryError> {
        let machine = self
            .machine
            .get_or_insert_with(|| Machine::new(&call.program, &ScriptLimits::default()));
        let texts = Texts::of(document);
        let loaded_texts = texts_of_loaded(loaded);
        let mut arguments = vec![Argument::Document(texts.document(document))];
        push_loaded(loaded, &loaded_texts, &mut arguments);
        let mut host = SourceHost {
            source,
            options,
            included: &mut self.included,
            included_keys: &mut self.included_keys,
        };
        let parameters = call.parameters.as_ref();
        let parameters = parameters.map(|parameters| parameters.root());
        let output = machine.run(&mut host, &arguments, parameters, Wanted::Value);
        Ok(output.map_err(failed)?.value)
    }
}

pub(crate) fn failed(error: ScriptError) -> QueryError {
    match error {
        ScriptError::Syntax { .. } => {
            QueryError::Invalid(format!("Select clause contains invalid script: {error}"))
        }
        ScriptError::Time => QueryError::Stopped,
        ScriptError::Host(error) => QueryError::Source(error),
        other => QueryError::Script(other.to_string()),
    }
}

/// What the script of a query may ask for: documents of the snapshot.
pub(crate) struct SourceHost<'h, S> {
    pub(crate) source: &'h S,
    pub(crate) options: &'h ExecuteOptions<'h>,
    pub(crate) included: &'h mut Vec<String>,
    pub(crate) included_keys: &'h mut Vec<String>,
}

impl<S: Source> Host for SourceHost<'_, S> {
    fn call(&mut self, function: &str, arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
        let id = arguments.get(0).and_then(|id| id.as_str()).unwrap_or("");
        match function {
            "load" => self.load(id).map_err(HostError::Failed),
            "cmpxchg" => self.exchange_value(id).map_err(HostError::Failed),
            "counter" | "counterNamesFor" => {
                let name = arguments.get(1).and_then(|name| name.as_str());
                self.counters(id, name).map_err(HostError::Failed)
            }
            "counterRaw" => {
                let name = arguments.get(1).and_then(|name| name.as_str());
                self.counter_by_node(id, name.unwrap_or(""))
                    .map_err(HostError::Failed)
            }
            "include" | "includes.document" => {
                include(arguments, self.included);
                Ok(b"null".to_vec())
            }
            "includes.cmpxchg" => {
                include(arguments, self.included_keys);
                Ok(b"null".to_vec())
            }
            "timeseries.get" => self.series_entries(id, arguments),
            "timeseries.getStats" => self.series_stats(id, arguments),
            "put"
            | "del"
            | "incrementCounter"
            | "deleteCounter"
            | "timeseries.append"
            | "timeseries.increment"
            | "timeseries.delete" => Err(HostError::Refused(format!(
                "{function}() changes documents: use it in a patch, not in a query"
            ))),
            other => Err(HostError::unserved(other)),
        }
    }

    fn is_over(&mut self) -> bool {
        self.options.check().is_err()
    }
}

impl<S: Source> SourceHost<'_, S> {
    fn load(&mut self, id: &str) -> Result<Vec<u8>, BoxError> {
        let mut out = Vec::new();
        match self.source.document_by_id(id)? {
            Some(found) => Texts::of(&found).document(&found).write(&mut out),
            None => out.extend_from_slice(b"null"),
        }
        Ok(out)
    }

    fn series_entries(&mut self, id: &str, arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
        let name = script_series_name(arguments)?;
        let range = script_series_range(arguments)?;
        let (mut count, mut json) = (0, Vec::new());
        let mut read = Ok(());
        write_array(&mut json, |list| {
            read = self.source.visit_series(id, name, range, &mut |entry| {
                count += 1;
                match count > SCRIPT_SERIES_ENTRIES_MAX {
                    true => return ControlFlow::Break(()),
                    false => push_script_entry(name, entry, list),
                }
                ControlFlow::Continue(())
            });
        });
        read.map_err(HostError::Failed)?;
        match count > SCRIPT_SERIES_ENTRIES_MAX {
            true => Err(too_many_entries()),
            false => Ok(json),
        }
    }

    fn series_stats(&mut self, id: &str, arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
        let name = script_series_name(arguments)?;
        let extent = self.source.series_extent(id, name);
        Ok(script_series_stats(extent.map_err(HostError::Failed)?))
    }

    /// The value of a counter, or the names of all.
    fn counters(&mut self, id: &str, name: Option<&str>) -> Result<Vec<u8>, BoxError> {
        let counters = self.source.counters(id)?;
        let mut json = Vec::new();
        match name {
            Some(name) => {
                let wanted = lowercase(name);
                let found = counters.iter().find(|(name, _)| lowercase(name) == wanted);
                found
                    .map_or(Value::Null, |(_, value)| Value::Long(*value))
                    .write_json(&mut json);
            }
            None => write_array(&mut json, |list| {
                counters.iter().for_each(|(name, _)| list.string(name));
            }),
        }
        Ok(json)
    }

    /// The value of a counter by what counted: this node of this database. Nothing counted without
    /// the counter.
    fn counter_by_node(&mut self, id: &str, name: &str) -> Result<Vec<u8>, BoxError> {
        let value = self.counters(id, Some(name))?;
        let found = self.source.document_by_id(id)?;
        let place = found.and_then(|document| match document.change_vector {
            ShownVector::Single {
                node_tag, database, ..
            } => Some(format!("{node_tag}-{database}")),
            ShownVector::Text(_) => None,
        });
        let mut json = Vec::new();
        write_object(&mut json, |nodes| {
            if let Some(place) = place.filter(|_| value != b"null") {
                nodes.raw(&place, &value);
            }
        });
        Ok(json)
    }

    fn exchange_value(&mut self, key: &str) -> Result<Vec<u8>, BoxError> {
        let value = self.source.exchange_value(key)?;
        let root = value.as_ref().map_or(Value::Null, DocumentBuf::root);
        let mut json = Vec::new();
        root.get("Object")
            .unwrap_or(Value::Null)
            .write_json(&mut json);
        Ok(json)
    }
}

/// Notes the texts among the arguments, and in arrays among them.
fn include(arguments: Array<'_>, included: &mut Vec<String>) {
    for argument in arguments.iter() {
        match argument {
            Value::String(id) => included.push(id.to_owned()),
            Value::Array(ids) => {
                let ids = ids.iter().filter_map(|id| id.as_str());
                included.extend(ids.map(str::to_owned));
            }
            _ => {}
        }
    }
}
