//! Static indexes: definitions, what queries over them give, and that after any changes, starts and
//! power losses they hold what an index made anew holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackdaw_database::{
    Command, CounterAction, CounterOperation, Database, ExchangeChange, IndexState, IndexStatus,
    LockMode, Priority, ProjectionBehavior, PutIndexError, QueryError, QueryRequest, QueryResult,
    RowBuffer, StaticDefinition,
};

use jackdaw_sim::{CrashChoice, Rng, SimVfs};

use crate::common::{delete, json, open, put, store};

const LONG: Duration = Duration::from_secs(30);

fn definition(text: &str) -> StaticDefinition {
    StaticDefinition::read(json(text).root().as_object().unwrap()).unwrap()
}

/// A definition of maps, with further members as JSON.
fn of_maps(name: &str, maps: &[&str], more: &str) -> StaticDefinition {
    let maps: Vec<String> = maps.iter().map(|map| format!("{map:?}")).collect();
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(",{more}")
    };
    definition(&format!(
        r#"{{"Name":"{name}","Maps":[{}]{more}}}"#,
        maps.join(",")
    ))
}

fn run(database: &Database, text: &str, more: QueryRequest<'_>) -> (QueryResult, Vec<String>) {
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text,
        wait: Some(LONG),
        ..more
    };
    let result = database.query(&request, &mut rows);
    let result = result.unwrap_or_else(|error| panic!("{text}: {error}"));
    let list = format!("[{}]", String::from_utf8(rows.rows).unwrap());
    let list = json(&list);
    let rows = list.root().as_array().unwrap();
    (result, rows.iter().map(|row| row.to_json()).collect())
}

fn query(database: &Database, text: &str) -> Vec<String> {
    run(database, text, QueryRequest::default()).1
}

/// Rows as JSON without metadata, in the order of their text.
fn plain(database: &Database, text: &str) -> Vec<String> {
    let mut rows: Vec<String> = query(database, text)
        .iter()
        .map(|row| {
            let row = json(row);
            let members = row.root().as_object().unwrap();
            let members = members.iter().filter(|(name, _)| *name != "@metadata");
            let members = members.map(|(name, value)| format!("{name}:{}", value.to_json()));
            members.collect::<Vec<_>>().join(" ")
        })
        .collect();
    rows.sort();
    rows
}

/// The ids of rows, in an order of their own.
fn ids(database: &Database, text: &str) -> Vec<String> {
    let mut ids = ids_in_order(database, text);
    ids.sort();
    ids
}

