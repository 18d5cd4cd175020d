//! Random documents, histories and queries: the index, whatever it has seen, gives what evaluating
//! every document gives.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::ExecuteOptions;
use crate::bind::IndexRequirement;
use crate::costs::Costs;
use crate::facet_counts::Way;
use crate::test_source::{TestDatabase, TestIndex, TestResult, TestSource, bound, run, run_bound};

/// Deterministic random numbers (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    pub(super) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

const TEXTS: [&str; 10] = [
    "a",
    "A",
    "b",
    "Ab c",
    "ab",
    "abc",
    "10",
    "9",
    "2024-05-01T10:00:00.0000000Z",
    "\u{e9}T\u{c9}",
];
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "1.0",
    "2",
    "2.5",
    "10",
    "-3",
    "1e300",
    "9007199254740993",
    "9007199254740992",
    "9223372036854775807",
    "9223372036854775808",
];
const FIELDS: [&str; 8] = ["A", "B", "T", "T[]", "N.X", "L[].P", "L.P", "Missing"];

/// A text longer than the index keeps whole.
fn long_text(random: &mut Random) -> String {
    let end = random.pick(&["", "a", "B", "b"]);
    format!("{}{end}", "Long".repeat(130))
}

fn scalar(random: &mut Random) -> String {
    match random.below(10) {
        0 => "null".into(),
        1 => random.pick(&["true", "false"]).into(),
        2..=4 => random.pick(&NUMBERS).into(),
        5 => format!("\"{}\"", long_text(random)),
        6 => r#"{"X":1}"#.into(),
        _ => format!("\"{}\"", random.pick(&TEXTS)),
    }
}

fn document(random: &mut Random) -> String {
    let mut fields = Vec::new();
    if random.chance(80) {
        fields.push(format!("\"A\":{}", scalar(random)));
    }
    if random.chance(80) {
        fields.push(format!("\"B\":\"{}\"", random.pick(&TEXTS)));
    }
    if random.chance(60) {
        let list: Vec<String> = (0..random.below(4)).map(|_| scalar(random)).collect();
        fields.push(format!("\"T\":[{}]", list.join(",")));
    }
    if random.chance(50) {
        fields.push(format!("\"N\":{{\"X\":{}}}", scalar(random)));
    }
    if random.chance(50) {
        let (y, x) = (random.below(20), random.below(200));
        fields.push(format!("\"Y\":{y},\"X\":{}.{}", x / 10, x % 10));
    }
    if random.chance(30) {
        let (y, x) = (random.below(20), random.below(20));
        let shape = match random.below(4) {
            0 => "no shape".to_owned(),
            1 => format!("LINESTRING ({x} {y}, {y} {x})"),
            2 => format!("POLYGON ((0 0, {x} 1, {x} {y}, 0 0))"),
            _ => format!("POINT ({x} {y})"),
        };
        fields.push(format!("\"W\":\"{shape}\""));
    }
    if random.chance(50) {
        let list: Vec<String> = (0..random.below(3))
            .map(|_| format!("{{\"P\":{}}}", scalar(random)))
            .collect();
        fields.push(format!("\"L\":[{}]", list.join(",")));
    }
    format!("{{{}}}", fields.join(","))
}

fn change(database: &mut TestDatabase, random: &mut Random) {
    let id = format!("{}/{}", random.pick(&["a", "B"]), random.below(30));
    if random.chance(20) {
        database.delete(&id);
    } else {
        let collection = random.pick(&["C", "C", "C", "D"]);
        let body = document(random);
        database.put(&id, collection, &body);
    }
}

fn literal(random: &mut Random) -> String {
    match random.below(8) {
        0 => "null".into(),
        1 => "true".into(),
        2..=4 => random.pick(&NUMBERS).into(),
        5 => format!("'{}'", long_text(random)),
        _ => format!("'{}'", random.pick(&TEXTS)),
    }
}

