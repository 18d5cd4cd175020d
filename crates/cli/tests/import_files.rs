//! Which files an import reads: packed, from standard input, several at once, JSON however it is
//! laid out.
//!
//! What is proven: the same documents come out whatever the form of the file, and a file whose
//! content changed is imported again.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use common::{Run, TestDirectory, bzip2, export, import, jackdaw, run_of};

const LINES: &str = "{\"Id\":\"a\",\"n\":1}\n{\"Id\":\"b\",\"n\":[2]}\n";

/// Imports NDJSON into the collection `As` of a data directory of the same name.
fn ndjson(directory: &TestDirectory, name: &str, content: impl AsRef<[u8]>) -> (Run, String) {
    let file = directory.file(name, content);
    let data = directory.text(&format!("data-{name}"));
    let run = import("ndjson", &file, &data, &["--collection", "As"]);
    (run, data)
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in files {
        writer.start_file(*name, stored).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn json_is_read_however_it_is_laid_out() {
    let directory = TestDirectory::new();
    let (run, data) = ndjson(&directory, "lines", LINES);
    run.ok();
    let expected = export(&data);
    assert_eq!(expected.len(), 2);
    for (name, text) in [
        ("array", "[{\"Id\":\"a\",\"n\":1},{\"Id\":\"b\",\"n\":[2]}]"),
        (
            "pretty-array",
            "[\n  {\n    \"Id\": \"a\",\n    \"n\": 1\n  },\n  {\n    \"Id\": \"b\",\n    \
             \"n\": [\n      2\n    ]\n  }\n]\n",
        ),
        (
            "pretty",
            "{\n  \"Id\": \"a\",\n  \"n\": 1\n}\n{\n  \"Id\": \"b\",\n  \"n\": [2]\n}\n",
        ),
        ("joined", "{\"Id\":\"a\",\"n\":1}{\"Id\":\"b\",\"n\":[2]}"),
    ] {
        let (run, data) = ndjson(&directory, name, text);
        assert_eq!(run.code, 0, "{name}: {run:#?}");
        assert_eq!(export(&data), expected, "{name}");
    }
    let (run, data) = ndjson(&directory, "cut", "[{\"Id\":\"a\",\"n\":1},\n{\"Id\":\"b\"");
    run.fails(1, &["2 entries are left out, first line 2"]);
    assert_eq!(export(&data).len(), 1);
    let (run, _) = ndjson(&directory, "empty-array", "[]");
    run.fails(1, &["nothing was imported", "empty-array"]);
}

#[test]
fn values_without_ids_are_numbered_apart() {
    let directory = TestDirectory::new();
    let (run, data) = ndjson(&directory, "numbered", "[{\"n\":1},{\"n\":2}]\n{\"n\":3}\n");
    run.ok();
    let ids: Vec<String> = export(&data)
        .iter()
        .map(|line| line.split("\"@id\":").nth(1).unwrap()[..20].to_owned())
        .collect();
    assert_eq!(
        ids,
        [
            "\"as/0000000001\",\"@co",
            "\"as/0000000001-2\",\"@",
            "\"as/0000000002\",\"@co"
        ]
    );
}

#[test]
fn packed_files_are_read_by_their_first_bytes() {
    let directory = TestDirectory::new();
    let (run, data) = ndjson(&directory, "plain", LINES);
    run.ok();
    let expected = export(&data);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(LINES.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(LINES.as_bytes(), 1).unwrap();
    for (name, bytes) in [
        ("gzip", gzip.clone()),
        ("zstd", zstd),
        ("bzip2", bzip2(LINES.as_bytes())),
        ("zip", zip(&[("x/lines.ndjson", LINES.as_bytes())])),
        ("two-members", [gzip.clone(), gzip.clone()].concat()),
    ] {
        let (run, data) = ndjson(&directory, name, bytes);
        assert_eq!(run.code, 0, "{name}: {run:#?}");
        assert_eq!(export(&data), expected, "{name}");
    }
    let (run, _) = ndjson(&directory, "cut-gzip", &gzip[..gzip.len() - 5]);
    run.fails(1, &["cut-gzip", "ends in the middle of its gzip stream"]);
    let files = zip(&[
        ("a.ndjson", b"{\"Id\":\"a\"}"),
        ("b.ndjson", b"{\"Id\":\"b\"}\nno json\n"),
        ("c.ndjson", b"[{\"Id\":\"c\"}]"),
    ]);
    let (run, data) = ndjson(&directory, "three.zip", files);
    run.fails(
        1,
        &[
            "the 3 files",
            "1 entry is left out",
            "three.zip/b.ndjson, line 2",
        ],
    );
    assert_eq!(export(&data).len(), 3);
}

#[test]
fn several_files_are_one_import() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let first = directory.file("1.csv", "Name,Size\none,1\ntwo,2\n");
    let second = directory.file("2.csv", "Size;Name;More\n3;three;x\n");
    let arguments = [
        "import",
        "csv",
        &first,
        &second,
        "--collection",
        "Rows",
        "--database",
        "music",
        "--data",
        &data,
    ];
    let run = jackdaw(&arguments).ok();
    run.tells(&["read 3", "written 3"]);
    let lines = export(&data);
    // Records without an id go on counting.
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(
        lines[2].starts_with("{\"Size\":3,\"Name\":\"three\",\"More\":\"x\""),
        "{lines:#?}"
    );
    jackdaw(&arguments)
        .ok()
        .tells(&["1.csv is imported already", "2.csv is imported already"]);
    // Only what is new is read.
    directory.file("2.csv", "Size;Name;More\n3;three;y\n");
    let run = jackdaw(&arguments).ok();
    run.tells(&["1.csv is imported already", "read 1"]);
    assert_eq!(export(&data).len(), 3);
}

#[test]
fn a_changed_file_is_imported_again() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let row = |number: u32, text: &str| format!("{number},{text}\n");
    let mut rows: Vec<String> = (1..=8_000)
        .map(|number| row(number, "aaaaaaaaaa"))
        .collect();
    let content = |rows: &[String]| format!("Id,Name\n{}", rows.concat());
    let file = directory.file("a.csv", content(&rows));
    import("csv", &file, &data, &["--collection", "Rows"]).ok();
    let run = import("csv", &file, &data, &["--collection", "Rows"]).ok();
    run.tells(&["is imported already (8,000 documents)"]);
    // One cell far behind the beginning; the file is as long as before.
    rows[6_999] = row(7_000, "bbbbbbbbbb");
    directory.file("a.csv", content(&rows));
    import("csv", &file, &data, &["--collection", "Rows"]).ok();
    let changed = export(&data).into_iter();
    assert_eq!(
        changed.filter(|line| line.contains("bbbbbbbbbb")).count(),
        1
    );
}

#[test]
fn standard_input_is_read() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let read = |text: &[u8]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_jackdaw"))
            .args(["import", "ndjson", "-", "--collection", "As"])
            .args(["--database", "music", "--data", &data])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text).unwrap();
        run_of(&child.wait_with_output().unwrap())
    };
    read(LINES.as_bytes()).ok();
    // It cannot be recognized, so it is read each time.
    read(b"{\"Id\":\"c\"}").ok();
    read(b"{\"Id\":\"c\"}").ok();
    assert_eq!(export(&data).len(), 3);
    read(b"").fails(1, &["nothing was imported", "standard input"]);
}
