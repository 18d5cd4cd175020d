//! The program `jackdaw` as tests start it, and a real server process that a test starts, kills and
//! starts again.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub url: String,
    /// Where it listens for subscriptions, and for Redis clients when it does.
    tcp: String,
    redis: Option<String>,
}

/// The binary, which `cargo xtask test slow` builds beside the test that runs.
///
/// # Errors
/// When it is missing.
pub fn jackdaw() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent);
    let binary = folder
        .context("the test lies in no folder")?
        .join("jackdaw");
    ensure!(
        binary.exists(),
        "{} is missing: use `cargo xtask test slow`",
        binary.display()
    );
    Ok(binary)
}

impl Server {
    /// Starts the binary on a free port with its data in `data`.
    ///
    /// # Errors
    /// When it is missing, or ends before it listens.
    pub fn start(data: &Path) -> Result<Server> {
        let mut command = Command::new(jackdaw()?);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        Server::start_by(command.arg(data))
    }

    /// Starts a server by a command that ends as `jackdaw serve`.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_by(command: &mut Command) -> Result<Server> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        // Nothing more is read: the server says nothing after this that would fill the pipe.
        let output = child.stdout.take().context("its output is not piped")?;
        let (mut url, mut redis) = (None, None);
        for line in BufReader::new(output).lines() {
            let line = line?;
            let word = |rest: &str| rest.split_whitespace().next().map(str::to_owned);
            redis = redis.or(line.strip_prefix("Redis: ").and_then(word));
            url = url.or(line.strip_prefix("Clients: ").and_then(word));
            // The last of the addresses.
            if let Some((tcp, url)) = line.strip_prefix("TCP: ").and_then(word).zip(url.clone()) {
                return Ok(Server {
                    child,
                    url,
                    tcp,
                    redis,
                });
            }
        }
        anyhow::bail!("the server ended before it said where it listens")
    }

    /// Its process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Where it listens for HTTP.
    ///
    /// # Errors
    /// It printed no address.
    pub fn http_address(&self) -> Result<SocketAddr> {
        address(&self.url)
    }

    /// Where it listens for subscriptions.
    ///
    /// # Errors
    /// It printed no address.
    pub fn tcp_address(&self) -> Result<SocketAddr> {
        address(&self.tcp)
    }

    /// Where it listens for Redis clients.
    ///
    /// # Errors
    /// It does not listen for them.
    pub fn redis_address(&self) -> Result<SocketAddr> {
        let redis = self.redis.as_deref();
        address(redis.context("it was started without `--redis`")?)
    }

    /// Ends it as a failing machine would, with SIGKILL.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// What stands behind the protocol of a URL.
fn address(url: &str) -> Result<SocketAddr> {
    let address = url.rsplit("://").next().unwrap_or(url);
    let parsed = address.parse();
    parsed.with_context(|| format!("'{url}' is no address"))
}
