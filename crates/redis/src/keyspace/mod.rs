//! All keys of all databases, in shards by the hash of the key.
//!
//! A command over one key holds the space for reading and the lock of one shard; a command over
//! several keys, or a transaction, holds the whole space alone. So every command is atomic, and
//! commands over single keys run on all threads at once.
//!
//! Invariant: whoever holds the lock of a shard takes no other lock of the space.

mod entry;
mod evict;
mod scan;
mod shard;

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::durable::Change;

pub(crate) use entry::{Entry, SHORT_STRING_BYTES_MAX};
pub use evict::EvictionPolicy;
pub(crate) use evict::make_room;
pub(crate) use shard::{Dirty, Shard, ShardStatistics, WatchFlag, scoped};

/// Shards; enough that two threads seldom meet, few enough to walk over all.
pub(crate) const SHARD_COUNT: usize = 1024;
const SHARD_BITS: u32 = SHARD_COUNT.trailing_zeros();
/// The bits of a hash that choose the shard: neither the lowest nor the highest, which the tables
/// use themselves.
const SHARD_SHIFT: u32 = 32;

/// Keys that [`Space::warm`] takes at a time.
pub(crate) const WARMED_AT_ONCE: usize = 32;

/// A key of a database, with its hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) database: u16,
    pub(crate) hash: u64,
    pub(crate) bytes: &'a [u8],
}

/// What all shards tell the server.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// Estimated bytes of all entries; shards add to it in pieces.
    pub(crate) used: AtomicIsize,
    /// Some entry may expire.
    pub(crate) has_volatile: AtomicBool,
    /// A key that a client waits for was changed.
    pub(crate) has_ready: AtomicBool,
    /// Those keys, in the order of the changes.
    pub(crate) ready: Mutex<Vec<Vec<u8>>>,
}

/// See the file head.
pub(crate) struct Space {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    pub(crate) totals: Arc<Totals>,
    /// The table of storage in which each database lies; SWAPDB exchanges two.
    pub(crate) stored_as: Vec<u16>,
    /// Changes that storage has to hear of before those of the shards.
    pub(crate) changes: Vec<Change>,
    pub(crate) is_durable: bool,
}

impl Space {
    /// An empty space; `is_durable` makes it record what changes.
    pub(crate) fn new(database_count: u16, is_durable: bool) -> Space {
        let totals = Arc::new(Totals::default());
        let hasher = RandomState::new();
        let shard = |number| {
            let totals = Arc::clone(&totals);
            Mutex::new(Shard::new(number, hasher.clone(), totals, is_durable))
        };
        Space {
            shards: (0..SHARD_COUNT as u64).map(shard).collect(),
            hasher: hasher.clone(),
            totals,
            stored_as: (0..database_count).collect(),
            changes: Vec::new(),
            is_durable,
        }
    }

    #[inline]
    pub(crate) fn key<'a>(&self, database: u16, bytes: &'a [u8]) -> Key<'a> {
        Key {
            database,
            hash: self.hasher.hash_one(bytes),
            bytes,
        }
    }

    /// The shard of a key, locked.
    #[inline]
    pub(crate) fn lock(&self, hash: u64) -> MutexGuard<'_, Shard> {
        self.lock_at(shard_of(hash))
    }

    pub(crate) fn lock_at(&self, position: usize) -> MutexGuard<'_, Shard> {
        self.shards[position]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The shard of a key; the space is held alone.
    pub(crate) fn shard(&mut self, hash: u64) -> &mut Shard {
        self.shard_at(shard_of(hash))
    }

    pub(crate) fn shard_at(&mut self, position: usize) -> &mut Shard {
        self.shards[position]
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn shards(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.shards
            .iter_mut()
            .map(|shard| shard.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Brings the entries of keys into the caches of the processor, all at once: commands that meet
    /// them one by one would wait for main memory twice each, for the place in the table and for
    /// what it points at. Without locks between them, as here, the processor waits for many at a
    /// time.
    pub(crate) fn warm(&mut self, database: u16, hashes: &[u64]) {
        let place = |&hash: &u64| (hash, self.shard(hash).place_about(database, hash));
        let places: SmallVec<[_; WARMED_AT_ONCE]> = hashes.iter().map(place).collect();
        let seen = places.iter().fold(0, |seen, &(hash, place)| {
            seen ^ self.shard(hash).touch(database, place)
        });
        std::hint::black_box(seen);
    }

    /// Keys of a database.
    pub(crate) fn len(&mut self, database: u16) -> usize {
        self.shards().map(|shard| shard.len(database)).sum()
    }

    /// Estimated bytes of all entries, exactly added up.
    pub(crate) fn used(&mut self) -> usize {
        self.shards().map(|shard| shard.used()).sum()
    }

    /// Makes the running total exact, for now.
    pub(crate) fn tell_used(&self) {
        (0..SHARD_COUNT).for_each(|position| self.lock_at(position).tell_used());
    }

    /// Bytes by the running total, which is off by some kilobytes a shard at most.
    pub(crate) fn used_about(&self) -> usize {
        usize::try_from(self.totals.used.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// A random key of the database.
    pub(crate) fn random_key(&mut self, database: u16, now: u64) -> Option<Vec<u8>> {
        // Keys that have expired since are taken out on the way.
        loop {
            let len = self.len(database);
            if len == 0 {
                return None;
            }
            let mut position = fastrand::usize(0..len);
            for shard in self.shards() {
                let in_shard = shard.len(database);
                if position < in_shard {
                    match shard.random_key(database, now) {
                        Some(key) => return Some(key),
                        None => break,
                    }
                }
                position -= in_shard;
            }
        }
    }
}

#[inline]
fn shard_of(hash: u64) -> usize {
    jackdaw_base::width::to_usize(order_of(hash) >> (u64::BITS - SHARD_BITS))
}

/// A hash with the bits of its shard in front, so that scans walk shard by shard.
#[inline]
fn order_of(hash: u64) -> u64 {
    hash.rotate_left(u64::BITS - SHARD_SHIFT - SHARD_BITS)
}