fn test(random: &mut Random) -> String {
    let field = random.pick(&FIELDS);
    let text = random.pick(&["a", "B", "ab", "10", "", "long"]);
    match random.below(22) {
        0..=2 => format!("{field} = {}", literal(random)),
        3 => format!("{field} != {}", literal(random)),
        4..=6 => {
            let operator = random.pick(&["<", "<=", ">", ">="]);
            format!("{field} {operator} {}", literal(random))
        }
        7 => {
            let (low, high) = (random.pick(&NUMBERS), random.pick(&NUMBERS));
            format!("{field} between {low} and {high}")
        }
        8 => {
            let (a, b) = (random.pick(&TEXTS), long_text(random));
            let all = random.pick(&["", "all "]);
            format!("{field} {all}in ('{a}', '{b}', null)")
        }
        9 => format!("startsWith({field}, '{text}')"),
        10 => format!("endsWith({field}, '{text}')"),
        11 => format!("exists({field})"),
        12 => format!(
            "search({field}, 'ab {text}*', {})",
            random.pick(&["and", "or"])
        ),
        13 => format!("regex({field}, '^a.*[bc]?$')"),
        14 => format!("lucene({field}, '{text}* OR ?b -10')"),
        15 => format!("fuzzy({field} = 'abd', 0.6)"),
        16 => format!("boost({field} = '{text}' or search({field}, 'ab'), 2.5)"),
        17 => format!("search({field}, '\"ab c\" {text} *b*')"),
        19 => format!(
            "spatial.{}(spatial.point(Y, X), spatial.circle({}, {}, {}))",
            random.pick(&["within", "intersects", "disjoint"]),
            random.below(2_000),
            random.below(20),
            random.below(20),
        ),
        20 => {
            let relation = random.pick(&["within", "intersects", "disjoint", "contains"]);
            let size = 1 + random.below(20);
            let polygon = format!("POLYGON ((0 0, {size} 0, {size} {size}, 0 0))");
            format!("spatial.{relation}(spatial.wkt(W), spatial.wkt('{polygon}'))")
        }
        18 => format!("proximity(search({field}, 'c ab'), {})", random.below(4)),
        _ => match random.below(5) {
            0 => format!("id() = 'A/{}'", random.below(30)),
            1 => format!("startsWith(id(), '{}')", random.pick(&["a/1", "b/", "c"])),
            2 => format!("id() >= 'a/{}'", random.below(30)),
            3 => "endsWith(id(), '1')".into(),
            _ => format!(
                "id() in ('a/{}', 'b/{}')",
                random.below(30),
                random.below(30)
            ),
        },
    }
}

fn condition(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.chance(30) {
        let test = test(random);
        return if random.chance(15) {
            format!("exact({test})")
        } else {
            test
        };
    }
    let mut text = String::new();
    for position in 0..2 + random.below(2) {
        if position > 0 {
            text.push_str(random.pick(&[" and ", " or "]));
        }
        let not = if random.chance(20) { "not " } else { "" };
        let inner = condition(random, depth - 1);
        let _ = write!(text, "{not}({inner})");
    }
    text
}

fn order(random: &mut Random) -> String {
    let count = random.below(3);
    let mut keys = Vec::new();
    for _ in 0..count {
        let field = random.pick(&[
            "A",
            "B",
            "T",
            "N.X",
            "id()",
            "random('s')",
            "spatial.distance(spatial.point(Y, X), spatial.point(3, 4), 100)",
        ]);
        let ordering = match field {
            "id()" | "random('s')" => "",
            field if field.starts_with("spatial") => "",
            _ => random.pick(&[
                "",
                " as string",
                " as long",
                " as double",
                " as alphaNumeric",
            ]),
        };
        let direction = random.pick(&["", " desc"]);
        let nulls = random.pick(&["", " nulls first", " nulls last"]);
        keys.push(format!("{field}{ordering}{direction}{nulls}"));
    }
    if keys.is_empty() {
        String::new()
    } else {
        format!(" order by {}", keys.join(", "))
    }
}

/// The index that answers all of these queries; `None` when they need none.
fn requirement_of<'t>(texts: impl IntoIterator<Item = &'t String>) -> Option<IndexRequirement> {
    let texts = texts.into_iter();
    let requirements = texts.filter_map(|text| bound(text, "{}").unwrap().index_requirement());
    requirements.reduce(|mut all, next| {
        all.merge(&next.fields);
        all
    })
}

/// One database with its index, many queries.
fn check(seed: u64, queries: usize) {
    let mut random = Random(seed);
    let mut database = TestDatabase::default();
    let before = random.below(120);
    (0..before).for_each(|_| change(&mut database, &mut random));
    let source = random.pick(&["C", "@all_docs"]);
    let texts: Vec<String> = (0..queries)
        .map(|_| {
            let depth = random.below(3);
            let (condition, order) = (condition(&mut random, depth), order(&mut random));
            let page = match order.is_empty() {
                true => String::new(),
                false => random
                    .pick(&["", " limit 5", " limit 3 offset 4"])
                    .to_owned(),
            };
            format!("from {source} where {condition}{order}{page}")
        })
        .collect();
    let Some(requirement) = requirement_of(&texts) else {
        return;
    };
    let index = TestIndex::build(&database, requirement.scope.clone(), &requirement.fields);
    let reader = index.reader();
    let after = random.pick(&["0", "3", "60"]).parse().unwrap();
    (0..after).for_each(|_| change(&mut database, &mut random));
    let plain = TestSource::without_index(&database);
    let indexed = TestSource {
        database: &database,
        index: Some((&index, &reader)),
    };
    for text in &texts {
        let (expected, found) = (run(text, "{}", &plain), run(text, "{}", &indexed));
        let (expected, found) = (expected.unwrap(), found.unwrap());
        let (mut expected_ids, mut found_ids) = (expected.ids(), found.ids());
        if !text.contains("order by") {
            expected_ids.sort_unstable();
            found_ids.sort_unstable();
        }
        assert_eq!(
            found_ids, expected_ids,
            "seed {seed}: {text}\n{}",
            found.plan
        );
        assert_eq!(
            found.outcome.total_results, expected.outcome.total_results,
            "seed {seed}: {text}"
        );
        if !text.contains(" limit ") {
            let counted = run(&format!("{text} limit 0"), "{}", &indexed).unwrap();
            assert_eq!(
                counted.outcome.total_results, expected.outcome.total_results,
                "seed {seed}: {text} limit 0"
            );
        }
    }
}

