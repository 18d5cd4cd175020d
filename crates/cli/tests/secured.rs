//! The binary talking to a server that `jackdaw setup` secured: every command with `--url` by
//! certificate and by API key, and each mistake told in one sentence that says what to do.
//!
//! Who may come is registered before the server starts, so nothing waits for it to look again.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use common::{Run, Served, TestDirectory, demo_archive, jackdaw};

const QUESTION: [&str; 4] = ["query", "from Albums", "--database", "music"];

/// A directory that was set up, and the files of who may come.
struct SetUp {
    directory: TestDirectory,
    data: String,
    authority: String,
    admin: String,
}

impl SetUp {
    fn new() -> SetUp {
        let directory = TestDirectory::new();
        let data = directory.text("data");
        let told = jackdaw(&["setup", "--data", &data, "--host", "db.example"]).ok();
        told.tells(&["jackdaw query --url https://db.example:8443 --authority"]);
        SetUp {
            authority: directory.text("data/security/authority.pem"),
            admin: directory.text("data/security/admin.pem"),
            data,
            directory,
        }
    }

    /// The file of a new certificate.
    fn certificate(&self, name: &str, access: &[&str]) -> String {
        let file = self.directory.text(&format!("{name}.pem"));
        let made = ["certificate", "create", name, "--out", &file];
        jackdaw(&[&made[..], &["--data", &self.data], access].concat()).ok();
        file
    }

    /// The file of a new API key.
    fn api_key(&self, name: &str, access: &[&str]) -> String {
        let made = ["key", "create", name, "--data", &self.data];
        let text = jackdaw(&[&made[..], access].concat()).ok().out;
        self.directory.file(&format!("{name}.key"), text)
    }

    fn serve(&self) -> Server<'_> {
        let served = Served::start(&self.data);
        assert!(served.url.starts_with("https://"), "{}", served.url);
        Server {
            set_up: self,
            served,
        }
    }
}

/// A server that runs.
struct Server<'s> {
    set_up: &'s SetUp,
    served: Served,
}

impl Server<'_> {
    /// Runs a command that trusts the server's authority.
    fn run(&self, command: &[&str], who: &[&str]) -> Run {
        let authority = ["--authority", &self.set_up.authority];
        self.run_plain(command, &[&authority, who].concat())
    }

    /// Runs a command.
    fn run_plain(&self, command: &[&str], more: &[&str]) -> Run {
        jackdaw(&[command, &["--url", &self.served.url], more].concat())
    }

    fn import(&self, who: &[&str]) -> Run {
        let archive = self.set_up.directory.file("a.tar", demo_archive(30));
        self.run(&["import", "freedb", &archive, "--database", "music"], who)
    }

    /// The exported lines.
    fn export(&self, who: &[&str]) -> usize {
        let export = ["export", "--database", "music", "-o", "-"];
        self.run(&export, who).ok().out.lines().count()
    }
}

#[test]
fn every_command_works_with_certificate_and_authority() {
    let set_up = SetUp::new();
    let server = set_up.serve();
    let admin = ["--certificate", set_up.admin.as_str()];
    server.import(&admin).ok().tells(&["written 30"]);
    server.run(&QUESTION, &admin).ok().tells(&["30 rows"]);
    // The albums; the progress of the import is no document.
    assert_eq!(server.export(&admin), 30);
    let snapshot = |word| ["snapshot", word, "early", "--database", "music"];
    server.run(&snapshot("take"), &admin).ok();
    let list = ["snapshot", "list", "--database", "music"];
    server.run(&list, &admin).ok().tells(&["early: taken"]);
    server.run(&snapshot("drop"), &admin).ok();
    server.run(&["backup", "nightly"], &admin).ok();
    let elsewhere = set_up.directory.text("elsewhere");
    server
        .run(&["backup", &elsewhere], &admin)
        .fails(1, &["where this server makes backups"]);
    let backup = set_up.directory.text("data/backups/nightly");
    assert!(server.served.stop(), "the server ends in order");
    let restored = set_up.directory.text("restored");
    jackdaw(&["restore", &backup, "--data", &restored]).ok();
    assert_eq!(common::export(&restored).len(), 30);
}

#[test]
fn rights_of_one_database_suffice_for_it_by_certificate_and_by_key() {
    let set_up = SetUp::new();
    let writer = set_up.certificate("writer", &["--access", "music=ReadWrite"]);
    let stranger = set_up.certificate("stranger", &[]);
    let reader = set_up.api_key("reader", &["--access", "music=Read"]);
    let server = set_up.serve();
    let writer = ["--certificate", writer.as_str()];
    let reader = ["--api-key-file", reader.as_str()];
    let nobody = ["has not the clearance Operator", "'writer'"];
    server.import(&writer).fails(1, &nobody);
    server.import(&["--certificate", &set_up.admin]).ok();
    server
        .import(&writer)
        .ok()
        .tells(&["is imported already (30 documents)"]);
    let again = [&writer[..], &["--again"]].concat();
    server.import(&again).ok().tells(&["written 30"]);
    server.run(&QUESTION, &writer).ok().tells(&["30 rows"]);
    server.run(&QUESTION, &reader).ok().tells(&["30 rows"]);
    assert_eq!(server.export(&reader), 30);
    let take = ["snapshot", "take", "early", "--database", "music"];
    server.run(&take, &reader).fails(1, &["403", "'reader'"]);
    let backup = set_up.directory.text("backup");
    server
        .run(&["backup", &backup], &writer)
        .fails(1, &["the backup was not made", "403", "'writer'"]);
    let stranger = ["--certificate", stranger.as_str()];
    server
        .run(&QUESTION, &stranger)
        .fails(1, &["has no database \"music\" for this certificate"]);
}

