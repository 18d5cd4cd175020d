//! The binary backing a data directory up, restoring it and compacting it.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use common::{TestDirectory, demo_archive, export, import, jackdaw};

#[test]
fn a_backup_with_increment_is_restored_as_it_was() {
    let directory = TestDirectory::new();
    let (data, backup, restored) = (
        directory.text("data"),
        directory.text("backup"),
        directory.text("restored"),
    );
    import(
        "freedb",
        &directory.file("a.tar", demo_archive(100)),
        &data,
        &[],
    )
    .ok();
    let run = jackdaw(&["backup", "--data", &data, &backup]).ok();
    run.tells(&["1 database", "verified", "Indexes are left out"]);
    import(
        "freedb",
        &directory.file("b.tar", demo_archive(200)),
        &data,
        &[],
    )
    .ok();
    let expected = export(&data);
    jackdaw(&["backup", "--increment", "--data", &data, &backup]).ok();
    jackdaw(&["restore", &backup, "--data", &restored]).ok();
    assert!(
        export(&restored) == expected,
        "the restored documents differ"
    );
    jackdaw(&["check", &restored]).ok();
}

#[test]
fn refusals_say_what_to_do() {
    let directory = TestDirectory::new();
    let (data, backup) = (directory.text("data"), directory.text("backup"));
    import(
        "freedb",
        &directory.file("a.tar", demo_archive(20)),
        &data,
        &[],
    )
    .ok();
    jackdaw(&["backup", "--increment", "--data", &data, &backup])
        .fails(1, &["holds no complete backup"]);
    jackdaw(&["backup", "--data", &data, &backup]).ok();
    jackdaw(&["backup", "--data", &data, &backup]).fails(1, &["exists", "name a directory"]);
    jackdaw(&["restore", &backup, "--data", &data]).fails(1, &["exists", "name a directory"]);
    let to = directory.text("to");
    jackdaw(&["restore", &backup, "--data", &to, "--until", "noon"])
        .fails(1, &["is no time", "write it as"]);
    jackdaw(&[
        "restore",
        &backup,
        "--data",
        &to,
        "--until",
        "1999-01-01T00:00:00Z",
    ])
    .fails(1, &["take an older backup"]);
    let missing = directory.text("missing");
    jackdaw(&["backup", "--data", &missing, &to]).fails(1, &["missing", "check the path"]);
}

#[test]
fn compacting_keeps_every_document() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    import(
        "freedb",
        &directory.file("a.tar", demo_archive(200)),
        &data,
        &[],
    )
    .ok();
    let expected = export(&data);
    let run = jackdaw(&["compact", &data]).ok();
    run.tells(&["databases/1/documents: ", "catalog: ", " instead of "]);
    assert!(export(&data) == expected, "the documents differ");
    jackdaw(&["check", &data]).ok();
}

#[test]
fn a_server_backs_up_below_its_directories_alone() {
    let directory = TestDirectory::new();
    let (data, restored) = (directory.text("data"), directory.text("restored"));
    let archive = directory.file("a.tar", demo_archive(20));
    import("freedb", &archive, &data, &[]).ok();
    let server = common::Served::start(&data);
    let back_up = |to: &str| jackdaw(&["backup", "--url", &server.url, to]);
    let run = back_up("monday").ok();
    run.tells(&["data/backups/monday: 1 database", "verified"]);
    back_up("monday").fails(1, &["exists", "name a directory"]);
    let elsewhere = directory.text("elsewhere");
    back_up(&elsewhere).fails(
        1,
        &["where this server makes backups", "serve", "--backups DIR"],
    );
    back_up("../../elsewhere").fails(1, &["where this server makes backups"]);
    assert!(!directory.path("elsewhere").exists());
    assert!(server.stop());
    // Neither reading commands nor the next start take it for anything else.
    jackdaw(&["check", &data]).ok();
    jackdaw(&["compact", &data]).ok();
    jackdaw(&[
        "restore",
        &directory.text("data/backups/monday"),
        "--data",
        &restored,
    ])
    .ok();
    assert_eq!(export(&restored), export(&data));
    jackdaw(&["backup", "--data", &data, &directory.text("data/other")])
        .fails(1, &["is inside of", "outside"]);
    let tuesday = directory.text("data/backups/tuesday");
    jackdaw(&["backup", "--data", &data, &tuesday]).ok();
}
