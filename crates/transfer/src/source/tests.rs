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
fn the_identity_follows_the_whole_content() {
    let directory = TestDirectory::new("identity");
    let identity = |content: &[u8]| Input::open(&directory.file("f", content)).unwrap().identity;
    let mut long = vec![b'x'; 3 << 20];
    let first = identity(&long);
    assert!(first.is_some());
    assert_eq!(identity(&long), first);
    long[2 << 20] = b'y';
    assert_ne!(identity(&long), first);
    assert_ne!(identity(b"abc"), identity(b"abcd"));
    assert_ne!(identity(b""), identity(b"\0"));
    // What was read to identify it is still there.
    let mut out = Vec::new();
    let input = Input::open(&directory.file("g", b"abc")).unwrap();
    let mut source = input.into_entries(1).unwrap();
    assert!(matches!(source.next(&mut out).unwrap(), Filled::Entry(_)));
    assert_eq!(out, b"abc");
}

#[test]
fn the_identity_of_a_directory_follows_its_files_at_any_depth() {
    let directory = TestDirectory::new("identity-tree");
    directory.file("a/b/c", b"1");
    let identity = || Input::open(&directory.0).unwrap().identity;
    let first = identity();
    assert_eq!(identity(), first);
    directory.file("a/b/c", b"12");
    let longer = identity();
    assert_ne!(longer, first);
    directory.file("a/b/d", b"");
    assert_ne!(identity(), longer);
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in files {
        if name.ends_with('/') {
            writer.add_directory(*name, stored).unwrap();
            continue;
        }
        writer.start_file(*name, stored).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn contents(path: &Path) -> Vec<Result<String, String>> {
    let inputs =
        Input::open_each(&[path.to_owned()]).unwrap_or_else(|(_, error)| panic!("{error}"));
    let read = |input: Input| {
        let mut stream = input.into_stream(1).map_err(|error| error.to_string())?;
        let (mut text, mut buffer) = (Vec::new(), [0; 64]);
        loop {
            match stream
                .read(&mut buffer)
                .map_err(|error| error.to_string())?
            {
                0 => return Ok(String::from_utf8(text).unwrap()),
                len => text.extend_from_slice(&buffer[..len]),
            }
        }
    };
    inputs.into_iter().map(read).collect()
}

/// An archive of 40 letters, as Python's zipfile packs it.
const DEFLATED_ZIP: &[u8] =
    b"PK\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00!X%\x8a[\xc9\x06\x00\x00\x00(\x00\x00\x00\
    \x05\x00\x00\x00a.txtKL$\x0e\x00\x00PK\x01\x02\x14\x03\x14\x00\x00\x00\x08\x00\x00\
    \x00!X%\x8a[\xc9\x06\x00\x00\x00(\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\
    \x00\x00\x00\x80\x01\x00\x00\x00\x00a.txtPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x003\
    \x00\x00\x00)\x00\x00\x00\x00\x00";

#[test]
fn zip_archives_stand_for_their_files() {
    let directory = TestDirectory::new("zip");
    let bytes = zip(&[
        ("a.csv", b"one"),
        ("d/", b""),
        ("d/b.csv", b"two"),
        ("__MACOSX/a", b"x"),
    ]);
    let path = directory.file("a.zip", &bytes);
    assert_eq!(
        contents(&path),
        [Ok("one".to_owned()), Ok("two".to_owned())]
    );
    let inputs = Input::open_each(&[path]).unwrap_or_else(|(_, error)| panic!("{error}"));
    assert!(
        inputs[1].name.ends_with("a.zip/d/b.csv"),
        "{}",
        inputs[1].name
    );
    assert_ne!(inputs[0].identity, inputs[1].identity);
    let mut damaged = bytes.clone();
    let at = damaged
        .windows(3)
        .position(|three| three == b"two")
        .unwrap();
    damaged[at] ^= 1;
    let read = contents(&directory.file("b.zip", &damaged));
    assert_eq!(read[0], Ok("one".to_owned()));
    assert!(
        read[1]
            .clone()
            .unwrap_err()
            .contains("d/b.csv of the zip archive is damaged"),
        "{read:?}"
    );
    let cut = directory.file("c.zip", &bytes[..bytes.len() / 2]);
    let (_, error) = Input::open_each(&[cut]).err().unwrap();
    assert!(
        error.to_string().contains("zip archive is damaged"),
        "{error}"
    );
    let packed = directory.file("deflated.zip", DEFLATED_ZIP);
    assert_eq!(contents(&packed), [Ok("a".repeat(40))]);
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
