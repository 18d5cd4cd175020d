//! The clients that are connected, for CLIENT LIST, and the limits of their number and of what
//! they hold.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::commands::all;
use crate::net::Address;
use crate::session::Session;
use crate::value::Bytes;

/// What others may know of a client.
#[derive(Debug)]
pub(crate) struct ClientInfo {
    pub(crate) address: Address,
    /// Where it comes from, and where it came to.
    pub(crate) peer: String,
    pub(crate) local: String,
    pub(crate) created: u64,
    pub(crate) names: Mutex<ClientNames>,
    /// Unix milliseconds of its last command, and which that was of all.
    pub(crate) last_used: AtomicU64,
    last_command: AtomicUsize,
    pub(crate) database: AtomicU64,
    pub(crate) channels: AtomicU64,
    pub(crate) patterns: AtomicU64,
    /// Commands queued by MULTI; -1 outside.
    pub(crate) queued: AtomicI64,
    pub(crate) protocol: AtomicU64,
    pub(crate) output_bytes: AtomicU64,
    pub(crate) is_blocked: AtomicBool,
    /// It asked to be closed for memory after all others.
    pub(crate) is_spared: AtomicBool,
    /// What it counts for among [`Clients::held_bytes`].
    held_bytes: AtomicUsize,
    /// It held most when all held too much, and is to be closed.
    pub(crate) is_evicted: AtomicBool,
}

/// What a client calls itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientNames {
    pub(crate) name: Bytes,
    pub(crate) library: Bytes,
    pub(crate) library_version: Bytes,
}

impl ClientInfo {
    pub(crate) fn new(address: Address, peer: String, local: String, now: u64) -> ClientInfo {
        ClientInfo {
            address,
            peer,
            local,
            created: now,
            names: Mutex::default(),
            last_used: AtomicU64::new(now),
            last_command: AtomicUsize::new(usize::MAX),
            database: AtomicU64::new(0),
            channels: AtomicU64::new(0),
            patterns: AtomicU64::new(0),
            queued: AtomicI64::new(-1),
            protocol: AtomicU64::new(2),
            output_bytes: AtomicU64::new(0),
            is_blocked: AtomicBool::new(false),
            is_spared: AtomicBool::new(false),
            held_bytes: AtomicUsize::new(0),
            is_evicted: AtomicBool::new(false),
        }
    }

    pub(crate) fn names(&self) -> MutexGuard<'_, ClientNames> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `normal` or `pubsub`.
    pub(crate) fn kind(&self) -> &'static str {
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
        if get(&self.channels) + get(&self.patterns) > 0 {
            "pubsub"
        } else {
            "normal"
        }
    }

    /// The line of CLIENT LIST.
    pub(crate) fn line(&self, now: u64) -> String {
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let names = self.names().clone();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut flags = String::new();
        if self.kind() == "pubsub" {
            flags.push('P');
        }
        if self.queued.load(Ordering::Relaxed) >= 0 {
            flags.push('x');
        }
        if self.is_blocked.load(Ordering::Relaxed) {
            flags.push('b');
        }
        if self.is_spared.load(Ordering::Relaxed) {
            flags.push('e');
        }
        if flags.is_empty() {
            flags.push('N');
        }
        let command = all().get(self.last_command.load(Ordering::Relaxed));
        let command = command.map_or("NULL", |known| known.spec.name);
        format!(
            "id={} addr={} laddr={} fd=-1 name={} age={} idle={} flags={flags} db={} sub={} \
             psub={} ssub=0 multi={} watch=0 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 \
             rbs=0 rbp=0 obl=0 oll=0 omem={} tot-mem=0 events=r \
             cmd={command} user=default redir=-1 resp={} lib-name={} lib-ver={}",
            self.address.id,
            self.peer,
            self.local,
            text(&names.name),
            now.saturating_sub(self.created) / 1000,
            now.saturating_sub(get(&self.last_used)) / 1000,
            get(&self.database),
            get(&self.channels),
            get(&self.patterns),
            self.queued.load(Ordering::Relaxed),
            get(&self.output_bytes),
            get(&self.protocol),
            text(&names.library),
            text(&names.library_version),
        )
    }
}

impl Session {
    /// Tells others what changed.
    pub(crate) fn note(&self) {
        let set = |number: &AtomicU64, value: u64| number.store(value, Ordering::Relaxed);
        let command = self.last_command.unwrap_or(usize::MAX);
        self.info.last_command.store(command, Ordering::Relaxed);
        set(&self.info.database, u64::from(self.database));
        set(&self.info.channels, self.channels.len() as u64);
        set(&self.info.patterns, self.patterns.len() as u64);
        set(&self.info.protocol, if self.is_resp3 { 3 } else { 2 });
        let queued = self.transaction.as_ref().map(|t| t.commands.len());
        let queued = queued.map_or(-1, |len| i64::try_from(len).unwrap_or(i64::MAX));
        self.info.queued.store(queued, Ordering::Relaxed);
        let is_blocked = self.blocked.is_some();
        self.info.is_blocked.store(is_blocked, Ordering::Relaxed);
    }
}

/// All clients by number.
#[derive(Default)]
pub(crate) struct Clients {
    table: Mutex<BTreeMap<u64, Arc<ClientInfo>>>,
    last_id: AtomicU64,
    pub(crate) total: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) evicted: AtomicU64,
    held_bytes: AtomicUsize,
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<ClientInfo>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Adds a client unless there are `max`.
    pub(crate) fn add(&self, info: &Arc<ClientInfo>, max: usize) -> bool {
        let mut table = self.lock();
        if table.len() >= max {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.total.fetch_add(1, Ordering::Relaxed);
        table.insert(info.address.id, Arc::clone(info));
        true
    }

    pub(crate) fn remove(&self, id: u64) {
        self.lock().remove(&id);
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<ClientInfo>> {
        self.lock().get(&id).cloned()
    }

    /// Notes how many bytes of commands and replies a client holds by now.
    pub(crate) fn hold(&self, info: &ClientInfo, bytes: usize) {
        if info.held_bytes.load(Ordering::Relaxed) != bytes {
            let before = info.held_bytes.swap(bytes, Ordering::Relaxed);
            let more = bytes.wrapping_sub(before);
            self.held_bytes.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Bytes of commands and replies that all clients hold.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// The client that holds most: it counts for nothing any more, and has to be closed. One that
    /// asked to be spared comes after all others. `None` when nobody holds anything.
    pub(crate) fn evict_largest(&self) -> Option<Arc<ClientInfo>> {
        let held = |info: &Arc<ClientInfo>| info.held_bytes.load(Ordering::Relaxed);
        let rank = |info: &Arc<ClientInfo>| {
            let is_spared = info.is_spared.load(Ordering::Relaxed);
            (!is_spared && held(info) > 0, held(info))
        };
        let largest = self.lock().values().max_by_key(|info| rank(info)).cloned();
        let largest = largest.filter(|info| held(info) > 0)?;
        if !largest.is_evicted.swap(true, Ordering::Relaxed) {
            self.evicted.fetch_add(1, Ordering::Relaxed);
        }
        self.hold(&largest, 0);
        Some(largest)
    }

    pub(crate) fn all(&self) -> Vec<Arc<ClientInfo>> {
        self.lock().values().cloned().collect()
    }
}
