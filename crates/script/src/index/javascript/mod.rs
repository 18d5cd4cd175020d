//! Maps and reduces in JavaScript: compiling them, and what can be told of them beforehand.
//!
//! Called by `program` (compile) and `machine` (run). A text is a script that calls `map`,
//! `counters.map`, `timeSeries.map` or `groupBy(..).aggregate(..)` (`index.js`); it is run once to
//! see what it declares, and again for each document.

mod fields;
mod host;

use jackdaw_document::{Array, Builder, DocumentBuf, Value};

pub(crate) use host::ScriptHost;

use crate::error::ScriptError;
use crate::host::{Host, HostError};
use crate::index::error::CompileError;
use crate::index::program::{MapFacts, MapSource, ReduceFacts};
use crate::input::Argument;
use crate::lenient;
use crate::limits::ScriptLimits;
use crate::machine::{Machine, Wanted};
use crate::program::Program;
use crate::tokens::tokens;

const INDEX_JS: &str = include_str!("index.js");
/// What a run is given: what to map or reduce, how, and the fields of a reduce.
const PARAMETERS: [&str; 3] = ["$item", "$mode", "$fields"];
/// Words of texts that make fields whose names are values.
const FIELD_MAKERS: [&str; 3] = ["createField", "$name", "$field"];
/// A collection that stands for all documents.
const ALL_DOCUMENTS: &str = "@all_docs";

/// A map or reduce in JavaScript.
#[derive(Debug)]
pub(crate) struct Script {
    /// As the machine runs it.
    pub(crate) program: Program,
    /// Fields of a reduce: a list of names.
    pub(crate) fields: DocumentBuf,
}

/// How a script is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Describe,
    Documents,
    TimeSeries,
    Reduce,
}

impl Mode {
    /// As `index.js` calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Describe => "describe",
            Mode::Documents => "documents",
            Mode::TimeSeries => "timeSeries",
            Mode::Reduce => "reduce",
        }
    }
}

/// Whether a word of `text` is one of `wanted`.
fn names_one_of(text: &str, wanted: &[&str]) -> bool {
    let mut list = tokens(text).into_iter();
    list.any(|token| wanted.contains(&&text[token.start..token.end]))
}

/// What a text declares.
struct Declared {
    kind: String,
    collections: Vec<String>,
    name: Option<String>,
    keys: Option<Vec<String>>,
}

/// Compiles a map.
pub(crate) fn compile_map(
    text: &str,
    sources: &[(String, String)],
) -> Result<(Script, MapFacts), CompileError> {
    let script = Script::new(text, sources);
    let declared = script.describe(text)?;
    let Some(first) = declared.first() else {
        return Err(refused(
            "the text declares no map: write map('Collection', document => ({ .. }))",
            text,
        ));
    };
    if first.kind == "reduce" {
        return Err(refused("this is a reduce, not a map", text));
    }
    if declared.iter().any(|other| other.kind != first.kind) {
        return Err(refused(
            "one text maps different things: give each kind of map a text of its own",
            text,
        ));
    }
    let mut collections: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for map in &declared {
        collections.extend(map.collections.iter().cloned());
        names.extend(map.name.clone());
    }
    if declared.iter().any(|map| map.collections.is_empty()) {
        collections.clear();
    }
    if declared.iter().any(|map| map.name.is_none()) {
        names.clear();
    }
    if declared.len() > 1 && (!collections.is_empty() || !names.is_empty()) {
        return Err(refused(
            "give each map of the index a text of its own",
            text,
        ));
    }
    let source = match first.kind.as_str() {
        "counters" => MapSource::Counters { collections, names },
        "timeSeries" => MapSource::TimeSeries { collections, names },
        _ => MapSource::Documents { collections },
    };
    let all = script.text_with_sources(text);
    let facts = MapFacts {
        source,
        fields: fields::returned(text),
        referenced_collections: fields::loaded_collections(&all),
        uses_compare_exchange: lenient::names(&all).iter().any(|name| name == "cmpxchg"),
        makes_fields: names_one_of(&all, &FIELD_MAKERS),
        has_fan_out: declared.len() > 1 || fields::may_return_several(text),
    };
    Ok((script, facts))
}

