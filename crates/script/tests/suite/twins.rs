//! A map in C# and its twin in JavaScript give equal entries on random documents.
//!
//! Pairs say the same where both languages can: C# has decimals where JavaScript has doubles, so
//! fractions are halves, which both hold exactly.

use std::cell::RefCell;

use jackdaw_document::DocumentBuf;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::common::json;
use crate::index_world::{IndexWorld, compile};

const PAIRS: &[(&str, &str)] = &[
    (
        "from d in docs.Ds select new { d.a, d.b.c, e = d.e }",
        "map('Ds', d => ({ a: d.a, c: d.b.c, e: d.e }))",
    ),
    (
        "from d in docs.Ds where d.a == 1 || d.e != null select new { d.a, one = 1, t = \"x\" }",
        "map('Ds', d => d.a == 1 || d.e != null ? { a: d.a, one: 1, t: 'x' } : null)",
    ),
    (
        "docs.Ds.Select(d => new { n = (d.l ?? new object[] { }).Length, f = d.l[0], g = d.l[1] })",
        "map('Ds', d => ({ n: (d.l ?? []).length, f: d.l[0], g: d.l[1] }))",
    ),
    (
        "from d in docs.Ds from x in d.l select new { x.q, d.a }",
        "map('Ds', d => (d.l ?? []).map(x => ({ q: x.q, a: d.a })))",
    ),
    (
        "from d in docs.Ds from x in d.l where x.q > 0 let y = x.q * 2 + 1 select new { y, z = y \
            - 1.5 }",
        "map('Ds', d => (d.l ?? []).filter(x => typeof x.q === 'number' && x.q > 0)\
         .map(x => { const y = x.q * 2 + 1; return { y, z: y - 1.5 }; }))",
    ),
    (
        "docs.Ds.Select(d => new { s = d.l.Where(x => x.q != null).Sum(x => x.q), c = \
            d.l.Count(x => x.q > 2) })",
        "map('Ds', d => ({ s: (d.l ?? []).reduce((t, x) => t + (x.q ?? 0), 0), \
         c: (d.l ?? []).filter(x => x.q > 2).length }))",
    ),
    (
        "docs.Ds.Select(d => new { s = (d.t ?? \"\") + \"-\" + (d.t ?? \"\").Length, u = (d.t ?? \
            \"\").ToUpper(), h = (d.t ?? \"\").StartsWith(\"a\") ? 1 : 2 })",
        "map('Ds', d => { const t = d.t ?? ''; return { s: t + '-' + t.length, u: \
            t.toUpperCase(), h: t.startsWith('a') ? 1 : 2 }; })",
    ),
    (
        "docs.Ds.Select(d => new { i = Id(d), c = MetadataFor(d)[\"@collection\"], x = \
            LoadDocument(d.e, \"Addresses\").city })",
        "map('Ds', d => ({ i: id(d), c: getMetadata(d)['@collection'], x: load(d.e, \
            'Addresses').city }))",
    ),
    (
        "docs.Ds.Select(d => new { _ = CreateField(\"f\", d.a, new CreateFieldOptions { Indexing \
            = FieldIndexing.Search }), p = CreateSpatialField(d.a, 2) })",
        "map('Ds', d => ({ _: createField('f', d.a, { indexing: 'Search' }), p: typeof d.a === \
            'number' ? createSpatialField(d.a, 2) : undefined }))",
    ),
];

/// A number that both languages hold exactly.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (-9..9_i64).prop_map(|n| n.to_string()),
        (-99..99_i64).prop_map(|n| format!("{n}.5")),
        (1 << 40..1_i64 << 50).prop_map(|n| n.to_string()),
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        number(),
        "[a-c \u{e9}]{0,4}".prop_map(|text| format!("\"{text}\"")),
        Just("\"addresses/1\"".to_owned()),
    ]
}

/// Documents in which a field is absent, null, or of the kind that the maps take it for.
fn document() -> impl Strategy<Value = String> {
    let quantity = prop_oneof![
        Just("{}".to_owned()),
        number().prop_map(|n| format!(r#"{{"q":{n}}}"#))
    ];
    let list = prop::collection::vec(quantity, 0..4);
    let fields = (
        prop::option::of(prop_oneof![number(), Just("null".to_owned())]),
        prop::option::of(scalar().prop_map(|value| format!(r#"{{"c":{value}}}"#))),
        prop::option::of(scalar()),
        prop::option::of(list.prop_map(|items| format!("[{}]", items.join(",")))),
        prop::option::of("[a-c\u{e9}\u{1f600}]{0,5}".prop_map(|text| format!("\"{text}\""))),
    );
    fields.prop_map(|(a, b, e, l, t)| {
        let named = [("a", a), ("b", b), ("e", e), ("l", l), ("t", t)];
        let fields = named
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| format!("\"{name}\":{value}")));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    })
}

/// A failure prints its smallest input, which is all that a run depends on.
fn runner(cases: u32) -> TestRunner {
    let mut config = ProptestConfig::with_cases(cases);
    config.failure_persistence = None;
    TestRunner::new(config)
}

/// Entries without regard to how a number is written.
fn parsed(entries: &[String]) -> Vec<DocumentBuf> {
    entries.iter().map(|entry| json(entry)).collect()
}

#[test]
fn twins_give_equal_entries() {
    let programs: Vec<_> = PAIRS
        .iter()
        .map(|(cs, js)| (compile(cs), compile(js)))
        .collect();
    let world = RefCell::new(IndexWorld::default());
    let mut runner = runner(64);
    let outcome = runner.run(&document(), |document| {
        for (slot, (native, script)) in programs.iter().enumerate() {
            let native = world.borrow_mut().of_document(native, &document);
            let script = world.borrow_mut().of_document(script, &document);
            let (native, script) = (native.expect("C# runs"), script.expect("JavaScript runs"));
            let (left, right) = (parsed(&native), parsed(&script));
            let are_equal = left.len() == right.len()
                && left
                    .iter()
                    .zip(&right)
                    .all(|(left, right)| left.root() == right.root());
            prop_assert!(are_equal, "{}: {native:?} {script:?}", PAIRS[slot].0);
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn broken_texts_neither_panic_nor_take_long() {
    // Pieces of maps in any order: whatever is accepted also runs.
    let pieces: Vec<&str> = PAIRS
        .iter()
        .flat_map(|(cs, _)| cs.split_inclusive(' '))
        .collect();
    let strategy = prop::collection::vec(prop::sample::select(pieces), 1..30);
    let world = RefCell::new(IndexWorld::default());
    let mut runner = runner(500);
    let outcome = runner.run(&strategy, |pieces| {
        let text = format!("from d in docs.Ds select new {{ x = {} }}", pieces.concat());
        if let Ok(map) = jackdaw_script::index::MapProgram::compile(&text, &[]) {
            let _ = world
                .borrow_mut()
                .of_document(&map, r#"{"a":1,"l":[{"q":2}],"t":"x"}"#);
        }
        Ok(())
    });
    outcome.unwrap();
}
