//! Journal files: room prepared for records, switching, taking back; `append` fills them.
//!
//! Room first: a transaction reserves the most it can need before it is sealed, and the reserve
//! always fits the prepared next file. So a full disk is found while the transaction can still be
//! rolled back, never in the middle of a durable write.
//!
//! Invariants:
//! - Records of one environment are appended in transaction order, by one thread at a time.
//! - A file is written from start to end once per use; re-use gives it a new name, number and salt.
//! - After a failed append nothing more is appended (the caller poisons the environment).
//!
//! Threads: `append` under the commit pipeline's lock; `reserve` and `reclaim` from anywhere.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackdaw_base::sync::{AtomicBool, AtomicU64, Ordering};
use jackdaw_base::width::to_usize;
use jackdaw_io::{AlignedBuffer, Durability, OpenMode, OpenOptions, Vfs, VfsFile};

use super::append::Buffers;
use super::archive::{Archive, JournalHold};
use super::file::{JournalFileHeader, JournalFileStart, journal_name};
use super::reader::JournalPosition;
use super::record::{JOURNAL_UNIT_BYTES, record_bytes};
use crate::error::StorageError;
use crate::meta::{EnvironmentId, MetaFile};
use crate::planted::{Planted, is_planted};

/// Zeros written at once when a file is prepared. A commit waits for one such write at most: with
/// 1 MiB, the 99th percentile of sequential commits was 955 us instead of 378.
const ZERO_CHUNK_BYTES: usize = 128 << 10;
/// From this mean length of durable writes on, new files are not filled with zeros: that would
/// double the bytes of each write, to save it a metadata commit of constant cost.
const UNZEROED_WRITE_BYTES: u64 = 32 << 10;

/// How journal files are made and written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalOptions {
    /// Length of the first file; later ones double up to `file_bytes_max`.
    pub(crate) file_bytes_min: u64,
    pub(crate) file_bytes_max: u64,
    /// Bytes of files to keep for use again: about what is written between two flushes.
    pub(crate) recycled_bytes_max: u64,
    pub(crate) durability: Durability,
    /// Bytes of files to keep that recovery no longer needs; 0 keeps none.
    pub(crate) archive_bytes: u64,
}

/// See the file head.
pub(crate) struct Journal {
    pub(super) vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    environment_id: EnvironmentId,
    pub(super) options: JournalOptions,
    /// Where each started file is noted; `None` when nothing is appended.
    meta_file: Option<MetaFile>,
    archive: Option<Archive>,
    room: Mutex<Room>,
    appender: Mutex<Appender>,
    live_bytes: AtomicU64,
    /// Running mean of the bytes of one durable write.
    mean_write_bytes: AtomicU64,
    /// Whether the next switch of files would have to make one first.
    is_spare_wanted: AtomicBool,
}

pub(super) struct JournalFile {
    pub(super) file: Arc<dyn VfsFile>,
    pub(super) path: PathBuf,
    pub(super) capacity_bytes: u64,
    /// Whether its blocks were written before, so that durable writes need no metadata.
    is_written: bool,
}

struct PlannedFile {
    path: PathBuf,
    capacity_bytes: u64,
    /// Whether it is as long as it is for the sake of one record.
    is_for_one_record: bool,
}

/// Files that hold no live record, and what is promised to transactions on their way.
#[derive(Default)]
struct Room {
    prepared: Option<JournalFile>,
    recycled: Vec<JournalFile>,
    reserved_bytes: u64,
    /// Transactions behind which nothing may be used again for now.
    holds: Vec<u64>,
    /// Length of the newest file that was made, for doubling.
    last_capacity_bytes: u64,
    temporary_count: u64,
}

pub(super) struct Appender {
    pub(super) current: Option<CurrentFile>,
    pub(super) position: JournalPosition,
    /// Files before the current one that hold records not yet in the data file, oldest first.
    earlier: VecDeque<EarlierFile>,
    /// Files whose records are in the data file, but which are held back, oldest first.
    held: VecDeque<EarlierFile>,
    pub(super) buffers: Buffers,
}

pub(super) struct CurrentFile {
    pub(super) file: JournalFile,
    salt: u64,
}

struct EarlierFile {
    file: JournalFile,
    last_transaction: u64,
}

impl Journal {
    /// A journal that continues after `position`, in a new file of number `position.number`.
    pub(crate) fn new(
        vfs: Arc<dyn Vfs>,
        directory: PathBuf,
        environment_id: EnvironmentId,
        options: JournalOptions,
        position: JournalPosition,
        meta_file: Option<MetaFile>,
    ) -> Journal {
        let appender = Appender {
            current: None,
            position,
            earlier: VecDeque::new(),
            held: VecDeque::new(),
            buffers: Buffers::default(),
        };
        let archive = Archive::new(&vfs, &directory, options.archive_bytes);
        Journal {
            vfs,
            directory,
            environment_id,
            options,
            meta_file,
            archive,
            room: Mutex::new(Room::default()),
            appender: Mutex::new(appender),
            live_bytes: AtomicU64::new(0),
            mean_write_bytes: AtomicU64::new(0),
            is_spare_wanted: AtomicBool::new(false),
        }
    }

