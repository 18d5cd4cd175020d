//! Proves that `explain` gives the plan and runs nothing, that `explain analyze` names the steps of
//! each way to answer with what they found and read, and that deletes are not explained.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

use std::time::Duration;

use jackdaw_database::{Database, QueryError, QueryRequest, RowBuffer, StaticDefinition};
use jackdaw_document::{DocumentBuf, Object};
use jackdaw_sim::SimVfs;

use crate::common::{json, open, store};

/// One row: the explanation.
fn ask(database: &Database, text: &str) -> DocumentBuf {
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text,
        wait: Some(Duration::from_secs(30)),
        ..QueryRequest::default()
    };
    let result = database.query(&request, &mut rows);
    let result = result.unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(result.outcome.row_count, 1);
    json(&String::from_utf8(rows.rows).unwrap())
}

struct Explained(DocumentBuf);

impl Explained {
    fn root(&self) -> Object<'_> {
        self.0.root().as_object().unwrap()
    }

    fn text(&self) -> &str {
        self.root().get("Text").unwrap().as_str().unwrap()
    }

    fn steps(&self) -> Vec<Object<'_>> {
        let steps = self.root().get("Steps").unwrap().as_array().unwrap();
        steps.iter().map(|step| step.as_object().unwrap()).collect()
    }

    /// What a member of the step says whose words begin so.
    fn of(&self, step: &str, member: &str) -> i64 {
        let steps = self.steps();
        let words = |step: &Object<'_>| step.get("Step").unwrap().as_str().unwrap().to_owned();
        let found = steps.iter().find(|found| words(found).starts_with(step));
        let found = found.unwrap_or_else(|| panic!("no step '{step}': {}", self.text()));
        found.get(member).unwrap().as_i64().unwrap()
    }

    fn has(&self, step: &str) -> bool {
        self.text().contains(step)
    }
}

/// Runs `explain analyze`; what holds of every tree of steps is looked at.
fn analyze(database: &Database, text: &str) -> Explained {
    let explained = Explained(ask(database, &format!("explain analyze {text}")));
    let number = |step: &Object<'_>, name| step.get(name).unwrap().as_i64().unwrap();
    let steps = explained.steps();
    assert_eq!(steps[0].get("Step").unwrap().as_str(), Some("query"));
    for name in [
        "Nanoseconds",
        "PageBytes",
        "DocumentsRead",
        "EntriesRead",
        "BytesRead",
    ] {
        let of_parts = steps.iter().filter(|step| number(step, "Depth") == 1);
        let of_parts: i64 = of_parts.map(|step| number(step, name)).sum();
        let whole = number(&steps[0], name);
        assert!(of_parts <= whole, "{name}: {}", explained.text());
    }
    assert!(steps[1..].iter().all(|step| number(step, "Depth") > 0));
    explained
}

fn songs() -> std::sync::Arc<Database> {
    let database = open(&SimVfs::new(1));
    for (number, (title, latitude)) in [
        ("sand and wind", 10.0),
        ("sand worm", 11.0),
        ("rain", 12.0),
        ("red sand", 50.0),
    ]
    .into_iter()
    .enumerate()
    {
        let body = format!(
            r#"{{"Title":"{title}","Year":{},"Genre":"g{}","Lat":{latitude},"Lng":0}}"#,
            1990 + number,
            number % 2
        );
        store(&database, &format!("songs/{number}"), "Songs", &body);
    }
    database
}

