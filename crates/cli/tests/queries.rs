//! The binary asking questions: every format of rows, mistakes in queries, the demo from its first
//! album to its last answer, and a server that starts, answers and stops.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::{Run, TestDirectory, demo_archive, import, jackdaw};

const ARTIST: &str = "from Albums where Artist = $artist order by Title select Title, Year limit 2";

fn query(data: &str, more: &[&str]) -> Run {
    let mut arguments = vec!["query", "--database", "music", "--data", data];
    arguments.extend(more);
    jackdaw(&arguments)
}

#[test]
fn rows_come_in_every_format() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("a.tar", demo_archive(400));
    import("freedb", &archive, &data, &[]).ok();
    let parameter = ["--parameter", "artist=THE VELVET harbours"];
    let ask = |format| {
        query(
            &data,
            &[ARTIST, "--format", format, parameter[0], parameter[1]],
        )
        .ok()
    };
    let table = ask("table");
    assert!(table.out.starts_with("@id"), "{table:#?}");
    assert!(
        table.out.lines().last().unwrap().contains("rows in "),
        "{table:#?}"
    );
    let csv = ask("csv");
    assert_eq!(csv.out.lines().next(), Some("@id,Title,Year"), "{csv:#?}");
    assert_eq!(csv.out.lines().count(), 3);
    assert!(csv.err.contains("rows in "), "{csv:#?}");
    let lines = ask("ndjson").out;
    assert_eq!(lines.lines().count(), 2);
    let json: serde_json::Value = serde_json::from_str(&ask("json").out).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert!(json[0]["Title"].is_string(), "{json}");
}

#[test]
fn mistakes_in_queries_are_pointed_at() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("a.tar", demo_archive(20));
    import("freedb", &archive, &data, &[]).ok();
    query(&data, &["from Albums where Title ="]).fails(1, &["the query failed", "1:"]);
    query(&data, &["from Albums where Title = $x"]).fails(1, &["the query failed", "x"]);
    let other = ["query", "--database", "films", "--data", &data, "from X"];
    jackdaw(&other).fails(1, &["has no database \"films\"", "it has music"]);
    let nowhere = directory.text("nowhere");
    query(&nowhere, &["from X"]).fails(1, &["there is no data directory", "nowhere"]);
}

#[test]
fn the_demo_answers_every_question() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let demo = ["demo", "--albums", "600", "--exit", "--data", &data];
    let run = jackdaw(&demo).ok();
    let answers: Vec<&str> = run
        .out
        .lines()
        .filter(|line| line.contains(" found in "))
        .collect();
    assert_eq!(answers.len(), 7, "{run:#?}");
    for answer in &answers {
        assert!(
            !answer.trim_start().starts_with("0 "),
            "{answer} in {run:#?}"
        );
    }
    let again = jackdaw(&demo).ok();
    assert!(
        again.out.contains("is imported already (600 documents)"),
        "{again:#?}"
    );
    jackdaw(&["check", &data]).ok();
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("a.tar", demo_archive(800));
    import("freedb", &archive, &data, &[]).ok();
    for arguments in [
        &[
            "query",
            "--database",
            "music",
            "--data",
            &data,
            "from Albums",
            "--format",
            "json",
        ][..],
        &["export", "--database", "music", "--data", &data, "-o", "-"],
        &["check", &data],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_jackdaw"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Closed before anything is read.
        drop(child.stdout.take());
        let run = common::run_of(&child.wait_with_output().unwrap());
        assert!(
            !run.err.contains("panicked") && !run.err.contains("Broken pipe"),
            "{run:#?}"
        );
        assert_eq!(run.code, 0, "{run:#?}");
    }
}

#[test]
fn completions_know_the_commands() {
    let bash = jackdaw(&["completions", "bash"]).ok().out;
    for command in [
        "serve", "demo", "import", "export", "query", "check", "doctor", "bench",
    ] {
        assert!(bash.contains(command), "no {command}");
    }
}

#[test]
fn a_server_starts_takes_an_import_and_stops() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let mut server = Command::new(env!("CARGO_BIN_EXE_jackdaw"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data", &data])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let url = loop {
        let line = lines.next().expect("the server tells its address").unwrap();
        if let Some(url) = line.strip_prefix("Clients: ") {
            break url.to_owned();
        }
    };
    let archive = directory.file("a.tar", demo_archive(300));
    let imported = [
        "import",
        "freedb",
        &archive,
        "--database",
        "music",
        "--url",
        &url,
    ];
    let run = jackdaw(&imported);
    let again = jackdaw(&imported);
    // Whatever the outcome, no server stays behind.
    let stopped = Command::new("kill")
        .args(["-INT", &server.id().to_string()])
        .status();
    if !stopped.is_ok_and(|status| status.success()) {
        server.kill().unwrap();
    }
    let status = server.wait().unwrap();
    run.ok().tells(&["written 300"]);
    assert!(again.ok().out.contains("is imported already"));
    assert!(status.success(), "{status}");
    let run = query(&data, &["from Albums", "--format", "ndjson"]).ok();
    assert_eq!(run.out.lines().count(), 300);
}
