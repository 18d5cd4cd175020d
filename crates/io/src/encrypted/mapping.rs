//! The map of an encrypted file: memory of this process into which ranges are decrypted when they
//! are asked for.
//!
//! Made by `EncryptedFile::map`. The kernel cannot take this memory away and bring it back, as it
//! does with maps of plain files, so there is a budget: who reads chooses ranges to give up, makes
//! sure that nobody reads them any more, and gives them up (see `Mapping`).
//!
//! Invariants:
//! - What is loaded equals the file: a change forgets what it overlaps before it begins and again
//!   when it has ended, and spoils reads on their way.
//! - Memory is written below what is loaded never, and elsewhere only under the lock.
//!
//! Threads: any. Who gives pages up is called without the lock of a mapping, under that of all who
//! can.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::file::HEADER_BYTES;
use super::loaded::Loaded;
use super::sectors::{SECTOR_BYTES, SectorCipher};
use crate::buffer::AlignedBuffer;
use crate::map::AnonymousRegion;
use crate::system::system_facts;
use crate::vfs::{GiveUp, Mapping, VfsFile};

/// Address space of a file that is small when it is mapped. A process has room for a thousand.
const RESERVE_BYTES_MIN: u64 = 128 << 30;
/// How many times the length of a larger file.
const RESERVE_FACTOR: u64 = 8;
/// Ranges are given up by pages of the machine.
const UNIT_BYTES: u64 = 4096;
/// Reads of a range that changes are repeated so often; nobody reads what is being written, but
/// where a damaged page leads.
const ATTEMPTS_MAX: usize = 16;

/// Memory for decrypted pages of all files of an [`EncryptedVfs`](super::EncryptedVfs).
#[derive(Clone, Copy, Debug)]
pub struct DecryptedLimits {
    /// Beyond it pages are given up that no open snapshot may read.
    pub budget_bytes: u64,
    /// Beyond it nothing more is decrypted, and reads fail: open snapshots hold what they read.
    pub bytes_max: u64,
}

impl DecryptedLimits {
    /// A quarter, and half, of the memory that this process may use, since the engine takes up to a
    /// quarter for changed pages; 256 MiB and 512 MiB if the machine does not tell.
    #[must_use]
    pub fn of_this_machine() -> DecryptedLimits {
        let facts = system_facts();
        let memory = [facts.memory_total_bytes, facts.memory_limit_bytes];
        match memory.into_iter().flatten().min() {
            Some(bytes) => DecryptedLimits {
                budget_bytes: bytes / 4,
                bytes_max: bytes / 2,
            },
            None => DecryptedLimits {
                budget_bytes: 256 << 20,
                bytes_max: 512 << 20,
            },
        }
    }
}

/// What the mappings of a file system share.
pub(super) struct DecryptedMemory {
    limits: DecryptedLimits,
    bytes: AtomicU64,
    /// Of reads on their way.
    loading_bytes: AtomicU64,
    mappings: AtomicU64,
    next_mapping: AtomicU64,
    /// Who can give pages up, by mapping. Held while they do.
    givers: Mutex<BTreeMap<u64, GiveUp>>,
}

/// Room for a read on its way.
struct Room<'m> {
    memory: &'m DecryptedMemory,
    len_bytes: u64,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let loading = &self.memory.loading_bytes;
        loading.fetch_sub(self.len_bytes, Ordering::Relaxed);
    }
}

impl DecryptedMemory {
    pub(super) fn new(limits: DecryptedLimits) -> DecryptedMemory {
        DecryptedMemory {
            limits,
            bytes: AtomicU64::new(0),
            loading_bytes: AtomicU64::new(0),
            mappings: AtomicU64::new(0),
            next_mapping: AtomicU64::new(0),
            givers: Mutex::default(),
        }
    }

