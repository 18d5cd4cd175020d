//! An open file of the simulated disk.
//!
//! Made by `SimVfs::open`; several handles of one file share its content.
//!
//! Invariants: an operation either passes its checks and is applied, or fails and leaves what its
//! kind of failure may leave (a part of a write, a part of what a sync should have secured).

use std::io;
use std::sync::Arc;

use jackdaw_io::{Durability, Mapping, VfsFile, check_direct_alignment};

use crate::disk::{Change, FileId};
use crate::faults::OperationKind;
use crate::mapping::SimMapping;
use crate::state::{Shared, State, check_len, named};

/// A handle.
pub(crate) struct SimFile {
    shared: Arc<Shared>,
    file: FileId,
    /// Path it was opened by.
    path: Arc<str>,
    is_direct: bool,
    is_writable: bool,
}

impl SimFile {
    pub(crate) fn new(
        shared: Arc<Shared>,
        file: FileId,
        path: Arc<str>,
        is_direct: bool,
        is_writable: bool,
    ) -> Self {
        Self {
            shared,
            file,
            path,
            is_direct,
            is_writable,
        }
    }

    fn check_alignment(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.is_direct {
            check_direct_alignment(bytes, offset)
        } else {
            Ok(())
        }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.is_writable {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(9)) // EBADF, as Linux says it.
        }
    }

    pub(crate) fn map_mirror(&self) -> io::Result<Arc<SimMapping>> {
        let mut state = self.shared.lock();
        state.begin(OperationKind::Map, "map", &self.path, 0, 0)?;
        let mapping = SimMapping::new(self.shared.clone(), self.file, self.path.clone());
        let mapping = Arc::new(self.named("map", mapping)?);
        state.register_mapping(self.file, &mapping);
        Ok(mapping)
    }

    fn named<T>(&self, operation: &'static str, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| named(operation, &self.path, error))
    }

    /// One operation that may change the file, with a planned failure that changes nothing.
    fn change(
        &self,
        kind: OperationKind,
        operation: &'static str,
        offset: u64,
        len_bytes: u64,
        run: impl FnOnce(&mut State) -> io::Result<()>,
    ) -> io::Result<()> {
        self.named(operation, self.check_writable())?;
        let mut state = self.shared.lock();
        state.begin(kind, operation, &self.path, offset, len_bytes)?;
        self.named(operation, run(&mut state))
    }
}

impl VfsFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.named("read", self.check_alignment(buffer, offset))?;
        let mut state = self.shared.lock();
        let len_bytes = buffer.len() as u64;
        state.begin(OperationKind::Read, "read", &self.path, offset, len_bytes)?;
        let live = state.disk.file(self.file).live();
        let end = offset.saturating_add(len_bytes);
        if end > live.len_bytes() && !buffer.is_empty() {
            let text = format!(
                "the file ends at {}, {len_bytes} bytes at {offset} were wanted",
                live.len_bytes()
            );
            let error = io::Error::new(io::ErrorKind::UnexpectedEof, text);
            return Err(named("read", &self.path, error));
        }
        live.read(buffer, offset);
        state.trace_bytes(buffer);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64, durability: Durability) -> io::Result<()> {
        self.named("write", self.check_writable())?;
        self.named("write", self.check_alignment(bytes, offset))?;
        let mut state = self.shared.lock();
        let len_bytes = bytes.len() as u64;
        let begun = state.begin(OperationKind::Write, "write", &self.path, offset, len_bytes);
        let space = state.check_space(self.file, offset, len_bytes);
        self.named("write", space)?;
        state.trace_bytes(bytes);
        let file = self.file;
        let bytes: Arc<[u8]> = bytes.into();
        let change = if begun.is_err() {
            Change::WriteFailed {
                file,
                offset,
                bytes,
                seed: state.rng.next_u64(),
            }
        } else if state.lies.skip_durable_writes {
            Change::Write {
                file,
                offset,
                bytes,
                durability: Durability::None,
            }
        } else {
            Change::Write {
                file,
                offset,
                bytes,
                durability,
            }
        };
        state.apply(&self.path, change);
        state.mirror(file, offset, offset + len_bytes);
        begun
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        let begun = state.begin(OperationKind::Sync, "make durable", &self.path, 0, 0);
        let file = self.file;
        let change = if begun.is_err() {
            Change::SyncFailed {
                file,
                seed: state.rng.next_u64(),
            }
        } else if state.lies.skip_sync {
            Change::Nothing
        } else {
            Change::Sync { file }
        };
        state.apply(&self.path, change);
        begun
    }

    /// Does nothing: un-synced changes may reach the medium at any time anyway.
    fn start_write_back(&self, _offset: u64, _len_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn len_bytes(&self) -> io::Result<u64> {
        let mut state = self.shared.lock();
        state.begin(OperationKind::Look, "read the length of", &self.path, 0, 0)?;
        Ok(state.disk.file(self.file).live().len_bytes())
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        let kind = OperationKind::SetLen;
        self.change(kind, "set the length of", len_bytes, 0, |state| {
            check_len(len_bytes)?;
            let old_len = state.disk.file(self.file).live().len_bytes();
            state.apply(
                &self.path,
                Change::SetLen {
                    file: self.file,
                    len_bytes,
                },
            );
            state.mirror(self.file, len_bytes.min(old_len), old_len);
            Ok(())
        })
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let kind = OperationKind::Allocate;
        self.change(kind, "reserve space for", offset, len_bytes, |state| {
            state.check_space(self.file, offset, len_bytes)?;
            if len_bytes > 0 {
                state.apply(
                    &self.path,
                    Change::Allocate {
                        file: self.file,
                        offset,
                        len_bytes,
                    },
                );
            }
            Ok(())
        })
    }

    fn punch_hole(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let kind = OperationKind::PunchHole;
        self.change(kind, "give back space of", offset, len_bytes, |state| {
            let end = offset.saturating_add(len_bytes);
            check_len(end)?;
            state.apply(
                &self.path,
                Change::Punch {
                    file: self.file,
                    offset,
                    len_bytes,
                },
            );
            state.mirror(self.file, offset, end);
            Ok(())
        })
    }

    fn map(&self, _reserve_bytes: u64) -> io::Result<Arc<dyn Mapping>> {
        Ok(self.map_mirror()?)
    }

    fn is_direct(&self) -> bool {
        self.is_direct
    }
}
