//! Where backups may be made and restored from: nothing that is there is written over, removed or
//! followed, whatever it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jackdaw_database::{BackupError, BackupKind, DatabaseSet, PrefixQuery, restore_set};
use jackdaw_io::{EncryptedVfs, EncryptionKey, MemoryVfs, RealVfs, Vfs};
use jackdaw_storage::RestorePoint;

use crate::common::{by_prefix, options, store};

/// A directory of the machine, removed with the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("jackdaw-places-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Place(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "theirs").unwrap();
        path
    }

    fn link(&self, name: &str, to: &Path) -> PathBuf {
        let path = self.at(name);
        std::os::unix::fs::symlink(to, &path).unwrap();
        path
    }

    fn set(&self) -> DatabaseSet {
        let set = DatabaseSet::open(RealVfs::new(), &self.at("data"), options()).unwrap();
        if set.entry("Music").is_none() {
            store(&set.create("Music", "{}").unwrap(), "a/1", "As", "{}");
        }
        set
    }

    /// Paths and lengths of everything outside of open data.
    fn content_beside_data(&self) -> Vec<(PathBuf, u64)> {
        let mut content = self.content();
        content.retain(|(path, _)| !path.starts_with(self.at("data").join("databases")));
        content.retain(|(path, _)| !path.starts_with(self.at("data").join("catalog")));
        content
    }

    /// Paths and lengths of everything.
    fn content(&self) -> Vec<(PathBuf, u64)> {
        let (mut found, mut left) = (Vec::new(), vec![self.0.clone()]);
        while let Some(directory) = left.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                if metadata.is_dir() {
                    left.push(path.clone());
                }
                found.push((
                    path,
                    if metadata.is_file() {
                        metadata.len()
                    } else {
                        0
                    },
                ));
            }
        }
        found.sort();
        found
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn full(set: &DatabaseSet, to: &Path) -> Result<(), BackupError> {
    let made = set.back_up(to, BackupKind::Full, &|_, _, _| {});
    made.map(|_| ())
}

fn restore(from: &Path, to: &Path) -> Result<(), BackupError> {
    let vfs: Arc<dyn Vfs> = RealVfs::new();
    let made = restore_set(&vfs, from, to, RestorePoint::Latest, &|_, _, _| {});
    made.map(|_| ())
}

fn holds_the_document(directory: &Path) -> bool {
    let set = DatabaseSet::open(RealVfs::new(), directory, options()).unwrap();
    let database = set.get("music").unwrap().unwrap();
    by_prefix(&database.read().unwrap(), &PrefixQuery::default()) == ["a/1"]
}

#[test]
fn backups_leave_what_is_there_as_it_is() {
    let place = Place::new();
    let set = place.set();
    place.file("taken/file");
    place.file("a-file");
    place.file("looks-so/databases/1/documents/theirs");
    place.file("looks-so/catalog/theirs");
    place.file("marked-inside/pages.jd");
    std::fs::create_dir(place.at("real")).unwrap();
    place.link("link", &place.at("real"));
    place.link("nowhere", &place.at("missing"));
    place.link("to-data", &place.at("data"));
    let before = place.content_beside_data();
    let kind = |name: &str| full(&set, &place.at(name)).unwrap_err();
    for taken in ["taken", "looks-so", "marked-inside"] {
        let error = kind(taken);
        assert!(
            matches!(error, BackupError::TargetExists { .. }),
            "{taken}: {error}"
        );
    }
    for none in ["a-file", "a-file/below"] {
        let error = kind(none);
        assert!(
            matches!(error, BackupError::NotADirectory { .. }),
            "{none}: {error}"
        );
    }
    for link in ["link", "nowhere"] {
        let error = kind(link);
        assert!(matches!(error, BackupError::Link { .. }), "{link}: {error}");
    }
    for inside in [
        "data",
        "data/new",
        "data/databases/1",
        "data/databases/1/documents/new",
        "data/backups",
        "data/backups/../new",
        "to-data/new",
        "taken/../data/new",
    ] {
        let error = kind(inside);
        assert!(
            matches!(error, BackupError::Inside { .. }),
            "{inside}: {error}"
        );
        assert!(error.to_string().contains("outside"), "{error}");
    }
    let increment = set.back_up(&place.at("taken"), BackupKind::Increment, &|_, _, _| {});
    assert!(matches!(increment, Err(BackupError::NotABackup { .. })));
    assert_eq!(place.content_beside_data(), before);
}

#[test]
fn backups_are_made_below_the_directory_for_them() {
    let place = Place::new();
    let set = place.set();
    full(&set, &place.at("data/backups/monday")).unwrap();
    std::fs::create_dir(place.at("empty")).unwrap();
    full(&set, &place.at("empty")).unwrap();
    let again = full(&set, &place.at("empty"));
    assert!(matches!(again, Err(BackupError::TargetExists { .. })));
    drop(set);
    assert!(holds_the_document(&place.at("data")));
    for backup in ["data/backups/monday", "empty"] {
        let to = place.at("restored");
        restore(&place.at(backup), &to).unwrap();
        assert!(holds_the_document(&to), "{backup}");
        std::fs::remove_dir_all(&to).unwrap();
    }
}

