//! The binary asking questions: every format of rows, mistakes in queries, the demo from its first
//! album to its last answer, and a server that starts, answers and stops.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use std::process::{Command, Stdio};

use common::{Run, Served, TestDirectory, demo_archive, import, jackdaw};

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
fn a_snapshot_is_taken_listed_asked_and_dropped() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("a.tar", demo_archive(30));
    import("freedb", &archive, &data, &[]).ok();
    let snapshot = |arguments: &[&str]| {
        let place = ["--database", "music", "--data", &data];
        jackdaw(&[&["snapshot"], arguments, &place].concat())
    };
    assert_eq!(snapshot(&["list"]).ok().out, "no snapshots\n");
    snapshot(&["take", "early"]).ok();
    let archive = directory.file("b.tar", demo_archive(80));
    import("freedb", &archive, &data, &[]).ok();
    let rows = |more: &[&str]| {
        let text = ["from Albums select Title", "--format", "ndjson"];
        query(&data, &[&text, more].concat())
            .ok()
            .out
            .lines()
            .count()
    };
    assert_eq!((rows(&[]), rows(&["--snapshot", "early"])), (80, 30));
    let listed = snapshot(&["list"]).ok();
    assert!(listed.out.starts_with("early: taken 2"), "{listed:#?}");
    let again = snapshot(&["take", "early"]);
    assert!(again.err.contains("there is a snapshot"), "{again:#?}");
    snapshot(&["drop", "early"]).ok();
    let missing = query(&data, &["from Albums", "--snapshot", "early"]);
    assert!(missing.err.contains("there is no snapshot"), "{missing:#?}");
}

#[test]
fn explanations_are_printed_as_text() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("a.tar", demo_archive(100));
    import("freedb", &archive, &data, &[]).ok();
    let text = "from Albums where Year > 1990 order by Title limit 3";
    let plan = query(&data, &[&format!("explain {text}")]).ok();
    assert!(plan.out.starts_with("Auto/Albums/"), "{plan:#?}");
    assert!(plan.out.contains("\n  order by Title\n"), "{plan:#?}");
    let costs = query(&data, &[&format!("explain analyze {text}")]).ok();
    let line = costs.out.lines().nth(1).unwrap();
    assert!(
        line.starts_with("  query") && line.contains("3 rows"),
        "{costs:#?}"
    );
    assert!(costs.out.contains("Year > 1990"), "{costs:#?}");
    assert!(costs.out.trim_end().ends_with("bytes"), "{costs:#?}");
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
        &["completions", "zsh"],
        &["help"],
        &["query", "--help"],
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
    for arguments in [
        &[
            "query",
            "--database",
            "music",
            "--data",
            &data,
            "from Albums",
            "--format",
            "csv",
        ][..],
        &[
            "query",
            "--database",
            "films",
            "--data",
            &data,
            "from Albums",
        ],
        &["export", "--database", "music", "--data", &data, "-o", "-"],
        &["no-such-command"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_jackdaw"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Nothing reads standard error, either: a panic would end with 101, or by a signal.
        drop((child.stdout.take(), child.stderr.take()));
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0..=2)), "{arguments:?}: {code:?}");
    }
}

#[test]
fn formats_for_programs_have_all_rows() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("a.tar", demo_archive(1300));
    import("freedb", &archive, &data, &[]).ok();
    let rows = |place: [&str; 2], more: &[&str]| {
        let arguments = ["query", "--database", "music", place[0], place[1]];
        jackdaw(&[&arguments, more].concat()).ok()
    };
    let check = |place: [&str; 2]| {
        for text in [
            "from Albums",
            "from Albums where Title != 'no such title'",
            "from Albums where Title != 'no such title' select Title",
        ] {
            let lines = rows(place, &[text, "--format", "ndjson"]);
            assert_eq!(lines.out.lines().count(), 1300, "{text}: {}", lines.err);
        }
        let csv = rows(place, &["from Albums select Year", "--format", "csv"]);
        assert_eq!(csv.out.lines().count(), 1301);
        let json = rows(place, &["from Albums", "--format", "json"]).out;
        let json: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
        assert_eq!(json.len(), 1300);
        let asked = rows(place, &["from Albums", "--format", "ndjson", "--rows", "7"]);
        assert_eq!(asked.out.lines().count(), 7);
        assert!(asked.err.contains("7 of 1,300 rows"), "{asked:#?}");
        let limited = rows(place, &["from Albums limit 1200", "--format", "ndjson"]);
        assert_eq!(limited.out.lines().count(), 1200);
        let table = rows(place, &["from Albums"]);
        assert!(table.out.contains("1,000 of 1,300 rows"), "{}", table.err);
    };
    check(["--data", &data]);
    let server = Served::start(&data);
    check(["--url", &server.url]);
    assert!(server.stop(), "the server ends in order");
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
fn everything_works_over_http_as_it_does_on_files() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let server = Served::start(&data);
    let url = server.url.as_str();
    let archive = directory.file("a.tar", demo_archive(300));
    let imported = [
        "import",
        "freedb",
        &archive,
        "--database",
        "music",
        "--url",
        url,
    ];
    jackdaw(&imported).ok().tells(&["written 300"]);
    assert!(jackdaw(&imported).ok().out.contains("is imported already"));
    let asked = [
        "query",
        "--database",
        "music",
        "--url",
        url,
        "--format",
        "ndjson",
    ];
    let ask = |more: &[&str]| jackdaw(&[&asked[..], more].concat());
    let over_http = ask(&[ARTIST, "--parameter", "artist=the velvet harbours"])
        .ok()
        .out;
    assert_eq!(over_http.lines().count(), 2, "{over_http}");
    ask(&["from Albums where"]).fails(1, &["the query failed", "1:"]);
    let exported = directory.text("exported");
    let export = |place: [&str; 2], output: &str| {
        jackdaw(&[
            "export",
            "--database",
            "music",
            place[0],
            place[1],
            "-o",
            output,
        ])
        .ok();
        std::fs::read_to_string(output).unwrap()
    };
    let over_http = export(["--url", url], &exported);
    // Ten rows are shown of many, and the count is of all.
    let table = jackdaw(&[
        "query",
        "--database",
        "music",
        "--url",
        url,
        "from Albums",
        "--rows",
        "10",
    ]);
    assert!(table.ok().out.contains("10 of 300 rows"));
    jackdaw(&["query", "--database", "films", "--url", url, "from X"])
        .fails(1, &["has no database \"films\"; it has music"]);
    assert!(server.stop(), "the server ends in order");
    let on_files = export(["--data", &data], &exported);
    // The progress of the import is kept next to the documents, not among them.
    assert_eq!(on_files.lines().count(), 300);
    assert_eq!(over_http, on_files);
    query(&data, &["from Albums", "--format", "csv"]).ok();
}