/// Compiles a reduce.
pub(crate) fn compile_reduce(
    text: &str,
    sources: &[(String, String)],
) -> Result<(Script, ReduceFacts), CompileError> {
    let mut script = Script::new(text, sources);
    let declared = script.describe(text)?;
    let [reduce] = declared.as_slice() else {
        return Err(refused(
            "the text declares no reduce: write groupBy(entry => entry.Field).aggregate(group => \
                ({ .. }))",
            text,
        ));
    };
    if reduce.kind != "reduce" {
        return Err(refused("this is a map, not a reduce", text));
    }
    let Some(group_by) = reduce.keys.clone() else {
        return Err(refused(
            "groupBy() has to name fields of the map: entry => entry.A, or entry => ({ A: \
                entry.A, B: entry.B })",
            text,
        ));
    };
    let facts = ReduceFacts {
        group_by,
        fields: fields::returned(text),
    };
    script.fields = list_of(&[facts.group_by.as_slice(), &facts.fields].concat());
    Ok((script, facts))
}

fn list_of(names: &[String]) -> DocumentBuf {
    let mut builder = Builder::new();
    builder.begin_array();
    for name in names {
        builder.string(name);
    }
    let list = builder.end_array().finish();
    list.expect("names in a text of limited length make a document")
}

fn refused(message: &str, text: &str) -> CompileError {
    let construct: String = text.trim().chars().take(80).collect();
    CompileError::new(message, &construct, (1, 1)).of_declaration()
}

impl Script {
    fn new(text: &str, sources: &[(String, String)]) -> Script {
        let mut declarations = String::new();
        for (_, source) in sources {
            declarations.push_str(source);
            declarations.push_str("\n;\n");
        }
        declarations.push_str(INDEX_JS);
        Script {
            program: Program {
                declarations,
                parameters: PARAMETERS.map(str::to_owned).to_vec(),
                body: format!("{text}\n;return $run($item, $mode, $fields);"),
            },
            fields: list_of(&[]),
        }
    }

    /// The text with what the user declared beside it.
    fn text_with_sources(&self, text: &str) -> String {
        let sources = self.program.declarations.strip_suffix(INDEX_JS);
        format!("{}{text}", sources.unwrap_or_default())
    }

    fn describe(&self, text: &str) -> Result<Vec<Declared>, CompileError> {
        let limits = ScriptLimits::default();
        let of_script = |error| CompileError::of_script(error);
        let mut machine = Machine::new(&self.program, &limits);
        let mode = Argument::Value(Value::String(Mode::Describe.name()));
        let arguments = [Argument::Nothing, mode, Argument::Nothing];
        let output = machine.run(&mut NoHost, &arguments, None, Wanted::Value);
        let output = output.map_err(of_script)?;
        let list = output.value.root().as_array();
        let mut declared = Vec::new();
        for one in list.iter().flat_map(Array::iter) {
            if one.get("isFunction") != Some(Value::Bool(true)) {
                return Err(refused(
                    "the last argument of a map, and that of aggregate(), has to be a function",
                    text,
                ));
            }
            declared.push(Declared::read(one, text)?);
        }
        Ok(declared)
    }
}

impl Declared {
    fn read(value: Value<'_>, text: &str) -> Result<Declared, CompileError> {
        let texts = |value: Option<Value<'_>>| match value {
            Some(Value::String(one)) => Some(vec![one.to_owned()]),
            Some(Value::Array(list)) => {
                let texts = list.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect()
            }
            _ => None,
        };
        let kind = value.get("kind").and_then(|kind| kind.as_str());
        let kind = kind.unwrap_or_default().to_owned();
        let mut collections = Vec::new();
        if kind != "reduce" {
            let Some(named) = texts(value.get("collection")) else {
                return Err(refused(
                    "the first argument of a map has to be the name of a collection",
                    text,
                ));
            };
            collections = named;
            if collections.iter().any(|name| name == ALL_DOCUMENTS) {
                collections.clear();
            }
        }
        let name = value.get("name").and_then(|name| name.as_str());
        Ok(Declared {
            kind,
            collections,
            name: name.map(str::to_owned),
            keys: texts(value.get("keys")),
        })
    }
}

/// The world of a text that is only looked at.
struct NoHost;

impl Host for NoHost {
    fn call(&mut self, function: &str, _: Array<'_>) -> Result<Vec<u8>, HostError> {
        let message = format!("{function}() works inside of maps only");
        Err(HostError::Refused(message))
    }

    fn is_over(&mut self) -> bool {
        false
    }
}

/// The entries that a run left.
pub(crate) fn entries(
    output: &DocumentBuf,
    emit: &mut dyn FnMut(DocumentBuf),
) -> Result<(), ScriptError> {
    let mut builder = Builder::new();
    let list = output.root().as_array();
    for entry in list.iter().flat_map(Array::iter) {
        let Some(object) = entry.as_object() else {
            continue;
        };
        let entry = super::entry::of_script(object, &mut builder);
        emit(entry.map_err(|error| ScriptError::Result(error.to_string()))?);
    }
    Ok(())
}
