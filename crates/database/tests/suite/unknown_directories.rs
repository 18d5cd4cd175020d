//! Directories of databases and indexes that nothing names stay, are listed, adopted and removed by
//! number; directories that have to be there are never made anew.

use std::path::Path;
use std::sync::Arc;

use jackdaw_database::{DatabaseSet, OpenError, QueryRequest, RowBuffer, SetError};
use jackdaw_io::{OpenMode, OpenOptions, Vfs};
use jackdaw_sim::{CrashChoice, SimVfs};

use crate::common::{options, store};

const DATA: &str = "/data";

fn try_open(vfs: &Arc<SimVfs>) -> Result<DatabaseSet, OpenError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    DatabaseSet::open(vfs, Path::new(DATA), options())
}

fn open(vfs: &Arc<SimVfs>) -> DatabaseSet {
    try_open(vfs).expect("opens")
}

fn file(vfs: &SimVfs, path: &str) {
    let options = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    vfs.open(Path::new(path), options).unwrap();
}

fn exists(vfs: &SimVfs, path: &str) -> bool {
    vfs.exists(Path::new(path)).unwrap()
}

fn remove(vfs: &SimVfs, path: &str) {
    vfs.remove_directory(Path::new(path)).unwrap();
}

fn unknown(set: &DatabaseSet) -> Vec<(u64, bool)> {
    let all = set.unknown_directories().unwrap();
    all.iter()
        .map(|one| (one.number, one.is_unfinished))
        .collect()
}

fn count(set: &DatabaseSet, name: &str) -> u64 {
    set.get(name).unwrap().unwrap().read().unwrap().count()
}

/// A query that makes an index, and the number of its rows.
fn query(set: &DatabaseSet, name: &str) -> usize {
    let database = set.get(name).unwrap().unwrap();
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text: "from Notes where A = 1",
        wait: Some(std::time::Duration::from_secs(30)),
        ..QueryRequest::default()
    };
    database.query(&request, &mut rows).unwrap();
    drop(database);
    String::from_utf8(rows.rows).unwrap().matches("@id").count()
}

