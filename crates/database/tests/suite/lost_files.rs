//! Random removals and copies of directories and files between runs, after clean ends and power
//! loss: nothing but the named file is ever lost, and a check finds each.
//!
//! Each seed is printed. `JACKDAW_LOST_FILES_SEEDS=2000` runs that many,
//! `JACKDAW_LOST_FILES_FIRST=17` begins with seed 17.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_database::{DatabaseSet, Inventory, OpenError};
use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::{Environment, verify};

use crate::common::{options, put, store};

const DATA: &str = "/data";
const CATALOG: &str = "/data/catalog";
const ROUNDS: u64 = 4;

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn nothing_but_the_named_file_is_lost() {
    let first = variable("JACKDAW_LOST_FILES_FIRST", 0);
    for seed in first..first + variable("JACKDAW_LOST_FILES_SEEDS", 12) {
        println!("seed {seed}");
        run(seed);
    }
}

/// What was acknowledged: documents by number of a database, with its name.
#[derive(Clone, Default)]
struct Model {
    databases: BTreeMap<u64, (String, u64)>,
    created: u64,
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut vfs = SimVfs::new(seed);
    let mut model = Model::default();
    for round in 0..ROUNDS {
        work(&vfs, &mut model, &mut rng);
        let mut crashed = rng.below(2) == 0;
        vfs = match crashed {
            true => end_by_power_loss(&vfs, &mut model, &mut rng, seed + round),
            false => vfs,
        };
        assert_eq!(
            check(&vfs),
            Vec::<PathBuf>::new(),
            "before anything is removed"
        );
        let old = (rng.below(3) == 0).then(|| dump(&vfs, Path::new(CATALOG)));
        let known_to_old: Vec<u64> = model.databases.keys().copied().collect();
        if old.is_some() && rng.below(2) == 0 {
            work(&vfs, &mut model, &mut rng);
            // Closed in order: nothing needs the journal.
            crashed = false;
        }
        damage(&vfs, &mut model, &mut rng, crashed);
        if let Some(old) = old.filter(|_| rng.below(2) == 0) {
            vfs.remove_directory(Path::new(CATALOG)).unwrap();
            restore(&vfs, &old);
            adopt_all(&vfs, &mut model, &known_to_old);
        }
    }
}

/// Opens, creates, writes, and closes in order.
fn work(vfs: &Arc<SimVfs>, model: &mut Model, rng: &mut Rng) {
    let set = open(vfs);
    write(&set, model, rng);
}

