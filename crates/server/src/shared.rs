//! What all requests share: configuration, routes, identity of this server.
//!
//! Made once by `Server::start`, read by every request; only counters and databases change.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use jackdaw_database::DatabaseSet;
use tokio::sync::{Semaphore, watch};

use crate::auth::{Attempts, Gate, Guard, Principal, SecurityError};
use crate::config::ServerConfig;
use crate::http::{Admission, BodyMemory, PieceMemory, QuickReads, Tls, WritesInPlace};
use crate::live::Live;
use crate::router::Router;
use crate::routes::{self, CompiledSorters, Operations, RecentBatches, Row};
use crate::signals::Signals;
use crate::staggered::Staggered;
use crate::subscriptions::Desk;
use crate::traffic::Traffic;

/// Feeds that read changes at a time, for each processor. One change wakes all of them, and ten
/// thousand that read at once would keep others from the threads of the pool, and wake all of those
/// threads, each with memory of its own.
const FEED_READS_OF_PROCESSOR: usize = 2;

/// State of one running server.
pub(crate) struct Shared {
    pub(crate) config: ServerConfig,
    /// The bound address.
    pub(crate) address: SocketAddr,
    /// The bound address of subscriptions.
    pub(crate) tcp_address: SocketAddr,
    pub(crate) gate: Gate,
    /// `None`: plain text.
    pub(crate) tls: Option<Tls>,
    pub(crate) attempts: Attempts,
    pub(crate) admission: Admission,
    pub(crate) quick_reads: QuickReads,
    pub(crate) bodies: BodyMemory,
    /// Memory of what web sockets watch, as much as that of bodies, which it must not take.
    pub(crate) watched: BodyMemory,
    /// Memory of answers: as much again for pieces that clients did not read yet, and several times
    /// as much for what is larger.
    pub(crate) pieces: Arc<PieceMemory>,
    guard: RwLock<Arc<Guard>>,
    pub(crate) router: Router<Row>,
    /// Turns true when the server stops; long answers end then.
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) started: Instant,
    pub(crate) databases: Arc<DatabaseSet>,
    /// Lower-cased names of databases that were told not to serve.
    disabled: RwLock<HashSet<String>>,
    pub(crate) live: Live,
    pub(crate) signals: Signals,
    /// Feeds that read changes at a time; see [`FEED_READS_OF_PROCESSOR`].
    pub(crate) feed_reads: Semaphore,
    pub(crate) recent_batches: RecentBatches,
    pub(crate) sorters: CompiledSorters,
    pub(crate) writes_in_place: WritesInPlace,
    /// Beats every `heartbeat` for all who keep a quiet connection alive: one timer for everybody.
    pub(crate) pulse: Staggered<u64>,
    pub(crate) operations: Operations,
    /// Held while a backup is made: one at a time.
    pub(crate) backing_up: Mutex<()>,
    /// Which requests are logged.
    pub(crate) traffic: Traffic,
    pub(crate) desk: Arc<Desk>,
    /// Names this server among others; new at each start.
    pub(crate) server_id: String,
    /// Names the cluster of this one server.
    pub(crate) topology_id: String,
}

