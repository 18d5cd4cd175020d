//! Databases in directories: opening, closing, and what refuses to open.

use jackdaw::{Database, Error, storage};

use crate::common::{Album, Directory, album};

#[test]
fn documents_are_there_after_reopening() {
    let directory = Directory::new();
    let db = Database::open(directory.path()).unwrap();
    let stored = db.put("albums/1", &album("Blue", 1971)).unwrap();
    assert_eq!(
        db.query::<()>("from Albums where Year = 1971")
            .count()
            .unwrap(),
        Some(1)
    );
    let position = db.snapshot().unwrap().position();
    drop(db);
    let db = Database::options()
        .create(false)
        .open(directory.path())
        .unwrap();
    assert_eq!(db.get("albums/1").unwrap(), Some(album("Blue", 1971)));
    assert_eq!(
        db.document("albums/1").unwrap().unwrap().version(),
        &stored.version
    );
    assert_eq!(db.snapshot().unwrap().position(), position);
    assert_eq!(
        db.query::<()>("from Albums where Year = 1971")
            .count()
            .unwrap(),
        Some(1)
    );
}

#[test]
fn a_directory_is_open_once() {
    let directory = Directory::new();
    let db = Database::open(directory.path()).unwrap();
    let again = Database::open(directory.path());
    assert!(matches!(again, Err(Error::Open(_))), "{again:?}");
    let other = db.clone();
    drop(db);
    assert!(Database::open(directory.path()).is_err());
    drop(other);
    Database::open(directory.path()).unwrap();
}

#[test]
fn a_missing_database_is_not_created_against_the_options() {
    let directory = Directory::new();
    let missing = Database::options().create(false).open(directory.path());
    assert!(matches!(missing, Err(Error::Open(_))), "{missing:?}");
    assert!(!directory.path().exists());
    let missing = storage::Options::default()
        .create(false)
        .open(directory.path());
    assert!(matches!(missing, Err(Error::Open(_))), "{missing:?}");
    assert!(!directory.path().exists());
}

#[test]
fn a_directory_of_something_else_is_refused() {
    let directory = Directory::new();
    std::fs::create_dir(directory.path()).unwrap();
    std::fs::write(directory.path().join("letter.txt"), "hello").unwrap();
    let trees = storage::open(directory.path());
    assert!(matches!(trees, Err(Error::Open(_))), "{trees:?}");
}

#[test]
fn relaxed_databases_with_little_memory_keep_what_was_closed() {
    let directory = Directory::new();
    let options = Database::options().relaxed(true).memory_bytes(64 << 20);
    let db = options.clone().open(directory.path()).unwrap();
    db.put("albums/1", &album("Blue", 1971)).unwrap();
    drop(db);
    let db = options.open(directory.path()).unwrap();
    assert!(db.get::<Album>("albums/1").unwrap().is_some());
}
