//! Static indexes that make much of little: batches are bounded by the bytes that maps and reduces
//! make, and an index of which one document makes too much stops, also after a restart.

use std::sync::Arc;
use std::time::Duration;

use jackdaw_database::{
    Database, IndexInfo, IndexState, IndexStatus, QueryRequest, RowBuffer, StaticDefinition,
};
use jackdaw_sim::SimVfs;

use crate::common::{delete, json, open, options, store};

const LONG: Duration = Duration::from_secs(60);
const DOCUMENTS: usize = 24;

fn put_index(database: &Database, name: &str, map: &str, reduce: Option<&str>) {
    let reduce = reduce.map_or(String::new(), |reduce| format!(",\"Reduce\":{reduce:?}"));
    let text = format!(r#"{{"Name":"{name}","Maps":[{map:?}]{reduce}}}"#);
    let definition = StaticDefinition::read(json(&text).root().as_object().unwrap()).unwrap();
    database.put_index(definition).unwrap();
}

fn albums(database: &Database) {
    for number in 0..DOCUMENTS {
        let body = format!(r#"{{"n":{number}}}"#);
        store(database, &format!("albums/{number}"), "Albums", &body);
    }
}

/// Rows of the index once it has seen everything; `None` when it stopped.
fn count(database: &Database, index: &str) -> Option<usize> {
    ask(database, index).map(|(rows, is_stale)| {
        assert!(!is_stale, "{index} has not seen everything");
        rows
    })
}

/// Rows of the index, and whether it has not seen everything; `None` when it stopped before.
fn ask(database: &Database, index: &str) -> Option<(usize, bool)> {
    let text = format!("from index '{index}'");
    let request = QueryRequest {
        text: &text,
        wait: Some(LONG),
        ..QueryRequest::default()
    };
    let result = database.query(&request, &mut RowBuffer::default()).ok()?;
    let rows = result.outcome.total_results.unwrap();
    Some((usize::try_from(rows).unwrap(), result.is_stale))
}

fn info(database: &Database, name: &str) -> IndexInfo {
    let mut infos = database.indexes().unwrap().into_iter();
    infos.find(|info| info.name() == name).unwrap()
}

/// Waits until the index has stopped; says why.
fn stopped(database: &Database, name: &str) -> String {
    // The query ends when the index does.
    let _ = ask(database, name);
    let info = info(database, name);
    assert_eq!(info.status, IndexStatus::Disabled);
    info.failure.unwrap()
}

#[test]
fn large_entries_of_small_documents_come_in_several_batches() {
    let database = open(&SimVfs::new(1));
    albums(&database);
    // A third of a batch for each document, by one entry and by several.
    for (name, map, entries) in [
        (
            "One",
            "map('Albums', a => ({ x: 'y'.repeat(7e5) + a.n }))",
            1,
        ),
        (
            "Native",
            "from a in docs.Albums select new { x = \"y\".PadLeft(700000, 'y') + a.n }",
            1,
        ),
        (
            "Several",
            "map('Albums', a => [1, 2, 3].map(i => ({ x: 'y'.repeat(2e5) + i + a.n })))",
            3,
        ),
        (
            "SeveralNative",
            "from a in docs.Albums from i in Enumerable.Range(1, 3) \
             select new { x = \"y\".PadLeft(200000, 'y') + i + a.n }",
            3,
        ),
    ] {
        put_index(&database, name, map, None);
        assert_eq!(count(&database, name), Some(DOCUMENTS * entries), "{name}");
        let info = info(&database, name);
        assert_eq!((info.failure, info.error_count), (None, 0), "{name}");
        assert_eq!(info.work.map_attempts, DOCUMENTS as u64, "{name}");
    }
    // What was put off is mapped once, also after changes and deletions.
    store(&database, "albums/1", "Albums", r#"{"n":"other"}"#);
    database.batch(vec![delete("albums/2")]).unwrap();
    assert_eq!(count(&database, "One"), Some(DOCUMENTS - 1));
    assert_eq!(count(&database, "Several"), Some(3 * (DOCUMENTS - 1)));
}

#[test]
fn large_results_of_small_entries_come_in_several_batches() {
    let database = open(&SimVfs::new(2));
    albums(&database);
    for (name, map, reduce) in [
        (
            "Script",
            "map('Albums', a => ({ k: a.n, x: '' }))",
            "groupBy(e => e.k).aggregate(g => ({ k: g.key, x: 'y'.repeat(7e5) + g.key }))",
        ),
        (
            "Native",
            "from a in docs.Albums select new { k = a.n, x = \"\" }",
            "from e in results group e by e.k into g \
             select new { k = g.Key, x = \"y\".PadLeft(700000, 'y') }",
        ),
    ] {
        put_index(&database, name, map, Some(reduce));
        assert_eq!(count(&database, name), Some(DOCUMENTS), "{name}");
        assert_eq!(info(&database, name).failure, None, "{name}");
    }
    for number in 0..DOCUMENTS {
        let gone = delete(&format!("albums/{number}"));
        database.batch(vec![gone]).unwrap();
    }
    assert_eq!(count(&database, "Script"), Some(0));
    assert_eq!(count(&database, "Native"), Some(0));
}

#[test]
fn an_index_of_which_a_document_makes_too_much_stays_off() {
    let vfs = SimVfs::new(3);
    let database = open(&vfs);
    albums(&database);
    let script = "map('Albums', a => [1, 2, 3, 4].map(i => ({ x: 'y'.repeat(7e5) + i })))";
    let native = "from a in docs.Albums from i in Enumerable.Range(1, 4) \
                  select new { x = \"y\".PadLeft(700000, 'y') + i }";
    let groups = "groupBy(e => e.k).aggregate(g => ({ k: g.key, x: 'y'.repeat(3e6) }))";
    put_index(&database, "Script", script, None);
    put_index(&database, "Native", native, None);
    let small = "map('Albums', a => ({ k: a.n, x: '' }))";
    put_index(&database, "Groups", small, Some(groups));
    let names = ["Script", "Native", "Groups"];
    let limit = options().index_batch_bytes.to_string();
    let why = names.map(|name| stopped(&database, name));
    for why in &why[..2] {
        assert!(why.contains("document 'albums/"), "{why}");
    }
    for why in &why {
        assert!(why.contains(&limit) && why.contains("reset"), "{why}");
    }
    drop(database);
    let database = open(&vfs);
    assert_eq!(
        names.map(|name| info(&database, name).failure.unwrap()),
        why
    );
    // A change does not start it, nor does enabling it; the others go on.
    store(&database, "albums/0", "Albums", r#"{"n":"other"}"#);
    let _ = database.set_index_state("Script", IndexState::Normal);
    put_index(&database, "Plain", "map('Albums', a => ({ n: a.n }))", None);
    assert_eq!(count(&database, "Plain"), Some(DOCUMENTS));
    assert_eq!(names.map(|name| stopped(&database, name)), why);
    // A reset tries again, and a definition that makes less goes on.
    assert!(database.reset_index("Script").unwrap());
    assert_eq!(stopped(&database, "Script"), why[0]);
    put_index(
        &database,
        "Native",
        "from a in docs.Albums select new { a.n }",
        None,
    );
    wait_for(&database, "Native", DOCUMENTS);
    drop(database);
    let database = open(&vfs);
    assert_eq!(count(&database, "Native"), Some(DOCUMENTS));
    assert_eq!(stopped(&database, "Script"), why[0]);
}

/// A definition that replaces another takes its place when it has caught up.
fn wait_for(database: &Arc<Database>, name: &str, rows: usize) {
    let deadline = std::time::Instant::now() + LONG;
    while count(database, name) != Some(rows) {
        assert!(std::time::Instant::now() < deadline, "{name} is not there");
        std::thread::yield_now();
    }
}

#[test]
fn long_messages_of_errors_are_cut() {
    let database = open(&SimVfs::new(4));
    albums(&database);
    let map = "map('Albums', a => { throw new Error('y'.repeat(1e6) + a.n) })";
    put_index(&database, "Throws", map, None);
    assert_eq!(count(&database, "Throws"), Some(0));
    let errors = database.index_errors(&["Throws".to_owned()]).unwrap();
    let errors = &errors.unwrap()[0].1;
    assert_eq!(errors.len(), DOCUMENTS);
    assert!(errors.iter().all(|error| error.error.len() <= 4096));
}
