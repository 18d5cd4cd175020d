//! A host that notes what it is asked, and short ways to run scripts.

use std::collections::BTreeMap;

use jackdaw_document::{Array, DocumentBuf, Limits, Value};
use jackdaw_script::{
    Argument, Host, HostError, Machine, Output, Program, ScriptDocument, ScriptError, ScriptLimits,
    Wanted,
};

/// Documents by id, and what was asked.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) documents: BTreeMap<String, DocumentBuf>,
    pub(crate) asked: Vec<String>,
    pub(crate) fails: bool,
    pub(crate) is_over: bool,
    pub(crate) ends_after_looks: Option<usize>,
}

impl Host for World {
    fn call(&mut self, function: &str, arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
        let arguments_json = Value::Array(arguments).to_json();
        self.asked.push(format!("{function}{arguments_json}"));
        if self.fails {
            return Err(HostError::Failed("the disk is gone".into()));
        }
        let id = arguments.get(0).and_then(|id| id.as_str()).unwrap_or("");
        let mut out = Vec::new();
        match (function, self.documents.get(id)) {
            ("load", Some(found)) => document(id, found).write(&mut out),
            ("load", None) => out.extend_from_slice(b"null"),
            ("put", _) => Value::String(id).write_json(&mut out),
            ("del", _) => out.extend_from_slice(b"true"),
            _ => return Err(HostError::unserved(function)),
        }
        Ok(out)
    }

    fn is_over(&mut self) -> bool {
        if let Some(left) = &mut self.ends_after_looks {
            *left = left.saturating_sub(1);
            return *left == 0;
        }
        self.is_over
    }
}

pub(crate) fn json(text: &str) -> DocumentBuf {
    DocumentBuf::from_json(text.as_bytes(), &Limits::default()).expect("a test gives JSON")
}

pub(crate) fn document<'a>(id: &'a str, body: &'a DocumentBuf) -> ScriptDocument<'a> {
    ScriptDocument {
        body: body.root(),
        metadata: body.root().get("@metadata").and_then(|own| own.as_object()),
        collection: Some("Albums"),
        id,
        change_vector: Some("A:1-x"),
        last_modified: Some("2026-01-02T03:04:05.0000000Z"),
    }
}

pub(crate) fn machine(script: &str) -> Machine {
    Machine::new(&Program::patch(script), &ScriptLimits::default())
}

/// Patches `body` with `script`.
pub(crate) fn patch_in(
    world: &mut World,
    body: &str,
    script: &str,
    parameters: &str,
) -> Result<Output, ScriptError> {
    let (body, parameters) = (json(body), json(parameters));
    let arguments = [Argument::Document(document("albums/1", &body))];
    let parameters = Some(parameters.root());
    machine(script).run(world, &arguments, parameters, Wanted::Document)
}

/// The document that `script` leaves of `body`, or the error's text.
pub(crate) fn patched(body: &str, script: &str) -> String {
    match patch_in(&mut World::default(), body, script, "{}") {
        Ok(output) => output.value.root().to_json(),
        Err(error) => error.to_string(),
    }
}

/// The value of an expression over `this`, or the error's text.
pub(crate) fn value(body: &str, expression: &str) -> String {
    let body = json(body);
    let arguments = [Argument::Document(document("albums/1", &body))];
    let mut machine = machine(&format!("return {expression}"));
    let run = machine.run(&mut World::default(), &arguments, None, Wanted::Value);
    match run {
        Ok(output) => output.value.root().to_json(),
        Err(error) => error.to_string(),
    }
}
