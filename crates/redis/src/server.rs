//! Starting and stopping the server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use jackdaw_io::{RealVfs, SpawnError, Vfs};
use jackdaw_storage::{OpenError, StorageError};
use mio::net::TcpListener;

use crate::durable::{self, Journal};
use crate::keyspace::Space;
use crate::net::EventLoop;
use crate::settings::{RedisConfig, Settings};
use crate::shared::Shared;

/// Event loops that a server may have.
const THREADS_MAX: usize = 16;

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Everybody could reach it, and nothing asks who they are.
    #[error(
        "{address} can be reached from other machines and Redis has no password: set one with \
         --redis-password, or listen on 127.0.0.1"
    )]
    Public {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address} for Redis: {source}; choose another with --redis")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// The system refused a poll.
    #[error("cannot start an event loop: {0}")]
    Poll(#[from] io::Error),
    /// The system refused a thread.
    #[error("{0}")]
    Thread(#[from] SpawnError),
    /// The directory cannot be opened.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// The directory cannot be read.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// The directory cannot be written.
    #[error("the Redis data cannot be written: {0}")]
    Write(String),
    /// A newer program wrote the directory.
    #[error(
        "the Redis data has format {found}, this program reads format 1: use the newer program"
    )]
    Format {
        /// The format that was found.
        found: u8,
    },
    /// The directory holds more databases than the server was started with.
    #[error(
        "the Redis data has a database {found} that this server has not: raise the number of \
         databases"
    )]
    Databases {
        /// The number of it.
        found: u16,
    },
    /// An entry makes no sense.
    #[error("the Redis data is damaged at key {key}: run `jackdaw check`, or restore a backup")]
    Damage {
        /// The key of storage.
        key: String,
    },
}

/// A server that runs.
pub struct RedisServer {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    address: SocketAddr,
    recovered: u64,
}

impl RedisServer {
    /// Starts a server; it serves when this returns.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(config: &RedisConfig) -> Result<RedisServer, StartError> {
        RedisServer::start_on(config, RealVfs::new())
    }

    /// [`RedisServer::start`], with the directory of keys on another disk than the machine's.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start_on(config: &RedisConfig, vfs: Arc<dyn Vfs>) -> Result<RedisServer, StartError> {
        if !config.listen.ip().is_loopback() && config.password.as_deref().is_none_or(str::is_empty)
        {
            return Err(StartError::Public {
                address: config.listen,
            });
        }
        let settings = Settings::new(config);
        let mut space = Space::new(settings.databases, config.data.is_some());
        let mut recovered = 0;
        let mut journal = None;
        if let Some(directory) = &config.data {
            let environment = durable::open(Arc::clone(&vfs), directory)?;
            let now = vfs.unix_nanos() / 1_000_000;
            recovered = durable::load(&environment, &mut space, now)?;
            journal = Some(Journal::new(environment));
        }
        let listener = TcpListener::bind(config.listen).map_err(|source| StartError::Listen {
            address: config.listen,
            source,
        })?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(settings, space, journal, vfs));
        shared.port.store(address.port(), Ordering::Relaxed);
        let mut listener = Some(listener);
        let mut loops = Vec::new();
        for number in 0..config.threads.clamp(1, THREADS_MAX) {
            loops.push(EventLoop::new(
                number,
                listener.take(),
                Arc::clone(&shared),
            )?);
        }
        let inboxes: Vec<_> = loops.iter().map(EventLoop::inbox).collect();
        if let Some(journal) = shared.journal() {
            journal.set_inboxes(inboxes.clone());
        }
        shared.set_inboxes(inboxes);
        let mut server = RedisServer {
            shared,
            threads: Vec::new(),
            address,
            recovered,
        };
        for (number, event_loop) in loops.into_iter().enumerate() {
            let name = format!("jd-redis-{number}");
            let thread = jackdaw_io::spawn(&name, move || event_loop.run())?;
            server.threads.push(thread);
        }
        Ok(server)
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Keys that were read back at the start.
    #[must_use]
    pub fn recovered(&self) -> u64 {
        self.recovered
    }

    /// Closes all connections and ends the threads. What was acknowledged in durable mode is in
    /// storage.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        for inbox in self.shared.inboxes() {
            inbox.wake();
        }
        for thread in self.threads.drain(..) {
            // A panic of the loop has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}