#[test]
fn databases_of_a_lost_catalog_stay_and_are_adopted() {
    let vfs = SimVfs::new(1);
    let set = open(&vfs);
    for name in ["Music", "Books"] {
        store(&set.create(name, "").unwrap(), "a", "Notes", r#"{"A":1}"#);
    }
    let id = set.get("music").unwrap().unwrap().id().clone();
    drop(set);
    remove(&vfs, "/data/catalog");
    let mut reading = options();
    reading.documents.create = false;
    let disk: Arc<dyn Vfs> = vfs.clone();
    let refused = DatabaseSet::open(disk, Path::new(DATA), reading);
    assert!(matches!(refused.err(), Some(OpenError::CatalogMissing(_))));
    let set = open(&vfs);
    assert_eq!(unknown(&set), [(1, false), (2, false)]);
    // A new database takes no number that is in use.
    let new = set.create("New", "").unwrap();
    assert_eq!(new.read().unwrap().count(), 0);
    assert!(exists(&vfs, "/data/databases/3/documents"));
    assert!(matches!(set.adopt(1, "new", ""), Err(SetError::Exists(_))));
    assert!(matches!(
        set.adopt(1, "a/b", ""),
        Err(SetError::InvalidName { .. })
    ));
    assert!(matches!(
        set.adopt(3, "x", ""),
        Err(SetError::NotUnknown(3))
    ));
    assert!(matches!(
        set.adopt(9, "x", ""),
        Err(SetError::NotUnknown(9))
    ));
    set.adopt(1, "Music", "{}").unwrap();
    assert_eq!(count(&set, "music"), 1);
    assert_eq!(set.get("music").unwrap().unwrap().id(), &id);
    assert_eq!(unknown(&set), [(2, false)]);
    set.remove_unknown(2).unwrap();
    assert!(matches!(
        set.remove_unknown(1),
        Err(SetError::NotUnknown(1))
    ));
    assert!(!exists(&vfs, "/data/databases/2"));
    drop((set, new));
    let set = open(&vfs);
    assert_eq!(set.names(), ["Music", "New"]);
    assert_eq!((count(&set, "music"), unknown(&set)), (1, vec![]));
}

#[test]
fn only_marked_directories_are_removed_at_open() {
    let vfs = SimVfs::new(2);
    let set = open(&vfs);
    store(
        &set.create("Music", "").unwrap(),
        "a",
        "Notes",
        r#"{"A":1}"#,
    );
    drop(set);
    for number in ["7", "8", "9", "07", "mine", "18446744073709551616"] {
        let path = format!("/data/databases/{number}/documents");
        vfs.create_directory(Path::new(&path)).unwrap();
    }
    file(&vfs, "/data/databases/8/creating.tmp");
    file(&vfs, "/data/databases/9/deleting.tmp");
    // A database with a name keeps its files whatever its marks say.
    file(&vfs, "/data/databases/1/deleting.tmp");
    file(&vfs, "/data/databases/1/creating.tmp");
    let set = open(&vfs);
    for (number, is_kept) in [("7", true), ("8", false), ("9", false), ("07", true)] {
        assert_eq!(
            exists(&vfs, &format!("/data/databases/{number}")),
            is_kept,
            "{number}"
        );
    }
    assert!(exists(&vfs, "/data/databases/mine"));
    assert!(exists(&vfs, "/data/databases/18446744073709551616"));
    assert_eq!(unknown(&set), [(7, false)]);
    // It holds nothing that could be served.
    assert!(set.adopt(7, "Seven", "").is_err());
    assert_eq!(set.names(), ["Music"]);
    assert_eq!(count(&set, "music"), 1);
    assert!(!exists(&vfs, "/data/databases/1/deleting.tmp"));
    assert!(!exists(&vfs, "/data/databases/1/creating.tmp"));
}

#[test]
fn missing_documents_are_refused_by_name() {
    for lost in ["documents", "documents/meta", "documents/data.jd", ""] {
        let vfs = SimVfs::new(3);
        let set = open(&vfs);
        for name in ["Music", "Books"] {
            store(&set.create(name, "").unwrap(), "a", "Notes", r#"{"A":1}"#);
        }
        drop(set);
        let path = format!("/data/databases/1/{lost}");
        let path = Path::new(path.trim_end_matches('/'));
        match lost.contains('/') {
            true => vfs.remove_file(path).unwrap(),
            false => vfs.remove_directory(path).unwrap(),
        }
        let set = open(&vfs);
        for _ in 0..2 {
            let error = set.get("music").err().expect("refused").to_string();
            let named = error.contains("databases/1");
            assert!(
                named && (error.contains("Music") || lost.ends_with("jd")),
                "{lost}: {error}"
            );
        }
        assert_eq!(set.names(), ["Books", "Music"]);
        assert_eq!(count(&set, "books"), 1);
        assert!(matches!(set.create("Music", ""), Err(SetError::Exists(_))));
    }
}

#[test]
fn a_journal_without_its_meta_file_is_refused() {
    let vfs = SimVfs::new(4);
    let set = open(&vfs);
    set.create("Music", "").unwrap();
    let crashed = vfs.crash(CrashChoice::Random(4));
    drop(set);
    crashed
        .remove_file(Path::new("/data/catalog/meta"))
        .unwrap();
    let before = crashed
        .list(Path::new("/data/catalog/journal"))
        .unwrap()
        .len();
    let error = try_open(&crashed).err().expect("refused").to_string();
    assert!(error.contains("meta"), "{error}");
    let after = crashed
        .list(Path::new("/data/catalog/journal"))
        .unwrap()
        .len();
    assert_eq!((before > 0, before), (true, after));
}

#[test]
fn unknown_directories_of_indexes_stay() {
    let vfs = SimVfs::new(5);
    let set = open(&vfs);
    store(
        &set.create("Music", "").unwrap(),
        "a",
        "Notes",
        r#"{"A":1}"#,
    );
    assert_eq!(query(&set, "music"), 1);
    drop(set);
    for number in ["2", "8", "x"] {
        vfs.create_directory(Path::new(&format!("/data/databases/1/indexes/{number}")))
            .unwrap();
    }
    file(&vfs, "/data/databases/1/indexes/8/creating.tmp");
    let set = open(&vfs);
    let music = set.get("music").unwrap().unwrap();
    assert!(exists(&vfs, "/data/databases/1/indexes/2"));
    assert!(exists(&vfs, "/data/databases/1/indexes/x"));
    assert!(!exists(&vfs, "/data/databases/1/indexes/8"));
    assert_eq!(query(&set, "music"), 1);
    // The next index takes a number that is free.
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text: "from Bs where B = 1",
        ..QueryRequest::default()
    };
    music.query(&request, &mut rows).unwrap();
    assert!(exists(&vfs, "/data/databases/1/indexes/3/meta"));
    assert!(!exists(&vfs, "/data/databases/1/indexes/3/creating.tmp"));
}

#[test]
fn something_else_in_the_directory_of_an_index_stays() {
    for is_foreign in [true, false] {
        let vfs = SimVfs::new(6);
        let set = open(&vfs);
        store(
            &set.create("Music", "").unwrap(),
            "a",
            "Notes",
            r#"{"A":1}"#,
        );
        assert_eq!(query(&set, "music"), 1);
        drop(set);
        let index = "/data/databases/1/indexes/1";
        if is_foreign {
            remove(&vfs, index);
            vfs.create_directory(Path::new(index)).unwrap();
        } else {
            vfs.remove_file(Path::new("/data/databases/1/indexes/1/meta"))
                .unwrap();
        }
        file(&vfs, "/data/databases/1/indexes/1/notes.txt");
        let set = open(&vfs);
        assert_eq!(query(&set, "music"), 1);
        assert!(exists(&vfs, "/data/databases/1/indexes/1/notes.txt"));
    }
}

#[test]
fn an_index_without_a_file_is_built_again() {
    for lost in ["data.jd", "meta", "journal", ""] {
        let vfs = SimVfs::new(7);
        let set = open(&vfs);
        store(
            &set.create("Music", "").unwrap(),
            "a",
            "Notes",
            r#"{"A":1}"#,
        );
        assert_eq!(query(&set, "music"), 1);
        drop(set);
        let path = format!("/data/databases/1/indexes/1/{lost}");
        let path = Path::new(path.trim_end_matches('/'));
        match lost {
            "data.jd" | "meta" => vfs.remove_file(path).unwrap(),
            _ => vfs.remove_directory(path).unwrap(),
        }
        let set = open(&vfs);
        assert_eq!(query(&set, "music"), 1, "{lost}");
    }
}
