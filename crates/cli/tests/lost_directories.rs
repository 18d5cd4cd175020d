//! Directories and files that are lost, put back or copied between runs: nothing but what was named
//! is lost, commands report what is missing and what nothing names.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Served, TestDirectory, demo_archive, export, import, jackdaw};

/// A data directory with a database of `count` albums and an index; also its documents.
fn music(directory: &TestDirectory, data: &str, count: u64) -> Vec<String> {
    let archive = directory.file("albums.tar", demo_archive(count));
    import("freedb", &archive, data, &[]).ok();
    query(data).ok();
    export(data)
}

/// A query that makes an index.
fn query(data: &str) -> common::Run {
    let text = "from Albums where Year > 1900";
    jackdaw(&["query", "--database", "music", "--data", data, text])
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

fn remove(path: &Path) {
    match path.is_dir() {
        true => fs::remove_dir_all(path).unwrap(),
        false => fs::remove_file(path).unwrap(),
    }
}

/// Files and directories below `root`, sorted.
fn below(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(below(&path));
        }
        found.push(path);
    }
    found.sort_unstable();
    found
}

#[test]
fn a_lost_catalog_loses_no_database() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let documents = music(&directory, &data, 30);
    remove(&directory.path("data/catalog"));
    // Reading commands name what to do, and change nothing.
    let before = below(&directory.path("data"));
    query(&data).fails(1, &["no catalog", "jackdaw databases adopt"]);
    let arguments = ["export", "--database", "music", "--data", &data, "-o", "-"];
    jackdaw(&arguments).fails(1, &["no catalog"]);
    assert_eq!(below(&directory.path("data")), before);
    let check = jackdaw(&["check", &data]);
    assert_eq!(check.code, 1, "{check:#?}");
    check.tells(&["catalog: missing", "1 damaged place found"]);
    let doctor = jackdaw(&["doctor", "--data", &data]);
    doctor.tells(&["catalog is missing"]);
    // A server leaves the directory alone, and reports it.
    let served = Served::start(&data);
    let host = served.url.trim_start_matches("http://").to_owned();
    let report = get(&host, "/jackdaw/directories");
    assert!(report.contains(r#""Number":1"#), "{report}");
    assert!(served.stop());
    let check = jackdaw(&["check", &data]);
    assert_eq!(check.code, 1, "{check:#?}");
    check.tells(&[
        "databases/1: nothing names this directory",
        "1 unknown directory found",
    ]);
    jackdaw(&["doctor", "--data", &data]).tells(&["nothing names"]);
    let list = jackdaw(&["databases", "list", "--data", &data]).ok();
    list.tells(&["1 (not in the catalog)"]);
    jackdaw(&["databases", "adopt", "2", "music", "--data", &data]).fails(1, &["databases/2"]);
    jackdaw(&["databases", "adopt", "1", "music", "--data", &data]).ok();
    jackdaw(&["databases", "remove", "1", "--data", &data]).fails(1, &["databases/1"]);
    assert_eq!(export(&data), documents);
    jackdaw(&["check", &data]).ok();
}

fn get(host: &str, path: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn an_older_catalog_and_a_copied_directory_lose_nothing() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let root = directory.path("data");
    let documents = music(&directory, &data, 30);
    copy(&root.join("catalog"), &directory.path("old"));
    let small = directory.file("small.tar", demo_archive(10));
    let arguments = [
        "import",
        "freedb",
        &small,
        "--database",
        "second",
        "--data",
        &data,
    ];
    jackdaw(&arguments).ok();
    remove(&root.join("catalog"));
    copy(&directory.path("old"), &root.join("catalog"));
    copy(&root.join("databases/1"), &root.join("databases/3"));
    assert_eq!(export(&data), documents);
    let check = jackdaw(&["check", &data]);
    check.tells(&["databases/2: nothing names", "databases/3: nothing names"]);
    assert_eq!(check.code, 1);
    // A new database gets neither number.
    let arguments = [
        "import",
        "freedb",
        &small,
        "--database",
        "third",
        "--data",
        &data,
    ];
    jackdaw(&arguments).ok();
    assert!(root.join("databases/4/documents").is_dir());
    for (number, name) in [("2", "second"), ("3", "copy")] {
        jackdaw(&["databases", "adopt", number, name, "--data", &data]).ok();
    }
    jackdaw(&["check", &data]).ok();
    for (name, count) in [("second", 10), ("copy", 30), ("third", 10), ("music", 30)] {
        let run = jackdaw(&["export", "--database", name, "--data", &data, "-o", "-"]).ok();
        assert_eq!(run.out.lines().count(), count, "{name}");
    }
}

#[test]
fn missing_documents_are_refused_and_other_databases_go_on() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let root = directory.path("data");
    music(&directory, &data, 30);
    let small = directory.file("small.tar", demo_archive(10));
    let arguments = [
        "import",
        "freedb",
        &small,
        "--database",
        "second",
        "--data",
        &data,
    ];
    jackdaw(&arguments).ok();
    fs::rename(root.join("databases/1/documents"), directory.path("away")).unwrap();
    query(&data).fails(1, &["\"music\"", "databases/1/documents", "mount its disk"]);
    import("freedb", &small, &data, &[]).fails(1, &["music", "databases/1/documents"]);
    let second = ["export", "--database", "second", "--data", &data, "-o", "-"];
    assert_eq!(jackdaw(&second).ok().out.lines().count(), 10);
    assert!(!root.join("databases/1/documents").exists());
    jackdaw(&["doctor", "--data", &data]).tells(&["databases/1/documents is missing"]);
    fs::rename(directory.path("away"), root.join("databases/1/documents")).unwrap();
    assert_eq!(export(&data).len(), 30);
}

#[test]
fn check_finds_each_missing_part() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let root = directory.path("data");
    music(&directory, &data, 30);
    jackdaw(&["check", &data]).ok();
    for part in [
        "catalog",
        "catalog/meta",
        "catalog/data.jd",
        "catalog/journal",
        "databases",
        "databases/1",
        "databases/1/documents",
        "databases/1/documents/meta",
        "databases/1/documents/data.jd",
        "databases/1/documents/journal",
        "databases/1/indexes/1",
        "databases/1/indexes/1/meta",
        "databases/1/indexes/1/data.jd",
    ] {
        fs::rename(root.join(part), directory.path("away")).unwrap();
        let run = jackdaw(&["check", &data]);
        assert_eq!(run.code, 1, "{part}: {run:#?}");
        let is_named = run.out.contains(&format!("{part}: missing"));
        let is_below = part == "databases" || part == "databases/1";
        assert!(is_named || is_below, "{part}: {run:#?}");
        assert!(!run.out.contains("another program"), "{part}: {run:#?}");
        fs::rename(directory.path("away"), root.join(part)).unwrap();
    }
    jackdaw(&["check", &data]).ok();
}
