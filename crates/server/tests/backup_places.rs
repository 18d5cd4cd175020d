//! `POST /jackdaw/backup` writes below the directories for backups alone, whoever asks, and says
//! where else when not.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::path::{Path, PathBuf};

use support::{Connection, DataDirectory, TestServer};

/// A directory for backups next to the data directory, removed with the test.
struct Backups(PathBuf);

impl Backups {
    fn of(data: &DataDirectory) -> Backups {
        let name = data.path().file_name().unwrap().to_string_lossy();
        let path = data.path().with_file_name(format!("{name}-backups"));
        std::fs::create_dir(&path).unwrap();
        Backups(path)
    }
}

impl Drop for Backups {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start() -> (Backups, TestServer, Connection, PathBuf) {
    let data = DataDirectory::new();
    let (backups, path) = (Backups::of(&data), data.path().to_owned());
    let mut config = support::config();
    config.backup_directories = vec![
        backups.0.clone(),
        path.join("backups"),
        "/sys/jackdaw".into(),
    ];
    let server = TestServer::start_on(data, config);
    let mut connection = server.connect();
    let created = connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(created.status, 201, "{}", created.text());
    (backups, server, connection, path)
}

fn encoded(path: &Path) -> String {
    let bytes = path.to_str().unwrap().bytes();
    bytes.map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn only_directories_for_backups_are_written_to() {
    let (backups, server, mut connection, data) = start();
    let outside = data.with_extension("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(backups.0.join("taken")).unwrap();
    std::fs::write(backups.0.join("taken/file"), "theirs").unwrap();
    std::fs::write(backups.0.join("file"), "theirs").unwrap();
    std::os::unix::fs::symlink(&outside, backups.0.join("link")).unwrap();
    let mut refused = |to: &Path, why: &str| {
        for increment in ["", "&increment=true"] {
            let path = format!("/jackdaw/backup?to={}{increment}", encoded(to));
            let answer = connection.post(&path, "");
            assert_eq!(answer.status, 400, "{to:?}{increment}: {}", answer.text());
            let error = answer.json();
            assert_eq!(error["Type"], "System.InvalidOperationException", "{to:?}");
            let message = error["Message"].as_str().unwrap();
            let is_right = message.contains(why) || !increment.is_empty();
            assert!(is_right, "{to:?}: {message}");
        }
    };
    let below = "where this server makes backups: name a directory there";
    for to in ["/etc", "/", "..", "../x", "a/../../x", "."] {
        refused(Path::new(to), below);
    }
    refused(&data.join("databases/1/documents"), below);
    refused(&data, below);
    refused(&data.join("backups"), below);
    refused(&backups.0, below);
    refused(&backups.0.join("../x"), below);
    refused(&outside, below);
    refused(Path::new("taken"), "exists");
    refused(Path::new("file"), "is no directory");
    refused(Path::new("file/below"), "is no directory");
    refused(Path::new("link"), "symbolic link");
    refused(Path::new("link/below"), "symbolic link");
    refused(Path::new("zero\0byte"), "");
    refused(Path::new(&"x".repeat(300)), "");
    // Nobody may make directories there.
    refused(Path::new("/sys/jackdaw/new"), "/sys/jackdaw");
    let left: Vec<_> = std::fs::read_dir(&outside).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    std::fs::remove_dir(&outside).unwrap();
    drop(server);
}

#[test]
fn answers_say_where_the_backup_is() {
    let (backups, _server, mut connection, data) = start();
    let mut made = |to: &Path, more: &str, at: &Path| {
        let path = format!("/jackdaw/backup?to={}{more}", encoded(to));
        let answer = connection.post(&path, "");
        assert_eq!(answer.status, 200, "{to:?}: {}", answer.text());
        assert_eq!(answer.json()["Directory"], at.to_str().unwrap());
        assert_eq!(answer.json()["Databases"], 1);
        assert!(at.join("catalog/backup").is_file());
    };
    let monday = backups.0.join("monday");
    made(Path::new("monday"), "", &monday);
    made(&monday, "&increment=true", &monday);
    made(Path::new("./deep/er"), "", &backups.0.join("deep/er"));
    made(&data.join("backups/inner"), "", &data.join("backups/inner"));
}

#[test]
fn a_server_without_directories_for_backups_makes_none() {
    let (_server, mut connection) = support::start();
    let answer = connection.post("/jackdaw/backup?to=/tmp/x", "");
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("--backups DIR"), "{}", answer.text());
}