#[test]
fn an_unfinished_backup_is_completed_and_a_strange_file_in_it_kept() {
    let place = Place::new();
    let set = place.set();
    let to = place.at("to");
    full(&set, &to).unwrap();
    // As if it had ended before the catalog.
    std::fs::remove_dir_all(to.join("catalog")).unwrap();
    let unmarked = full(&set, &to);
    assert!(matches!(unmarked, Err(BackupError::TargetExists { .. })));
    place.file("to/backup.unfinished");
    place.file("to/notes");
    full(&set, &to).unwrap();
    assert_eq!(std::fs::read_to_string(to.join("notes")).unwrap(), "theirs");
    assert!(!to.join("backup.unfinished").exists());
    restore(&to, &place.at("restored")).unwrap();
    assert!(holds_the_document(&place.at("restored")));
}

#[test]
fn links_within_a_backup_are_neither_written_nor_read_through() {
    let place = Place::new();
    let set = place.set();
    let to = place.at("to");
    full(&set, &to).unwrap();
    let secret = place.file("secret");
    for name in [
        "to/databases/9",
        "to/databases/1/documents/journal/j-0000000000000001.jnl",
        "to/extra",
    ] {
        let link = place.link(name, &secret);
        let before = place.content_beside_data();
        let increment = set.back_up(&to, BackupKind::Increment, &|_, _, _| {});
        assert!(matches!(increment, Err(BackupError::Link { .. })), "{name}");
        let restored = restore(&to, &place.at("restored"));
        assert!(matches!(restored, Err(BackupError::Link { .. })), "{name}");
        assert_eq!(place.content_beside_data(), before, "{name}");
        std::fs::remove_file(link).unwrap();
    }
    // The pages themselves.
    let pages = to.join("databases/1/documents/pages.jd");
    std::fs::rename(&pages, place.at("moved")).unwrap();
    place.link("to/databases/1/documents/pages.jd", &place.at("moved"));
    let restored = restore(&to, &place.at("restored"));
    assert!(matches!(restored, Err(BackupError::Link { .. })));
    assert!(!place.at("restored").exists());
}

#[test]
fn restores_leave_what_is_there_as_it_is() {
    let place = Place::new();
    let set = place.set();
    let backup = place.at("backup");
    full(&set, &backup).unwrap();
    drop(set);
    place.file("taken/file");
    place.file("a-file");
    std::fs::create_dir(place.at("real")).unwrap();
    place.link("link", &place.at("real"));
    // Data with the mark of a restore, however it came there.
    place.file("data/restore.tmp");
    place.file("looks-so/restore.tmp");
    place.file("looks-so/databases/1/documents/LOCK");
    place.file("linked/restore.tmp");
    place.link("linked/databases", &place.at("data/databases"));
    let before = place.content();
    let refused = |to: &str| restore(&backup, &place.at(to)).unwrap_err();
    for taken in ["taken", "data", "looks-so", "data/databases/1"] {
        let error = refused(taken);
        assert!(
            matches!(error, BackupError::TargetExists { .. }),
            "{taken}: {error}"
        );
    }
    assert!(matches!(
        refused("a-file"),
        BackupError::NotADirectory { .. }
    ));
    for link in ["link", "linked"] {
        assert!(matches!(refused(link), BackupError::Link { .. }), "{link}");
    }
    for inside in ["backup", "backup/new"] {
        assert!(
            matches!(refused(inside), BackupError::Inside { .. }),
            "{inside}"
        );
    }
    for (from, is_missing) in [("nothing", true), ("taken", true), ("a-file", false)] {
        let error = restore(&place.at(from), &place.at("new")).unwrap_err();
        let is_not_a_backup = matches!(error, BackupError::NotABackup { .. });
        assert_eq!(is_not_a_backup, is_missing, "{from}: {error}");
    }
    let mut after = place.content();
    // What a restore from a directory without a backup begins, it goes on with.
    after.retain(|(path, _)| !path.starts_with(place.at("new")));
    assert_eq!(after, before);
    std::fs::remove_file(place.at("data/restore.tmp")).unwrap();
    assert!(holds_the_document(&place.at("data")));
}

