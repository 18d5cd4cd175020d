//! What the catalog does not know may hold data: it is left alone, listed, adopted or removed by
//! name. What the catalog knows and is not there is reported, not made empty.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_database::{DatabaseSet, OpenError, SetError};
use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};
use jackdaw_sim::{CrashChoice, SimVfs};

use crate::common::{options, store};

fn open(vfs: &Arc<SimVfs>) -> DatabaseSet {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    DatabaseSet::open(vfs, Path::new("/data"), options()).expect("opens")
}

/// Every file below `path` with its content.
fn files(vfs: &SimVfs, path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in vfs.list(path).unwrap() {
        let path = path.join(&entry.name);
        if entry.is_directory {
            found.extend(files(vfs, &path));
        } else {
            let options = OpenOptions {
                mode: OpenMode::Read,
                direct: false,
            };
            let mut bytes = vec![0; usize::try_from(entry.len_bytes).unwrap()];
            let file = vfs.open(&path, options).unwrap();
            file.read_at(&mut bytes, 0).unwrap();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

fn write(vfs: &SimVfs, path: &Path, bytes: &[u8]) {
    vfs.create_directory(path.parent().unwrap()).unwrap();
    let options = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    let file = vfs.open(path, options).unwrap();
    file.write_at(bytes, 0, Durability::Data).unwrap();
}

/// Copies a directory and all that is in it.
fn copy(vfs: &SimVfs, from: &Path, to: &Path) {
    for (path, bytes) in files(vfs, from) {
        write(vfs, &to.join(path.strip_prefix(from).unwrap()), &bytes);
    }
}

#[test]
fn databases_outlive_their_catalog() {
    let vfs = SimVfs::new(1);
    let set = open(&vfs);
    let music = set.create("Music", "").unwrap();
    store(&music, "a", "As", "{}");
    store(&set.create("Books", "").unwrap(), "b", "Bs", "{}");
    drop((set, music));
    let before = files(&vfs, Path::new("/data/databases"));
    vfs.remove_directory(Path::new("/data/catalog")).unwrap();
    let set = open(&vfs);
    assert_eq!(files(&vfs, Path::new("/data/databases")), before);
    let unknown = ["/data/databases/1", "/data/databases/2"].map(PathBuf::from);
    assert_eq!(set.unknown_directories().unwrap(), unknown);
    // A new database gets a place of its own, whatever the new catalog counts.
    let new = set.create("New", "").unwrap();
    assert_eq!(new.read().unwrap().count(), 0);
    assert!(vfs.exists(Path::new("/data/databases/3")).unwrap());

    let music = set.adopt(1, "Music", "{}").unwrap();
    assert_eq!(music.read().unwrap().count(), 1);
    assert!(matches!(
        set.adopt(2, "music", ""),
        Err(SetError::Exists(_))
    ));
    assert!(matches!(set.adopt(1, "x", ""), Err(SetError::Known { .. })));
    assert!(matches!(
        set.adopt(9, "x", ""),
        Err(SetError::NoDirectory { .. })
    ));
    set.remove_unknown(2).unwrap();
    assert!(!vfs.exists(Path::new("/data/databases/2")).unwrap());
    assert!(matches!(set.remove_unknown(1), Err(SetError::Known { .. })));
    drop((set, music, new));
    let set = open(&vfs);
    assert_eq!(set.names(), ["Music", "New"]);
    assert_eq!(set.unknown_directories().unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn an_older_catalog_deletes_nothing() {
    let vfs = SimVfs::new(2);
    let set = open(&vfs);
    set.create("One", "").unwrap();
    drop(set);
    copy(&vfs, Path::new("/data/catalog"), Path::new("/older"));
    let set = open(&vfs);
    let two = set.create("Two", "").unwrap();
    store(&two, "a", "As", "{}");
    drop((set, two));
    vfs.remove_directory(Path::new("/data/catalog")).unwrap();
    copy(&vfs, Path::new("/older"), Path::new("/data/catalog"));
    let set = open(&vfs);
    assert_eq!(set.names(), ["One"]);
    let three = set.create("Three", "").unwrap();
    assert_eq!(three.read().unwrap().count(), 0);
    let two = set.adopt(2, "Two", "").unwrap();
    assert_eq!(two.read().unwrap().count(), 1);
}

#[test]
fn a_directory_copied_in_is_kept_whatever_it_is_called() {
    let vfs = SimVfs::new(3);
    let set = open(&vfs);
    let music = set.create("Music", "").unwrap();
    store(&music, "a", "As", "{}");
    drop((set, music));
    let names = ["7", "07", "old", "18446744073709551616", "1.bak", "-1"];
    for name in names {
        let to = Path::new("/data/databases").join(name);
        copy(&vfs, Path::new("/data/databases/1"), &to);
    }
    write(&vfs, Path::new("/data/databases/9/notes.txt"), b"mine");
    vfs.create_directory(Path::new("/data/databases/10"))
        .unwrap();
    let before = files(&vfs, Path::new("/data/databases"));
    let set = open(&vfs);
    assert_eq!(set.unknown_directories().unwrap().len(), names.len() + 2);
    drop(set);
    assert_eq!(files(&vfs, Path::new("/data/databases")), before);
    let set = open(&vfs);
    assert_eq!(set.adopt(7, "Copy", "").unwrap().read().unwrap().count(), 1);
    // Neither a directory of something else nor an empty one becomes a database.
    for number in [9, 10] {
        let error = set.adopt(number, "Other", "").err().expect("refused");
        assert!(error.to_string().contains("missing"), "{error}");
    }
    assert!(
        vfs.exists(Path::new("/data/databases/9/notes.txt"))
            .unwrap()
    );
    assert!(
        !vfs.exists(Path::new("/data/databases/10/documents"))
            .unwrap()
    );
}

#[test]
fn only_what_is_marked_as_unfinished_is_removed() {
    let vfs = SimVfs::new(4);
    drop(open(&vfs));
    write(&vfs, Path::new("/data/databases/3/UNFINISHED"), b"");
    write(
        &vfs,
        Path::new("/data/databases/3/documents/data.jd"),
        b"half made",
    );
    write(&vfs, Path::new("/data/databases/old/UNFINISHED"), b"");
    let set = open(&vfs);
    assert!(!vfs.exists(Path::new("/data/databases/3")).unwrap());
    assert!(vfs.exists(Path::new("/data/databases/old")).unwrap());
    // A database that the catalog knows keeps its data, and loses the mark.
    let music = set.create("Music", "").unwrap();
    store(&music, "a", "As", "{}");
    drop((set, music));
    let mark = Path::new("/data/databases/1/UNFINISHED");
    assert!(!vfs.exists(mark).unwrap());
    write(&vfs, mark, b"");
    let set = open(&vfs);
    assert!(!vfs.exists(mark).unwrap());
    assert_eq!(
        set.get("Music").unwrap().unwrap().read().unwrap().count(),
        1
    );
}

#[test]
fn missing_documents_are_reported_and_the_other_databases_go_on() {
    for is_empty_directory in [false, true] {
        let vfs = SimVfs::new(5);
        let set = open(&vfs);
        for name in ["One", "Two"] {
            store(&set.create(name, "").unwrap(), "a", "As", "{}");
        }
        drop(set);
        let documents = Path::new("/data/databases/1/documents");
        vfs.remove_directory(documents).unwrap();
        if is_empty_directory {
            vfs.create_directory(documents).unwrap();
        }
        let set = open(&vfs);
        let error = set.get("One").err().expect("refused");
        assert!(matches!(&error, OpenError::DocumentsMissing { name, .. } if name == "One"));
        assert_eq!(set.get("Two").unwrap().unwrap().read().unwrap().count(), 1);
        assert!(matches!(set.create("One", ""), Err(SetError::Exists(_))));
        // Asking again does not create it.
        assert!(set.get("One").is_err());
        assert!(set.delete("One").unwrap());
        assert!(set.get("One").unwrap().is_none());
    }
}

#[test]
fn index_directories_without_a_definition_are_kept() {
    let vfs = SimVfs::new(6);
    let set = open(&vfs);
    let music = set.create("Music", "").unwrap();
    drop((set, music));
    write(
        &vfs,
        Path::new("/data/databases/1/indexes/1/data.jd"),
        b"not known",
    );
    write(
        &vfs,
        Path::new("/data/databases/1/indexes/2/UNFINISHED"),
        b"",
    );
    let set = open(&vfs);
    let music = set.get("Music").unwrap().unwrap();
    let unknown = music.unknown_index_directories().unwrap();
    assert_eq!(unknown, [PathBuf::from("/data/databases/1/indexes/1")]);
    assert!(vfs.exists(&unknown[0].join("data.jd")).unwrap());
    assert!(
        !vfs.exists(Path::new("/data/databases/1/indexes/2"))
            .unwrap()
    );
}

#[test]
fn deletion_that_power_loss_interrupts_leaves_nothing_unknown() {
    for seed in 0..16 {
        println!("seed {seed}");
        let vfs = SimVfs::new(seed);
        let set = open(&vfs);
        let one = set.create("One", "").unwrap();
        store(&one, "a", "As", "{}");
        // Held open, so that its files are still there when the power fails.
        set.delete("One").unwrap();
        let crashed = vfs.crash(CrashChoice::Random(seed));
        let after = open(&crashed);
        assert_eq!(after.names(), Vec::<String>::new());
        assert_eq!(after.unknown_directories().unwrap(), Vec::<PathBuf>::new());
        assert!(!crashed.exists(Path::new("/data/databases/1")).unwrap());
        drop(one);
    }
}
