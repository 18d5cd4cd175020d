//! A part of the keys, under one lock: tables, expiry, watches, waiters, and what changed.
//!
//! Invariants:
//! - Every change of a key passes through `changed`, which tells watchers, waiters and storage.
//! - A key whose time has come is never seen: looking for it removes it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use hashbrown::HashTable;

use super::entry::Entry;
use super::{Key, SHARD_COUNT, Totals};
use crate::failure::Failure;
use crate::value::{Bytes, Edit, Kind, Object};

/// The running total of memory is brought up to date in steps of this many bytes.
const USED_STEP: isize = 256;
/// Deadlines that no longer hold are swept out when they are more than half, from this many on.
const DEADLINES_MIN: usize = 64;

/// Set when a watched key changes.
pub(crate) type WatchFlag = Arc<AtomicBool>;

/// A client that waits for keys; see `blocking`.
pub(crate) use crate::blocking::Waiter;

/// A change that storage has to hear of.
#[derive(Debug)]
pub(crate) enum Dirty {
    /// The key with everything in it.
    Whole { database: u16, key: Bytes },
    /// Elements of a collection.
    Elements {
        database: u16,
        key: Bytes,
        elements: Vec<Bytes>,
    },
    /// The key's own entry, not its elements.
    Head { database: u16, key: Bytes },
    /// The key is gone, and with it the elements under this number.
    Removed {
        database: u16,
        key: Bytes,
        id: Option<u64>,
    },
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShardStatistics {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) expired: u64,
    pub(crate) evicted: u64,
}

/// Keys of one database in one shard.
#[derive(Default)]
pub(super) struct Table {
    pub(super) entries: HashTable<Entry>,
    /// Milliseconds and hash of keys that end; some of them may have changed since.
    pub(super) deadlines: BinaryHeap<Reverse<(u64, u64)>>,
    volatile: usize,
}

/// See the file head.
pub(crate) struct Shard {
    pub(super) tables: Vec<Table>,
    hasher: RandomState,
    totals: Arc<Totals>,
    used: isize,
    used_told: isize,
    next_id: u64,
    is_durable: bool,
    pub(crate) dirty: Vec<Dirty>,
    watched: HashMap<Vec<u8>, Vec<WatchFlag>>,
    pub(crate) waiting: HashMap<Vec<u8>, VecDeque<Arc<Waiter>>>,
    pub(crate) statistics: ShardStatistics,
}

/// Seconds of the access clock.
#[inline]
pub(super) fn access_of(now: u64) -> u32 {
    jackdaw_base::width::low_u32(now / 1000)
}

/// A key with its database, as the maps of watchers and waiters name it.
pub(crate) fn scoped(database: u16, key: &[u8]) -> Vec<u8> {
    [&database.to_be_bytes(), key].concat()
}

impl Shard {
    pub(super) fn new(
        number: u64,
        hasher: RandomState,
        totals: Arc<Totals>,
        is_durable: bool,
    ) -> Shard {
        Shard {
            tables: Vec::new(),
            hasher,
            totals,
            used: 0,
            used_told: 0,
            next_id: number,
            is_durable,
            dirty: Vec::new(),
            watched: HashMap::new(),
            waiting: HashMap::new(),
            statistics: ShardStatistics::default(),
        }
    }

    pub(crate) fn len(&self, database: u16) -> usize {
        self.table(database).map_or(0, |table| table.entries.len())
    }

    /// Keys with an expiry.
    pub(crate) fn volatile_len(&self, database: u16) -> usize {
        self.table(database).map_or(0, |table| table.volatile)
    }

    pub(crate) fn used(&self) -> usize {
        usize::try_from(self.used).unwrap_or(0)
    }

    pub(super) fn table(&self, database: u16) -> Option<&Table> {
        self.tables.get(usize::from(database))
    }

    pub(super) fn table_mut(&mut self, database: u16) -> &mut Table {
        let position = usize::from(database);
        if position >= self.tables.len() {
            self.tables.resize_with(position + 1, Table::default);
        }
        &mut self.tables[position]
    }

