//! Slabs: the memory of single-page frames, 2 MiB at a time, and the disk for memory beyond the
//! budget.
//!
//! Up to the budget of an environment slabs are plain memory, the first few of ordinary pages, the
//! others of huge ones. Beyond it, when a snapshot keeps the flusher from writing pages, they are
//! memory of unnamed files next to the data, which the machine may write out and take away: a long
//! snapshot then costs disk space and not the memory of everything else.
//!
//! Called by `frames`, which owns what is inside.

use std::io;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

use jackdaw_io::{ScratchMemory, SpillFile, SpilledMemory, Vfs};

/// Slabs of ordinary pages, which take memory as it is touched: enough for small environments, of
/// which there may be hundreds.
const SMALL_SLABS: usize = 8;

/// Where memory beyond the budget comes from.
pub(crate) struct Spill {
    pub(crate) vfs: Arc<dyn Vfs>,
    /// A directory of the disk that is to hold it.
    pub(crate) directory: PathBuf,
    /// Bytes of page versions before runs are spilled, and of slabs before slabs are.
    pub(crate) memory_bytes_max: usize,
}

enum SlabMemory {
    Plain(ScratchMemory),
    Spilled(SpilledMemory),
}

/// The memory of one block of frames.
struct Slab {
    block: u32,
    memory: SlabMemory,
}

/// See the file head.
pub(super) struct Slabs {
    slab_bytes: usize,
    spill: Option<Spill>,
    /// Present once something was spilled.
    file: Option<SpillFile>,
    slabs: Vec<Slab>,
    /// Blocks whose slabs were given back.
    idle_blocks: Vec<u32>,
}

impl Slabs {
    pub(super) fn new(slab_bytes: usize, spill: Option<Spill>) -> Slabs {
        Slabs {
            slab_bytes,
            spill,
            file: None,
            slabs: Vec::new(),
            idle_blocks: Vec::new(),
        }
    }

    /// A block whose slab was given back, to be filled again.
    pub(super) fn take_idle_block(&mut self) -> Option<u32> {
        self.idle_blocks.pop()
    }

    /// Keeps a block without memory for another try.
    pub(super) fn leave_idle(&mut self, block: u32) {
        self.idle_blocks.push(block);
    }

    /// Memory for `block`: plain, or spilled when the budget is used up and there is a disk with
    /// room. Its address; `None` when the machine has no more.
    pub(super) fn fill(&mut self, block: u32) -> Option<NonNull<u8>> {
        let plain_bytes = (self.plain() + 1) * self.slab_bytes;
        let spilled = match self.is_beyond_budget(plain_bytes) {
            true => self.spill(self.slab_bytes),
            false => None,
        };
        let memory = match spilled {
            Some(spilled) => SlabMemory::Spilled(spilled),
            None => SlabMemory::Plain(
                ScratchMemory::new(self.slab_bytes, self.plain() >= SMALL_SLABS).ok()?,
            ),
        };
        let base = match &memory {
            SlabMemory::Plain(memory) | SlabMemory::Spilled(SpilledMemory { memory, .. }) => {
                memory.base()
            }
        };
        self.slabs.push(Slab { block, memory });
        Some(base)
    }

    fn plain(&self) -> usize {
        self.slabs.iter().filter(|slab| !slab.is_spilled()).count()
    }

    /// Whether so many bytes are to be spilled in part.
    pub(super) fn is_beyond_budget(&self, bytes: usize) -> bool {
        self.spill
            .as_ref()
            .is_some_and(|spill| bytes > spill.memory_bytes_max)
    }

    /// Memory that can be written out; `None` where there is no disk for it, or none with room.
    pub(super) fn spill(&mut self, len_bytes: usize) -> Option<SpilledMemory> {
        let spill = self.spill.as_ref()?;
        if self.file.is_none() {
            match spill.vfs.spill_file(&spill.directory) {
                Ok(file) => self.file = Some(file),
                Err(_) => self.spill = None,
            }
        }
        self.file.as_mut()?.allocate(len_bytes).ok()
    }

    /// Takes back what [`Slabs::spill`] gave.
    pub(super) fn give_back_spilled(&mut self, memory: SpilledMemory) {
        if let Some(file) = &mut self.file {
            file.give_back(memory);
        }
    }

    /// Whether everything that was written out arrived.
    pub(super) fn check_spilled(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), SpillFile::check)
    }

    /// Whether there are slabs beyond the budget.
    pub(super) fn has_spilled(&self) -> bool {
        self.slabs.iter().any(Slab::is_spilled)
    }

    /// Bytes of all slabs.
    pub(super) fn bytes(&self) -> usize {
        self.slabs.len() * self.slab_bytes
    }

    /// Gives slabs back whose blocks `is_free`: all spilled ones, and plain ones but for the small
    /// until no more than `keep_bytes` are left. The blocks that have no memory any more.
    pub(super) fn give_back(
        &mut self,
        keep_bytes: usize,
        is_free: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let keep = (keep_bytes / self.slab_bytes).max(SMALL_SLABS);
        let mut excess = self.slabs.len().saturating_sub(keep);
        let mut given_back = Vec::new();
        for is_spilled in [true, false] {
            // The first ones are small and stay.
            for position in (0..self.slabs.len()).rev() {
                let slab = &self.slabs[position];
                let is_kept = excess == 0 && !is_spilled;
                if is_kept || slab.is_spilled() != is_spilled || !is_free(slab.block) {
                    continue;
                }
                excess = excess.saturating_sub(1);
                let slab = self.slabs.remove(position);
                given_back.push(slab.block);
                if let SlabMemory::Spilled(memory) = slab.memory {
                    self.give_back_spilled(memory);
                }
            }
        }
        self.idle_blocks.extend_from_slice(&given_back);
        given_back
    }
}

impl Slab {
    fn is_spilled(&self) -> bool {
        matches!(self.memory, SlabMemory::Spilled(_))
    }
}