impl Shared {
    pub(crate) fn new(
        config: ServerConfig,
        address: SocketAddr,
        tcp_address: SocketAddr,
        stopping: watch::Receiver<bool>,
        databases: Arc<DatabaseSet>,
    ) -> Result<Shared, SecurityError> {
        let (gate, tls) = match config.security.clone() {
            None => (Gate::Open(Arc::new(Principal::everybody())), None),
            Some(directory) => {
                let tls = Tls::load(&directory)?;
                (Gate::secured(directory)?, Some(tls))
            }
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let admission = Admission::new(&config);
        let bodies = BodyMemory::new(config.bodies_bytes_max, config.bodies_wait_max);
        let watched = BodyMemory::new(config.bodies_bytes_max, config.bodies_wait_max);
        let pieces = PieceMemory::new(config.bodies_bytes_max, config.bodies_wait_max);
        let guard = guard_of(&config, tls.as_ref());
        let router = Router::new(routes::table()).expect("a test builds the same table");
        Ok(Shared {
            config,
            address,
            tcp_address,
            gate,
            tls,
            attempts: Attempts::default(),
            admission,
            quick_reads: QuickReads::default(),
            bodies,
            watched,
            pieces,
            guard: RwLock::new(Arc::new(guard)),
            router,
            stopping,
            started: Instant::now(),
            disabled: RwLock::new(routes::disabled_databases(&databases)),
            databases,
            live: Live::default(),
            signals: Signals::default(),
            feed_reads: Semaphore::new(FEED_READS_OF_PROCESSOR * processors),
            recent_batches: RecentBatches::default(),
            sorters: CompiledSorters::default(),
            writes_in_place: WritesInPlace::default(),
            pulse: Staggered::new(0),
            operations: Operations::default(),
            backing_up: Mutex::default(),
            traffic: Traffic::default(),
            desk: Arc::default(),
            server_id: random_uuid(),
            topology_id: random_uuid(),
        })
    }
}

#[cfg(test)]
impl Shared {
    /// Of a server that listens nowhere, for tests of its parts. It stops when the sender is
    /// dropped or told so.
    pub(crate) fn unbound(
        config: ServerConfig,
        databases: Arc<DatabaseSet>,
    ) -> (watch::Sender<bool>, Arc<Shared>) {
        let address = ([127, 0, 0, 1], 0).into();
        let (stop, stopping) = watch::channel(false);
        let shared = Shared::new(config, address, address, stopping, databases);
        (stop, Arc::new(shared.expect("the configuration is whole")))
    }
}

/// The names of the configuration and of the certificate.
fn guard_of(config: &ServerConfig, tls: Option<&Tls>) -> Guard {
    let of_certificate = tls.map(Tls::hosts).unwrap_or_default();
    Guard::new(config.public_hosts.iter().cloned().chain(of_certificate))
}

impl Shared {
    /// Names that requests may use.
    pub(crate) fn guard(&self) -> Arc<Guard> {
        self.guard
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads the files of a secured server again where they changed, and ends what is over. Who
    /// changed them itself says so: dates of files are no finer than a tick of the clock.
    pub(crate) fn secure_round(&self, is_changed: bool) {
        let round = self.gate.round(is_changed);
        let (Some(secured), Some(tls)) = (self.gate.as_secured(), &self.tls) else {
            return;
        };
        if !round.is_new_certificate {
            return;
        }
        match tls.reload(&secured.directory) {
            Ok(()) => {
                let guard = Arc::new(guard_of(&self.config, Some(tls)));
                *self.guard.write().unwrap_or_else(PoisonError::into_inner) = guard;
                tracing::info!("new connections are served with the new certificate");
            }
            Err(error) => {
                secured.retry_certificate();
                tracing::error!(%error, "the old certificate is served on");
            }
        }
    }

    /// `https` or `http`.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Whether a database was told not to serve.
    pub(crate) fn is_disabled(&self, name: &str) -> bool {
        let disabled = self.disabled.read().unwrap_or_else(PoisonError::into_inner);
        !disabled.is_empty() && disabled.contains(&name.to_lowercase())
    }

    /// Keeps whether a database serves, as its record says by now; whether it does.
    pub(crate) fn note_disabled(&self, name: &str) -> bool {
        let mut disabled = self
            .disabled
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // Read under the lock: of two who change the record, the last to come here sees both.
        let entry = self.databases.entry(name);
        let is_disabled = entry.is_some_and(|entry| routes::is_disabled_by(&entry.record));
        match is_disabled {
            true => disabled.insert(name.to_lowercase()),
            false => disabled.remove(&name.to_lowercase()),
        };
        is_disabled
    }
}

/// A version 4 UUID. Its bits come from the keys that the standard library draws from the system
/// for its hash maps; it names things and protects nothing.
pub(crate) fn random_uuid() -> String {
    let half = |salt: u8| u128::from(RandomState::new().hash_one(salt));
    let mut bits = half(0) << 64 | half(1);
    bits = bits & !(0xf << 76) | (4 << 76);
    bits = bits & !(0x3 << 62) | (2 << 62);
    let hex = format!("{bits:032x}");
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_differ_and_have_their_version() {
        let (one, two) = (random_uuid(), random_uuid());
        assert_ne!(one, two);
        assert_eq!(one.len(), 36);
        assert_eq!(&one[14..15], "4");
        assert!("89ab".contains(&one[19..20]));
    }
}
