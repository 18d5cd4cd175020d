//! What all handles, transactions and threads of one environment share.
//!
//! Threads: see each field. Lock order: writer slot or flush, values in place, pipeline stage,
//! growth, the merger's state, the journal's own. Whoever holds the merger's state only tries the
//! stage.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use jackdaw_base::hash::xxh3_64;
use jackdaw_base::sync::{AtomicU64, Ordering};
use jackdaw_io::{FileLock, Vfs, VfsFile};

use super::give_back::Holes;
use super::give_up::GivenUp;
use super::in_place::InPlace;
use super::merger::Merger;
use super::meters::{MeterKind, Meters};
use super::options::Options;
use super::pipeline::Answers;
use super::scrub::ScrubPosition;
use super::states::CommittedStates;
use super::statistics::Counters;
use crate::error::{Damage, DamageKind, StorageError};
use crate::journal::{Journal, JournalPosition};
use crate::memory::{
    FileView, Frames, Location, OwnedFrame, PageTable, ReaderPin, Readers, Spill, pages_read,
};
use crate::meta::{Meta, MetaFile};
use crate::page::{self, PAGE_BYTES, Page, PageKind, PageNumber, run_page_count};
use crate::transaction::{GROUP_PAGES, SealedTransaction, WriterState};

/// Transactions, and bytes of their records at most, that wait for one that is waited for.
const LAZY_TRANSACTIONS_MAX: usize = 64;
const LAZY_BYTES_MAX: u64 = 8 << 20;

/// Length of the checksum field at the start of a page.
pub(crate) const CHECKSUM_BYTES: usize = 8;

/// See the file head.
pub(crate) struct Shared {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) directory: PathBuf,
    pub(crate) options: Options,
    pub(crate) frames: Frames,
    pub(crate) table: PageTable,
    pub(crate) readers: Arc<Readers>,
    pub(crate) view: FileView,
    pub(crate) data_file: Arc<dyn VfsFile>,
    pub(crate) journal: Journal,
    pub(crate) states: CommittedStates,
    pub(crate) counters: Counters,
    pub(crate) meters: Meters,
    pub(crate) merger: Merger,
    pub(crate) in_place: InPlace,
    pub(super) scrub_next: Mutex<ScrubPosition>,
    pub(super) given_up: Mutex<GivenUp>,
    /// Held while the data file grows.
    pub(super) growth: Mutex<()>,
    /// Seed of page checksums.
    pub(crate) salt: u64,
    /// Length of the data file in pages; changed by the flusher.
    pub(super) file_pages: AtomicU64,
    /// Last transaction that new readers see.
    visible: AtomicU64,
    /// The first failed write or sync; nothing is written after it.
    poison: OnceLock<StorageError>,
    writer: Mutex<WriterSlot>,
    writer_free: Condvar,
    /// Threads in [`Shared::take_writer`] that found it taken: an open batch closes for them.
    writers_waiting: AtomicU64,
    pub(super) sealed: Mutex<SealedQueue>,
    /// Held by who writes sealed transactions.
    pub(super) stage: Mutex<()>,
    pub(super) answers: Mutex<Answers>,
    pub(super) flush: Mutex<FlushState>,
    pub(super) flush_signal: Mutex<FlushSignal>,
    pub(super) flush_wanted: Condvar,
    pub(super) flush_done: Condvar,
    /// Held until the last transaction and thread are gone too: readers rely on bytes of the data
    /// file that another opener would write. The last field, so that it is given back last.
    _lock: Box<dyn FileLock>,
}

struct WriterSlot {
    state: Option<WriterState>,
}

/// Sealed transactions on their way to the journal, in order.
#[derive(Default)]
pub(super) struct SealedQueue {
    pub(super) waiting: VecDeque<SealedTransaction>,
    /// Written, but not in the data file yet.
    pub(super) unflushed: VecDeque<UnflushedTransaction>,
    /// Pages of durable transactions whose older versions were not looked at since.
    pub(super) superseding: Vec<PageNumber>,
}

/// What the flusher needs to know of a transaction.
pub(super) struct UnflushedTransaction {
    pub(super) transaction: u64,
    pub(super) pages: Vec<PageNumber>,
    pub(super) state: super::states::CommittedState,
    /// Position in the journal behind its record.
    pub(super) position: JournalPosition,
}

/// The flusher's own.
pub(crate) struct FlushState {
    pub(super) meta_file: MetaFile,
    pub(crate) meta: Meta,
    pub(super) holes: Holes,
    /// Transaction of the slot written last.
    pub(super) noted: u64,
}

/// Between the flusher's thread and everyone else.
#[derive(Default)]
pub(super) struct FlushSignal {
    pub(super) is_wanted: bool,
    pub(super) is_stopping: bool,
    /// Counts finished flushes.
    pub(super) rounds: u64,
}

