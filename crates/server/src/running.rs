//! Starting and stopping a server, for programs that are not asynchronous themselves.
//!
//! Called by `cli`, examples and tests. [`Server::start`] binds, then serves on threads of its own
//! until [`Running::stop`], a signal, or drop.
//!
//! Threads: a tokio runtime with workers for connections and a bounded pool for long reads.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackdaw_database::DatabaseSet;
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::auth::SecurityError;
use crate::config::ServerConfig;
use crate::http;
use crate::shared::Shared;

/// Connections are served by at least this many threads, so that one that waits for the disk
/// does not hold up the others. More than there are processors wake one another for nothing: with
/// four on two, 32 connections stored a seventh less.
const WORKERS_MIN: usize = 2;

/// Least time between two calls of a thread that give memory back.
const TIDY_INTERVAL: Duration = Duration::from_secs(2);

/// Time between two looks at the files of a secured server: what is taken from somebody ends within
/// a second.
const SECURE_PERIOD: Duration = Duration::from_millis(500);

/// Why a server did not start. Nothing is left running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address cannot be bound, usually because another program listens on it.
    #[error(
        "cannot listen on {address}: {source}. Stop the program that uses it, or choose \
             another address with --listen (port 0 picks a free one)"
    )]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Other machines could reach the address, but nothing protects the data.
    #[error(
        "refusing to listen on {0}: other machines could reach it, and nothing is encrypted and \
             nobody asked who they are. Run `jackdaw setup` first, which makes certificates, or \
             listen on 127.0.0.1"
    )]
    Unprotected(SocketAddr),
    /// Certificates or the registry of the secured server cannot be used.
    #[error("cannot start a secured server: {0}")]
    Security(#[from] SecurityError),
    /// Threads could not be started.
    #[error("cannot start the server's threads: {0}")]
    Threads(std::io::Error),
}

/// Entry point: see [`Server::start`].
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Binds `config.listen` and serves until the result is stopped or dropped. Returns when
    /// clients can connect.
    ///
    /// # Errors
    /// See [`StartError`]; no thread and no socket is left behind.
    pub fn start(config: ServerConfig, databases: Arc<DatabaseSet>) -> Result<Running, StartError> {
        let listen = config.listen;
        let tcp_listen = config
            .tcp_listen
            .unwrap_or_else(|| SocketAddr::new(listen.ip(), 0));
        for address in [listen, tcp_listen] {
            let is_protected = address.ip().is_loopback() || config.security.is_some();
            if !is_protected && !config.allow_unprotected_public {
                return Err(StartError::Unprotected(address));
            }
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(processors.max(WORKERS_MIN))
            .max_blocking_threads(config.blocking_threads_max)
            .thread_name("jackdaw-http")
            .on_thread_park(tidier(config.give_back_memory))
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let (listener, address) = bind(&runtime, listen)?;
        let (tcp_listener, tcp_address) = bind(&runtime, tcp_listen)?;
        let (stop, stopping) = watch::channel(false);
        databases.begin_serving(crate::maintenance::rest_rules(&config));
        let shared = Arc::new(Shared::new(
            config,
            address,
            tcp_address,
            stopping.clone(),
            databases,
        )?);
        let scheme = shared.scheme();
        runtime.spawn(secure(shared.clone()));
        runtime.spawn(beat(shared.clone()));
        runtime.spawn(crate::live::run(shared.clone()));
        runtime.spawn(crate::maintenance::run(shared.clone()));
        runtime.spawn(crate::scrub::run(shared.clone()));
        runtime.spawn(crate::maintenance::run_due(shared.clone()));
        let tcp = crate::subscriptions::serve(shared.clone(), tcp_listener, stopping.clone());
        let http = http::serve(shared, listener, stopping);
        let serving = runtime.spawn(async move { tokio::join!(http, tcp).0 });
        tracing::info!(%address, %tcp_address, "listening");
        Ok(Running {
            address,
            tcp_address,
            scheme,
            stop,
            serving: Some(serving),
            runtime: Some(runtime),
        })
    }
}

/// Calls `give_back` on a thread that has nothing to do, not too often.
fn tidier(give_back: Option<fn()>) -> impl Fn() + Send + Sync + 'static {
    thread_local! {
        static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    move || {
        let Some(give_back) = give_back else { return };
        let now = Instant::now();
        let is_due = |last| now.duration_since(last) >= TIDY_INTERVAL;
        if LAST.get().is_none_or(is_due) {
            LAST.set(Some(now));
            give_back();
        }
    }
}

fn bind(runtime: &Runtime, address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    });
    bound.map_err(|source| StartError::Bind { address, source })
}

/// A server that accepts connections. Dropping it stops it without waiting for requests.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    tcp_address: SocketAddr,
    scheme: &'static str,
    stop: watch::Sender<bool>,
    serving: Option<JoinHandle<usize>>,
    runtime: Option<Runtime>,
}

impl Running {
    /// The bound address, with the port that was picked if 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The bound address of subscriptions over TCP.
    #[must_use]
    pub fn tcp_address(&self) -> SocketAddr {
        self.tcp_address
    }

    /// `http://` or `https://` and the address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Stops accepting, lets requests under way finish for at most `drain_timeout`, and returns
    /// how many connections had to be cut.
    pub fn stop(mut self) -> usize {
        self.drain()
    }

    /// Serves until the process receives SIGINT or SIGTERM, then stops as [`Running::stop`] does.
    /// A second signal ends the draining at once.
    ///
    /// # Errors
    /// When signals cannot be received; the server is stopped then.
    pub fn stop_on_signal(mut self) -> std::io::Result<usize> {
        let (Some(runtime), Some(serving)) = (self.runtime.take(), self.serving.take()) else {
            return Ok(0);
        };
        let stop = self.stop.clone();
        let cut = runtime.block_on(async move {
            let waited = signal().await;
            stop.send_replace(true);
            waited?;
            tracing::info!("stopping: requests under way are finished first");
            tokio::select! {
                cut = serving => Ok(cut.unwrap_or(0)),
                _ = signal() => Ok(0),
            }
        });
        runtime.shutdown_background();
        cut
    }

    fn drain(&mut self) -> usize {
        self.stop.send_replace(true);
        let (Some(runtime), Some(serving)) = (self.runtime.take(), self.serving.take()) else {
            return 0;
        };
        let cut = runtime.block_on(serving).unwrap_or(0);
        runtime.shutdown_background();
        cut
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Beats for all quiet streams until the server stops.
async fn beat(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    for beats in 1.. {
        tokio::select! {
            () = tokio::time::sleep(shared.config.heartbeat) => {}
            _ = stopping.changed() => return,
        }
        shared.pulse.tell(beats).await;
        wake_workers();
    }
}

/// Gives workers that sleep something to do, one at least: one that sleeps gives no memory back,
/// one that has just nothing to do any more does.
fn wake_workers() {
    for _ in 0..Handle::current().metrics().num_workers() {
        tokio::spawn(async {});
    }
}

/// Looks after the files and tokens of a secured server until it stops.
async fn secure(shared: Arc<Shared>) {
    if shared.gate.as_secured().is_none() {
        return;
    }
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(SECURE_PERIOD) => {}
            _ = stopping.changed() => return,
        }
        let shared = shared.clone();
        drop(tokio::task::spawn_blocking(move || shared.secure_round(false)).await);
    }
}

#[cfg(unix)]
async fn signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}

#[cfg(not(unix))]
async fn signal() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