    /// Room for so many bytes, below the limit together with what is there and on its way.
    fn reserve(&self, len_bytes: u64) -> io::Result<Room<'_>> {
        let before = self.loading_bytes.fetch_add(len_bytes, Ordering::Relaxed);
        let room = Room {
            memory: self,
            len_bytes,
        };
        let held = self.bytes.load(Ordering::Relaxed).saturating_add(before);
        match held.saturating_add(len_bytes) > self.limits.bytes_max {
            true => Err(full(self.limits.bytes_max)),
            false => Ok(room),
        }
    }

    /// Has everybody give up what is beyond the budget and not read by a snapshot.
    fn give_up(&self) {
        self.lock_givers().values().for_each(|give_up| give_up());
    }

    fn lock_givers(&self) -> MutexGuard<'_, BTreeMap<u64, GiveUp>> {
        self.givers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the file head.
pub(super) struct EncryptedMapping {
    file: Arc<dyn VfsFile>,
    cipher: Arc<SectorCipher>,
    /// Tweak of the first sector.
    tweak: u128,
    region: AnonymousRegion,
    covered_bytes: AtomicU64,
    loaded: Mutex<Loaded>,
    /// Copy of what `loaded` says.
    loaded_bytes: AtomicU64,
    memory: Arc<DecryptedMemory>,
    /// Among the mappings that share `memory`.
    number: u64,
}

impl EncryptedMapping {
    pub(super) fn new(
        file: Arc<dyn VfsFile>,
        cipher: Arc<SectorCipher>,
        tweak: u128,
        memory: Arc<DecryptedMemory>,
        reserve_bytes: u64,
    ) -> io::Result<EncryptedMapping> {
        let len_bytes = file.len_bytes()?;
        let wanted = reserve_bytes
            .max(RESERVE_BYTES_MIN)
            .max(len_bytes.saturating_mul(RESERVE_FACTOR));
        let region = AnonymousRegion::reserve(wanted)?;
        memory.mappings.fetch_add(1, Ordering::Relaxed);
        Ok(EncryptedMapping {
            file,
            cipher,
            tweak,
            region,
            covered_bytes: AtomicU64::new(0),
            loaded: Mutex::default(),
            loaded_bytes: AtomicU64::new(0),
            number: memory.next_mapping.fetch_add(1, Ordering::Relaxed),
            memory,
        })
    }

    /// A change of the file begins or has ended.
    pub(super) fn forget(&self, range: &Range<u64>) {
        let start = range.start / UNIT_BYTES * UNIT_BYTES;
        let range = start..range.end.div_ceil(UNIT_BYTES).saturating_mul(UNIT_BYTES);
        let mut loaded = self.lock();
        loaded.spoil(&range);
        let removed = loaded.cut(&range);
        self.clear(&removed);
        self.account(&loaded);
    }

    fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clear(&self, ranges: &[Range<u64>]) {
        for range in ranges {
            self.region.clear(range.start, range.end - range.start);
        }
    }

    fn account(&self, loaded: &Loaded) {
        let now = loaded.bytes();
        let before = self.loaded_bytes.swap(now, Ordering::Relaxed);
        // Wraps around when there is less now.
        let more = now.wrapping_sub(before);
        self.memory.bytes.fetch_add(more, Ordering::Relaxed);
    }

    /// Decrypts what is missing of `range`; `false` when the file changed meanwhile.
    fn try_load(&self, range: &Range<u64>) -> io::Result<bool> {
        let (id, missing, room) = {
            let mut loaded = self.lock();
            let missing = loaded.want(range);
            if missing.is_empty() {
                return Ok(true);
            }
            let len_bytes = missing.iter().map(|part| part.end - part.start).sum();
            let room = self.memory.reserve(len_bytes)?;
            (loaded.begin(range.clone()), missing, room)
        };
        let read: io::Result<Vec<_>> = missing
            .into_iter()
            .map(|part| Ok((self.read(&part)?, part)))
            .collect();
        let mut loaded = self.lock();
        if !loaded.end(id) {
            return Ok(false);
        }
        for (bytes, part) in read? {
            // Somebody else may have been faster with some of it.
            for piece in loaded.want(&part) {
                let at = usize::try_from(piece.start - part.start).expect("inside a buffer");
                let len = usize::try_from(piece.end - piece.start).expect("inside a buffer");
                self.region.write(piece.start, &bytes[at..at + len]);
            }
        }
        loaded.insert(range.clone());
        drop(room);
        self.account(&loaded);
        Ok(true)
    }

