//! Names that are missing: errors say what there is in their place, on files and over HTTP.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use common::{Run, Served, TestDirectory, demo_archive, import, jackdaw};

#[test]
fn errors_name_what_is_missing_and_what_there_is() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("a.tar", demo_archive(30));
    import("freedb", &archive, &data, &[]).ok();
    let check = |place: [&str; 2]| {
        let query = |database: &str, more: &[&str]| -> Run {
            let arguments = ["query", "--database", database, place[0], place[1]];
            jackdaw(&[&arguments, more].concat())
        };
        let albums = "from Albums";
        query("musci", &[albums]).fails(1, &["no database \"musci\"", "did you mean \"music\"?"]);
        query("orders", &[albums]).fails(1, &["no database \"orders\"; it has music"]);
        let export = [
            "export",
            "--database",
            "musik",
            place[0],
            place[1],
            "-o",
            "-",
        ];
        jackdaw(&export).fails(1, &["did you mean \"music\"?"]);
        // Before there is any snapshot, and with one.
        let snapshot = |verb: &str| {
            let name = ["snapshot", verb, "monday", "--database", "music"];
            jackdaw(&[&name[..], &place].concat()).ok();
        };
        let none = "there is no snapshot \"mondy\" in music, nor any other";
        query("music", &[albums, "--snapshot", "mondy"]).fails(1, &[none]);
        snapshot("take");
        let parts = ["no snapshot \"mondy\" in music", "did you mean \"monday\"?"];
        query("music", &[albums, "--snapshot", "mondy"]).fails(1, &parts);
        query("music", &[albums, "--snapshot", "Monday"]).fails(1, &["did you mean \"monday\"?"]);
        query("music", &[albums, "--snapshot", "monday"]).ok();
        snapshot("drop");
        // An automatic index of one of the questions.
        query("music", &["from Albums where Year > 1990"]).ok();
        let wrong = query("music", &["from index 'Auto/Albums/Nothing'"]);
        wrong.fails(
            1,
            &[
                "no index \"Auto/Albums/Nothing\" in music",
                "it has Auto/Albums/",
            ],
        );
        // What is not about a name stays as it is.
        query("music", &["from Albums where"]).fails(1, &["the query failed", "1:"]);
    };
    check(["--data", &data]);
    let server = Served::start(&data);
    check(["--url", &server.url]);
    assert!(server.stop(), "the server ends in order");
}
