//! Indexes of an older format are made again by themselves: static ones next to the old one, which
//! answers meanwhile, automatic ones while the documents answer. The log says so.
//!
//! An index of an older format is made by writing its number over the present one.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackdaw_database::{
    Database, IndexState, QueryRequest, QueryResult, RowBuffer, StaticDefinition,
};
use jackdaw_io::Vfs;
use jackdaw_sim::SimVfs;
use jackdaw_storage::{Environment, Options, StorageError};
use tracing::field::{Field, Visit};
use tracing::span;

use crate::common::{json, open, store};

const LONG: Duration = Duration::from_secs(30);
const INDEXES: &str = "/music/indexes";
const REPLACEMENT: &str = "ReplacementOf/Songs";

/// Notes what is logged on a thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0.lock().unwrap(), "{}={value:?} ", field.name()).unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Opens the database, and what opening logged.
fn open_logged(vfs: &Arc<SimVfs>) -> (Arc<Database>, String) {
    let log = Log::default();
    let database = tracing::subscriber::with_default(log.clone(), || open(vfs));
    let text = log.0.lock().unwrap().clone();
    (database, text)
}

fn query(database: &Database, text: &str, wait: Option<Duration>) -> (QueryResult, Vec<String>) {
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text,
        wait,
        ..QueryRequest::default()
    };
    let result = database.query(&request, &mut rows);
    let result = result.unwrap_or_else(|error| panic!("{text}: {error}"));
    let list = json(&format!("[{}]", String::from_utf8(rows.rows).unwrap()));
    let rows = list.root().as_array().unwrap();
    let id = |row: jackdaw_document::Value<'_>| {
        let id = row.get_path(&["@metadata", "@id"]).unwrap();
        id.as_str().unwrap().to_owned()
    };
    let mut ids: Vec<String> = rows.iter().map(id).collect();
    ids.sort();
    (result, ids)
}

/// Names of the indexes.
fn names(database: &Database) -> Vec<String> {
    let infos = database.indexes().unwrap();
    let mut names: Vec<String> = infos.iter().map(|info| info.name().to_owned()).collect();
    names.sort();
    names
}

fn put_index(database: &Database, state: IndexState) {
    let text = format!(
        r#"{{"Name":"Songs","Maps":["from s in docs.Songs select new {{ s.Title }}"],
             "Fields":{{"Title":{{"Indexing":"Search"}}}},"State":"{}"}}"#,
        state.as_str()
    );
    let definition = StaticDefinition::read(json(&text).root().as_object().unwrap()).unwrap();
    database.put_index(definition).unwrap();
}

fn directories(vfs: &SimVfs) -> Vec<PathBuf> {
    let entries = vfs.list(Path::new(INDEXES)).unwrap();
    let paths = entries
        .iter()
        .map(|entry| Path::new(INDEXES).join(&entry.name));
    paths.collect()
}

/// Writes a format over that of all indexes.
fn age(vfs: &Arc<SimVfs>, format: u8) {
    for path in directories(vfs) {
        let disk: Arc<dyn Vfs> = vfs.clone();
        let environment = Environment::open(disk, &path, Options::small()).unwrap();
        let aged = environment.write(move |transaction| -> Result<(), StorageError> {
            let mut tree = transaction.tree_mut("index")?;
            let mut header = tree.get(&[0])?.expect("an index has a header").to_vec();
            header[0] = format;
            tree.put(&[0], &header)?;
            Ok(())
        });
        aged.unwrap();
    }
}

fn store_songs(database: &Database) {
    for (number, title) in [(1, "Blue Train"), (2, "Blue in Green"), (3, "So What")] {
        let body = format!(r#"{{"Title":"{title}"}}"#);
        store(database, &format!("songs/{number}"), "Songs", &body);
    }
}

const SEARCH: &str = "from index 'Songs' where search(Title, 'blue')";

#[test]
fn an_older_static_index_answers_until_it_is_replaced() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    store_songs(&database);
    put_index(&database, IndexState::Normal);
    assert_eq!(query(&database, SEARCH, Some(LONG)).1.len(), 2);
    // What is disabled does not work, so that the moment between can be looked at.
    let disabled = database.set_index_state("Songs", IndexState::Disabled);
    disabled.unwrap().unwrap();
    drop(database);
    for format in [4, 2] {
        age(&vfs, format);
        let (database, log) = open_logged(&vfs);
        assert!(log.contains("index=\"Songs\""), "{log}");
        assert!(log.contains("an older format"), "{log}");
        assert!(log.contains("answers until it is made again"), "{log}");
        assert_eq!(names(&database), [REPLACEMENT, "Songs"]);
        let (result, ids) = query(&database, SEARCH, None);
        assert_eq!(ids, ["songs/1", "songs/2"]);
        assert!(result.is_stale);
        assert_eq!(result.index_name, "Songs");
        // Putting the same definition again changes nothing of that.
        put_index(&database, IndexState::Disabled);
        drop(database);
        // Nothing is made twice when the server ends in between.
        let database = open(&vfs);
        assert_eq!(names(&database), [REPLACEMENT, "Songs"]);
        store(&database, "songs/4", "Songs", r#"{"Title":"Blue 4"}"#);
        assert_eq!(query(&database, SEARCH, None).1, ["songs/1", "songs/2"]);
        let enabled = database.set_index_state("Songs", IndexState::Normal);
        enabled.unwrap().unwrap();
        let (result, ids) = query(&database, SEARCH, Some(LONG));
        assert_eq!(ids, ["songs/1", "songs/2", "songs/4"]);
        assert!(!result.is_stale);
        assert_eq!(names(&database), ["Songs"]);
        database
            .batch(vec![crate::common::delete("songs/4")])
            .unwrap();
        assert_eq!(query(&database, SEARCH, Some(LONG)).1.len(), 2);
        let disabled = database.set_index_state("Songs", IndexState::Disabled);
        disabled.unwrap().unwrap();
        drop(database);
        // The old files are gone, and the new ones have the present format.
        assert_eq!(directories(&vfs).len(), 1);
        let (database, log) = open_logged(&vfs);
        assert_eq!(log, "");
        assert_eq!(names(&database), ["Songs"]);
        drop(database);
    }
}

#[test]
fn an_older_automatic_index_is_made_again_while_documents_answer() {
    let vfs = SimVfs::new(2);
    let database = open(&vfs);
    store_songs(&database);
    let search = "from Songs where search(Title, 'blue')";
    assert_eq!(query(&database, search, Some(LONG)).1.len(), 2);
    let names_before = names(&database);
    drop(database);
    age(&vfs, 4);
    let (database, log) = open_logged(&vfs);
    assert!(log.contains("an older format and is made again"), "{log}");
    assert_eq!(names(&database), names_before);
    let (result, ids) = query(&database, search, None);
    assert_eq!(ids, ["songs/1", "songs/2"]);
    assert!(!result.is_stale);
}

#[test]
fn an_index_of_an_unknown_format_is_made_again() {
    let vfs = SimVfs::new(3);
    let database = open(&vfs);
    store_songs(&database);
    put_index(&database, IndexState::Normal);
    assert_eq!(query(&database, SEARCH, Some(LONG)).1.len(), 2);
    drop(database);
    for format in [1, 99] {
        age(&vfs, format);
        let (database, log) = open_logged(&vfs);
        assert!(log.contains("cannot be read and is made again"), "{log}");
        assert_eq!(names(&database), ["Songs"]);
        assert_eq!(query(&database, SEARCH, Some(LONG)).1.len(), 2);
        drop(database);
    }
}