    /// The entry of a key that has not ended; counts as a use of it.
    #[inline]
    pub(crate) fn find(&mut self, key: &Key<'_>, now: u64) -> Option<&mut Entry> {
        let bucket = self.bucket(key, now)?;
        let table = self.tables.get_mut(usize::from(key.database))?;
        let entry = table.entries.get_bucket_mut(bucket)?;
        entry.set_access(access_of(now));
        Some(entry)
    }

    /// The entry of a key, without counting as a use.
    pub(crate) fn peek(&mut self, key: &Key<'_>, now: u64) -> Option<&Entry> {
        let bucket = self.bucket(key, now)?;
        let table = self.tables.get(usize::from(key.database))?;
        table.entries.get_bucket(bucket)
    }

    /// [`Shard::find`] for a reader, who is counted as hit or miss.
    #[inline]
    pub(crate) fn read(&mut self, key: &Key<'_>, now: u64) -> Option<&mut Entry> {
        let bucket = self.bucket(key, now);
        match bucket {
            Some(_) => self.statistics.hits += 1,
            None => self.statistics.misses += 1,
        }
        let table = self.tables.get_mut(usize::from(key.database))?;
        let entry = table.entries.get_bucket_mut(bucket?)?;
        entry.set_access(access_of(now));
        Some(entry)
    }

    /// Where the entry of a key lies; an entry that has ended is removed.
    #[inline]
    fn bucket(&mut self, key: &Key<'_>, now: u64) -> Option<usize> {
        let table = self.tables.get(usize::from(key.database))?;
        let is_key = |entry: &Entry| entry.key() == key.bytes;
        let bucket = table.entries.find_bucket_index(key.hash, is_key)?;
        let entry = table.entries.get_bucket(bucket)?;
        if entry.expiry().is_some_and(|expiry| expiry <= now) {
            self.expire(key);
            return None;
        }
        Some(bucket)
    }

    /// Where an entry of that hash most likely lies, without a look at its key.
    #[inline]
    pub(super) fn place_about(&mut self, database: u16, hash: u64) -> Option<usize> {
        let table = self.tables.get(usize::from(database))?;
        // Any entry with the same bits of the hash: to compare keys would be to wait for them.
        table.entries.find_bucket_index(hash, |_| true)
    }

    /// A byte of the entry there, whichever it is.
    #[inline]
    pub(super) fn touch(&mut self, database: u16, place: Option<usize>) -> u8 {
        let table = self.tables.get(usize::from(database));
        let entry = table.and_then(|table| table.entries.get_bucket(place?));
        entry.map_or(0, Entry::first_byte)
    }

    /// The string of a key.
    ///
    /// # Errors
    /// When it holds something else.
    #[inline]
    pub(crate) fn text(&mut self, key: &Key<'_>, now: u64) -> Result<Option<&[u8]>, Failure> {
        match self.read(key, now) {
            None => Ok(None),
            Some(entry) => entry.text().map(Some).ok_or(Failure::WrongType),
        }
    }

    /// The collection of a key.
    ///
    /// # Errors
    /// When it holds something else.
    pub(crate) fn collection<T: Kind>(
        &mut self,
        key: &Key<'_>,
        now: u64,
    ) -> Result<Option<&T>, Failure> {
        match self.read(key, now) {
            None => Ok(None),
            Some(entry) => {
                let object = entry.object_ref().and_then(T::of);
                object.map(Some).ok_or(Failure::WrongType)
            }
        }
    }

    /// Changes the collection of a key with `change`; makes an empty one first when there is none
    /// and `create`. A collection that is empty afterwards is removed.
    ///
    /// # Errors
    /// When the key holds something else, or `change` fails; it must not have changed
    /// anything then.
    pub(crate) fn edit<T: Kind, R>(
        &mut self,
        key: &Key<'_>,
        now: u64,
        create: bool,
        change: impl FnOnce(&mut T, &mut Edit) -> Result<R, Failure>,
    ) -> Result<Option<R>, Failure> {
        let mut is_new = false;
        if self.find(key, now).is_none() {
            if !create {
                return Ok(None);
            }
            is_new = true;
            let object = T::create();
            self.place(key, Entry::object(key.bytes, object, None, access_of(now)));
        }
        let mut edit = Edit {
            is_recording: self.is_durable && !is_new,
            ..Edit::default()
        };
        let entry = self.entry_mut(key).expect("it was found or put above");
        let before = entry.footprint();
        let object = entry.object_mut().ok_or(Failure::WrongType)?;
        let value = T::of_mut(object).ok_or(Failure::WrongType)?;
        let result = change(value, &mut edit);
        let is_empty = object.is_empty();
        let after = entry.footprint();
        self.grow(before, after);
        if is_empty {
            match edit.is_changed && !is_new {
                true => drop(self.remove(key)),
                false => drop(self.take(key)),
            }
        } else if edit.is_changed {
            let elements = match is_new || edit.is_whole {
                true => None,
                false => Some(edit.elements),
            };
            self.changed(key, elements);
        }
        result.map(Some)
    }

