//! Groups that are kept and brought up to date are those of all documents.

use std::collections::BTreeSet;

use super::differential::Random;
use crate::costs::Costs;
use crate::execute::ExecuteOptions;
use crate::groups::KeptGroups;
use crate::test_source::{TestDatabase, TestSource, bound, run, run_bound};

const QUERIES: [&str; 7] = [
    "from C group by K select K, count(), sum(N)",
    "from C group by K where count() > 2 select key(), count(), sum(N), sum(D)",
    "from @all_docs group by K, N select K, N, count()",
    "from C group by L[].P select L[].P, count(), sum(L[].Q)",
    "from C group by array(T) select key(), count()",
    "from D group by @metadata.'@collection' select key(), sum(D)",
    "from C group by D, T select D, count(), sum(L[].Q)",
];

fn document(random: &mut Random) -> String {
    let key = random.pick(&["\"a\"", "\"B\"", "\"b\"", "1", "null", "{\"X\":1}"]);
    let number = random.pick(&["0", "1", "-7", "9223372036854775807", "null"]);
    let double = random.pick(&["0.5", "2.25", "3", "1e300", "-4.75", "null"]);
    let lines: Vec<String> = (0..random.below(3))
        .map(|_| {
            let name = random.pick(&["\"p\"", "\"q\"", "null"]);
            format!("{{\"P\":{name},\"Q\":{}}}", random.below(9))
        })
        .collect();
    let tags = random.pick(&["[]", "[\"r\"]", "[\"r\",\"s\"]", "null"]);
    let lines = lines.join(",");
    format!("{{\"K\":{key},\"N\":{number},\"D\":{double},\"L\":[{lines}],\"T\":{tags}}}")
}

fn change(database: &mut TestDatabase, random: &mut Random) {
    let id = format!("a/{}", random.below(60));
    if random.below(4) == 0 {
        database.delete(&id);
    } else {
        let collection = random.pick(&["C", "C", "D"]);
        database.put(&id, collection, &document(random));
    }
}

/// The rows in no order, and the first step.
fn rows(database: &TestDatabase, text: &str) -> (Vec<String>, String) {
    let clock = || 0;
    let costs = Costs::new(&clock);
    let options = ExecuteOptions {
        costs: Some(&costs),
        ..ExecuteOptions::default()
    };
    let source = TestSource::without_index(database);
    let result = run_bound(&bound(text, "{}").unwrap(), &source, &options).unwrap();
    let rows = result.rows.root().as_array().unwrap();
    let mut rows: Vec<String> = rows.iter().map(|row| row.to_json()).collect();
    rows.sort_unstable();
    (rows, costs.into_steps().swap_remove(0).what.to_string())
}

fn check(seed: u64, bytes_max: usize, steps: &mut BTreeSet<String>) {
    println!("JACKDAW_SEED={seed}");
    let mut random = Random(seed);
    let mut database = TestDatabase::default();
    let mut kept = KeptGroups::new(bytes_max);
    for _ in 0..40 {
        (0..random.below(30)).for_each(|_| change(&mut database, &mut random));
        let text = random.pick(&QUERIES);
        let (expected, _) = rows(&database, text);
        if random.below(10) == 0 {
            kept.forget_deletions(database.etag());
        }
        database.kept_groups = Some(kept);
        let (found, step) = rows(&database, text);
        kept = database.kept_groups.take().unwrap();
        assert_eq!(found, expected, "seed {seed}: {text}, {step}");
        assert!(kept.len_bytes() <= bytes_max, "seed {seed}: {text}");
        steps.insert(step);
    }
}

#[test]
fn kept_groups_are_those_of_all_documents() {
    let mut steps = BTreeSet::new();
    for seed in 0..40 {
        check(seed, 1 << 20, &mut steps);
    }
    let all = [
        "bring kept groups up to date",
        "read and group",
        "take groups that are kept",
    ];
    assert_eq!(steps, all.map(str::to_owned).into());
}

