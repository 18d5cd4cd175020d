//! What is proven: files, archives and directories give the same entries, in an order that does not
//! change, and the identity follows the content.

use std::io::Write;

use super::*;
use crate::archive::{append_end, append_file};

/// A directory of its own for a test, removed at its end.
struct TestDirectory(PathBuf);

impl TestDirectory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("jackdaw-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn list(path: &Path) -> Vec<String> {
    let mut source = Input::open(path).unwrap().into_entries(2).unwrap();
    let mut chunk = Chunk::default();
    let mut out = Vec::new();
    loop {
        chunk.clear();
        let more = source.fill(&mut chunk).unwrap();
        for (name, content) in chunk.entries() {
            out.push(format!("{name}={}", String::from_utf8_lossy(content)));
        }
        let mut skipped = Vec::new();
        chunk.drain_skipped(&mut skipped);
        out.extend(
            skipped
                .iter()
                .map(|skip| format!("{}: {}", skip.name, skip.reason.kind())),
        );
        if !more {
            return out;
        }
    }
}

fn tar() -> Vec<u8> {
    let mut bytes = Vec::new();
    append_file(&mut bytes, "rock/1", b"one");
    append_file(&mut bytes, "jazz/2", b"two");
    append_end(&mut bytes);
    bytes
}

#[test]
fn archives_files_and_directories_give_entries() {
    let directory = TestDirectory::new("sources");
    let plain = directory.file("plain.tar", &tar());
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(&tar()).unwrap();
    let packed = directory.file("packed", &encoder.finish().unwrap());
    let single = directory.file("album.txt", b"text");
    let empty = directory.file("empty", b"");
    assert_eq!(list(&plain), ["rock/1=one", "jazz/2=two"]);
    assert_eq!(list(&packed), ["rock/1=one", "jazz/2=two"]);
    assert_eq!(list(&single), ["album.txt=text"]);
    assert_eq!(list(&empty), ["empty="]);

    let tree = TestDirectory::new("tree");
    tree.file("rock/b", b"2");
    tree.file("rock/a", b"1");
    tree.file("jazz/z/y", b"0");
    tree.file("more.tar", &tar());
    assert_eq!(
        list(&tree.0),
        [
            "jazz/z/y=0",
            "rock/1=one",
            "jazz/2=two",
            "rock/a=1",
            "rock/b=2"
        ]
    );
}

#[test]
fn a_file_beyond_the_limit_is_skipped() {
    let directory = TestDirectory::new("long");
    let mut bytes = Vec::new();
    append_file(&mut bytes, "rock/long", &vec![b'x'; 5 << 20]);
    append_file(&mut bytes, "rock/short", b"x");
    append_end(&mut bytes);
    let archive = directory.file("a.tar", &bytes);
    let mut lines = list(&archive);
    lines.sort();
    assert_eq!(lines, ["rock/long: entry too long", "rock/short=x"]);
    let single = directory.file("single", &vec![b'x'; 5 << 20]);
    assert_eq!(list(&single), ["single: entry too long"]);
}

#[test]
fn the_identity_follows_length_and_beginning() {
    let directory = TestDirectory::new("identity");
    let identity = |content: &[u8]| Input::open(&directory.file("f", content)).unwrap().identity;
    let first = identity(b"abc");
    assert_eq!(identity(b"abc"), first);
    assert_ne!(identity(b"abd"), first);
    assert_ne!(identity(b"abcd"), first);
}

#[test]
fn a_line_import_of_a_directory_says_so() {
    let directory = TestDirectory::new("not-a-file");
    let error = Input::open(&directory.0)
        .unwrap()
        .into_stream(1)
        .err()
        .unwrap();
    assert!(error.to_string().contains("is a directory"), "{error}");
}