    /// Puts a string in place of whatever the key holds.
    pub(crate) fn set_text(&mut self, key: &Key<'_>, value: &[u8], expiry: Option<u64>, now: u64) {
        let Some(entry) = self.entry_mut(key) else {
            self.place(key, Entry::string(key.bytes, value, expiry, access_of(now)));
            return self.changed(key, None);
        };
        let before = entry.footprint();
        let old_expiry = entry.expiry();
        let id = entry.object_ref().and_then(Object::id);
        entry.set_text(value, expiry);
        entry.set_access(access_of(now));
        let after = entry.footprint();
        self.grow(before, after);
        if old_expiry != expiry {
            self.expiry_changed(key, old_expiry, expiry);
        }
        if self.is_durable && id.is_some() {
            self.note_removed(key, id);
        }
        self.changed(key, None);
    }

    /// Lets `change` work on the string of a key, which grows in place; makes an empty one first.
    ///
    /// # Errors
    /// When the key holds something else.
    pub(crate) fn edit_text<R>(
        &mut self,
        key: &Key<'_>,
        now: u64,
        change: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Result<R, Failure> {
        if self.find(key, now).is_none() {
            let object = Object::Text(Vec::new());
            self.place(key, Entry::object(key.bytes, object, None, access_of(now)));
        }
        let entry = self.entry_mut(key).expect("it was found or put above");
        let before = entry.footprint();
        let text = entry.growing_text().ok_or(Failure::WrongType)?;
        let result = change(text);
        let after = entry.footprint();
        self.grow(before, after);
        self.changed(key, None);
        Ok(result)
    }

    /// Sets or takes away the expiry of a key that is there.
    pub(crate) fn set_expiry(&mut self, key: &Key<'_>, expiry: Option<u64>) {
        let Some(entry) = self.entry_mut(key) else {
            return;
        };
        let before = entry.footprint();
        let old = entry.expiry();
        entry.set_expiry(expiry);
        let after = entry.footprint();
        self.grow(before, after);
        self.expiry_changed(key, old, expiry);
        if self.is_durable {
            self.dirty.push(Dirty::Head {
                database: key.database,
                key: key.bytes.into(),
            });
        }
        self.tell(key);
    }

    /// Puts an entry, which has the same key, in place of whatever is there.
    pub(crate) fn put(&mut self, key: &Key<'_>, mut entry: Entry) {
        drop(self.remove(key));
        if let Some(object) = entry.object_mut() {
            object.set_id(0);
        }
        self.place(key, entry);
        self.changed(key, None);
    }

    /// Removes a key; gives its entry, which may have ended.
    pub(crate) fn remove(&mut self, key: &Key<'_>) -> Option<Entry> {
        let entry = self.take(key)?;
        if self.is_durable {
            self.note_removed(key, entry.object_ref().and_then(Object::id));
        }
        self.tell(key);
        Some(entry)
    }

    /// Puts an entry that was read from storage.
    pub(crate) fn restore(&mut self, key: &Key<'_>, entry: Entry) {
        self.place(key, entry);
    }

    /// Numbers of collections from now on are greater than `id`.
    pub(crate) fn skip_ids(&mut self, id: u64) {
        let step = SHARD_COUNT as u64;
        self.next_id = self.next_id % step + id.next_multiple_of(step);
    }

    /// Removes keys whose time has come, at most `limit`; gives how many.
    pub(crate) fn expire_due(&mut self, now: u64, limit: usize) -> usize {
        let mut count = 0;
        for position in 0..self.tables.len() {
            while let Some(&Reverse((due, hash))) = self.tables[position].deadlines.peek()
                && due <= now
                && count < limit
            {
                self.tables[position].deadlines.pop();
                let is_due = |entry: &Entry| entry.expiry().is_some_and(|expiry| expiry <= now);
                let found = self.tables[position].entries.find(hash, is_due);
                let Some(bytes) = found.map(|entry| entry.key().to_vec()) else {
                    continue;
                };
                let key = Key {
                    database: u16::try_from(position).unwrap_or(u16::MAX),
                    hash,
                    bytes: &bytes,
                };
                self.expire(&key);
                count += 1;
            }
        }
        count
    }

    /// Whether some key may end.
    pub(crate) fn has_volatile(&self) -> bool {
        self.tables.iter().any(|table| table.volatile > 0)
    }

    /// Removes all keys of a database; gives how many there were.
    pub(crate) fn clear(&mut self, database: u16) -> usize {
        let Some(table) = self.tables.get_mut(usize::from(database)) else {
            return 0;
        };
        let table = std::mem::take(table);
        let used: usize = table.entries.iter().map(Entry::footprint).sum();
        self.grow(used, 0);
        if !self.watched.is_empty() {
            for entry in &table.entries {
                self.tell_scoped(&scoped(database, entry.key()));
            }
        }
        table.entries.len()
    }

    /// Exchanges two databases, telling whoever watches or waits for a key of them.
    pub(crate) fn swap(&mut self, first: u16, second: u16) {
        self.table_mut(first.max(second));
        self.tables.swap(usize::from(first), usize::from(second));
        let touched: Vec<Vec<u8>> = [first, second]
            .iter()
            .flat_map(|&database| {
                let prefix = database.to_be_bytes();
                let all = self.watched.keys().chain(self.waiting.keys());
                all.filter(move |key| key.starts_with(&prefix)).cloned()
            })
            .collect();
        for key in touched {
            self.tell_scoped(&key);
        }
    }

    pub(crate) fn watch(&mut self, key: &Key<'_>, flag: &WatchFlag) {
        let flags = self.watched.entry(scoped(key.database, key.bytes));
        flags.or_default().push(Arc::clone(flag));
    }

    pub(crate) fn unwatch(&mut self, scoped_key: &[u8], flag: &WatchFlag) {
        if let Some(flags) = self.watched.get_mut(scoped_key) {
            flags.retain(|other| !Arc::ptr_eq(other, flag));
            if flags.is_empty() {
                self.watched.remove(scoped_key);
            }
        }
    }

    /// A random key of the database; `None` when the one chosen has just ended.
    pub(crate) fn random_key(&mut self, database: u16, now: u64) -> Option<Vec<u8>> {
        let hash;
        let bytes;
        {
            let table = self.table(database)?;
            let entry = table.random()?;
            bytes = entry.key().to_vec();
            hash = self.hash(&bytes);
        }
        let key = Key {
            database,
            hash,
            bytes: &bytes,
        };
        self.peek(&key, now).is_some().then_some(bytes)
    }

    /// The entry of a key, whether it has ended or not.
    pub(crate) fn entry_as_it_is(&self, key: &Key<'_>) -> Option<&Entry> {
        let table = self.table(key.database)?;
        table
            .entries
            .find(key.hash, |entry| entry.key() == key.bytes)
    }

    /// Entries of a database, ended ones too.
    pub(crate) fn entries(&self, database: u16) -> impl Iterator<Item = &Entry> {
        self.table(database)
            .into_iter()
            .flat_map(|t| t.entries.iter())
    }

    #[inline]
    fn entry_mut(&mut self, key: &Key<'_>) -> Option<&mut Entry> {
        let table = self.tables.get_mut(usize::from(key.database))?;
        table
            .entries
            .find_mut(key.hash, |entry| entry.key() == key.bytes)
    }

    /// Puts a new entry; nobody is told.
    fn place(&mut self, key: &Key<'_>, mut entry: Entry) {
        if let Some(object) = entry.object_mut()
            && object.id() == Some(0)
        {
            self.next_id += SHARD_COUNT as u64;
            object.set_id(self.next_id);
        }
        self.grow(0, entry.footprint());
        let expiry = entry.expiry();
        let hasher = self.hasher.clone();
        let table = self.table_mut(key.database);
        table
            .entries
            .insert_unique(key.hash, entry, |entry| hasher.hash_one(entry.key()));
        if expiry.is_some() {
            self.expiry_changed(key, None, expiry);
        }
    }

    /// Takes an entry out; nobody is told.
    fn take(&mut self, key: &Key<'_>) -> Option<Entry> {
        let table = self.tables.get_mut(usize::from(key.database))?;
        let found = table
            .entries
            .find_entry(key.hash, |entry| entry.key() == key.bytes)
            .ok()?;
        let (entry, _) = found.remove();
        // A table that shrank a lot gives memory back.
        if table.entries.capacity() > 64 && table.entries.len() < table.entries.capacity() / 8 {
            let hasher = self.hasher.clone();
            table
                .entries
                .shrink_to_fit(|entry| hasher.hash_one(entry.key()));
        }
        self.grow(entry.footprint(), 0);
        if entry.expiry().is_some() {
            self.expiry_changed(key, entry.expiry(), None);
        }
        Some(entry)
    }

    fn expire(&mut self, key: &Key<'_>) {
        drop(self.remove(key));
        self.statistics.expired += 1;
    }

    fn expiry_changed(&mut self, key: &Key<'_>, old: Option<u64>, new: Option<u64>) {
        let hasher = self.hasher.clone();
        let table = self.table_mut(key.database);
        table.volatile += usize::from(new.is_some());
        table.volatile -= usize::from(old.is_some());
        if let Some(expiry) = new {
            table.deadlines.push(Reverse((expiry, key.hash)));
            if table.deadlines.len() > DEADLINES_MIN.max(2 * table.volatile) {
                let all = table.entries.iter().filter_map(|entry| {
                    Some(Reverse((entry.expiry()?, hasher.hash_one(entry.key()))))
                });
                table.deadlines = all.collect();
            }
            self.totals.has_volatile.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    fn grow(&mut self, before: usize, after: usize) {
        self.used += after.cast_signed() - before.cast_signed();
        if (self.used - self.used_told).abs() >= USED_STEP {
            self.tell_used();
        }
    }

    /// Adds what is not in the total of all shards to it.
    pub(crate) fn tell_used(&mut self) {
        let untold = self.used - self.used_told;
        self.totals.used.fetch_add(untold, Ordering::Relaxed);
        self.used_told = self.used;
    }

    fn note_removed(&mut self, key: &Key<'_>, id: Option<u64>) {
        self.dirty.push(Dirty::Removed {
            database: key.database,
            key: key.bytes.into(),
            id,
        });
    }

    /// Every change ends here. `elements` are those that changed; `None` is everything.
    #[inline]
    fn changed(&mut self, key: &Key<'_>, elements: Option<Vec<Bytes>>) {
        if self.is_durable {
            let (database, key) = (key.database, key.bytes.into());
            self.dirty.push(match elements {
                None => Dirty::Whole { database, key },
                Some(elements) => Dirty::Elements {
                    database,
                    key,
                    elements,
                },
            });
        }
        self.tell(key);
    }

    #[inline]
    fn tell(&mut self, key: &Key<'_>) {
        if !self.watched.is_empty() || !self.waiting.is_empty() {
            self.tell_scoped(&scoped(key.database, key.bytes));
        }
    }

    fn tell_scoped(&mut self, key: &[u8]) {
        for flag in self.watched.get(key).into_iter().flatten() {
            flag.store(true, Ordering::Relaxed);
        }
        if self.waiting.contains_key(key) {
            let ready = self.totals.ready.lock();
            let mut ready = ready.unwrap_or_else(PoisonError::into_inner);
            ready.push(key.to_vec());
            self.totals.has_ready.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }
}

impl Table {
    /// A random entry.
    pub(super) fn random(&self) -> Option<&Entry> {
        if self.entries.is_empty() {
            return None;
        }
        let buckets = self.entries.num_buckets();
        loop {
            // A table is never less than an eighth full for long, so this ends soon.
            let found = self.entries.get_bucket(fastrand::usize(0..buckets));
            if found.is_some() {
                return found;
            }
        }
    }
}