/// Scores are of the present documents, however much of them the index has seen.
fn check_scores(seed: u64) {
    let mut random = Random(seed);
    let mut database = TestDatabase::default();
    (0..80).for_each(|_| change(&mut database, &mut random));
    let texts: Vec<String> = (0..8)
        .map(|_| {
            let depth = random.below(3);
            let condition = condition(&mut random, depth);
            format!("from C where {condition} or exists(Missing) order by score(), id()")
        })
        .collect();
    let words: Vec<String> = (0..4)
        .map(|_| {
            let (field, word) = (random.pick(&FIELDS), random.pick(&["a", "abc", "10", "et"]));
            format!("from C where search({field}, 'ab {word}') order by score()")
        })
        .collect();
    let requirement = requirement_of(texts.iter().chain(&words)).unwrap();
    let early = TestIndex::build(&database, requirement.scope.clone(), &requirement.fields);
    (0..30).for_each(|_| change(&mut database, &mut random));
    let late = TestIndex::build(&database, requirement.scope.clone(), &requirement.fields);
    let (early_reader, late_reader) = (early.reader(), late.reader());
    for text in &texts {
        let rows = [(&early, &early_reader), (&late, &late_reader)].map(|index| {
            let source = TestSource {
                database: &database,
                index: Some(index),
            };
            let found = run(text, "{}", &source).unwrap();
            let score = |row: jackdaw_document::Value<'_>| {
                row.get_path(&["@metadata", "@index-score"])
                    .unwrap()
                    .to_json()
            };
            let rows = found.rows.root().as_array().unwrap();
            let scores: Vec<String> = rows.iter().map(score).collect();
            (found.ids(), scores)
        });
        assert_eq!(rows[0], rows[1], "seed {seed}: {text}");
    }
    for text in &words {
        // Explained scores are those of all matches, which are sorted then.
        let page = random.pick(&["", " limit 3", " limit 4 offset 2"]);
        let explained = format!("{text} include explanations(){page}");
        let text = &format!("{text}{page}");
        for index in [(&early, &early_reader), (&late, &late_reader)] {
            let source = TestSource {
                database: &database,
                index: Some(index),
            };
            let (all, best) = (run(&explained, "{}", &source), run(text, "{}", &source));
            let (all, best) = (all.unwrap(), best.unwrap());
            let rows = |result: &TestResult| result.rows.root().to_json();
            assert_eq!(rows(&best), rows(&all), "seed {seed}: {text}");
            let totals = [&best, &all].map(|result| result.outcome.total_results);
            assert_eq!(totals[0], totals[1], "seed {seed}: {text}");
        }
    }
}

/// What `select` counts.
fn facet(random: &mut Random) -> String {
    let field = random.pick(&FIELDS);
    match random.below(4) {
        0 => {
            let (low, high) = (random.pick(&NUMBERS), random.pick(&NUMBERS));
            format!("facet({field} < {low}, {field} between {low} and {high}, {field} = 'long')")
        }
        1 => format!("facet({field}, sum(N.X), max(A))"),
        _ => format!("facet({field})"),
    }
}

/// Facets are of the present documents, however they are counted; how they were counted is added
/// to `ways`.
fn check_facets(seed: u64, ways: &mut BTreeSet<Way>) {
    let mut random = Random(seed);
    let mut database = TestDatabase::default();
    let before = random.below(200);
    (0..before).for_each(|_| change(&mut database, &mut random));
    let texts: Vec<String> = (0..8)
        .map(|_| {
            let condition = match random.chance(60) {
                true => format!(" where {}", condition(&mut random, 1)),
                false => String::new(),
            };
            let facets: Vec<String> = (0..=random.below(3)).map(|_| facet(&mut random)).collect();
            format!("from C{condition} select {}", facets.join(", "))
        })
        .collect();
    let requirement = requirement_of(&texts).unwrap();
    let index = TestIndex::build(&database, requirement.scope.clone(), &requirement.fields);
    let after = random.pick(&["0", "0", "3", "60"]).parse().unwrap();
    (0..after).for_each(|_| change(&mut database, &mut random));
    let reader = index.reader();
    let plain = TestSource::without_index(&database);
    let indexed = TestSource {
        database: &database,
        index: Some((&index, &reader)),
    };
    for text in &texts {
        let (expected, found) = (run(text, "{}", &plain), run(text, "{}", &indexed));
        let rows = |result: Result<TestResult, _>| result.unwrap().rows.root().to_json();
        assert_eq!(rows(found), rows(expected), "seed {seed}: {text}");
        ways.extend(ways_of(text, &indexed));
    }
}