fn put_index(database: &Database, name: &str, map: &str, more: &str) {
    let text = format!(r#"{{"Name":"{name}","Maps":[{map:?}]{more}}}"#);
    let definition = StaticDefinition::read(json(&text).root().as_object().unwrap());
    database.put_index(definition.unwrap()).unwrap();
}

#[test]
fn a_plan_is_told_and_not_run() {
    let database = songs();
    let plan = Explained(ask(
        &database,
        "explain from Songs where Year > 1990 order by Title",
    ));
    assert!(plan.text().starts_with("Auto/Songs/ByTitleAndYear\n"));
    assert!(plan.has("Year > 1990") && plan.has("order by Title"));
    assert!(plan.root().get("Steps").is_none());
}

#[test]
fn each_way_to_answer_has_its_steps() {
    let database = songs();
    let ids = analyze(&database, "from Songs where id() = 'songs/1'");
    assert_eq!(ids.of("read 1 ids", "Found"), 1);
    let scan = analyze(&database, "from Songs");
    assert_eq!(scan.of("read documents, write rows", "DocumentsRead"), 4);
    let groups = analyze(
        &database,
        "from Songs group by Genre select count(), key() as Genre",
    );
    assert_eq!(groups.of("read and group", "Found"), 2);
    assert_eq!(groups.of("read and group", "DocumentsRead"), 4);
    assert_eq!(groups.of("look at every group", "DocumentsRead"), 0);
    let indexed = analyze(
        &database,
        "from Songs where Year > 1990 and Genre = 'g1' include Other",
    );
    assert_eq!(indexed.of("look up in the index", "Found"), 2);
    assert!(indexed.has("Year > 1990") || indexed.has("Genre = 'g1'"));
    assert!(indexed.of("query", "PageBytes") > 0);
    let without = analyze(
        &database,
        "from Songs where Year > 1990 and not Genre = 'g1'",
    );
    assert_eq!(without.of("take away", "Found"), 2);
    assert_eq!(without.of("look up in the index", "Found"), 1);
    assert_eq!(indexed.of("read documents, write rows", "DocumentsRead"), 2);
}

#[test]
fn full_text_places_facets_and_terms_have_their_steps() {
    let database = songs();
    let search = analyze(
        &database,
        "from Songs where search(Title, 'sand') order by score()",
    );
    assert_eq!(search.of("score the words, keep the best", "Found"), 3);
    let both = analyze(
        &database,
        "from Songs where search(Title, 'sand') and Year > 1 order by score()",
    );
    assert_eq!(both.of("look up in the index", "Found"), 3);
    assert_eq!(both.of("score the matches", "Found"), 3);
    assert_eq!(both.of("order by score(), by sorting", "Found"), 3);
    let point = "spatial.point(Lat, Lng)";
    let places = analyze(
        &database,
        &format!(
            "from Songs where spatial.within({point}, spatial.circle(400, 10, 0)) \
             order by spatial.distance({point}, spatial.point(10, 0))"
        ),
    );
    assert_eq!(places.of("measure distances of ", "Found"), 3);
    assert_eq!(places.of("query", "Found"), 3);
    let facets = analyze(
        &database,
        "from Songs where Year > 1990 select facet(Genre)",
    );
    assert_eq!(facets.of("count facet Genre over 3 matches", "Found"), 2);
    assert_eq!(facets.of("query", "Found"), 1);
    let suggested = analyze(&database, "from Songs select suggest(Genre, 'g3')");
    assert_eq!(suggested.of("compare the terms of Genre", "Found"), 2);
}

#[test]
fn static_indexes_tell_their_entries_and_how_stale_they_are() {
    let database = songs();
    let map = "map('Songs', s => ({ Title: s.Title, Decade: s.Year - s.Year % 10 }))";
    let fields = r#","Fields":{"Title":{"Indexing":"Search"}}"#;
    put_index(&database, "Songs/ByTitle", map, fields);
    let from = "from index 'Songs/ByTitle' where search(Title, 'sand')";
    let plan = Explained(ask(&database, &format!("explain {from}")));
    assert!(!plan.has("has not seen"), "{}", plan.text());
    let found = analyze(&database, &format!("{from} order by Title"));
    assert!(found.text().starts_with("Songs/ByTitle, fresh\n"));
    assert!(!found.has("has not seen"), "{}", found.text());
    assert_eq!(found.of("look up in the index", "Found"), 3);
    assert_eq!(found.of("query", "Found"), 3);
    assert!(found.of("read documents, write rows", "EntriesRead") >= 3);
    let like = "from index 'Songs/ByTitle' where moreLikeThis(id() = 'songs/1')";
    assert!(analyze(&database, like).has("choose the terms of moreLikeThis()"));

    let map = "map('Songs', s => ({ Genre: s.Genre, Count: 1 }))";
    let sum = "g.values.reduce((sum, x) => sum + x.Count, 0)";
    let reduce =
        format!("groupBy(x => x.Genre).aggregate(g => ({{ Genre: g.key, Count: {sum} }}))");
    put_index(
        &database,
        "Songs/Count",
        map,
        &format!(r#","Reduce":{reduce:?}"#),
    );
    let counts = analyze(&database, "from index 'Songs/Count' where Count > 1");
    assert_eq!(counts.of("read results, write rows", "Found"), 2);
    assert_eq!(counts.of("query", "DocumentsRead"), 0);
    assert!(counts.of("query", "EntriesRead") >= 2);

    assert!(database.pause_index("Songs/ByTitle", true));
    store(&database, "songs/9", "Songs", r#"{"Title":"more sand"}"#);
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text: &format!("explain analyze {from}"),
        ..QueryRequest::default()
    };
    database.query(&request, &mut rows).unwrap();
    let stale = Explained(json(&String::from_utf8(rows.rows).unwrap()));
    assert!(
        stale
            .text()
            .starts_with("Songs/ByTitle, stale by 1 changes\n")
    );
    assert!(stale.has("wait for the index"));
}

#[test]
fn pages_are_touched_for_the_first_time_once() {
    let vfs = SimVfs::new(3);
    let database = open(&vfs);
    let text = "x".repeat(300_000);
    store(&database, "a/1", "A", &format!(r#"{{"T":"{text}"}}"#));
    drop(database);
    let database = open(&vfs);
    let query = "from A where id() = 'a/1'";
    let first = analyze(&database, query);
    assert!(first.of("query", "PagesFirstTouched") > 0);
    assert!(first.of("query", "PageBytes") > 300_000);
    assert!(first.of("query", "BytesRead") > 300_000);
    let again = analyze(&database, query);
    assert_eq!(again.of("query", "PagesFirstTouched"), 0);
    assert!(again.of("query", "PagesFromFile") > 0);
}

#[test]
fn what_deletes_documents_is_not_explained() {
    let database = songs();
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text: "explain from Songs",
        without_rows: true,
        ..QueryRequest::default()
    };
    let refused = database.query(&request, &mut rows);
    assert!(matches!(refused, Err(QueryError::Syntax(_))), "{refused:?}");
}