#[test]
fn one_backup_or_restore_at_a_time_has_a_directory() {
    let place = Place::new();
    let set = place.set();
    let to = place.at("to");
    full(&set, &to).unwrap();
    let vfs = RealVfs::new();
    let lock = vfs.lock(&to.join("LOCK")).unwrap();
    let busy = set.back_up(&to, BackupKind::Increment, &|_, _, _| {});
    assert!(matches!(busy, Err(BackupError::Busy { .. })));
    drop(lock);
    set.back_up(&to, BackupKind::Increment, &|_, _, _| {})
        .unwrap();
    // A second one begins in the middle of the first, which has pages to copy.
    let music = set.get("Music").unwrap().unwrap();
    music.documents().flush().unwrap();
    let second = std::sync::Mutex::new(None);
    let new = place.at("new");
    set.back_up(&new, BackupKind::Full, &|_, _, _| {
        *second.lock().unwrap() = Some(full(&set, &new));
    })
    .unwrap();
    let second = second.into_inner().unwrap().unwrap();
    assert!(matches!(second, Err(BackupError::Busy { .. })));
    let restored = place.at("restored");
    let vfs: Arc<dyn Vfs> = RealVfs::new();
    let second = std::sync::Mutex::new(None);
    restore_set(&vfs, &new, &restored, RestorePoint::Latest, &|_, _, _| {
        *second.lock().unwrap() = Some(restore(&new, &restored));
    })
    .unwrap();
    let second = second.into_inner().unwrap().unwrap();
    assert!(matches!(second, Err(BackupError::Busy { .. })));
    assert!(holds_the_document(&restored));
}

#[test]
fn places_of_clients_are_below_what_is_allowed() {
    let place = Place::new();
    let set = place.set();
    let (first, second) = (place.at("first"), place.at("second"));
    std::fs::create_dir(&first).unwrap();
    place.file("first/file");
    place.link("first/link", &place.at("second"));
    place.link("second-link", &second);
    let allowed = [first.clone(), second.clone()];
    let found = |to: &Path| set.backup_place(to, &allowed);
    for (to, at) in [
        (PathBuf::from("monday"), first.join("monday")),
        (PathBuf::from("./a/./b"), first.join("a/b")),
        (PathBuf::from("m\u{f6}ntag"), first.join("m\u{f6}ntag")),
        (first.join("monday"), first.join("monday")),
        (second.join("a/b/c"), second.join("a/b/c")),
    ] {
        assert_eq!(found(&to).unwrap(), at);
    }
    for to in [
        PathBuf::from(""),
        PathBuf::from("."),
        PathBuf::from(".."),
        PathBuf::from("a/../../b"),
        PathBuf::from("/"),
        PathBuf::from("/etc"),
        first.clone(),
        first.join("."),
        first.join(".."),
        first.join("../other"),
        place.at("firsts/a"),
        place.at("second-link/a"),
        place.at("data"),
    ] {
        let error = found(&to).unwrap_err();
        assert!(
            matches!(error, BackupError::NotAllowed { .. }),
            "{to:?}: {error}"
        );
        assert!(error.to_string().contains("--backups"), "{error}");
    }
    for to in ["link", "link/new"] {
        let error = found(Path::new(to)).unwrap_err();
        assert!(matches!(error, BackupError::Link { .. }), "{to}: {error}");
    }
    for to in ["file", "file/new"] {
        let error = found(Path::new(to)).unwrap_err();
        assert!(
            matches!(error, BackupError::NotADirectory { .. }),
            "{to}: {error}"
        );
    }
}

#[test]
fn a_backup_below_encrypted_data_can_be_moved_away() {
    let below: Arc<dyn Vfs> = MemoryVfs::new();
    let open = || -> Arc<dyn Vfs> {
        let limits = jackdaw_io::DecryptedLimits {
            budget_bytes: 8 << 20,
            bytes_max: 64 << 20,
        };
        EncryptedVfs::new(
            Arc::clone(&below),
            EncryptionKey::from_bytes([7; 32]),
            limits,
        )
    };
    let vfs = open();
    let set = DatabaseSet::open(Arc::clone(&vfs), Path::new("/data"), options()).unwrap();
    let music = set.create("Music", "{}").unwrap();
    store(&music, "a/1", "As", "{}");
    let to = Path::new("/data/backups/monday");
    full(&set, to).unwrap();
    drop((music, set, vfs));
    // Another process adds to it.
    let set = DatabaseSet::open(open(), Path::new("/data"), options()).unwrap();
    let music = set.get("Music").unwrap().unwrap();
    store(&music, "a/2", "As", "{}");
    set.back_up(to, BackupKind::Increment, &|_, _, _| {})
        .unwrap();
    drop((music, set));
    below.rename(to, Path::new("/elsewhere")).unwrap();
    below.remove_directory(Path::new("/data")).unwrap();
    let vfs = open();
    let from = Path::new("/elsewhere");
    restore_set(
        &vfs,
        from,
        Path::new("/new"),
        RestorePoint::Latest,
        &|_, _, _| {},
    )
    .unwrap();
    let set = DatabaseSet::open(vfs, Path::new("/new"), options()).unwrap();
    let music = set.get("Music").unwrap().unwrap();
    let found = by_prefix(&music.read().unwrap(), &PrefixQuery::default());
    assert_eq!(found, ["a/1", "a/2"]);
}
