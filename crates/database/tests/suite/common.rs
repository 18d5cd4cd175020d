//! What all test files use: databases on the simulated disk, JSON, a model.

use std::path::Path;
use std::sync::Arc;

use jackdaw_database::{
    Command, CommandResult, Database, DatabaseOptions, DocumentRow, PrefixQuery, ReadError,
    Snapshot,
};
use jackdaw_document::{DocumentBuf, Limits};
use jackdaw_io::Vfs;
use jackdaw_sim::SimVfs;
use jackdaw_storage::Options;

pub(crate) fn options() -> DatabaseOptions {
    DatabaseOptions {
        documents: Options::small(),
        indexes: Options {
            durability: jackdaw_io::Durability::None,
            ..Options::small()
        },
        groups_bytes: 1 << 20,
        index_batch_bytes: 2 << 20,
        ..DatabaseOptions::default()
    }
}

pub(crate) fn try_open(vfs: &Arc<SimVfs>) -> Result<Arc<Database>, jackdaw_database::OpenError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Database::open(vfs, Path::new("/music"), "Music", &options()).map(Arc::new)
}

pub(crate) fn open(vfs: &Arc<SimVfs>) -> Arc<Database> {
    try_open(vfs).expect("opens")
}

pub(crate) fn json(text: &str) -> DocumentBuf {
    DocumentBuf::from_json(text.as_bytes(), &Limits::default())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A put of a body in a collection.
pub(crate) fn put(id: &str, collection: &str, body: &str) -> Command {
    Command::Put {
        id: Some(id.to_owned()),
        body: json(body),
        metadata: Some(json(&format!(r#"{{"@collection":"{collection}"}}"#))),
        expected: None,
        keeps_revision: false,
    }
}

pub(crate) fn put_if(id: &str, body: &str, expected: &str) -> Command {
    Command::Put {
        id: Some(id.to_owned()),
        body: json(body),
        metadata: None,
        expected: Some(expected.to_owned()),
        keeps_revision: false,
    }
}

pub(crate) fn delete(id: &str) -> Command {
    Command::Delete {
        id: id.to_owned(),
        expected: None,
    }
}

/// Stores a document and gives its change vector.
pub(crate) fn store(database: &Database, id: &str, collection: &str, body: &str) -> String {
    let results = database
        .batch(vec![put(id, collection, body)])
        .expect("stored");
    match results.into_iter().next() {
        Some(CommandResult::Put { change_vector, .. }) => change_vector,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn text(row: &DocumentRow<'_>) -> String {
    let mut out = Vec::new();
    row.write_json(&mut out);
    String::from_utf8(out).unwrap()
}

/// The ids of rows.
pub(crate) fn ids<'s>(
    rows: impl Iterator<Item = Result<DocumentRow<'s>, ReadError>>,
) -> Vec<String> {
    rows.map(|row| row.expect("reads").id().to_owned())
        .collect()
}

pub(crate) fn by_prefix(snapshot: &Snapshot, query: &PrefixQuery<'_>) -> Vec<String> {
    ids(snapshot.by_prefix(query).unwrap())
}