    fn read(&self, part: &Range<u64>) -> io::Result<AlignedBuffer> {
        let len_bytes = part.end - part.start;
        let len_bytes =
            usize::try_from(len_bytes).map_err(|_| full(self.memory.limits.bytes_max))?;
        let mut bytes = AlignedBuffer::zeroed(len_bytes);
        self.file.read_at(&mut bytes, HEADER_BYTES + part.start)?;
        let sector = u128::from(part.start) / SECTOR_BYTES as u128;
        self.cipher
            .decrypt(&mut bytes, self.tweak.wrapping_add(sector));
        Ok(bytes)
    }
}

fn full(bytes_max: u64) -> io::Error {
    let text = format!(
        "open snapshots hold {} MiB of decrypted pages, which is the limit: end long queries and \
         exports, or give the process more memory",
        bytes_max >> 20
    );
    io::Error::new(io::ErrorKind::OutOfMemory, text)
}

impl Mapping for EncryptedMapping {
    fn cover(&self, len_bytes: u64) -> io::Result<()> {
        if len_bytes <= self.covered_bytes() {
            return Ok(());
        }
        let file_bytes = self.file.len_bytes()?.saturating_sub(HEADER_BYTES);
        if file_bytes < len_bytes {
            let text = format!("the file has {file_bytes} bytes, {len_bytes} were to be mapped");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.region.grow(len_bytes.next_multiple_of(UNIT_BYTES))?;
        self.covered_bytes.fetch_max(len_bytes, Ordering::Release);
        Ok(())
    }

    fn covered_bytes(&self) -> u64 {
        self.covered_bytes.load(Ordering::Acquire)
    }

    fn base(&self) -> *const u8 {
        self.region.base()
    }

    fn will_need(&self, _offset: u64, _len_bytes: u64) {}

    fn release_resident(&self) {}

    fn is_loaded_on_demand(&self) -> bool {
        true
    }

    fn load(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let end = offset.saturating_add(len_bytes);
        let start = offset / UNIT_BYTES * UNIT_BYTES;
        let covered = self.covered_bytes();
        if end > covered {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let range = start..end.next_multiple_of(UNIT_BYTES).min(covered);
        let mut was_full = false;
        for _ in 0..ATTEMPTS_MAX {
            match self.try_load(&range) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory && !was_full => {
                    was_full = true;
                    self.memory.give_up();
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("the bytes change while they are read"))
    }

    fn excess_bytes(&self) -> u64 {
        let all = self.memory.bytes.load(Ordering::Relaxed);
        let own = self.loaded_bytes.load(Ordering::Relaxed);
        let mappings = self.memory.mappings.load(Ordering::Relaxed).max(1);
        let share = self.memory.limits.budget_bytes / mappings;
        let excess = all.saturating_sub(self.memory.limits.budget_bytes);
        excess.min(own.saturating_sub(share))
    }

    fn choose(&self, wanted_bytes: u64) -> Vec<Range<u64>> {
        let mut loaded = self.lock();
        // Not page by page: each choice costs a look at every snapshot.
        let wanted_bytes = wanted_bytes.max(loaded.bytes() / 8);
        loaded.choose(wanted_bytes)
    }

    fn give_up_chosen(&self, is_unused: &dyn Fn(&Range<u64>) -> bool) {
        let mut loaded = self.lock();
        let taken = loaded.take_chosen(is_unused);
        self.clear(&taken);
        self.account(&loaded);
    }

    fn when_full(&self, give_up: Option<GiveUp>) {
        let mut givers = self.memory.lock_givers();
        match give_up {
            Some(give_up) => givers.insert(self.number, give_up),
            None => givers.remove(&self.number),
        };
    }
}

impl Drop for EncryptedMapping {
    fn drop(&mut self) {
        let own = self.loaded_bytes.load(Ordering::Relaxed);
        self.memory.bytes.fetch_sub(own, Ordering::Relaxed);
        self.memory.mappings.fetch_sub(1, Ordering::Relaxed);
    }
}
