//! JavaScript in patches, maps and reduces: no panic and no overflow of the stack of our own, and
//! scripts that loop, allocate or recurse end within their limits.
#![no_main]

use jackdaw_document::{Array, DocumentBuf, Limits};
use jackdaw_script::index::{
    EmptyDatabase, IndexMachine, IndexedDocument, MapProgram, ReduceProgram,
};
use jackdaw_script::{
    Argument, Host, HostError, Machine, Program, ScriptDocument, ScriptLimits, Wanted,
};
use libfuzzer_sys::fuzz_target;

const DOCUMENT: &str = r#"{"a":1,"b":0.5,"s":"text, more","t":"2024-02-29T12:30:00","n":null,
    "l":[1,2,[3]],"o":{"k":true,"l":[{"a":1},{"a":2}]},"big":12345678901234567890.5}"#;

/// Knows nothing and refuses nothing.
struct Nothing;

impl Host for Nothing {
    fn call(&mut self, _function: &str, _arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
        Ok(b"null".to_vec())
    }

    fn is_over(&mut self) -> bool {
        false
    }
}

fuzz_target!(|text: &str| {
    let limits = ScriptLimits {
        steps_max: 20_000,
        memory_bytes_max: 4 << 20,
        ..ScriptLimits::default()
    };
    let document = DocumentBuf::from_json(DOCUMENT.as_bytes(), &Limits::default());
    let document = document.expect("it is JSON");
    let script_document = ScriptDocument {
        body: document.root(),
        metadata: None,
        collection: Some("Ds"),
        id: "ds/1",
        change_vector: None,
        last_modified: None,
    };
    let mut machine = Machine::new(&Program::patch(text), &limits);
    let arguments = [Argument::Document(script_document)];
    for wanted in [Wanted::Document, Wanted::Value] {
        if machine.run(&mut Nothing, &arguments, None, wanted).is_err() {
            break;
        }
    }
    let mut machine = IndexMachine::new(limits);
    let indexed = IndexedDocument::Document(script_document);
    let map = format!("map('Ds', d => {{ return {{ x: {text} }}; }})");
    if let Ok(program) = MapProgram::compile(&map, &[]) {
        let _ = machine.map(&program, indexed, &mut EmptyDatabase, &mut |entry| {
            assert!(entry.root().as_object().is_some());
        });
    }
    let reduce = format!("groupBy(d => d.a).aggregate(g => {{ return {{ a: {text} }}; }})");
    if let Ok(program) = ReduceProgram::compile(&reduce, &[]) {
        let rows = [document.root(), document.root()];
        let _ = machine.reduce(&program, &rows, &mut EmptyDatabase);
    }
});
