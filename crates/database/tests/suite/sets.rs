//! Facts about databases as a whole: names, records, deletion, interrupted creation, the lock.

use std::path::Path;
use std::sync::Arc;

use jackdaw_database::{DatabaseSet, SetError};
use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, SimVfs};

use crate::common::{options, store};

fn open(vfs: &Arc<SimVfs>) -> DatabaseSet {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    DatabaseSet::open(vfs, Path::new("/data"), options()).expect("opens")
}

#[test]
fn databases_are_created_found_and_kept() {
    let vfs = SimVfs::new(1);
    let set = open(&vfs);
    let music = set.create("Music", r#"{"a":1}"#).unwrap();
    set.create("books", "{}").unwrap();
    store(&music, "a", "As", "{}");
    let id = music.id().clone();
    assert_eq!(set.names(), ["books", "Music"]);
    assert!(Arc::ptr_eq(&set.get("mUSIC").unwrap().unwrap(), &music));
    assert!(set.get("none").unwrap().is_none());
    assert!(matches!(set.create("MUSIC", ""), Err(SetError::Exists(name)) if name == "Music"));
    assert!(matches!(
        set.create("a/b", ""),
        Err(SetError::InvalidName { .. })
    ));
    let before = set.entry("music").unwrap();
    assert_eq!((&*before.name, &*before.record), ("Music", r#"{"a":1}"#));
    let change = |name: &str, text: &str| {
        let text = text.to_owned();
        set.change_record(name, |_| Ok::<_, ()>(text))
    };
    let index = change("music", r#"{"a":2}"#).unwrap().unwrap();
    assert!(index > before.index);
    assert!(matches!(change("none", ""), Err(SetError::Missing(_))));
    assert_eq!(set.change_record("music", |_| Err(7)).unwrap(), Err(7));
    drop((set, music));
    let set = open(&vfs);
    assert_eq!(set.names(), ["books", "Music"]);
    let entry = set.entry("MUSIC").unwrap();
    assert_eq!((entry.index, &*entry.record), (index, r#"{"a":2}"#));
    assert!(set.get_open("music").is_none());
    let music = set.get("music").unwrap().unwrap();
    assert!(set.get_open("music").is_some());
    assert_eq!((music.id(), music.name()), (&id, "Music"));
    assert_eq!(music.read().unwrap().count(), 1);
}

#[test]
fn a_deleted_database_is_gone_and_its_name_free() {
    let vfs = SimVfs::new(2);
    let set = open(&vfs);
    let old = set.create("Music", "").unwrap();
    store(&old, "a", "As", "{}");
    let snapshot = old.read().unwrap();
    assert!(set.delete("music").unwrap());
    assert!(!set.delete("music").unwrap());
    assert!(set.get("music").unwrap().is_none());
    let new = set.create("Music", "").unwrap();
    assert_eq!(new.read().unwrap().count(), 0);
    assert_ne!(new.id(), old.id());
    assert_eq!(snapshot.count(), 1);
    assert!(vfs.exists(Path::new("/data/databases/1")).unwrap());
    drop((old, snapshot));
    assert!(!vfs.exists(Path::new("/data/databases/1")).unwrap());
    drop((set, new));
    let set = open(&vfs);
    assert!(set.delete("MUSIC").unwrap());
    assert!(!vfs.exists(Path::new("/data/databases/2")).unwrap());
}

#[test]
fn creation_survives_power_loss() {
    for seed in 0..8 {
        println!("seed {seed}");
        let vfs = SimVfs::new(seed);
        let set = open(&vfs);
        set.create("One", "1").unwrap();
        set.create("Two", "2").unwrap();
        set.delete("One").unwrap();
        let crashed = vfs.crash(CrashChoice::Random(seed));
        let after = open(&crashed);
        assert_eq!(after.names(), ["Two"]);
        assert_eq!(
            after.get("two").unwrap().unwrap().read().unwrap().count(),
            0
        );
        assert_eq!(after.create("One", "").unwrap().read().unwrap().count(), 0);
    }
}

#[test]
fn a_second_user_of_the_directory_is_refused_in_a_sentence() {
    let vfs = SimVfs::new(5);
    let set = open(&vfs);
    let other: Arc<dyn Vfs> = vfs.clone();
    let error = DatabaseSet::open(other, Path::new("/data"), options())
        .err()
        .expect("refused");
    assert!(
        error.to_string().contains("in use by another process"),
        "{error}"
    );
    drop(set);
    open(&vfs);
}

#[test]
fn of_two_who_change_a_record_at_once_neither_undoes_the_other() {
    const CHANGES: usize = 50;
    let vfs = SimVfs::new(1);
    let set = open(&vfs);
    set.create("music", "").unwrap();
    std::thread::scope(|scope| {
        for letter in ["a", "b", "c"] {
            let set = &set;
            scope.spawn(move || {
                for _ in 0..CHANGES {
                    let changed =
                        set.change_record("music", |text| Ok::<_, ()>(format!("{text}{letter}")));
                    changed.unwrap().unwrap();
                }
            });
        }
    });
    let record = set.entry("music").unwrap().record;
    for letter in ["a", "b", "c"] {
        assert_eq!(record.matches(letter).count(), CHANGES);
    }
}
