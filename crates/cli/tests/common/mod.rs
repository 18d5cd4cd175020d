//! What the tests of the binary share: directories that clean up, runs with their output, and
//! servers that end.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses a part; tests unwrap"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of its own, removed at the end.
pub(crate) struct TestDirectory(PathBuf);

impl TestDirectory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("jackdaw-cli-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and gives its path as text.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The path as text, for arguments.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The run succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// Standard output holds every part, however its columns are spaced.
    #[track_caller]
    pub(crate) fn tells(&self, parts: &[&str]) {
        let text = self.out.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(text.contains(part), "no {part:?} in: {}", self.out);
        }
    }

    /// The run failed with this code and one sentence on standard error that holds every part.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        let sentences: Vec<&str> = self
            .err
            .lines()
            .filter(|line| line.starts_with("jackdaw: "))
            .collect();
        let [sentence] = sentences.as_slice() else {
            panic!("not one sentence: {self:#?}")
        };
        for part in parts {
            assert!(sentence.contains(part), "no {part:?} in: {sentence}");
        }
        assert!(!self.err.contains("panicked"), "{self:#?}");
        self
    }
}

/// Runs the binary.
pub(crate) fn jackdaw(arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_jackdaw"))
        .args(arguments)
        .output()
        .unwrap();
    run_of(&output)
}

pub(crate) fn run_of(output: &Output) -> Run {
    Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// `jackdaw import KIND FILE --database music --data DIR` and more.
pub(crate) fn import(kind: &str, file: &str, data: &str, more: &[&str]) -> Run {
    let mut arguments = vec!["import", kind, file, "--database", "music", "--data", data];
    arguments.extend(more);
    jackdaw(&arguments)
}

/// Everything in a database, one JSON document a line.
pub(crate) fn export(data: &str) -> Vec<String> {
    let run = jackdaw(&["export", "--database", "music", "--data", data, "-o", "-"]).ok();
    run.out.lines().map(str::to_owned).collect()
}

/// Bytes of the demo's archive.
pub(crate) fn demo_archive(albums: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = jackdaw_cli::demo::DemoArchive::new(1, albums);
    std::io::Read::read_to_end(&mut archive, &mut bytes).unwrap();
    bytes
}

/// bzip2 with blocks of 100 kB.
pub(crate) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

/// A server of the binary on a free port, stopped by Ctrl-C or at the latest when dropped.
pub(crate) struct Served {
    server: Child,
    pub(crate) url: String,
}

impl Served {
    pub(crate) fn start(data: &str) -> Self {
        Self::start_on("127.0.0.1:0", data)
    }

    /// A server that listens on `address`, which has to leave the port free.
    pub(crate) fn start_on(address: &str, data: &str) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_jackdaw"))
            .args(["serve", "--listen", address, "--data", data])
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
        Self { server, url }
    }

    /// Sends Ctrl-C; gives whether the server ended in order.
    pub(crate) fn stop(mut self) -> bool {
        let id = self.server.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        if !sent.is_ok_and(|status| status.success()) {
            return false;
        }
        self.server.wait().unwrap().success()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Fails when it has ended already, which is as good.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