/// The parts of [`Shared`] that opening prepares.
pub(super) struct Parts {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) directory: PathBuf,
    pub(super) options: Options,
    pub(super) view: FileView,
    pub(super) data_file: Arc<dyn VfsFile>,
    /// The same file, for values in place.
    pub(super) value_file: Arc<dyn VfsFile>,
    pub(super) journal: Journal,
    pub(super) meta_file: MetaFile,
    pub(super) meta: Meta,
    pub(super) file_pages: u64,
    pub(super) lock: Box<dyn FileLock>,
}

impl Shared {
    pub(super) fn new(parts: Parts) -> Arc<Shared> {
        let transaction = parts.meta.position.transaction;
        let states = CommittedStates::new();
        let state = super::states::CommittedState {
            catalog_root: parts.meta.catalog_root,
            page_count: parts.meta.page_count,
        };
        states.write(transaction, &state);
        let spill = Spill {
            vfs: Arc::clone(&parts.vfs),
            directory: parts.directory.clone(),
            memory_bytes_max: parts.options.scratch_bytes,
        };
        Arc::new(Shared {
            vfs: parts.vfs,
            directory: parts.directory,
            options: parts.options,
            frames: Frames::new(Some(spill)),
            table: PageTable::new(),
            readers: Readers::new(),
            view: parts.view,
            data_file: parts.data_file,
            journal: parts.journal,
            states,
            counters: Counters::default(),
            meters: Meters::default(),
            merger: Merger::default(),
            in_place: InPlace::new(parts.value_file),
            scrub_next: Mutex::default(),
            given_up: Mutex::default(),
            growth: Mutex::new(()),
            salt: parts.meta.salt,
            file_pages: AtomicU64::new(parts.file_pages),
            visible: AtomicU64::new(transaction),
            poison: OnceLock::new(),
            writer: Mutex::new(WriterSlot { state: None }),
            writer_free: Condvar::new(),
            writers_waiting: AtomicU64::new(0),
            sealed: Mutex::new(SealedQueue::default()),
            stage: Mutex::new(()),
            answers: Mutex::new(Answers::default()),
            flush: Mutex::new(FlushState {
                noted: transaction,
                meta_file: parts.meta_file,
                meta: parts.meta,
                holes: Holes::default(),
            }),
            flush_signal: Mutex::new(FlushSignal::default()),
            flush_wanted: Condvar::new(),
            flush_done: Condvar::new(),
            _lock: parts.lock,
        })
    }