/// The ids of rows in the order of the query.
fn ids_in_order(database: &Database, text: &str) -> Vec<String> {
    let id = |row: &String| {
        let row = json(row);
        row.root()
            .get_path(&["@metadata", "@id"])
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    query(database, text).iter().map(id).collect()
}

#[test]
fn a_map_is_asked_by_its_fields() {
    let database = open(&SimVfs::new(1));
    store(&database, "users/1", "Users", r#"{"name":"John","age":30}"#);
    let map = "map('Users', u => ({ name: u.name, year: 2026 - u.age }))";
    database
        .put_index(of_maps("Users/ByName", &[map], ""))
        .unwrap();
    store(&database, "users/2", "Users", r#"{"name":"jane","age":20}"#);
    store(&database, "cats/1", "Cats", r#"{"name":"Tom"}"#);
    let from = "from index 'users/byname'";
    assert_eq!(ids(&database, from), ["users/1", "users/2"]);
    assert_eq!(
        ids(&database, &format!("{from} where name = 'JOHN'")),
        ["users/1"]
    );
    assert_eq!(
        ids(&database, &format!("{from} where year > 2000")),
        ["users/2"]
    );
    assert_eq!(
        ids(&database, &format!("{from} where id() = 'Users/2'")),
        ["users/2"]
    );
    assert_eq!(
        ids(
            &database,
            &format!("{from} where startsWith(id(), 'users')")
        )
        .len(),
        2
    );
    let ordered = query(
        &database,
        &format!("{from} order by year as long desc select name"),
    );
    assert!(ordered[0].starts_with(r#"{"name":"jane""#), "{ordered:?}");
    database.batch(vec![delete("users/1")]).unwrap();
    assert_eq!(ids(&database, from), ["users/2"]);
    let refused = |text: &str| {
        let request = QueryRequest {
            text,
            ..QueryRequest::default()
        };
        database
            .query(&request, &mut RowBuffer::default())
            .unwrap_err()
    };
    let error = refused("from index 'Users/ByName' where nope = 1").to_string();
    assert!(
        error.starts_with("The field 'nope' is not indexed in 'Users/ByName'"),
        "{error}"
    );
    assert!(matches!(
        refused("from index 'Nope'"),
        QueryError::IndexMissing(_)
    ));
}

#[test]
fn maps_in_two_languages_fill_one_index() {
    let database = open(&SimVfs::new(2));
    for (id, collection) in [("cats/1", "Cats"), ("dogs/1", "Dogs")] {
        store(&database, id, collection, r#"{"Name":"Rex"}"#);
    }
    let maps = [
        "from c in docs.Cats select new { c.Name }",
        "from d in docs.Dogs select new { d.Name }",
    ];
    database.put_index(of_maps("Pets", &maps, "")).unwrap();
    assert_eq!(
        ids(&database, "from index 'Pets' where Name = 'rex'"),
        ["cats/1", "dogs/1"]
    );
    let infos = database.indexes().unwrap();
    assert_eq!(infos[0].collections, ["Cats", "Dogs"]);
}

#[test]
fn a_document_with_several_entries_is_one_row() {
    let database = open(&SimVfs::new(3));
    store(
        &database,
        "o/1",
        "Orders",
        r#"{"L":[{"P":"a","Q":1},{"P":"b","Q":2}]}"#,
    );
    store(&database, "o/2", "Orders", r#"{"L":[{"P":"a","Q":3}]}"#);
    let map = "from o in docs.Orders from l in o.L select new { l.P, l.Q }";
    database
        .put_index(of_maps(
            "Lines",
            &[map],
            r#""Fields":{"Q":{"Storage":"Yes"}}"#,
        ))
        .unwrap();
    let (result, rows) = run(&database, "from index 'Lines'", QueryRequest::default());
    assert_eq!(result.outcome.total_results, Some(3));
    assert_eq!((rows.len(), result.outcome.skipped_results), (2, 1));
    assert_eq!(ids(&database, "from index 'Lines' where P = 'b'"), ["o/1"]);
    // Fields that the index keeps come from it, others from the document, which has none.
    let rows = plain(&database, "from index 'Lines' select P, Q");
    assert_eq!(rows, ["P:null Q:1", "P:null Q:2", "P:null Q:3"]);
    let insisting = QueryRequest {
        text: "from index 'Lines' select P",
        projection: ProjectionBehavior::FromIndexOrThrow,
        ..QueryRequest::default()
    };
    assert!(
        database
            .query(&insisting, &mut RowBuffer::default())
            .is_err()
    );
}

#[test]
fn groups_follow_their_documents() {
    let database = open(&SimVfs::new(4));
    let map = "map('Users', u => ({ city: u.city, count: 1 }))";
    let reduce = "groupBy(x => x.city).aggregate(g => ({ city: g.key, count: \
         g.values.reduce((s, v) => s + v.count, 0) }))";
    let more = format!(r#""Reduce":{reduce:?}"#);
    database
        .put_index(of_maps("Cities", &[map], &more))
        .unwrap();
    for (number, city) in ["Oslo", "Rome", "Oslo"].iter().enumerate() {
        store(
            &database,
            &format!("u/{number}"),
            "Users",
            &format!(r#"{{"city":"{city}"}}"#),
        );
    }
    let from = "from index 'Cities'";
    assert_eq!(
        plain(&database, from),
        ["city:\"Oslo\" count:2", "city:\"Rome\" count:1"]
    );
    store(&database, "u/0", "Users", r#"{"city":"Rome"}"#);
    assert_eq!(
        plain(&database, &format!("{from} where count > 1")),
        ["city:\"Rome\" count:2"]
    );
    database.batch(vec![delete("u/2")]).unwrap();
    let row = query(&database, from);
    assert_eq!(
        row,
        [r#"{"city":"Rome","count":2,"@metadata":{"@change-vector":null}}"#]
    );
    let bulk = QueryRequest {
        text: from,
        without_rows: true,
        ..QueryRequest::default()
    };
    assert!(database.query(&bulk, &mut RowBuffer::default()).is_err());
}

#[test]
fn a_large_group_is_reduced_in_runs() {
    let database = open(&SimVfs::new(5));
    let map = "from u in docs.Users select new { Key = \"all\", Sum = u.n, Count = 1 }";
    let reduce = "from r in results group r by r.Key into g select new { Key = g.Key, Sum = \
         g.Sum(x => x.Sum), Count = g.Sum(x => x.Count) }";
    let more = format!(r#""Reduce":{reduce:?}"#);
    database.put_index(of_maps("All", &[map], &more)).unwrap();
    let batch = |from: u64, to: u64, n: u64| {
        let commands =
            (from..to).map(|id| put(&format!("u/{id}"), "Users", &format!(r#"{{"n":{n}}}"#)));
        database.batch(commands.collect()).unwrap();
    };
    let expect = |sum: u64, count: u64| {
        let expected = format!("Key:\"all\" Sum:{sum} Count:{count}");
        assert_eq!(plain(&database, "from index 'All'"), [expected]);
    };
    batch(0, 700, 1);
    expect(700, 700);
    batch(0, 10, 5);
    expect(740, 700);
    database
        .batch((0..600).map(|id| delete(&format!("u/{id}"))).collect())
        .unwrap();
    expect(100, 100);
}

#[test]
fn documents_come_back_when_what_they_load_changes() {
    let database = open(&SimVfs::new(6));
    let map = "map('Books', b => ({ author: load(b.by, 'Authors').name }))";
    database
        .put_index(of_maps("Books/ByAuthor", &[map], ""))
        .unwrap();
    store(&database, "b/1", "Books", r#"{"by":"a/1"}"#);
    let find = |name: &str| {
        ids(
            &database,
            &format!("from index 'Books/ByAuthor' where author = '{name}'"),
        )
        .len()
    };
    assert_eq!(find("Ann"), 0);
    store(&database, "a/1", "Authors", r#"{"name":"Ann"}"#);
    assert_eq!((find("Ann"), find("Bea")), (1, 0));
    store(&database, "A/1", "Authors", r#"{"name":"Bea"}"#);
    assert_eq!((find("Ann"), find("Bea")), (0, 1));
    database.batch(vec![delete("a/1")]).unwrap();
    assert_eq!(find("Bea"), 0);
}

#[test]
fn documents_come_back_when_compare_exchange_changes() {
    let database = open(&SimVfs::new(7));
    let map = "map('Users', u => ({ city: cmpxchg(u.key).city }))";
    database.put_index(of_maps("Cities", &[map], "")).unwrap();
    store(&database, "u/1", "Users", r#"{"key":"Home"}"#);
    let find = |city: &str| {
        ids(
            &database,
            &format!("from index 'Cities' where city = '{city}'"),
        )
        .len()
    };
    assert_eq!(find("Oslo"), 0);
    let value =
        |city: &str| ExchangeChange::Put(json(&format!(r#"{{"Object":{{"city":"{city}"}}}}"#)));
    let first = database.change_exchange("home", 0, value("Oslo")).unwrap();
    assert_eq!(find("Oslo"), 1);
    database
        .change_exchange("home", first.index, value("Rome"))
        .unwrap();
    assert_eq!((find("Oslo"), find("Rome")), (0, 1));
}

#[test]
fn counters_are_mapped_by_themselves() {
    let vfs = SimVfs::new(8);
    let database = open(&vfs);
    let map = "counters.map('Posts', 'Likes', c => ({ likes: c.Value, post: c.DocumentId }))";
    database.put_index(of_maps("Likes", &[map], "")).unwrap();
    store(&database, "p/1", "Posts", "{}");
    let count = |database: &Database, delta: i64| {
        let operation = CounterOperation {
            name: "likes".to_owned(),
            action: CounterAction::Increment(delta),
        };
        let command = Command::Counters {
            id: "p/1".to_owned(),
            operations: vec![operation],
        };
        database.batch(vec![command]).unwrap();
    };
    let find = |database: &Database, likes: i64| {
        let text = format!("from index 'Likes' where likes = {likes}");
        query(database, &text).len()
    };
    count(&database, 2);
    assert_eq!(find(&database, 2), 1);
    count(&database, 3);
    assert_eq!((find(&database, 2), find(&database, 5)), (0, 1));
    // Entries are the rows.
    let rows = query(&database, "from index 'Likes'");
    let expected = r#"{"likes":5,"post":"p/1","@metadata":{"@change-vector":null}}"#;
    assert_eq!(rows, [expected]);
    assert!(database.pause_index("Likes", true));
    count(&database, 4);
    drop(database);
    let database = open(&vfs);
    assert_eq!((find(&database, 5), find(&database, 9)), (0, 1));
}

#[test]
fn spans_and_decimals_are_texts_that_compare_as_numbers() {
    let database = open(&SimVfs::new(8));
    let map = "from o in docs.Orders select new { \
               delay = o.shipped - ((DateTime?)o.ordered), price = (decimal)o.price }";
    let stored = r#""Fields":{"__all_fields":{"Storage":"Yes"}}"#;
    database
        .put_index(of_maps("Delays", &[map], stored))
        .unwrap();
    for (id, shipped, price) in [("o/1", "T10:00", 21.5), ("o/2", "T14:30", 7.0)] {
        let dates =
            format!(r#""shipped":"2026-01-01{shipped}:00","ordered":"2026-01-01T08:00:00""#);
        let body = format!(r#"{{{dates},"price":{price:?}}}"#);
        store(&database, id, "Orders", &body);
    }
    for (condition, expected) in [
        ("delay < 108000000000.0", ["o/1"]),
        ("delay > 108000000000", ["o/2"]),
        ("delay = '02:00:00'", ["o/1"]),
        ("price > 10", ["o/1"]),
        ("price = 7", ["o/2"]),
    ] {
        let text = format!("from index 'Delays' where {condition}");
        assert_eq!(ids(&database, &text), expected, "{condition}");
    }
    let rows = query(
        &database,
        "from index 'Delays' where price > 10 select delay, price",
    );
    assert!(
        rows[0].starts_with(r#"{"delay":"02:00:00","price":"21.5","#),
        "{rows:?}"
    );
}

#[test]
fn a_document_that_cannot_be_mapped_is_told_and_the_others_are_there() {
    let database = open(&SimVfs::new(9));
    let map = "from u in docs.Users select new { a = 10 / u.n }";
    database.put_index(of_maps("Div", &[map], "")).unwrap();
    for n in 0..3 {
        store(
            &database,
            &format!("u/{n}"),
            "Users",
            &format!(r#"{{"n":{n}}}"#),
        );
    }
    assert_eq!(ids(&database, "from index 'Div'"), ["u/1", "u/2"]);
    let errors = || database.index_errors(&["div".to_owned()]).unwrap().unwrap();
    let (name, list) = &errors()[0];
    assert_eq!((name.as_str(), list.len()), ("Div", 1));
    assert_eq!(list[0].document.as_deref(), Some("u/0"));
    assert!(
        list[0]
            .error
            .starts_with("Failed to execute mapping function on u/0."),
        "{list:?}"
    );
    store(&database, "u/0", "Users", r#"{"n":5}"#);
    assert_eq!(ids(&database, "from index 'Div'").len(), 3);
    let info = &database.indexes().unwrap()[0];
    assert_eq!((info.work.map_errors, info.error_count), (1, 1));
    database.clear_index_errors(&[]).unwrap().unwrap();
    assert!(errors()[0].1.is_empty());
    assert!(
        database
            .index_errors(&["Nope".to_owned()])
            .unwrap()
            .is_err()
    );
}

#[test]
fn a_changed_definition_answers_once_it_has_caught_up() {
    let vfs = SimVfs::new(10);
    let database = open(&vfs);
    store(&database, "c/1", "Cars", r#"{"F":1,"G":2}"#);
    let first = of_maps("Cars", &["map('Cars', c => ({ F: c.F }))"], "");
    let second = of_maps("Cars", &["map('Cars', c => ({ G: c.G }))"], "");
    database.put_index(first.clone()).unwrap();
    assert_eq!(ids(&database, "from index 'Cars' where F = 1"), ["c/1"]);
    let number = database.indexes().unwrap()[0].number;
    database.put_index(first.clone()).unwrap();
    assert!(!database.index_has_changed(&first) && database.index_has_changed(&second));
    assert_eq!(database.indexes().unwrap()[0].number, number);
    database.put_index(second.clone()).unwrap();
    let is_replaced = || {
        let infos = database.indexes().unwrap();
        infos.len() == 1 && infos[0].number != number && infos[0].name() == "Cars"
    };
    while !is_replaced() {
        std::thread::yield_now();
    }
    assert_eq!(ids(&database, "from index 'Cars' where G = 2"), ["c/1"]);
    drop(database);
    let database = open(&vfs);
    assert!(!database.index_has_changed(&second));
    assert_eq!(ids(&database, "from index 'Cars' where G = 2"), ["c/1"]);
}

#[test]
fn locks_priorities_and_states_are_kept() {
    let vfs = SimVfs::new(11);
    let database = open(&vfs);
    let first = of_maps("Cars", &["map('Cars', c => ({ F: c.F }))"], "");
    let second = of_maps("Cars", &["map('Cars', c => ({ G: c.G }))"], "");
    database.put_index(first.clone()).unwrap();
    let names = ["cars".to_owned()];
    database
        .set_index_lock(&names, LockMode::LockedError)
        .unwrap()
        .unwrap();
    let refused = database.put_index(second.clone()).unwrap_err();
    assert!(matches!(refused, PutIndexError::Definition(_)), "{refused}");
    database
        .set_index_lock(&names, LockMode::LockedIgnore)
        .unwrap()
        .unwrap();
    database.put_index(second).unwrap();
    database
        .set_index_priority(&names, Priority::Low)
        .unwrap()
        .unwrap();
    database
        .set_index_state("Cars", IndexState::Disabled)
        .unwrap()
        .unwrap();
    assert!(
        database
            .set_index_state("Nope", IndexState::Disabled)
            .unwrap()
            .is_err()
    );
    drop(database);
    let database = open(&vfs);
    let info = &database.indexes().unwrap()[0];
    let own = info.definition.as_static().unwrap();
    assert_eq!(
        (own.priority, own.lock_mode),
        (Priority::Low, LockMode::LockedIgnore)
    );
    assert_eq!(
        (info.status, own.maps == first.maps),
        (IndexStatus::Disabled, true)
    );
    // It answers as of what it has, and says so.
    store(&database, "c/1", "Cars", r#"{"F":1}"#);
    let request = QueryRequest {
        text: "from index 'Cars'",
        ..QueryRequest::default()
    };
    let mut rows = RowBuffer::default();
    let result = database.query(&request, &mut rows).unwrap();
    assert!(result.is_stale && rows.rows.is_empty());
    database
        .set_index_state("Cars", IndexState::Normal)
        .unwrap()
        .unwrap();
    assert_eq!(ids(&database, "from index 'Cars'"), ["c/1"]);
    assert!(database.reset_index("Cars").unwrap());
    assert_eq!(ids(&database, "from index 'Cars'"), ["c/1"]);
    let terms = database
        .index_terms("Cars", "F", None, 10)
        .unwrap()
        .unwrap();
    assert_eq!(terms, ["1"]);
}

#[test]
fn results_are_documents_too() {
    let database = open(&SimVfs::new(12));
    let map = "map('Users', u => ({ city: u.city, day: u.day, count: 1 }))";
    let reduce = "groupBy(x => ({ city: x.city, day: x.day })).aggregate(g => ({ city: \
         g.key.city, day: g.key.day, count: g.values.length }))";
    let more = format!(
        r#""Reduce":{reduce:?},"OutputReduceToCollection":"Totals",
        "PatternForOutputReduceToCollectionReferences":"days/{{day}}"#
    );
    let more = format!("{more}\"");
    database
        .put_index(of_maps("Totals", &[map], &more))
        .unwrap();
    for (id, city) in [("u/1", "Oslo"), ("u/2", "Rome")] {
        let body = format!(r#"{{"city":"{city}","day":"mon"}}"#);
        store(&database, id, "Users", &body);
    }
    assert!(database.wait_for_indexes(LONG));
    assert_eq!(
        plain(&database, "from Totals"),
        [
            "city:\"Oslo\" day:\"mon\" count:1",
            "city:\"Rome\" day:\"mon\" count:1"
        ]
    );
    let listed = |database: &Database| {
        let snapshot = database.read().unwrap();
        let row = snapshot.get("days/mon").unwrap();
        row.map_or(0, |row| {
            row.body()
                .root()
                .get("ReduceOutputs")
                .unwrap()
                .as_array()
                .unwrap()
                .len()
        })
    };
    assert_eq!(listed(&database), 2);
    let flags = |id: &str| {
        let snapshot = database.read().unwrap();
        snapshot.get(id).unwrap().map(|row| row.flags().text())
    };
    let made = Some("Artificial, FromIndex".to_owned());
    assert_eq!(flags("days/mon"), made);
    let total = ids(&database, "from Totals").remove(0);
    assert_eq!(flags(&total), made);
    // An ordinary write makes it an ordinary document.
    store(&database, &total, "Totals", r#"{"city":"Oslo"}"#);
    assert_eq!(flags(&total), Some(String::new()));
    // No document lists results without a value for its id.
    store(&database, "u/3", "Users", r#"{"city":"Bern","day":null}"#);
    store(&database, "u/4", "Users", r#"{"city":"Bonn"}"#);
    assert!(database.wait_for_indexes(LONG));
    assert_eq!(flags("days/null"), None);
    let errors = database
        .index_errors(&["Totals".to_owned()])
        .unwrap()
        .unwrap();
    assert!(
        errors[0]
            .1
            .iter()
            .any(|error| error.error.contains("'day' is null"))
    );
    database.batch(vec![delete("u/3"), delete("u/4")]).unwrap();
    assert!(database.wait_for_indexes(LONG));
    database.batch(vec![delete("u/1")]).unwrap();
    assert!(database.wait_for_indexes(LONG));
    assert_eq!(
        plain(&database, "from Totals"),
        ["city:\"Rome\" day:\"mon\" count:1"]
    );
    assert_eq!(listed(&database), 1);
    let own = of_maps(
        "Loop",
        &["map('Totals', u => ({ a: 1 }))"],
        r#""Reduce":"groupBy(x => x.a).aggregate(g => ({ a: g.key }))",
        "OutputReduceToCollection":"Totals""#,
    );
    assert!(database.put_index(own).is_err());
}

/// What is in the three indexes of the random tests, as sorted rows.
fn contents(database: &Database, names: [&str; 3]) -> Vec<Vec<String>> {
    let [plain_map, fan_out, reduced] = names;
    vec![
        ids(database, &format!("from index '{plain_map}' where A = 1")),
        plain(
            database,
            &format!("from index '{plain_map}' select A, Owner"),
        ),
        plain(database, &format!("from index '{fan_out}' select T")),
        ids(database, &format!("from index '{fan_out}' where T = 't1'")),
        plain(database, &format!("from index '{reduced}'")),
        plain(database, &format!("from index '{reduced}' where Count > 2")),
    ]
}

fn put_indexes(database: &Database, names: [&str; 3]) {
    let stored = r#""Fields":{"__all_fields":{"Storage":"Yes"}}"#;
    let maps = [
        "map('Items', d => ({ A: d.A, Owner: load(d.Owner, 'Owners').Name }))",
        "map('Items', d => d.Tags.map(t => ({ T: t })))",
        "map('Items', d => ({ A: d.A, Count: 1, Sum: d.Tags.length }))",
    ];
    let reduce = "groupBy(x => x.A).aggregate(g => ({ A: g.key, Count: g.values.reduce((s, v) \
         => s + v.Count, 0), Sum: g.values.reduce((s, v) => s + v.Sum, 0) }))";
    for (slot, (name, map)) in names.iter().zip(maps).enumerate() {
        let more = match slot {
            2 => format!(r#"{stored},"Reduce":{reduce:?}"#),
            _ => stored.to_owned(),
        };
        database.put_index(of_maps(name, &[map], &more)).unwrap();
    }
}

fn random_change(rng: &mut Rng, database: &Database) {
    let commands = (0..rng.below(6) + 1).map(|_| {
        let number = rng.below(12);
        match rng.below(10) {
            0..=1 => delete(&format!("i/{number}")),
            2 => delete(&format!("o/{}", rng.below(3))),
            3..=4 => {
                let body = format!(r#"{{"Name":"n{}"}}"#, rng.below(4));
                put(&format!("o/{}", rng.below(3)), "Owners", &body)
            }
            _ => {
                let tags: Vec<String> = (0..rng.below(4))
                    .map(|_| format!("\"t{}\"", rng.below(3)))
                    .collect();
                let body = format!(
                    r#"{{"A":{},"Owner":"o/{}","Tags":[{}]}}"#,
                    rng.below(3),
                    rng.below(3),
                    tags.join(",")
                );
                put(&format!("i/{number}"), "Items", &body)
            }
        }
    });
    database.batch(commands.collect()).unwrap();
}

const NAMES: [&str; 3] = ["Map", "Fan", "Sum"];
const ANEW: [&str; 3] = ["Map2", "Fan2", "Sum2"];

fn check_against_rebuild(database: &Database) {
    put_indexes(database, ANEW);
    assert_eq!(contents(database, NAMES), contents(database, ANEW));
    for name in ANEW {
        assert!(database.delete_index(name).unwrap());
    }
}

#[test]
fn an_index_is_what_one_made_anew_is_after_random_changes() {
    for seed in 0..3 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let vfs = SimVfs::new(seed);
        let mut database = open(&vfs);
        put_indexes(&database, NAMES);
        for step in 0..12 {
            random_change(&mut rng, &database);
            if rng.below(3) == 0 {
                contents(&database, NAMES);
            }
            if step % 6 == 5 {
                check_against_rebuild(&database);
                drop(database);
                database = open(&vfs);
            }
        }
    }
}

#[test]
fn an_index_is_what_one_made_anew_is_after_power_loss() {
    for seed in 0..4 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let vfs = SimVfs::new(seed);
        let database = open(&vfs);
        put_indexes(&database, NAMES);
        for _ in 0..6 {
            random_change(&mut rng, &database);
            if rng.below(2) == 0 {
                contents(&database, NAMES);
            }
        }
        let crashed = vfs.crash(CrashChoice::Random(seed));
        let after = open(&crashed);
        random_change(&mut rng, &after);
        check_against_rebuild(&after);
        drop(database);
    }
}

/// The second query may take a column of terms in memory, which are not the whole texts here.
#[test]
fn a_field_of_full_text_is_ordered_by_its_whole_texts() {
    let database = open(&SimVfs::new(15));
    let map = "map('Books', b => ({ Title: b.Title, Kind: b.Kind }))";
    let fields = r#""Fields":{"Title":{"Indexing":"Search"}}"#;
    let index = of_maps("Books", &[map], fields);
    database.put_index(index).unwrap();
    for (id, title) in [
        ("b/1", "pear apple"),
        ("b/2", "apple zebra"),
        ("b/3", "Banana"),
    ] {
        let text = format!(r#"{{"Title":"{title}","Kind":"k"}}"#);
        store(&database, id, "Books", &text);
    }
    let text = "from index 'Books' where Kind = 'k' order by Title select Title limit 2";
    let first = query(&database, text);
    assert!(
        first[0].contains("apple zebra") && first[1].contains("Banana"),
        "{first:?}"
    );
    for _ in 0..3 {
        assert_eq!(query(&database, text), first);
    }
}

/// A place has no order among texts: entries with nothing else come where those without a value do.
#[test]
fn places_are_rows_of_an_order_by_text() {
    let database = open(&SimVfs::new(1));
    let map = "map('Shops', s => ({ place: s.street || createSpatialField(s.lat, s.lng) }))";
    database
        .put_index(of_maps("Shops/ByPlace", &[map], ""))
        .unwrap();
    for (number, body) in [
        (1, r#"{"street":"Elm"}"#),
        (2, r#"{"lat":10,"lng":20}"#),
        (3, r#"{"street":"Ash"}"#),
        (4, r#"{"lat":-10.5,"lng":2}"#),
    ] {
        store(&database, &format!("shops/{number}"), "Shops", body);
    }
    let order = |text: &str| {
        let query = format!("from index 'Shops/ByPlace' {text}");
        ids_in_order(&database, &query)
    };
    let expected = |numbers: [u32; 4]| numbers.map(|number| format!("shops/{number}"));
    assert_eq!(order("order by place"), expected([2, 4, 3, 1]));
    assert_eq!(order("order by place desc"), expected([1, 3, 2, 4]));
    let first = order("order by place limit 1");
    assert_eq!(first, expected([2, 4, 3, 1])[..1]);
}

#[test]
fn dynamic_fields_and_nulls_are_found() {
    let database = open(&SimVfs::new(13));
    let map = "map('Items', p => ({ Missing: p.Missing, _: p.list.map(x => createField(x.n, \
         x.v, { indexing: 'Exact', storage: true, termVector: null })) }))";
    database.put_index(of_maps("Made", &[map], "")).unwrap();
    let nulls = r#""Configuration":{"Indexing.IndexMissingFieldsAsNull":"true"}"#;
    database.put_index(of_maps("Nulls", &[map], nulls)).unwrap();
    store(
        &database,
        "i/1",
        "Items",
        r#"{"list":[{"n":"color","v":"Red"},{"n":"size","v":3}]}"#,
    );
    assert_eq!(
        ids(&database, "from index 'Made' where color = 'Red'"),
        ["i/1"]
    );
    assert!(ids(&database, "from index 'Made' where color = 'red'").is_empty());
    assert_eq!(ids(&database, "from index 'Made' where size = 3"), ["i/1"]);
    assert!(ids(&database, "from index 'Made' where Missing = null").is_empty());
    assert_eq!(
        ids(&database, "from index 'Nulls' where Missing = null"),
        ["i/1"]
    );
}

#[test]
fn news_of_indexes_are_told() {
    let database = open(&SimVfs::new(14));
    let told: Arc<std::sync::Mutex<BTreeMap<&'static str, u32>>> = Arc::default();
    let place = Arc::clone(&told);
    let listener = database.on_index_change(move |news| {
        assert_eq!(news.name, "Cars");
        *place.lock().unwrap().entry(news.kind).or_default() += 1;
    });
    store(&database, "c/1", "Cars", r#"{"F":1}"#);
    database
        .put_index(of_maps("Cars", &["map('Cars', c => ({ F: c.F }))"], ""))
        .unwrap();
    assert!(database.wait_for_indexes(LONG));
    database
        .set_index_priority(&["Cars".to_owned()], Priority::High)
        .unwrap()
        .unwrap();
    assert!(database.delete_index("cars").unwrap());
    drop(listener);
    let told = told.lock().unwrap();
    for kind in [
        "IndexAdded",
        "BatchCompleted",
        "PriorityChanged",
        "IndexRemoved",
    ] {
        assert!(told.contains_key(kind), "{kind}: {told:?}");
    }
}
