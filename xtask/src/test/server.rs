//! A `jackdaw` process that serves on a free port, for the suites that talk to one.
//!
//! Its data goes into a separate directory below `target`, which is removed with it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;

/// What `serve` and `demo` print in front of the address.
const ADDRESS_MARK: &str = "Clients: ";
/// What `serve` prints in front of the Redis server's address, before that line.
const REDIS_MARK: &str = "Redis:";
/// How long a server may take to flush and close.
const STOP_TIME: Duration = Duration::from_secs(20);

/// Servers started by this process, each with a separate directory.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// Stopped when dropped.
pub(crate) struct Server {
    child: Child,
    output: Option<JoinHandle<()>>,
    /// The program that runs.
    pub(crate) binary: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) url: String,
    /// Of its Redis server; empty without one.
    pub(crate) redis_url: String,
}

impl Server {
    /// Builds the binary and runs `jackdaw` with `arguments`, `--listen` and `--data`; shows what
    /// it prints, and waits for the line with its address.
    ///
    /// # Errors
    /// When it cannot be built, or ends before it serves.
    pub(crate) fn start(root: &Path, arguments: &[&str]) -> Result<Server> {
        Server::start_after(root, arguments, None)
    }

    /// As [`Server::start`], on a data directory that `jackdaw setup` secured first.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn start_secured(root: &Path, arguments: &[&str]) -> Result<Server> {
        Server::start_after(
            root,
            arguments,
            Some(&["setup", "--host", "localhost", "--data"]),
        )
    }

    fn start_after(root: &Path, arguments: &[&str], first: Option<&[&str]>) -> Result<Server> {
        let binary = process::build_jackdaw(root)?;
        let target = process::target_directory(root)?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let directory = target.join(format!("test-data-{}-{number}", std::process::id()));
        if let Some(first) = first {
            process::run(Command::new(&binary).args(first).arg(&directory))?;
        }
        let mut command = Command::new(&binary);
        command
            .args(arguments)
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(&directory);
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start jackdaw")?;
        let output = child.stdout.take().context("its output is not piped")?;
        let mut server = Server {
            child,
            output: None,
            binary,
            directory,
            url: String::new(),
            redis_url: String::new(),
        };
        let mut lines = BufReader::new(output).lines();
        for line in &mut lines {
            let line = line?;
            println!("{line}");
            if let Some(told) = line.strip_prefix(REDIS_MARK) {
                let url = told.split_whitespace().next().unwrap_or_default();
                url.clone_into(&mut server.redis_url);
            }
            if let Some(url) = line.strip_prefix(ADDRESS_MARK) {
                url.trim().clone_into(&mut server.url);
                break;
            }
        }
        if server.url.is_empty() {
            bail!("jackdaw ended before it served ({})", server.child.wait()?);
        }
        // An unread pipe fills up and then blocks the server.
        server.output = Some(std::thread::spawn(move || lines.for_each(drop)));
        Ok(server)
    }

    fn stop(&mut self) {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        let deadline = Instant::now() + STOP_TIME;
        while asked.is_ok() && Instant::now() < deadline {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        println!(
            "the server did not stop within {} s and is killed",
            STOP_TIME.as_secs()
        );
        // It may have ended meanwhile; there is nothing else to do about it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if let Some(output) = self.output.take() {
            let _ = output.join();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
