//! What the process and its files hold, minute by minute.
//!
//! Memory is read each second, everything else at the end of the minute. The data file of the
//! documents is checked then, each page of it: what is in no tree is free, or it is damage.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jackdaw_database::Database;
use jackdaw_io::system::process_memory;
use jackdaw_storage::{CheckLevel, Damage, PAGE_BYTES};

use crate::Course;

const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);
/// What is left of deleted documents is removed after this time, as a server does after longer.
const TOMBSTONE_AGE: Duration = Duration::from_secs(60);
const MIB: u64 = 1 << 20;

/// One minute's numbers; bytes unless said otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Minute {
    /// Memory of the process without pages of files, the mean of the minute.
    pub(crate) anonymous: u64,
    /// Pages of the documents' data file, without what it grew ahead.
    pub(crate) page_count: u64,
    /// Those that hold something.
    pub(crate) used_pages: u64,
    /// Length of the data files of all indexes.
    pub(crate) index_length: u64,
    /// Open files.
    pub(crate) open_files: u64,
}

/// All minutes so far.
pub(crate) struct Minutes<'d> {
    data: &'d Path,
    database: Arc<Database>,
    operations: u64,
    begun: Instant,
    pub(crate) list: Vec<Minute>,
}

/// Files of the data directory by what they are.
#[derive(Default)]
struct Files {
    documents_length: u64,
    documents_held: u64,
    index_length: u64,
    index_held: u64,
    journal_held: u64,
}

impl Minutes<'_> {
    pub(crate) fn new<'d>(data: &'d Path, database: &Arc<Database>) -> Minutes<'d> {
        Minutes {
            data,
            database: Arc::clone(database),
            operations: 0,
            begun: Instant::now(),
            list: Vec::new(),
        }
    }

    /// Waits for the end of the minute, looks, and prints a line.
    pub(crate) fn next(&mut self, course: &Course) -> Result<()> {
        // Looking takes time, too: minutes are counted from the beginning.
        let end = self.begun + MINUTE * u32::try_from(self.list.len() + 1)?;
        let (mut samples, mut sum) = (0, 0);
        while Instant::now() < end && !course.is_over() {
            let memory = process_memory().context("the system tells no memory")?;
            sum += memory.anonymous_bytes;
            samples += 1;
            std::thread::sleep(SECOND);
        }
        if course.is_over() {
            return Ok(());
        }
        self.database.clean_tombstones(TOMBSTONE_AGE)?;
        let environment = self.database.documents();
        // Before the check: the file grows for a transaction before others see it, and by the end
        // of the check they do.
        let file_pages = environment.statistics().file_bytes / PAGE_BYTES as u64;
        let report = environment.check(CheckLevel::Full)?;
        ensure!(report.damages.is_empty(), "{:?}", report.damages);
        let statistics = environment.statistics();
        let grown_ahead = file_pages.saturating_sub(statistics.page_count);
        // The file doubles when it is too short.
        ensure!(
            grown_ahead <= statistics.page_count,
            "the data file is {grown_ahead} pages longer than {} pages need",
            statistics.page_count
        );
        let memory = process_memory().context("the system tells no memory")?;
        let mut files = Files::default();
        measure(self.data, &mut files)?;
        let minute = Minute {
            anonymous: sum / u64::max(samples, 1),
            page_count: report.pages + report.free_pages,
            used_pages: report.pages,
            index_length: files.index_length,
            open_files: std::fs::read_dir("/proc/self/fd")?.count() as u64,
        };
        self.list.push(minute);
        let operations = course.operations.load(Ordering::Relaxed);
        println!(
            "minute {:>3}: {:>6} operations; resident {} MiB, of files {}, anonymous {} (mean {}); \
             scratch {} MiB; journal {}, its files {}; data {} long, {} held, {} used, {} free \
             pages; indexes {} long, {} held; {} snapshots; {} open files",
            self.list.len(),
            operations - self.operations,
            memory.resident_bytes / MIB,
            (memory.resident_bytes - memory.anonymous_bytes) / MIB,
            memory.anonymous_bytes / MIB,
            minute.anonymous / MIB,
            statistics.scratch_bytes / MIB,
            statistics.journal_live_bytes / MIB,
            files.journal_held / MIB,
            files.documents_length / MIB,
            files.documents_held / MIB,
            report.pages * PAGE_BYTES as u64 / MIB,
            report.free_pages,
            files.index_length / MIB,
            files.index_held / MIB,
            statistics.reader_count,
            minute.open_files,
        );
        self.operations = operations;
        Ok(())
    }
}

/// Adds up the files in and below a directory. Those that go away meanwhile are left out.
fn measure(directory: &Path, files: &mut Files) -> Result<()> {
    let is_index = directory.iter().any(|part| part == "indexes");
    for entry in std::fs::read_dir(directory)?.flatten() {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let held = metadata.blocks() * 512;
        if metadata.is_dir() {
            measure(&entry.path(), files)?;
        } else if entry.file_name() != Damage::DATA_FILE {
            files.journal_held += held;
        } else if is_index {
            files.index_length += metadata.len();
            files.index_held += held;
        } else if directory.ends_with("documents") {
            files.documents_length += metadata.len();
            files.documents_held += held;
        }
    }
    Ok(())
}

/// Directories in and below `directory` that are environments.
pub(crate) fn environments_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(environments_below(&entry.path())?);
        } else if entry.file_name() == Damage::DATA_FILE {
            found.push(directory.to_owned());
        }
    }
    Ok(found)
}
