//! What all threads of the server share.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jackdaw_base::metrics::ShardedCounter;
use jackdaw_io::Vfs;

use crate::channels::Channels;
use crate::clients::Clients;
use crate::commands;
use crate::durable::Journal;
use crate::failure::{Failure, Outcome};
use crate::keyspace::{Shard, Space};
use crate::net::{Address, Inbox, Message};
use crate::settings::Settings;
use crate::slow::SlowLog;

/// See the file head.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    space: RwLock<Space>,
    pub(crate) channels: Channels,
    pub(crate) clients: Clients,
    pub(crate) slow: SlowLog,
    /// Times that each command of the table was run.
    pub(crate) calls: Vec<ShardedCounter>,
    /// Times that each was answered with an error, those that were not run among them.
    pub(crate) failures: Vec<AtomicU64>,
    /// Times that each was not run, for what the client may do or what it was called with.
    pub(crate) rejections: Vec<AtomicU64>,
    pub(crate) errors: ShardedCounter,
    pub(crate) bytes_in: ShardedCounter,
    pub(crate) bytes_out: ShardedCounter,
    pub(crate) started: u64,
    pub(crate) port: AtomicU16,
    pub(crate) is_stopping: AtomicBool,
    vfs: Arc<dyn Vfs>,
    journal: Option<Journal>,
    inboxes: OnceLock<Vec<Arc<Inbox>>>,
    next_thread: AtomicU64,
}

impl Shared {
    pub(crate) fn new(
        settings: Settings,
        space: Space,
        journal: Option<Journal>,
        vfs: Arc<dyn Vfs>,
    ) -> Shared {
        Shared {
            settings,
            space: RwLock::new(space),
            channels: Channels::default(),
            clients: Clients::default(),
            slow: SlowLog::default(),
            calls: commands::all()
                .iter()
                .map(|_| ShardedCounter::default())
                .collect(),
            failures: commands::all().iter().map(|_| AtomicU64::new(0)).collect(),
            rejections: commands::all().iter().map(|_| AtomicU64::new(0)).collect(),
            errors: ShardedCounter::default(),
            bytes_in: ShardedCounter::default(),
            bytes_out: ShardedCounter::default(),
            started: vfs.unix_nanos() / 1_000_000,
            port: AtomicU16::new(0),
            is_stopping: AtomicBool::new(false),
            vfs,
            journal,
            inboxes: OnceLock::new(),
            next_thread: AtomicU64::new(0),
        }
    }

    /// Unix milliseconds.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.vfs.unix_nanos() / 1_000_000
    }

    pub(crate) fn unix_micros(&self) -> u64 {
        self.vfs.unix_nanos() / 1000
    }

    #[inline]
    pub(crate) fn read_space(&self) -> RwLockReadGuard<'_, Space> {
        self.space.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write_space(&self) -> RwLockWriteGuard<'_, Space> {
        self.space.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// That storage takes writes.
    #[inline]
    pub(crate) fn check_writable(&self) -> Outcome {
        match &self.journal {
            Some(journal) if journal.is_failed() => Err(Failure::coded(
                "MISCONF a write to storage failed, so writes are refused: read the server's log, \
                 mend the cause, then restart the server",
            )),
            _ => Ok(()),
        }
    }

    /// Hands the changes of a shard, which is locked, to storage.
    pub(crate) fn record(&self, shard: &mut Shard, stored_as: &[u16]) {
        if let Some(journal) = &self.journal {
            journal.record(|changes| shard.drain_changes(stored_as, changes));
        }
    }

    /// The same for all shards of a space that is held alone: one transaction.
    pub(crate) fn record_all(&self, space: &mut Space) {
        if let Some(journal) = &self.journal {
            journal.record(|changes| space.drain_changes(changes));
        }
    }

    pub(crate) fn set_inboxes(&self, inboxes: Vec<Arc<Inbox>>) {
        // Set once, by the start of the server.
        let _ = self.inboxes.set(inboxes);
    }

    pub(crate) fn inboxes(&self) -> &[Arc<Inbox>] {
        self.inboxes.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.inboxes().len()
    }

    /// The thread for the next connection.
    pub(crate) fn next_thread(&self) -> usize {
        let number = self.next_thread.fetch_add(1, Ordering::Relaxed);
        jackdaw_base::width::to_usize(number) % self.thread_count().max(1)
    }

    /// Sends a message to a client, through the inbox of its thread.
    pub(crate) fn send(&self, address: Address, message: Message) {
        if let Some(inbox) = self.inboxes().get(address.thread) {
            inbox.send(address, message);
        }
    }

    /// Sets the counts of INFO to zero.
    pub(crate) fn reset_statistics(&self) {
        self.write_space().shards().for_each(|shard| {
            shard.statistics = crate::keyspace::ShardStatistics::default();
        });
        self.slow.reset_latencies();
    }
}
