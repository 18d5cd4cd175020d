//! Runs beyond the budget: the memory of frames of several pages, one behind the other in segments
//! that can be written out.
//!
//! When a snapshot keeps the flusher from writing pages, all that is written meanwhile stays in
//! memory; as for single pages (`slabs`), it then costs disk space instead. A segment takes runs
//! until it is full, and goes back when none of its runs is left: so a run costs no system call of
//! its own.
//!
//! Called by `frames`, which owns what is inside.

use std::collections::BTreeMap;

use jackdaw_io::SpilledMemory;

/// Length of a segment, unless a run is longer: that of a slab, for which its place in the file
/// serves as well.
const SEGMENT_BYTES_MIN: usize = 2 << 20;

struct Segment {
    memory: SpilledMemory,
    len_bytes: usize,
    used_bytes: usize,
    run_count: usize,
}

/// See the file head.
#[derive(Default)]
pub(super) struct SpilledRuns {
    /// By the address of their first byte.
    segments: BTreeMap<usize, Segment>,
    /// The segment that takes the next run, when it has room for it.
    open: Option<usize>,
}

impl SpilledRuns {
    /// Memory for a run, from a segment that `spill` gives when none has room. `None` when it gives
    /// none.
    pub(super) fn take(
        &mut self,
        len_bytes: usize,
        spill: impl FnOnce(usize) -> Option<SpilledMemory>,
    ) -> Option<*mut u8> {
        let open = self.open.and_then(|base| self.segments.get(&base));
        if open.is_none_or(|segment| segment.len_bytes - segment.used_bytes < len_bytes) {
            self.open_segment(len_bytes.max(SEGMENT_BYTES_MIN), spill)?;
        }
        let segment = self.segments.get_mut(&self.open?)?;
        let data = segment.memory.memory.base().as_ptr();
        let data = data.wrapping_add(segment.used_bytes);
        segment.used_bytes += len_bytes;
        segment.run_count += 1;
        Some(data)
    }

    fn open_segment(
        &mut self,
        len_bytes: usize,
        spill: impl FnOnce(usize) -> Option<SpilledMemory>,
    ) -> Option<()> {
        let memory = spill(len_bytes)?;
        let base = memory.memory.base().as_ptr().addr();
        let segment = Segment {
            memory,
            len_bytes,
            used_bytes: 0,
            run_count: 0,
        };
        self.segments.insert(base, segment);
        self.open = Some(base);
        Some(())
    }

    /// Whether a run lies here.
    pub(super) fn holds(&self, data: *mut u8) -> bool {
        self.base_of(data).is_some()
    }

    /// Lets go of a run that lies here; gives its segment when it was the last one in it.
    pub(super) fn give_back(&mut self, data: *mut u8) -> Option<SpilledMemory> {
        let base = self.base_of(data)?;
        let segment = self.segments.get_mut(&base)?;
        segment.run_count -= 1;
        if segment.run_count > 0 {
            return None;
        }
        if self.open == Some(base) {
            self.open = None;
        }
        self.segments.remove(&base).map(|segment| segment.memory)
    }

    #[cfg(test)]
    pub(super) fn segment_count(&self) -> usize {
        self.segments.len()
    }

    fn base_of(&self, data: *mut u8) -> Option<usize> {
        let (&base, segment) = self.segments.range(..=data.addr()).next_back()?;
        (data.addr() < base + segment.len_bytes).then_some(base)
    }
}