#[test]
fn groups_that_take_too_much_memory_are_made_anew() {
    let mut steps = BTreeSet::new();
    for seed in 40..60 {
        check(seed, 2_000, &mut steps);
    }
    assert!(steps.contains("read and group"), "{steps:?}");
    let mut steps = BTreeSet::new();
    check(60, 0, &mut steps);
    assert!(steps.iter().all(|step| step.starts_with("read and group")));
    assert!(steps.contains("read and group, without memory to keep that"));
}

/// Documents in two groups, numbered on from `from`.
fn put_many(database: &mut TestDatabase, from: usize, count: usize) {
    for number in from..from + count {
        let body = format!(r#"{{"K":{},"N":2,"D":{number}.5}}"#, number % 2);
        database.put(&format!("a/{number}"), "C", &body);
    }
}

#[test]
fn groups_that_outgrow_their_memory_while_they_are_brought_up_to_date_are_made_anew() {
    let text = "from C group by K select K, count(), sum(N), sum(D)";
    let mut database = TestDatabase::default();
    put_many(&mut database, 0, 20);
    database.kept_groups = Some(KeptGroups::new(1 << 20));
    rows(&database, text);
    let len_bytes = database.kept_groups.as_ref().unwrap().len_bytes();
    database.kept_groups = Some(KeptGroups::new(len_bytes + 200));
    rows(&database, text);
    assert_eq!(rows(&database, text).1, "take groups that are kept");
    // New ones take the memory, before those that are known are met.
    put_many(&mut database, 20, 30);
    put_many(&mut database, 0, 10);
    let (found, step) = rows(&database, text);
    assert_eq!(step, "bring kept groups up to date");
    let kept = database.kept_groups.take();
    let (expected, _) = rows(&database, text);
    assert_eq!(found, expected);
    database.kept_groups = kept;
    let (found, step) = rows(&database, text);
    assert_eq!(
        (found, &*step),
        (expected, "read and group, without memory to keep that")
    );
    // Fewer may fit again.
    (0..40).for_each(|number| database.delete(&format!("a/{number}")));
    rows(&database, text);
    assert_eq!(rows(&database, text).1, "take groups that are kept");
}

#[test]
fn a_query_that_may_read_documents_does_not_take_later_groups() {
    let put = |database: &mut TestDatabase, id: &str| database.put(id, "C", r#"{"K":"x"}"#);
    let count = "from C group by K select K, count()";
    let script = "from C as c group by c.K select { K: c.K, N: c.Count }";
    let (mut earlier, mut later) = (TestDatabase::default(), TestDatabase::default());
    put(&mut earlier, "a/1");
    put(&mut later, "a/1");
    put(&mut later, "a/2");
    later.kept_groups = Some(KeptGroups::new(1 << 20));
    let newest = rows(&later, count).0;
    earlier.kept_groups = later.kept_groups.take();
    // Groups alone are of one moment, whichever.
    let (found, step) = rows(&earlier, count);
    assert_eq!((found, &*step), (newest, "take groups that are kept"));
    let (found, step) = rows(&earlier, script);
    assert_eq!(step, "read and group, as of an earlier moment");
    assert!(found.first().unwrap().contains("\"N\":1"), "{found:?}");
}

#[test]
fn a_sum_that_fails_keeps_nothing() {
    let mut database = TestDatabase::default();
    database.kept_groups = Some(KeptGroups::new(1 << 20));
    let text = "from C group by K select K, sum(N)";
    database.put("a/1", "C", r#"{"K":"x","N":1}"#);
    rows(&database, text);
    database.put("a/2", "C", r#"{"K":"x","N":"no number"}"#);
    let failed = run(text, "{}", &TestSource::without_index(&database));
    let message = failed.err().unwrap().to_string();
    assert!(message.contains("document 'a/2'"), "{message}");
    assert_eq!(database.kept_groups.as_ref().unwrap().len_bytes(), 0);
    database.put("a/2", "C", r#"{"K":"x","N":2}"#);
    let (found, step) = rows(&database, text);
    assert_eq!(step, "read and group");
    assert!(found.first().unwrap().contains("\"N\":3"), "{found:?}");
}