fn write(set: &DatabaseSet, model: &mut Model, rng: &mut Rng) {
    if model.databases.len() < 3 {
        model.created += 1;
        let name = format!("db{}", model.created);
        let before: Vec<u64> = set.numbered().iter().map(|(number, _)| *number).collect();
        set.create(&name, "{}").unwrap();
        let numbered = set.numbered();
        let new = numbered.iter().find(|(number, _)| !before.contains(number));
        model.databases.insert(new.unwrap().0, (name, 0));
    }
    for (name, count) in model.databases.values_mut() {
        let database = set.get(name).unwrap().unwrap();
        assert_eq!(database.read().unwrap().count(), *count, "{name}");
        for _ in 0..1 + rng.below(6) {
            store(&database, &format!("notes/{count}"), "Notes", r#"{"A":1}"#);
            *count += 1;
        }
    }
}

fn end_by_power_loss(
    vfs: &Arc<SimVfs>,
    model: &mut Model,
    rng: &mut Rng,
    seed: u64,
) -> Arc<SimVfs> {
    let set = open(vfs);
    write(&set, model, rng);
    vfs.crash(CrashChoice::Random(seed))
}

fn open(vfs: &Arc<SimVfs>) -> DatabaseSet {
    let disk: Arc<dyn Vfs> = vfs.clone();
    DatabaseSet::open(disk, Path::new(DATA), options()).expect("opens")
}

/// Does one thing, and checks that only it has an effect. Then takes it back.
fn damage(vfs: &Arc<SimVfs>, model: &mut Model, rng: &mut Rng, crashed: bool) {
    let numbers: Vec<u64> = model.databases.keys().copied().collect();
    let number = numbers[usize::try_from(rng.below(numbers.len() as u64)).unwrap()];
    let database = format!("{DATA}/databases/{number}");
    let documents = format!("{database}/documents");
    let newest = newest_journal(vfs, &documents).filter(|_| crashed);
    match (rng.below(7), newest) {
        (0, _) => lose(vfs, model, number, Path::new(&database)),
        (1, _) => lose(vfs, model, number, Path::new(&documents)),
        (2, _) => lose(vfs, model, number, &Path::new(&documents).join("data.jd")),
        (3, _) => lose(vfs, model, number, &Path::new(&documents).join("meta")),
        (4, Some(newest)) => lose(vfs, model, number, &newest),
        (5, _) => {
            vfs.remove_directory(Path::new(CATALOG)).unwrap();
            assert_eq!(check(vfs), [PathBuf::from(CATALOG)]);
            adopt_all(vfs, model, &[]);
        }
        _ => copy(vfs, model, number, rng),
    }
}

/// Removes `path`, which belongs to the database `number`: it is refused, all others are as before.
fn lose(vfs: &Arc<SimVfs>, model: &mut Model, number: u64, path: &Path) {
    let kept = dump(vfs, Path::new(&format!("{DATA}/databases/{number}")));
    let is_directory = kept.iter().all(|(file, _)| file != path);
    match is_directory {
        true => vfs.remove_directory(path).unwrap(),
        false => vfs.remove_file(path).unwrap(),
    }
    let left = dump(vfs, Path::new(&format!("{DATA}/databases/{number}")));
    let found = check(vfs);
    let is_found = found
        .iter()
        .any(|one| one.starts_with(path) || path.starts_with(one));
    assert!(is_found, "{path:?} is not in {found:?}");
    let set = open(vfs);
    for (other, (name, count)) in &mut model.databases {
        if *other == number {
            assert!(set.get(name).is_err(), "{name} without {path:?}");
            continue;
        }
        let database = set.get(name).unwrap().unwrap();
        assert_eq!(database.read().unwrap().count(), *count);
        database
            .batch(vec![put(&format!("notes/{count}"), "Notes", "{}")])
            .unwrap();
        *count += 1;
    }
    drop(set);
    let is_lock = |path: &PathBuf| path.ends_with("LOCK");
    for (file, bytes) in &left {
        assert!(
            is_lock(file) || read(vfs, file) == *bytes,
            "{file:?} changed"
        );
    }
    // The file is put back: nothing else was lost.
    for (file, bytes) in kept.iter().filter(|(file, _)| file.starts_with(path)) {
        write_file(vfs, file, bytes);
    }
    verify_all(vfs, model);
}

/// Copies a database to a number that is free, or that was never used.
fn copy(vfs: &Arc<SimVfs>, model: &mut Model, number: u64, rng: &mut Rng) {
    let from = format!("{DATA}/databases/{number}");
    let new = model.databases.keys().max().unwrap() + 1 + rng.below(3);
    let to = PathBuf::from(format!("{DATA}/databases/{new}"));
    for (file, bytes) in dump(vfs, Path::new(&from)) {
        write_file(vfs, &to.join(file.strip_prefix(&from).unwrap()), &bytes);
    }
    let copied = dump(vfs, &to);
    assert_eq!(check(vfs), std::slice::from_ref(&to));
    let set = open(vfs);
    for round in 0..4 {
        set.create(&format!("clash{round}"), "").unwrap();
    }
    for round in 0..4 {
        assert!(set.delete(&format!("clash{round}")).unwrap());
    }
    drop(set);
    assert!(dump(vfs, &to) == copied, "the copy changed");
    let set = open(vfs);
    let (_, count) = model.databases[&number];
    set.adopt(new, "copy", "").unwrap();
    let copy = set.get("copy").unwrap().unwrap();
    assert_eq!(copy.read().unwrap().count(), count);
    drop(copy);
    assert!(set.delete("copy").unwrap());
    drop(set);
    verify_all(vfs, model);
}

/// Adopts what the catalog does not know (any more).
fn adopt_all(vfs: &Arc<SimVfs>, model: &mut Model, known: &[u64]) {
    let named = |model: &Model| -> Vec<Files> {
        let numbers = model.databases.keys();
        let paths = numbers.map(|number| format!("{DATA}/databases/{number}"));
        paths.map(|path| dump(vfs, Path::new(&path))).collect()
    };
    let before = named(model);
    let set = open(vfs);
    let unknown = set.unknown_directories().unwrap();
    let expected: Vec<u64> = model
        .databases
        .keys()
        .copied()
        .filter(|n| !known.contains(n))
        .collect();
    let unknown: Vec<u64> = unknown.iter().map(|one| one.number).collect();
    assert_eq!(unknown, expected);
    assert!(expected.len() < model.databases.len() || named(model) == before);
    for number in unknown {
        set.adopt(number, &model.databases[&number].0, "{}")
            .unwrap();
    }
    drop(set);
    verify_all(vfs, model);
}

fn verify_all(vfs: &Arc<SimVfs>, model: &Model) {
    assert_eq!(check(vfs), Vec::<PathBuf>::new());
    let set = open(vfs);
    assert_eq!(set.unknown_directories().unwrap(), []);
    for (name, count) in model.databases.values() {
        let database = set.get(name).unwrap().unwrap();
        assert_eq!(database.read().unwrap().count(), *count, "{name}");
    }
}

/// What `jackdaw check` would name.
fn check(vfs: &Arc<SimVfs>) -> Vec<PathBuf> {
    let disk: Arc<dyn Vfs> = vfs.clone();
    let inventory = match Inventory::of(&disk, Path::new(DATA)) {
        Ok(inventory) => inventory,
        Err(OpenError::Environment(_)) => return vec![PathBuf::from(CATALOG)],
        Err(error) => panic!("{error}"),
    };
    let unknown = inventory.unknown.iter().filter(|one| !one.is_unfinished);
    let mut found: Vec<PathBuf> = unknown.map(|one| one.path.clone()).collect();
    for path in inventory.expected {
        let files = ["meta", "data.jd", "journal"].map(|name| path.join(name));
        let missing: Vec<_> = files
            .into_iter()
            .filter(|file| !vfs.exists(file).unwrap())
            .collect();
        if !missing.is_empty() {
            found.extend(missing);
        } else if !verify(&*disk, &path).unwrap().damages.is_empty()
            || Environment::open_read_only(Arc::clone(&disk), &path).is_err()
        {
            found.push(path);
        }
    }
    found
}

fn newest_journal(vfs: &SimVfs, documents: &str) -> Option<PathBuf> {
    let journal = Path::new(documents).join("journal");
    let entries = vfs.list(&journal).ok()?.into_iter();
    let names = entries.map(|entry| entry.name);
    let newest = names.filter(|name| name.starts_with("j-")).max()?;
    Some(journal.join(newest))
}

type Files = Vec<(PathBuf, Vec<u8>)>;

/// All files below `directory` with their bytes, by name.
fn dump(vfs: &SimVfs, directory: &Path) -> Files {
    let mut files = Vec::new();
    if !vfs.exists(directory).unwrap() {
        return files;
    }
    for entry in vfs.list(directory).unwrap() {
        let path = directory.join(&entry.name);
        match entry.is_directory {
            true => files.extend(dump(vfs, &path)),
            false => files.push((path.clone(), read(vfs, &path))),
        }
    }
    files.sort();
    files
}

fn restore(vfs: &SimVfs, files: &Files) {
    for (path, bytes) in files {
        write_file(vfs, path, bytes);
    }
}

fn read(vfs: &SimVfs, path: &Path) -> Vec<u8> {
    let options = OpenOptions {
        mode: OpenMode::Read,
        direct: false,
    };
    let file = vfs.open(path, options).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len_bytes().unwrap()).unwrap()];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn write_file(vfs: &SimVfs, path: &Path, bytes: &[u8]) {
    vfs.create_directory(path.parent().unwrap()).unwrap();
    if path.ends_with("meta") {
        // Empty after a clean end, so that no file of it was kept.
        vfs.create_directory(&path.with_file_name("journal"))
            .unwrap();
    }
    if vfs.exists(path).unwrap() {
        vfs.remove_file(path).unwrap();
    }
    let options = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    let file = vfs.open(path, options).unwrap();
    if !bytes.is_empty() {
        file.write_at(bytes, 0, Durability::Data).unwrap();
    }
    vfs.sync_directory(path.parent().unwrap()).unwrap();
}