    /// Promises room for a record with at most `payload_bytes_max` of payload.
    ///
    /// # Errors
    /// When the disk has no room for another journal file: nothing was written.
    pub(crate) fn reserve(&self, payload_bytes_max: usize) -> Result<u64, StorageError> {
        let bytes = record_bytes(payload_bytes_max);
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let needed = room.reserved_bytes + bytes + JOURNAL_UNIT_BYTES as u64;
        if room
            .prepared
            .as_ref()
            .is_none_or(|file| file.capacity_bytes < needed)
        {
            let file = self.prepare(&mut room, needed)?;
            if let Some(small) = room.prepared.replace(file) {
                room.recycled.push(small);
            }
        }
        room.reserved_bytes += bytes;
        Ok(bytes)
    }

    /// Takes a promise back.
    pub(crate) fn release(&self, reserved_bytes: u64) {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        room.reserved_bytes -= reserved_bytes;
    }

    /// A file of at least `needed` bytes, recycled or new.
    fn prepare(&self, room: &mut Room, needed: u64) -> Result<JournalFile, StorageError> {
        if let Some(file) = room.take_recycled(needed) {
            self.want_spare(room);
            return Ok(file);
        }
        let mut planned = self.plan_file(room, needed);
        loop {
            match self.create(&planned) {
                Ok(file) => {
                    room.last_capacity_bytes = file.capacity_bytes;
                    self.want_spare(room);
                    return Ok(file);
                }
                // They are too short for what is needed now.
                Err(StorageError::Full) if !room.recycled.is_empty() => {
                    self.remove_recycled(room, 0, 0);
                }
                Err(StorageError::Full) if planned.capacity_bytes > needed => {
                    planned.capacity_bytes = unit_multiple(planned.capacity_bytes / 2).max(needed);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The next new file: twice as long as the last one, or as long as is needed. A disk without
    /// room for that may have room for a shorter one (`prepare`).
    fn plan_file(&self, room: &mut Room, needed: u64) -> PlannedFile {
        let doubled = (room.last_capacity_bytes * 2)
            .clamp(self.options.file_bytes_min, self.options.file_bytes_max);
        let is_for_one_record = needed > unit_multiple(doubled);
        let capacity_bytes = unit_multiple(doubled.max(needed));
        room.temporary_count += 1;
        let name = format!("prepared-{}.tmp", room.temporary_count);
        PlannedFile {
            path: self.directory.join(name),
            capacity_bytes,
            is_for_one_record,
        }
    }

    fn want_spare(&self, room: &Room) {
        let is_wanted = room.recycled.is_empty();
        self.is_spare_wanted.store(is_wanted, Ordering::Relaxed);
    }

    /// Whether [`Journal::make_spare`] has something to do.
    pub(crate) fn is_spare_wanted(&self) -> bool {
        self.is_spare_wanted.load(Ordering::Relaxed)
    }

    /// Makes the file after the prepared one, so that no commit has to: writing its zeros takes as
    /// long as a hundred commits. A failure is met by the commit that needs the file.
    pub(crate) fn make_spare(&self) {
        let planned = {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            if !self.is_spare_wanted.swap(false, Ordering::Relaxed) || !room.recycled.is_empty() {
                return;
            }
            self.plan_file(&mut room, 0)
        };
        if let Ok(file) = self.create(&planned) {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            room.last_capacity_bytes = file.capacity_bytes;
            room.recycled.push(file);
        }
    }

    fn create(&self, planned: &PlannedFile) -> Result<JournalFile, StorageError> {
        let PlannedFile {
            ref path,
            capacity_bytes,
            is_for_one_record,
        } = *planned;
        let io = |source| StorageError::io(path, "preparation", source);
        if self.vfs.exists(path).map_err(io)? {
            self.vfs.remove_file(path).map_err(io)?;
        }
        let options = OpenOptions {
            mode: OpenMode::CreateNew,
            direct: true,
        };
        let no_space = |source| StorageError::of_space(path, "preparation", source);
        let file = self.vfs.open(path, options).map_err(no_space)?;
        let is_written = self.options.durability == Durability::Data
            && !is_for_one_record
            && self.mean_write_bytes.load(Ordering::Relaxed) < UNZEROED_WRITE_BYTES;
        if let Err(source) = fill(&*file, capacity_bytes, is_written) {
            // The name must not hold the space that was just found missing.
            let _ = self.vfs.remove_file(path);
            return Err(no_space(source));
        }
        Ok(JournalFile {
            file,
            path: path.clone(),
            capacity_bytes,
            is_written,
        })
    }

    /// Starts the prepared file as the next journal.
    pub(super) fn switch_file(
        &self,
        appender: &mut Appender,
        first: u64,
    ) -> Result<(), StorageError> {
        let mut file = {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            room.prepared
                .take()
                .expect("every transaction on its way has reserved room")
        };
        if let Some(mut done) = appender.current.take() {
            // All but the end, where the next record, at its longest, did not fit.
            let is_used_up = appender.position.offset >= done.file.capacity_bytes / 2;
            done.file.is_written |= is_used_up;
            appender.earlier.push_back(EarlierFile {
                file: done.file,
                last_transaction: first - 1,
            });
            appender.position.number += 1;
        }
        let path = self.directory.join(journal_name(appender.position.number));
        let io = |source| StorageError::io(&path, "start", source);
        self.vfs.rename(&file.path, &path).map_err(io)?;
        self.vfs.sync_directory(&self.directory).map_err(io)?;
        let mut salt = [0; 8];
        self.vfs.fill_random(&mut salt);
        let salt = u64::from_le_bytes(salt);
        let start = JournalFileStart {
            number: appender.position.number,
            environment_id: self.environment_id,
            salt,
            capacity_bytes: file.capacity_bytes,
            first_transaction: first,
            previous_chain: appender.position.chain,
        };
        let mut block = AlignedBuffer::zeroed(JOURNAL_UNIT_BYTES);
        JournalFileHeader::encode(&start, &mut block);
        let durability = match is_planted(Planted::VolatileHeader) {
            true => Durability::None,
            false => self.options.durability,
        };
        file.file.write_at(&block, 0, durability).map_err(io)?;
        // Before the first record of the file counts: without the file, replay would end too early.
        if let Some(meta_file) = &self.meta_file
            && self.options.durability == Durability::Data
        {
            meta_file.note_newest_journal(appender.position.number)?;
        }
        file.path = path;
        appender.position.offset = JOURNAL_UNIT_BYTES as u64;
        appender.current = Some(CurrentFile { file, salt });
        Ok(())
    }

    /// Makes everything appended so far durable; for environments that do not sync each commit.
    pub(crate) fn sync(&self) -> Result<(), StorageError> {
        let appender = self.lock_appender();
        let files = appender.earlier.iter().map(|earlier| &earlier.file);
        for file in files.chain(appender.current.iter().map(|current| &current.file)) {
            file.file
                .sync()
                .map_err(|source| StorageError::io(&file.path, "sync", source))?;
        }
        Ok(())
    }

    /// Whether there are files whose records are all at or before `transaction`.
    pub(crate) fn can_reclaim(&self, transaction: u64) -> bool {
        let appender = self.lock_appender();
        let oldest = appender.earlier.front();
        oldest.is_some_and(|file| file.last_transaction <= transaction)
    }

    /// Takes back files whose records are all at or before `transaction` and not held.
    pub(crate) fn reclaim(&self, transaction: u64) {
        let mut appender = self.lock_appender();
        while appender
            .earlier
            .front()
            .is_some_and(|file| file.last_transaction <= transaction)
        {
            let done = appender.earlier.pop_front();
            appender.held.extend(done);
        }
        self.count_live_bytes(&appender);
        self.give_back_held(&mut appender);
    }

    /// Keeps all files with records behind `transaction` as they are until the hold is dropped.
    pub(crate) fn hold(&self, transaction: u64) -> JournalHold<'_> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        room.holds.push(transaction);
        JournalHold::new(self, transaction)
    }

    /// Keeps files for increments of a backup from now on, if that is wanted at all.
    pub(crate) fn start_archive(&self) {
        self.archive.iter().for_each(Archive::start);
    }

    /// Whether records are kept for more than recovery: held, or archived.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_held() || self.archive.as_ref().is_some_and(Archive::is_on)
    }

    /// Whether there is a hold.
    pub(crate) fn is_held(&self) -> bool {
        let room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        !room.holds.is_empty()
    }

    /// Ends a hold.
    pub(super) fn end_hold(&self, transaction: u64) {
        let mut appender = self.lock_appender();
        {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(position) = room.holds.iter().position(|&hold| hold == transaction) {
                room.holds.swap_remove(position);
            }
        }
        self.give_back_held(&mut appender);
    }

    /// The environment whose id every file carries.
    pub(crate) fn environment_id(&self) -> EnvironmentId {
        self.environment_id
    }

    /// Archives or recycles what is held no longer.
    fn give_back_held(&self, appender: &mut Appender) {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let held_from = room.holds.iter().min().copied().unwrap_or(u64::MAX);
        while appender
            .held
            .front()
            .is_some_and(|file| file.last_transaction <= held_from)
        {
            let Some(done) = appender.held.pop_front() else {
                break;
            };
            let archived = self
                .archive
                .as_ref()
                .map(|archive| archive.take(&done.file.path));
            if archived == Some(true) {
                continue;
            }
            let is_ready = done.file.is_written || self.options.durability == Durability::None;
            if is_ready && done.file.capacity_bytes <= self.options.file_bytes_max {
                room.recycled.push(done.file);
            } else {
                // What was not written of it would make durable writes slow, and one that is longer
                // than others would be live for longer than memory and recovery should bear.
                let _ = self.vfs.remove_file(&done.file.path);
            }
        }
        self.remove_recycled(&mut room, 1, self.options.recycled_bytes_max);
    }

    /// Gives the space of files back that wait to be used again, but for `keep` of them: nothing
    /// was written for a while, or the disk is full.
    pub(crate) fn give_back_recycled(&self, keep: usize) {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove_recycled(&mut room, keep, 0);
    }

    /// Keeps `keep` recycled files, and more up to `keep_bytes` in all, the longest first.
    fn remove_recycled(&self, room: &mut Room, keep: usize, keep_bytes: u64) {
        room.recycled
            .sort_unstable_by_key(|file| std::cmp::Reverse(file.capacity_bytes));
        let mut kept_bytes = 0;
        let mut kept = 0;
        while let Some(file) = room.recycled.get(kept) {
            kept_bytes += file.capacity_bytes;
            if kept >= keep && kept_bytes > keep_bytes {
                break;
            }
            kept += 1;
        }
        for file in room.recycled.drain(kept..) {
            // A file that stays is found and removed at the next open.
            let _ = self.vfs.remove_file(&file.path);
        }
    }

    /// Learns how long a write was.
    pub(super) fn note_write_bytes(&self, bytes: u64) {
        let mean = self.mean_write_bytes.load(Ordering::Relaxed);
        let next = if mean == 0 {
            bytes
        } else {
            mean - mean / 16 + bytes / 16
        };
        self.mean_write_bytes.store(next, Ordering::Relaxed);
    }

    /// Bytes that recovery would read now.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn count_live_bytes(&self, appender: &Appender) {
        let earlier: u64 = appender
            .earlier
            .iter()
            .map(|file| file.file.capacity_bytes)
            .sum();
        let current = appender
            .current
            .as_ref()
            .map_or(0, |_| appender.position.offset);
        self.live_bytes.store(earlier + current, Ordering::Relaxed);
    }

    pub(super) fn lock_appender(&self) -> MutexGuard<'_, Appender> {
        self.appender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// The longest recycled file, if it has `needed` bytes: fewer switches of files.
    fn take_recycled(&mut self, needed: u64) -> Option<JournalFile> {
        let longest = (0..self.recycled.len())
            .max_by_key(|&at| self.recycled[at].capacity_bytes)
            .filter(|&at| self.recycled[at].capacity_bytes >= needed)?;
        Some(self.recycled.swap_remove(longest))
    }
}

impl Appender {
    /// The file that records are appended to.
    pub(super) fn current_file(&self) -> &JournalFile {
        &self.current().file
    }