    /// Keeps flushes from running.
    pub(crate) fn lock_flush(&self) -> MutexGuard<'_, FlushState> {
        lock(&self.flush)
    }

    /// Last transaction that new readers see.
    pub(crate) fn visible(&self) -> u64 {
        self.visible.load(Ordering::SeqCst)
    }

    pub(super) fn set_visible(&self, transaction: u64) {
        self.visible.store(transaction, Ordering::SeqCst);
    }

    /// The failure after which nothing is written any more.
    pub(crate) fn poison(&self) -> Option<StorageError> {
        self.poison.get().cloned()
    }

    /// What to answer whoever wants to write, when nothing is written any more.
    pub(crate) fn refusal(&self) -> Option<StorageError> {
        self.poison.get().map(|error| match error {
            StorageError::ReadOnly => StorageError::ReadOnly,
            _ => StorageError::Poisoned,
        })
    }

    /// Whether the environment was opened for reading only.
    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.poison.get(), Some(StorageError::ReadOnly))
    }

    /// Refuses all further writes because of `error`; the first one stays.
    pub(super) fn set_poison(&self, error: StorageError) {
        let _ = self.poison.set(error);
    }

    /// Runs the work of an engine thread. A panic in it is a mistake of the engine, after which the
    /// state in memory is not trusted with further writes; the thread lives on to refuse them.
    pub(super) fn poison_on_panic(&self, work: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.set_poison(StorageError::Poisoned);
        }
    }

    pub(crate) fn register_reader(
        &self,
        visible: impl Fn() -> u64,
    ) -> Result<(ReaderPin, u64), StorageError> {
        self.readers.register(visible).ok_or(StorageError::Limit {
            what: "open snapshots",
            max: 65_536,
        })
    }

    pub(crate) fn allocate_frame(&self, page_count: u32) -> Result<OwnedFrame, StorageError> {
        self.frames.allocate(page_count).ok_or(StorageError::Limit {
            what: "bytes of unflushed pages",
            max: 128 << 30,
        })
    }

    /// Waits until no other writer is active and takes its state.
    pub(crate) fn take_writer(&self) -> WriterState {
        if let Some(state) = lock(&self.writer).state.take() {
            return state;
        }
        self.writers_waiting.fetch_add(1, Ordering::SeqCst);
        self.close_open_batch();
        let mut slot = lock(&self.writer);
        let state = loop {
            if let Some(state) = slot.state.take() {
                break state;
            }
            slot = self
                .writer_free
                .wait(slot)
                .unwrap_or_else(PoisonError::into_inner);
        };
        self.writers_waiting.fetch_sub(1, Ordering::SeqCst);
        state
    }

    /// The writer, unless somebody has it or waits for it.
    pub(super) fn take_free_writer(&self) -> Option<WriterState> {
        if self.is_writer_wanted() {
            return None;
        }
        lock(&self.writer).state.take()
    }

    /// Whether a thread waits for the writer.
    pub(super) fn is_writer_wanted(&self) -> bool {
        self.writers_waiting.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn return_writer(&self, state: WriterState) {
        lock(&self.writer).state = Some(state);
        self.writer_free.notify_one();
    }

    /// Whether so much is sealed that it should be written although nobody waits for it.
    pub(crate) fn is_write_due(&self) -> bool {
        let queue = lock(&self.sealed);
        let bytes = queue
            .waiting
            .iter()
            .map(|sealed| sealed.reserved_journal_bytes);
        queue.waiting.len() >= LAZY_TRANSACTIONS_MAX || bytes.sum::<u64>() >= LAZY_BYTES_MAX
    }

    /// Queues a sealed transaction for the journal and lets the next writer start behind it.
    pub(crate) fn hand_over(&self, sealed: SealedTransaction, writer: WriterState) {
        let state = super::states::CommittedState {
            catalog_root: sealed.catalog_root,
            page_count: sealed.page_count,
        };
        self.states.write(sealed.transaction, &state);
        lock(&self.sealed).waiting.push_back(sealed);
        self.return_writer(writer);
    }

    /// The page as `snapshot` sees it.
    #[inline]
    pub(crate) fn committed_page<'a>(
        &'a self,
        number: PageNumber,
        snapshot: u64,
        pin: &'a ReaderPin,
    ) -> Result<&'a Page, StorageError> {
        let bytes = match self.table.find(number, snapshot, &self.frames) {
            Location::Frame(frame) if self.frames.page_count(frame) > 0 => {
                pages_read::count_scratch();
                self.frames.published(frame, pin)
            }
            Location::File { validated: true } => {
                pages_read::count_file();
                self.view
                    .pages(number, 1, pin)
                    .ok_or_else(|| past_the_end(number))?
            }
            Location::File { validated: false } => return self.first_touch(number, pin),
            Location::Frame(_) => return Err(without_content(number)),
        };
        Ok(Page::from_bytes(&bytes[..PAGE_BYTES]).expect("frames and views are whole pages"))
    }

    /// The overflow run as `snapshot` sees it.
    pub(crate) fn committed_run<'a>(
        &'a self,
        number: PageNumber,
        pages: u32,
        snapshot: u64,
        pin: &'a ReaderPin,
    ) -> Result<&'a [u8], StorageError> {
        let bytes = match self.table.find(number, snapshot, &self.frames) {
            Location::Frame(frame) if self.frames.page_count(frame) == pages => {
                let bytes = self.frames.published(frame, pin);
                pages_read::count_scratch();
                pages_read::count_run(bytes.len());
                return Ok(bytes);
            }
            Location::Frame(_) => return Err(Shared::wrong_run(number)),
            Location::File { validated: true } => {
                pages_read::count_file();
                let bytes = self.view.pages(number, pages, pin);
                bytes.ok_or_else(|| past_the_end(number))?
            }
            Location::File { validated: false } => {
                let started = self.vfs.monotonic_nanos();
                let bytes = self.load(number, pages, pin)?;
                self.found_right(number, bytes, started)?;
                bytes
            }
        };
        pages_read::count_run(bytes.len());
        Ok(bytes)
    }

    /// The page, or run of `page_count` pages, as `snapshot` sees it.
    pub(crate) fn committed_content<'a>(
        &'a self,
        number: PageNumber,
        page_count: u32,
        snapshot: u64,
        pin: &'a ReaderPin,
    ) -> Result<&'a [u8], StorageError> {
        if page_count == 1 {
            let page = self.committed_page(number, snapshot, pin)?;
            return Ok(page.bytes().as_slice());
        }
        self.committed_run(number, page_count, snapshot, pin)
    }

    /// Transaction of the content that starts at `number`, by its header alone: nothing else is
    /// read or validated. `None` when what is there does not say that it belongs there.
    pub(crate) fn committed_transaction(
        &self,
        number: PageNumber,
        snapshot: u64,
        pin: &ReaderPin,
    ) -> Result<Option<u64>, StorageError> {
        let bytes = match self.table.find(number, snapshot, &self.frames) {
            Location::Frame(frame) if self.frames.page_count(frame) > 0 => {
                self.frames.published(frame, pin)
            }
            Location::Frame(_) => return Ok(None),
            Location::File { .. } => self.load(number, 1, pin)?,
        };
        let head =
            Page::from_bytes(&bytes[..PAGE_BYTES]).expect("frames and views are whole pages");
        let is_right = head.number() == number;
        Ok(is_right.then(|| head.header().transaction_id.get()))
    }

    #[cold]
    fn first_touch<'a>(
        &'a self,
        number: PageNumber,
        pin: &'a ReaderPin,
    ) -> Result<&'a Page, StorageError> {
        let started = self.vfs.monotonic_nanos();
        let one = self.load(number, 1, pin)?;
        let head = Page::from_bytes(one).expect("views are whole pages");
        let bytes = match page_count_said(number, head) {
            Some(1) => one,
            Some(pages) => self.load(number, pages, pin)?,
            None => {
                self.validate(number, one)?;
                return Err(Shared::wrong_run(number));
            }
        };
        self.found_right(number, bytes, started)?;
        Ok(head)
    }

    /// Bytes of the data file of which nothing is known yet.
    pub(super) fn load<'a>(
        &'a self,
        number: PageNumber,
        pages: u32,
        pin: &'a ReaderPin,
    ) -> Result<&'a [u8], StorageError> {
        let bytes = self.view.load(number, pages, pin).map_err(|source| {
            let path = self.directory.join(Damage::DATA_FILE);
            StorageError::io(&path, "read", source)
        });
        bytes?.ok_or_else(|| past_the_end(number))
    }

    /// Validates a page or run that was asked for at `started` and touched for the first time.
    fn found_right(
        &self,
        number: PageNumber,
        bytes: &[u8],
        started: u64,
    ) -> Result<(), StorageError> {
        self.validate(number, bytes)?;
        self.touched(started, bytes.len());
        self.table.mark_validated(number);
        if self.view.excess_bytes() > 0 {
            self.give_up_loaded();
        }
        Ok(())
    }

    /// Notes that bytes of the data file were touched for the first time, from `started` until now.
    fn touched(&self, started: u64, len_bytes: usize) {
        let nanos = self.vfs.monotonic_nanos().saturating_sub(started);
        self.measured_nanos(MeterKind::ReadFault, nanos, len_bytes as u64);
        pages_read::count_first_touch(nanos);
    }

    /// Checks checksum, number and structure of a page or run of the data file.
    pub(crate) fn validate(&self, number: PageNumber, bytes: &[u8]) -> Result<(), StorageError> {
        self.counters.pages_validated.add(1);
        let head = Page::from_bytes(&bytes[..PAGE_BYTES]).expect("at least one page");
        let expected = head.header().checksum.get();
        let actual = self.checksum(number, bytes);
        if expected != actual {
            let what = DamageKind::Checksum { expected, actual };
            return Err(StorageError::corrupt_page(number, what));
        }
        if head.number() != number {
            let what = DamageKind::PageNumber {
                expected: number.0,
                actual: head.number().0,
            };
            return Err(StorageError::corrupt_page(number, what));
        }
        Ok(page::validate(head)?)
    }

    /// Checksum of a page or run: everything behind the checksum field, seeded by where it is.
    pub(crate) fn checksum(&self, number: PageNumber, bytes: &[u8]) -> u64 {
        page_checksum(self.salt, number, bytes)
    }

    /// A run was asked for with another length than it has.
    #[cold]
    pub(crate) fn wrong_run(number: PageNumber) -> StorageError {
        let what = DamageKind::Pointer {
            what: "an overflow value",
            target: number.0,
        };
        StorageError::corrupt_page(number, what)
    }
}

/// Pages of what starts at `number`, as its first page says, whose checksum was not looked at yet;
/// `None` when it says what cannot be: a run ends before the next map of free space.
pub(super) fn page_count_said(number: PageNumber, head: &Page) -> Option<u32> {
    let header = head.header();
    if header.kind != PageKind::Overflow as u8 {
        return Some(1);
    }
    let pages = run_page_count(header.overflow_len());
    let room = GROUP_PAGES - number.0 % GROUP_PAGES;
    (head.number() == number && u64::from(pages) <= room).then_some(pages)
}

/// Checksum of a page or run of an environment with this salt.
pub(crate) fn page_checksum(salt: u64, number: PageNumber, bytes: &[u8]) -> u64 {
    xxh3_64(&bytes[CHECKSUM_BYTES..], salt ^ number.0)
}

#[cold]
fn past_the_end(number: PageNumber) -> StorageError {
    Damage::on_page(
        number,
        DamageKind::Pointer {
            what: "a tree",
            target: number.0,
        },
    )
    .into()
}

#[cold]
fn without_content(number: PageNumber) -> StorageError {
    let what = DamageKind::Pointer {
        what: "a tree",
        target: number.0,
    };
    StorageError::corrupt_page(number, what)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
