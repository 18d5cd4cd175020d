//! Runs beyond the budget: the memory of frames of several pages, one behind the other in segments
//! that can be written out.
//!
//! When a snapshot keeps the flusher from writing pages, all that is written meanwhile stays in
//! memory; as for single pages (`slabs`), it then costs disk space instead. A segment takes runs
//! until the next one does not fit, and goes back when none of its runs is left, but for the one
//! that takes them: so a run costs no system call of its own, unless it is longer than a segment.
//!
//! Called by `frames`, which owns what is inside.

use std::collections::BTreeMap;

use jackdaw_io::SpilledMemory;

/// Length of a segment, or of the parts of one for a longer run: that of a slab, for which its
/// place in the file serves as well.
const SEGMENT_BYTES: usize = 2 << 20;

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
            return self.begin_segment(len_bytes, spill);
        }
        let segment = self.segments.get_mut(&self.open?)?;
        let data = segment.memory.memory.base().as_ptr();
        let data = data.wrapping_add(segment.used_bytes);
        segment.used_bytes += len_bytes;
        segment.run_count += 1;
        Some(data)
    }

    /// Memory for the first run of a segment, which takes others if there is room in it.
    fn begin_segment(
        &mut self,
        run_bytes: usize,
        spill: impl FnOnce(usize) -> Option<SpilledMemory>,
    ) -> Option<*mut u8> {
        let len_bytes = run_bytes.next_multiple_of(SEGMENT_BYTES);
        let memory = spill(len_bytes)?;
        let data = memory.memory.base().as_ptr();
        let segment = Segment {
            memory,
            len_bytes,
            used_bytes: run_bytes,
            run_count: 1,
        };
        self.segments.insert(data.addr(), segment);
        let open = self.open.and_then(|base| self.segments.get(&base));
        let room_bytes = open.map_or(0, |open| open.len_bytes - open.used_bytes);
        if len_bytes - run_bytes > room_bytes {
            self.open = Some(data.addr());
        }
        Some(data)
    }

    /// Whether a run lies here.
    pub(super) fn holds(&self, data: *mut u8) -> bool {
        self.base_of(data).is_some()
    }

    /// Lets go of a run that lies here; gives its segment when it was the last one in it, and the
    /// segment takes no more.
    pub(super) fn give_back(&mut self, data: *mut u8) -> Option<SpilledMemory> {
        let base = self.base_of(data)?;
        let segment = self.segments.get_mut(&base)?;
        segment.run_count -= 1;
        if segment.run_count > 0 {
            return None;
        }
        if self.open == Some(base) {
            segment.used_bytes = 0;
            return None;
        }
        self.segments.remove(&base).map(|segment| segment.memory)
    }

    /// The segment that takes runs, when it has none.
    pub(super) fn take_empty(&mut self) -> Option<SpilledMemory> {
        let base = self.open?;
        let is_empty = self.segments.get(&base)?.run_count == 0;
        if !is_empty {
            return None;
        }
        self.open = None;
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
