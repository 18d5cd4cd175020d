//! Maps and reduces in C#: no panic, no overflow of the stack, and what was accepted runs over a
//! document within its limits.
#![no_main]

use jackdaw_document::{DocumentBuf, Limits};
use jackdaw_script::index::{
    EmptyDatabase, IndexMachine, IndexedDocument, MapProgram, ReduceProgram,
};
use jackdaw_script::{ScriptDocument, ScriptLimits};
use libfuzzer_sys::fuzz_target;

const DOCUMENT: &str = r#"{"a":1,"b":0.5,"s":"text, more","t":"2024-02-29T12:30:00","n":null,
    "l":[1,2,[3]],"o":{"k":true,"l":[{"a":1},{"a":2}]},"big":12345678901234567890.5}"#;

fuzz_target!(|text: &str| {
    let limits = ScriptLimits {
        steps_max: 20_000,
        memory_bytes_max: 4 << 20,
        ..ScriptLimits::default()
    };
    let document = DocumentBuf::from_json(DOCUMENT.as_bytes(), &Limits::default());
    let document = document.expect("it is JSON");
    let indexed = IndexedDocument::Document(ScriptDocument {
        body: document.root(),
        metadata: None,
        collection: Some("Ds"),
        id: "ds/1",
        change_vector: None,
        last_modified: None,
    });
    let mut machine = IndexMachine::new(limits);
    // As a query when it is one, and as an expression of one.
    let map = format!("from d in docs.Ds select new {{ x = {text} }}");
    let reduce = format!("from d in results group d by d.a into g select new {{ x = {text} }}");
    let source = [("s".to_owned(), text.to_owned())];
    let _ = MapProgram::compile("docs.Ds.Select(d => new { x = d.F() })", &source);
    for map in [text.trim_start(), map.as_str()] {
        let is_csharp = map.starts_with("from ") || map.starts_with("docs.");
        if let Some(Ok(program)) = is_csharp.then(|| MapProgram::compile(map, &[])) {
            let _ = machine.map(&program, indexed, &mut EmptyDatabase, &mut |entry| {
                assert!(entry.root().as_object().is_some());
            });
        }
    }
    if let Ok(program) = ReduceProgram::compile(&reduce, &[]) {
        let _ = machine.reduce(
            &program,
            &[document.root(), document.root()],
            &mut EmptyDatabase,
        );
    }
});
