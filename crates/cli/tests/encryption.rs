//! The binary and encrypted data directories: keys, what they open, changing them, backups, and
//! that nothing of the data can be read in the files.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::{Run, TestDirectory, demo_archive, jackdaw};

/// What the made-up albums hold: a key of every document, an id, and the name of the database.
const MARKERS: [&str; 3] = ["DiscIds", "Albums/", "music"];

/// Runs a command with a key.
fn with_key(key: &str, arguments: &[&str]) -> Run {
    jackdaw(&[&["--encryption-key-file", key], arguments].concat())
}

fn export_with(key: &str, data: &str) -> Vec<String> {
    let arguments = ["export", "--database", "music", "--data", data, "-o", "-"];
    let mut lines: Vec<String> = with_key(key, &arguments)
        .ok()
        .out
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort_unstable();
    lines
}

fn import_arguments<'a>(archive: &'a str, data: &'a str) -> Vec<&'a str> {
    let target = ["--database", "music", "--data", data];
    [&["import", "freedb", archive], &target[..]].concat()
}

/// How many of the markers are in any file below a directory.
fn found(directory: &Path) -> usize {
    let mut contents = Vec::new();
    collect(directory, &mut contents);
    let is_found = |marker: &&&str| {
        let marker = marker.as_bytes();
        let mut windows = contents
            .iter()
            .flat_map(|bytes| bytes.windows(marker.len()));
        windows.any(|window| window == marker)
    };
    MARKERS.iter().filter(is_found).count()
}

fn collect(directory: &Path, contents: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("a name").path();
        match path.is_dir() {
            true => collect(&path, contents),
            false => contents.push(fs::read(path).expect("a file")),
        }
    }
}

#[test]
fn data_and_backups_are_encrypted_and_the_key_can_be_changed() {
    let directory = TestDirectory::new();
    let archive = directory.file("albums.tar", demo_archive(200));
    let (data, plain) = (directory.text("data"), directory.text("plain"));
    let (backup, restored) = (directory.text("backup"), directory.text("restored"));
    let (key, next) = (directory.text("key"), directory.text("next"));
    for key in [&key, &next] {
        jackdaw(&["encryption", "new-key", key]).ok();
        let mode = fs::metadata(key).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    jackdaw(&import_arguments(&archive, &plain)).ok();
    with_key(&key, &import_arguments(&archive, &data)).ok();
    assert_eq!(found(Path::new(&plain)), MARKERS.len());
    let documents = export_with(&key, &data);
    assert_eq!(documents.len(), 200);
    with_key(&key, &["check", &data]).ok();
    with_key(&key, &["backup", "--data", &data, &backup]).ok();
    with_key(&key, &["compact", &data]).ok();
    let change = ["encryption", "change-key", &data, "--new-key-file", &next];
    with_key(&key, &change).ok();
    assert_eq!(export_with(&next, &data), documents);
    let refused = with_key(&key, &["check", &data]).err;
    let wrong = "the key is not the one that";
    assert!(refused.contains(wrong), "{refused}");
    with_key(&key, &["restore", &backup, "--data", &restored]).ok();
    assert_eq!(export_with(&key, &restored), documents);
    for encrypted in [&data, &backup, &restored] {
        assert_eq!(found(Path::new(encrypted)), 0, "{encrypted}");
    }
    let doctor = with_key(&next, &["doctor", "--data", &data]).out;
    assert!(doctor.contains("encryption     on; "), "{doctor}");
}

#[test]
fn keys_are_refused_in_one_sentence() {
    let directory = TestDirectory::new();
    let archive = directory.file("albums.tar", demo_archive(5));
    let (data, plain) = (directory.text("data"), directory.text("plain"));
    let (key, other) = (directory.text("key"), directory.text("other"));
    jackdaw(&["encryption", "new-key", &key]).ok();
    jackdaw(&["encryption", "new-key", &other]).ok();
    jackdaw(&import_arguments(&archive, &plain)).ok();
    with_key(&key, &import_arguments(&archive, &data)).ok();
    let query = ["query", "from Albums", "--database", "music", "--data"];
    let ask = |key: Option<&str>, data: &str| {
        let arguments = [&query[..], &[data]].concat();
        let run = match key {
            Some(key) => with_key(key, &arguments),
            None => jackdaw(&arguments),
        };
        assert_eq!((run.code, run.err.lines().count()), (1, 1), "{run:#?}");
        run.err
    };
    assert!(ask(None, &data).contains("is encrypted: give its key"));
    assert!(ask(Some(&other), &data).contains("the key is not the one that"));
    assert!(ask(Some(&key), &plain).contains("is not encrypted: open it without a key"));
    fs::write(&other, "abc").unwrap();
    assert!(ask(Some(&other), &data).contains("holds no key: it takes 32 bytes"));
    fs::set_permissions(&other, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(ask(Some(&other), &data).contains("can be read by every user"));
    let command = format!("cat {key}");
    let by_command = ["--encryption-key-command", &command, "check", &data];
    jackdaw(&by_command).ok();
    let unlocked = jackdaw(&["check", &data]).err;
    let sentence = "is encrypted: give its key with --encryption-key-file";
    assert!(unlocked.contains(sentence), "{unlocked}");
    // What is left of a start with a key that ended early.
    let begun = directory.path("begun");
    fs::create_dir(&begun).unwrap();
    let wrapped = format!("{data}/jackdaw.encryption");
    fs::copy(&wrapped, begun.join("jackdaw.encryption")).unwrap();
    let refused = jackdaw(&import_arguments(&archive, &directory.text("begun")));
    assert!(
        refused.code == 1 && refused.err.contains(sentence),
        "{refused:#?}"
    );
    assert_eq!(fs::read_dir(&begun).unwrap().count(), 1);
    let mut bytes = fs::read(&wrapped).unwrap();
    bytes[60] ^= 1;
    fs::write(&wrapped, bytes).unwrap();
    assert!(ask(Some(&key), &data).contains("jackdaw.encryption is damaged"));
}
