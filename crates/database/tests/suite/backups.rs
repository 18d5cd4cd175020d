//! Backups of a data directory while it is used: what is restored has the same documents, at a
//! chosen time too, and builds its indexes again.

use std::path::Path;
use std::sync::Arc;

use jackdaw_database::{
    BackupKind, Database, DatabaseOptions, DatabaseSet, OpenError, PrefixQuery, restore_set,
};
use jackdaw_io::{OpenMode, OpenOptions, Vfs};
use jackdaw_sim::SimVfs;
use jackdaw_storage::{BackupError, Options, RestorePoint};

use crate::common::{by_prefix, options, store};

fn open_at(vfs: &Arc<SimVfs>, directory: &str) -> DatabaseSet {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    let options = DatabaseOptions {
        documents: Options {
            journal_archive_bytes: 1 << 20,
            ..Options::small()
        },
        ..options()
    };
    DatabaseSet::open(vfs, Path::new(directory), options).expect("opens")
}

fn ids(database: &Database) -> Vec<String> {
    by_prefix(&database.read().unwrap(), &PrefixQuery::default())
}

fn restore_to(vfs: &Arc<SimVfs>, to: &str, point: RestorePoint) -> Result<(), BackupError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    let (from, to) = (Path::new("/backup"), Path::new(to));
    restore_set(&vfs, from, to, point, &|_, _, _| {}).map(|_| ())
}

fn back_up(set: &DatabaseSet, kind: BackupKind) -> Result<(), BackupError> {
    set.back_up(Path::new("/backup"), kind, &|_, _, _| {})
        .map(|_| ())
}

#[test]
fn a_data_directory_comes_back_as_it_was_at_any_time() {
    let vfs = SimVfs::new(1);
    let set = open_at(&vfs, "/data");
    let music = set.create("Music", "{\"a\":1}").unwrap();
    store(&music, "albums/1", "Albums", "{}");
    back_up(&set, BackupKind::Full).unwrap();
    store(&music, "albums/2", "Albums", "{}");
    let between = vfs.unix_nanos();
    store(&music, "albums/3", "Albums", "{}");
    let books = set.create("Books", "{}").unwrap();
    store(&books, "books/1", "Books", "{}");
    back_up(&set, BackupKind::Increment).unwrap();
    store(&music, "albums/4", "Albums", "{}");
    drop((music, books, set));
    // With nobody using it, databases are opened for the backup alone.
    back_up(&open_at(&vfs, "/data"), BackupKind::Increment).unwrap();

    restore_to(&vfs, "/latest", RestorePoint::Latest).unwrap();
    let set = open_at(&vfs, "/latest");
    assert_eq!(set.names(), ["Books", "Music"]);
    assert_eq!(set.entry("music").unwrap().record, "{\"a\":1}");
    let music = set.get("music").unwrap().unwrap();
    assert_eq!(
        ids(&music),
        ["albums/1", "albums/2", "albums/3", "albums/4"]
    );
    assert_eq!(ids(&set.get("books").unwrap().unwrap()), ["books/1"]);
    store(&music, "albums/5", "Albums", "{}");

    restore_to(&vfs, "/between", RestorePoint::Time(between)).unwrap();
    let set = open_at(&vfs, "/between");
    assert_eq!(set.names(), ["Music"]);
    assert_eq!(
        ids(&set.get("music").unwrap().unwrap()),
        ["albums/1", "albums/2"]
    );
}

#[test]
fn what_is_there_is_kept_and_what_is_not_complete_is_refused() {
    let vfs = SimVfs::new(2);
    let set = open_at(&vfs, "/data");
    store(&set.create("Music", "{}").unwrap(), "a", "As", "{}");
    let missing = back_up(&set, BackupKind::Increment);
    assert!(matches!(missing, Err(BackupError::NotABackup { .. })));
    back_up(&set, BackupKind::Full).unwrap();
    let again = back_up(&set, BackupKind::Full);
    assert!(matches!(again, Err(BackupError::TargetExists { .. })));
    let taken = restore_to(&vfs, "/data", RestorePoint::Latest);
    assert!(matches!(taken, Err(BackupError::TargetExists { .. })));
    // A restore that stopped in the middle.
    vfs.create_directory(Path::new("/to/databases/1")).unwrap();
    let create = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    vfs.open(Path::new("/to/restore.tmp"), create).unwrap();
    let vfs_of_set: Arc<dyn Vfs> = vfs.clone();
    let refused = DatabaseSet::open(vfs_of_set, Path::new("/to"), options());
    assert!(matches!(refused, Err(OpenError::HalfRestored(_))));
    restore_to(&vfs, "/to", RestorePoint::Latest).unwrap();
    assert_eq!(
        ids(&open_at(&vfs, "/to").get("music").unwrap().unwrap()),
        ["a"]
    );
}
