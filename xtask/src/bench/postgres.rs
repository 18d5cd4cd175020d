//! A PostgreSQL of this machine's packages, started with empty data and its own defaults, so that
//! its durable writes can be compared with ours.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;

/// Where Debian's packages keep the programs, a folder for each version.
const PACKAGES: &str = "/usr/lib/postgresql";
/// Who runs it when the caller is root, which it refuses.
const USER: &str = "postgres";
/// How long it may take until it accepts, and until it has ended.
const WAIT: Duration = Duration::from_secs(30);

/// Ended when dropped, with its data.
pub(super) struct Postgres {
    child: Child,
    directory: PathBuf,
    pub(super) url: String,
}

impl Postgres {
    /// Starts it with its data below `target`, on a free port of loopback.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub(super) fn start(target: &Path) -> Result<Postgres> {
        let programs = programs()?;
        let user = user()?;
        let directory = target.join(format!("bench-postgres-{}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        let as_user = |program: &str| {
            let mut command = Command::new(programs.join(program));
            // Its own messages would stand between the lines of the benchmark.
            command.stdout(Stdio::null()).stderr(Stdio::null());
            if let Some((user, group)) = user {
                command.uid(user).gid(group);
            }
            command.current_dir("/");
            command
        };
        if let Some((user, group)) = user {
            std::os::unix::fs::chown(&directory, Some(user), Some(group))?;
        }
        let mut create = as_user("initdb");
        create.args(["--auth=trust", "--encoding=UTF8", "--no-locale"]);
        create
            .args(["--username", USER, "--pgdata"])
            .arg(&directory);
        process::run(&mut create)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut serve = as_user("postgres");
        serve.arg("-D").arg(&directory);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            &format!("port={port}"),
        ] {
            serve.args(["-c", setting]);
        }
        let child = serve.spawn().context("cannot start PostgreSQL")?;
        let peer = Postgres {
            child,
            directory,
            url: format!("postgres://{USER}@127.0.0.1:{port}/postgres"),
        };
        let deadline = Instant::now() + WAIT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > deadline {
                bail!("PostgreSQL does not accept connections");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(peer)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // An immediate shutdown ends all of its processes; nothing of the data is kept.
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &id]).status();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The folder of the newest version's programs.
fn programs() -> Result<PathBuf> {
    let versions = std::fs::read_dir(PACKAGES).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let folder = entry.path().join("bin");
            folder.join("initdb").exists().then_some((version, folder))
        })
        .max();
    let (_, folder) = newest.with_context(|| {
        format!("no PostgreSQL below {PACKAGES}: install its package, or leave out --postgres")
    })?;
    Ok(folder)
}

/// User and group that it runs as, when the caller is root.
fn user() -> Result<Option<(u32, u32)>> {
    let id = |arguments: &[&str]| -> Result<u32> {
        let text = process::output_of(Command::new("id").args(arguments))?;
        Ok(text.trim().parse()?)
    };
    if id(&["-u"])? != 0 {
        return Ok(None);
    }
    Ok(Some((id(&["-u", USER])?, id(&["-g", USER])?)))
}
