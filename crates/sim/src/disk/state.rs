//! A whole simulated disk, and the changes that may be made to it.
//!
//! `vfs` applies each change once to the running disk and keeps it for `history`, which applies
//! the same changes again to go back in time.
//!
//! Invariants: applying is deterministic and cannot fail; whatever may fail or is random was
//! decided before, and is part of the [`Change`].

use std::collections::BTreeMap;
use std::sync::Arc;

use jackdaw_io::Durability;

use super::choice::Chooser;
use super::file::FileState;
use super::names::{Entry, Names, parent_of};

/// Identifies a file of one disk and its images, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId(pub(crate) u64);

/// One change of a disk.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    CreateFile {
        file: FileId,
        path: Arc<str>,
    },
    CreateDirectory {
        path: Arc<str>,
        is_synced: bool,
    },
    Rename {
        from: Arc<str>,
        to: Arc<str>,
    },
    Remove {
        path: Arc<str>,
    },
    SyncDirectory {
        path: Arc<str>,
    },
    Write {
        file: FileId,
        offset: u64,
        bytes: Arc<[u8]>,
        durability: Durability,
    },
    WriteFailed {
        file: FileId,
        offset: u64,
        bytes: Arc<[u8]>,
        seed: u64,
    },
    Sync {
        file: FileId,
    },
    SyncFailed {
        file: FileId,
        seed: u64,
    },
    SetLen {
        file: FileId,
        len_bytes: u64,
    },
    Allocate {
        file: FileId,
        offset: u64,
        len_bytes: u64,
    },
    Punch {
        file: FileId,
        offset: u64,
        len_bytes: u64,
    },
    Flip {
        file: FileId,
        offset: u64,
        mask: u8,
    },
    /// Reported as done but not done, or of no effect on the medium.
    Nothing,
}

/// A disk. Cloning costs one reference count for each file.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskState {
    files: BTreeMap<FileId, Arc<FileState>>,
    names: Arc<Names>,
}

impl DiskState {
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The file; handles keep removed files alive.
    pub(crate) fn file(&self, file: FileId) -> &FileState {
        &self.files[&file]
    }

    /// The smallest number that no file has.
    pub(crate) fn next_file(&self) -> FileId {
        FileId(
            self.files
                .last_key_value()
                .map_or(1, |(last, _)| last.0 + 1),
        )
    }

    /// Blocks taken by the files that have a name.
    pub(crate) fn allocated_blocks(&self) -> usize {
        self.names
            .live_files()
            .map(|file| self.file(file).live().allocated_blocks())
            .sum()
    }

    /// Applies one change, made by operation number `operation`.
    pub(crate) fn apply(&mut self, operation: u64, change: &Change) {
        match change {
            Change::CreateFile { file, path } => {
                self.files.insert(*file, Arc::default());
                self.names_mut().create(operation, path, Entry::File(*file));
            }
            Change::CreateDirectory { path, is_synced } => {
                let names = self.names_mut();
                names.create(operation, path, Entry::Directory(operation));
                if *is_synced {
                    names.sync(parent_of(path));
                }
            }
            Change::Rename { from, to } => self.names_mut().rename(operation, from, to),
            Change::Remove { path } => self.names_mut().remove(operation, path),
            Change::SyncDirectory { path } => self.names_mut().sync(path),
            Change::Write {
                file,
                offset,
                bytes,
                durability,
            } => {
                let file = self.file_mut(*file);
                match durability {
                    Durability::None => file.write(operation, *offset, bytes),
                    Durability::Data => file.write_durably(operation, *offset, bytes),
                }
            }
            Change::WriteFailed {
                file,
                offset,
                bytes,
                seed,
            } => {
                self.file_mut(*file)
                    .write_partly(operation, *offset, bytes, *seed);
            }
            Change::Sync { file } => self.file_mut(*file).sync(),
            Change::SyncFailed { file, seed } => self.file_mut(*file).sync_failing(*seed),
            Change::SetLen { file, len_bytes } => {
                self.file_mut(*file).set_len(operation, *len_bytes);
            }
            Change::Allocate {
                file,
                offset,
                len_bytes,
            } => {
                self.file_mut(*file)
                    .allocate(operation, *offset, *len_bytes);
            }
            Change::Punch {
                file,
                offset,
                len_bytes,
            } => {
                self.file_mut(*file).punch(operation, *offset, *len_bytes);
            }
            Change::Flip { file, offset, mask } => self.file_mut(*file).flip(*offset, *mask),
            Change::Nothing => {}
        }
    }

    /// The disk as power loss may leave it. Asks the chooser for each file in the order of their
    /// numbers, then for each name. Files that no name can lead to are left out.
    pub(crate) fn crash(&self, chooser: &mut dyn Chooser) -> Self {
        let referenced = self.names.referenced_files();
        let mut files = BTreeMap::new();
        for (&file, state) in &self.files {
            if referenced.binary_search(&file).is_err() {
                continue;
            }
            let image = if state.is_settled() {
                state.clone()
            } else {
                Arc::new(state.crash(file.0, chooser))
            };
            files.insert(file, image);
        }
        let names = if self.names.is_settled() {
            self.names.clone()
        } else {
            Arc::new(self.names.crash(chooser))
        };
        Self { files, names }
    }

    fn file_mut(&mut self, file: FileId) -> &mut FileState {
        let state = self
            .files
            .get_mut(&file)
            .expect("handles and changes name existing files");
        Arc::make_mut(state)
    }

    fn names_mut(&mut self) -> &mut Names {
        Arc::make_mut(&mut self.names)
    }
}