#[test]
fn who_comes_with_nothing_or_the_wrong_thing_is_told_what_to_give() {
    let set_up = SetUp::new();
    let forgotten = set_up.certificate("forgotten", &["--clearance", "Operator"]);
    let list = jackdaw(&["certificate", "list", "--data", &set_up.data]).ok();
    let line = list.out.lines().find(|line| line.contains("forgotten"));
    let thumbprint = line.unwrap().split_whitespace().next().unwrap();
    jackdaw(&["certificate", "remove", thumbprint, "--data", &set_up.data]).ok();
    let server = set_up.serve();
    server
        .run(&QUESTION, &[])
        .fails(1, &["403", "came with neither", "with --certificate"]);
    server
        .run(&QUESTION, &["--certificate", &forgotten])
        .fails(1, &["403", "not registered with this server"]);
    let unknown = set_up.directory.file("unknown.key", "jdk_none_secret\n");
    server
        .run(&QUESTION, &["--api-key-file", &unknown])
        .fails(1, &["401", "The API key is not one of this server"]);

    let admin = ["--certificate", set_up.admin.as_str()];
    let unknown = [
        "signed by an authority that is not known here",
        "give its file with --authority",
    ];
    server.run_plain(&QUESTION, &admin).fails(1, &unknown);
    let other = SetUp::new();
    let foreign = ["--authority", other.authority.as_str()];
    let foreign = [&admin[..], &foreign].concat();
    server.run_plain(&QUESTION, &foreign).fails(1, &unknown);

    let plain = server.served.url.replace("https://", "http://");
    let plain = [&QUESTION[..], &["--url", &plain]].concat();
    jackdaw(&plain).fails(1, &["begins with https:// if the server is secured"]);
    jackdaw(&[&plain, &admin[..]].concat()).fails(
        1,
        &["is not the address of a secured server", "write https://"],
    );
}

#[test]
fn an_address_that_is_not_secured_or_has_another_name_is_told() {
    let set_up = SetUp::new();
    jackdaw(&[
        "certificate",
        "server",
        "--host",
        "db.example",
        "--data",
        &set_up.data,
    ])
    .ok();
    let admin = ["--certificate", set_up.admin.as_str()];
    let server = set_up.serve();
    server.run(&QUESTION, &admin).fails(
        1,
        &["is not for this name", "jackdaw certificate server --host"],
    );
    let open = Served::start(&set_up.directory.text("open"));
    let secured = open.url.replace("http://", "https://");
    jackdaw(&[&QUESTION[..], &["--url", &secured]].concat())
        .fails(1, &["does not speak TLS", "write http://"]);
}

#[test]
fn files_that_cannot_be_used_are_told_before_any_connection() {
    let directory = TestDirectory::new();
    let set_up = SetUp::new();
    let text = directory.file("text.pem", "nothing");
    let missing = directory.text("missing.pem");
    let other = std::fs::read_to_string(set_up.certificate("other", &[])).unwrap();
    let admin = std::fs::read_to_string(&set_up.admin).unwrap();
    // A file begins with the key.
    let (key, _) = other.split_once("-----BEGIN CERTIFICATE").unwrap();
    let (_, certificate) = admin.split_once("-----BEGIN CERTIFICATE").unwrap();
    let mixed = format!("{key}-----BEGIN CERTIFICATE{certificate}");
    let mixed = directory.file("mixed.pem", mixed);
    let key = directory.file("key.pem", key);
    for (option, file, parts) in [
        (
            "--certificate",
            &missing,
            ["cannot read", "check --certificate"],
        ),
        ("--certificate", &text, ["text.pem", "no certificate"]),
        ("--certificate", &key, ["key.pem", "no certificate"]),
        (
            "--certificate",
            &set_up.authority,
            ["no private key", "one PEM file"],
        ),
        (
            "--certificate",
            &mixed,
            ["cannot be used with the private key", "mixed.pem"],
        ),
        (
            "--authority",
            &missing,
            ["cannot read", "check --authority"],
        ),
        ("--authority", &text, ["text.pem", "no certificate"]),
        (
            "--api-key-file",
            &text,
            ["no API key", "jackdaw key create"],
        ),
    ] {
        let url = ["--url", "https://127.0.0.1:1", option, file];
        jackdaw(&[&QUESTION[..], &url].concat()).fails(1, &parts);
    }
    // They are for servers.
    let local = ["--data", &set_up.data, "--certificate", &set_up.admin];
    let refused = jackdaw(&[&QUESTION[..], &local].concat());
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(refused.err.contains("cannot be used with"), "{refused:#?}");
}