/// How the facets of a query are counted.
fn ways_of(text: &str, source: &TestSource<'_>) -> Vec<Way> {
    let steps = steps_of(text, source);
    let all = [Way::Counts, Way::Lists, Way::Column, Way::Documents];
    let is_used = |way: &Way| steps.iter().any(|step| step.ends_with(way.text()));
    all.into_iter().filter(is_used).collect()
}

/// What running a query consists of.
fn steps_of(text: &str, source: &TestSource<'_>) -> Vec<String> {
    let clock = || 0;
    let costs = Costs::new(&clock);
    let options = ExecuteOptions {
        costs: Some(&costs),
        ..ExecuteOptions::default()
    };
    run_bound(&bound(text, "{}").unwrap(), source, &options).unwrap();
    let steps = costs.into_steps().into_iter();
    steps.map(|step| step.what.to_string()).collect()
}

/// The first of all documents in an order; queries that did not look up all entries are added to
/// `walked`.
fn check_first(seed: u64, walked: &mut BTreeSet<String>) {
    let mut random = Random(seed);
    let mut database = TestDatabase::default();
    for number in 0..400 {
        let body = document(&mut random);
        // A number that all have.
        let has_more = body.len() > 2;
        let (value, comma) = (random.below(50), if has_more { "," } else { "" });
        let body = format!("{{\"Z\":{value}{comma}{}", &body[1..]);
        database.put(&format!("a/{number}"), "C", &body);
    }
    let ordered = ["Z as long", "Z as long desc, A", "Z as double, id()"];
    let ordered = ordered.map(|order| format!("from C order by {order} limit 3"));
    let texts: Vec<String> = (0..12)
        .map(|_| {
            let (order, page) = (order(&mut random), 1 + random.below(3));
            let offset = random.pick(&["", "", " offset 1"]);
            format!("from C{order} limit {page}{offset}")
        })
        .filter(|text| text.contains("order by"))
        .chain(ordered)
        .collect();
    let requirement = requirement_of(&texts).unwrap();
    let index = TestIndex::build(&database, requirement.scope.clone(), &requirement.fields);
    let after = random.pick(&["0", "0", "3"]).parse().unwrap();
    (0..after).for_each(|_| change(&mut database, &mut random));
    let reader = index.reader();
    let plain = TestSource::without_index(&database);
    let indexed = TestSource {
        database: &database,
        index: Some((&index, &reader)),
    };
    // Columns are there from the second time on.
    for text in texts.iter().chain(&texts).chain(&texts) {
        let (expected, found) = (run(text, "{}", &plain), run(text, "{}", &indexed));
        let (expected, found) = (expected.unwrap(), found.unwrap());
        assert_eq!(found.ids(), expected.ids(), "seed {seed}: {text}");
        let totals = [&found, &expected].map(|result| result.outcome.total_results);
        assert_eq!(totals[0], totals[1], "seed {seed}: {text}");
        let steps = steps_of(text, &indexed);
        let is_walk = |step: &String| step.ends_with("by walking the index");
        let has_set = steps.iter().any(|step| step == "look up in the index");
        if steps.iter().any(is_walk) && !has_set {
            walked.insert(text.clone());
        }
    }
}

#[test]
fn the_first_of_all_are_found_without_a_list_of_all() {
    let mut walked = BTreeSet::new();
    (0..30).for_each(|seed| check_first(seed, &mut walked));
    let ascends = walked.contains("from C order by Z as long limit 3");
    assert!(ascends && walked.len() > 20, "{walked:?}");
}

#[test]
fn facets_count_what_documents_say() {
    let mut ways = BTreeSet::new();
    (0..100).for_each(|seed| check_facets(seed, &mut ways));
    assert_eq!(ways.len(), 4, "{ways:?}");
}

#[test]
fn scores_do_not_depend_on_what_the_index_has_seen() {
    (0..60).for_each(check_scores);
}

#[test]
fn index_execution_equals_evaluation() {
    for seed in 0..120 {
        check(seed, 12);
    }
}
