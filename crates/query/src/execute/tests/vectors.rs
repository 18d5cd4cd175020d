//! Searches for vectors: an index that saw some of the changes, together with the documents it has
//! not seen, answers as comparing all documents does; filters leave as many matches as there would
//! be without them.

use jackdaw_sim::Rng;

use crate::test_source::{TestDatabase, TestIndex, TestResult, TestSource, bound, run_bound};
use crate::{Embedding, ExecuteOptions, FieldKind, FieldPath, IndexField, QueryError};
use jackdaw_model::Scope;

fn fields() -> Vec<IndexField> {
    let field = |path: &str, kind| IndexField {
        path: FieldPath::parse(path),
        kind,
    };
    vec![
        field("G", FieldKind::Plain),
        field("V", FieldKind::Vector(Embedding::F32)),
        field("V", FieldKind::Vector(Embedding::F32ToI8)),
        field("Ws.V", FieldKind::Vector(Embedding::F32)),
    ]
}

fn floats(random: &mut Rng) -> String {
    let floats: Vec<String> = (0..5)
        .map(|_| (random.below(20_001) as f64 / 10_000.0 - 1.0).to_string())
        .collect();
    format!("[{}]", floats.join(","))
}

fn document(random: &mut Rng) -> String {
    let group = *random.pick(&["a", "a", "b", "c"]);
    let (v, w, x) = (floats(random), floats(random), floats(random));
    let v = match random.below(8) {
        0 => "null".to_owned(),
        1 => format!(r#"{{"@vector":{v}}}"#),
        2 => "[1,2]".to_owned(),
        _ => v,
    };
    format!(r#"{{"G":"{group}","V":{v},"Ws":[{{"V":{w}}},{{"V":{x}}}]}}"#)
}

fn ask(text: &str, parameters: &str, source: &TestSource<'_>) -> Result<TestResult, QueryError> {
    let options = ExecuteOptions::default();
    let query = bound(text, parameters)?.expand(source, &options)?;
    run_bound(&query, source, &options)
}

#[test]
fn an_index_and_what_it_has_not_seen_answer_as_all_documents_do() {
    for seed in 0..8 {
        println!("seed {seed}");
        let mut random = Rng::new(seed);
        let mut database = TestDatabase::default();
        // The first one says how many dimensions there are.
        database.put("c/0", "C", r#"{"G":"a","V":[1,0,0,0,0],"Ws":[]}"#);
        for number in 1..90 {
            database.put(&format!("c/{number}"), "C", &document(&mut random));
        }
        let index = TestIndex::build(&database, Scope::Collection("C".to_owned()), &fields());
        for number in 80..120 {
            database.put(&format!("c/{number}"), "C", &document(&mut random));
        }
        for _ in 0..10 {
            database.delete(&format!("c/{}", random.between(2, 119)));
        }
        let reader = index.reader();
        let indexed = TestSource {
            database: &database,
            index: Some((&index, &reader)),
        };
        let scanned = TestSource::without_index(&database);
        for text in [
            "from C where vector.search(V, $v)",
            "from C where exact(vector.search(V, $v, 0.6))",
            "from C where G = 'b' and vector.search(V, $v, null, 5)",
            "from C where vector.search(V, $v, 0, 7) and (G = 'c' or vector.search(Ws.V, $w))",
            "from C where vector.search(embedding.f32_i8(V), $v, 0.5, 30) order by score(), id()",
            "from C where G != 'a' and not vector.search(V, $v, 0, 40)",
            "from C where vector.search(Ws.V, $many, 0, 6)",
            "from C where boost(vector.search(Ws[].V, $w), 3) or G = 'c'",
            "from C where vector.search(V, embedding.forDoc('C/0'), 0, 4)",
        ] {
            let (v, w, x) = (
                floats(&mut random),
                floats(&mut random),
                floats(&mut random),
            );
            let parameters = format!(r#"{{"v":{v},"w":{w},"many":[{w},{{"@vector":{x}}}]}}"#);
            let (found, expected) = (
                ask(text, &parameters, &indexed).unwrap(),
                ask(text, &parameters, &scanned).unwrap(),
            );
            let (mut ids, mut all) = (found.ids(), expected.ids());
            if text.contains("G =") {
                // What equal values add to a score is of the documents that are known to the index.
                ids.sort_unstable();
                all.sort_unstable();
            }
            assert_eq!(ids, all, "seed {seed}: {text}\n{parameters}");
            assert_eq!(found.outcome.total_results, expected.outcome.total_results);
        }
    }
}

#[test]
fn the_nearest_come_first_and_filters_leave_as_many() {
    let mut database = TestDatabase::default();
    for (id, body) in [
        ("c/1", r#"{"V":[1,0,0],"G":"a"}"#),
        ("c/2", r#"{"V":[0.99,0.1,0],"G":"a"}"#),
        ("c/3", r#"{"V":[0.9,0.4,0],"G":"b"}"#),
        ("c/4", r#"{"V":[0,1,0],"G":"b"}"#),
        ("c/5", r#"{"V":"AAAAAAAAAAAAAIA/","G":"c"}"#),
        ("c/6", r#"{"V":[[-1,0,0],[-1,0.1,0]],"G":"c"}"#),
        ("c/7", r#"{"V":"a text","G":"c"}"#),
    ] {
        database.put(id, "C", body);
    }
    let index = TestIndex::build(&database, Scope::Collection("C".to_owned()), &fields());
    let reader = index.reader();
    let source = TestSource {
        database: &database,
        index: Some((&index, &reader)),
    };
    let ids = |text: &str| {
        ask(text, r#"{"v":[1,0,0],"two":[1,0]}"#, &source)
            .unwrap()
            .ids()
    };
    let all = ["c/1", "c/2", "c/3", "c/4", "c/5", "c/6"];
    assert_eq!(ids("from C where vector.search(V, $v)"), all);
    assert_eq!(
        ids("from C where vector.search(V, $v) order by id() desc limit 1"),
        ["c/6"]
    );
    assert_eq!(ids("from C where vector.search(V, $v, 0.5)"), all[..5]);
    assert_eq!(
        ids("from C where G = 'c' and vector.search(V, $v, 0, 1)"),
        ["c/5"]
    );
    assert_eq!(
        ids("from C where exact(vector.search(V, $v, 0, 1)) and G = 'b'"),
        ["c/3"]
    );
    assert_eq!(
        ids("from C where true and not vector.search(V, $v, 0.9)"),
        all[3..].iter().chain(&["c/7"]).copied().collect::<Vec<_>>()
    );
    assert_eq!(
        ids("from C where vector.search(V, $v, 1.5)"),
        Vec::<String>::new()
    );
    assert_eq!(
        ids("from C where vector.search(V, null)"),
        Vec::<String>::new()
    );
    let error = ask(
        "from C where vector.search(V, $v)",
        r#"{"v":[1,0]}"#,
        &source,
    )
    .err()
    .unwrap();
    assert!(matches!(error, QueryError::Dimensions(_)));
    assert_eq!(
        error.to_string(),
        "field \"vector.search(V)\" has vectors of 3 dimensions, but the vector searched for has 2"
    );
}
