//! Journal files that recovery no longer needs, kept for increments of backups.
//!
//! They move from `journal/` to `archive/` with their names; the oldest go when there are too many
//! bytes. The first full backup makes the directory; without it nothing is kept, so that who makes
//! no backups pays nothing, since a kept file cannot be used again. Nothing depends on them: what
//! cannot be kept is missing from an increment, which says so.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_base::sync::{AtomicBool, Ordering};
use jackdaw_io::Vfs;

use super::file::journal_number;
use super::writer::Journal;

/// Directory of kept files inside an environment's.
pub(crate) const ARCHIVE_DIRECTORY: &str = "archive";

/// See the file head.
pub(crate) struct Archive {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    bytes_max: u64,
    is_on: AtomicBool,
}

impl Archive {
    /// The archive beside `journal_directory`; `None` when `bytes_max` is 0.
    pub(crate) fn new(
        vfs: &Arc<dyn Vfs>,
        journal_directory: &Path,
        bytes_max: u64,
    ) -> Option<Archive> {
        if bytes_max == 0 {
            return None;
        }
        let directory = journal_directory.with_file_name(ARCHIVE_DIRECTORY);
        let is_on = vfs.exists(&directory).unwrap_or(true);
        Some(Archive {
            vfs: Arc::clone(vfs),
            directory,
            bytes_max,
            is_on: AtomicBool::new(is_on),
        })
    }

    /// Keeps files from now on. What cannot be made is missing from increments, which say so.
    pub(crate) fn start(&self) {
        self.is_on.store(true, Ordering::SeqCst);
        let _ = self.vfs.create_directory(&self.directory);
    }

    /// Whether files have been kept since the journal was opened, or may have been.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// Moves a journal file here; `false` when it is none, or stays where it is.
    pub(crate) fn take(&self, path: &Path) -> bool {
        let Some(name) = path.file_name() else {
            return false;
        };
        if name.to_str().and_then(journal_number).is_none() {
            return false;
        }
        if !self.vfs.exists(&self.directory).is_ok_and(|exists| exists) {
            return false;
        }
        let is_moved = self.vfs.rename(path, &self.directory.join(name)).is_ok();
        self.trim();
        is_moved
    }

    /// Removes the oldest files while there are too many bytes.
    fn trim(&self) {
        let Ok(entries) = self.vfs.list(&self.directory) else {
            return;
        };
        let mut files: Vec<(u64, String, u64)> = entries
            .into_iter()
            .filter_map(|entry| {
                let number = journal_number(&entry.name)?;
                Some((number, entry.name, entry.len_bytes))
            })
            .collect();
        files.sort_unstable();
        let mut bytes: u64 = files.iter().map(|(_, _, len_bytes)| len_bytes).sum();
        for (_, name, len_bytes) in files {
            if bytes <= self.bytes_max {
                break;
            }
            // A file that stays is looked at again when the next one comes.
            let _ = self.vfs.remove_file(&self.directory.join(name));
            bytes -= len_bytes;
        }
    }
}

/// Keeps journal files from being used again until it is dropped; made by [`Journal::hold`].
pub(crate) struct JournalHold<'j> {
    journal: &'j Journal,
    transaction: u64,
}

impl<'j> JournalHold<'j> {
    pub(super) fn new(journal: &'j Journal, transaction: u64) -> JournalHold<'j> {
        JournalHold {
            journal,
            transaction,
        }
    }
}

impl Drop for JournalHold<'_> {
    fn drop(&mut self) {
        self.journal.end_hold(self.transaction);
    }
}