    pub(super) fn salt(&self) -> u64 {
        self.current().salt
    }

    fn current(&self) -> &CurrentFile {
        self.current
            .as_ref()
            .expect("a file is started before anything is appended")
    }
}

/// Whether `name` is that of a file that waits to become a journal file.
pub(crate) fn is_prepared(name: &str) -> bool {
    name.starts_with("prepared-") && name.ends_with(".tmp")
}

fn unit_multiple(bytes: u64) -> u64 {
    bytes.next_multiple_of(JOURNAL_UNIT_BYTES as u64)
}

/// Reserves the space of a journal file. For durable commits it is also written once: the first
/// write to a reserved but unwritten extent makes the file system commit metadata of its own.
fn fill(file: &dyn VfsFile, len_bytes: u64, is_written: bool) -> std::io::Result<()> {
    file.allocate(0, len_bytes)?;
    if !is_written {
        return Ok(());
    }
    let zeros = AlignedBuffer::zeroed(ZERO_CHUNK_BYTES.min(to_usize(len_bytes)));
    let mut offset = 0;
    while offset < len_bytes {
        let chunk = to_usize(len_bytes - offset).min(zeros.len());
        file.write_at(&zeros[..chunk], offset, Durability::None)?;
        offset += chunk as u64;
    }
    file.sync()
}
