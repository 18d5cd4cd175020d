//! What each document adds to which group.
//!
//! Lists of one document in one array for all; places that were given up are used again.

use rustc_hash::FxHashMap;

use super::sum::Sum;

/// Marks the end of a list, and a part that is not used.
const NONE: u32 = u32::MAX;
/// Memory of a document in the map, its free places counted in: 17 bytes each, half of them free
/// after it grew.
const DOCUMENT_BYTES: usize = 34;

#[derive(Clone, Copy)]
struct Part {
    /// Place of the group.
    group: u32,
    /// Next part of the document, or the next that is not used.
    next: u32,
}

pub(super) struct Parts {
    sum_count: usize,
    bytes_max: usize,
    list: Vec<Part>,
    /// `sum_count` for each part.
    sums: Vec<Sum>,
    /// First part of each document.
    first: FxHashMap<u64, u32>,
    /// First part that is not used.
    vacant: u32,
}

impl Parts {
    /// None. At most `bytes_max`, together with what else is told to [`add`](Self::add).
    pub(super) fn new(sum_count: usize, bytes_max: usize) -> Parts {
        Parts {
            sum_count,
            bytes_max,
            list: Vec::new(),
            sums: Vec::new(),
            first: FxHashMap::default(),
            vacant: NONE,
        }
    }

    pub(super) fn len_bytes(&self) -> usize {
        let of_part = size_of::<Part>() + self.sum_count * size_of::<Sum>();
        self.list.len() * of_part + self.first.len() * DOCUMENT_BYTES
    }

    /// Notes what a document adds to a group; false when there is no memory for it beside
    /// `others_bytes`.
    pub(super) fn add(
        &mut self,
        document: u64,
        group: u32,
        sums: &[Sum],
        others_bytes: usize,
    ) -> bool {
        let part = Part {
            group,
            next: self.first.get(&document).copied().unwrap_or(NONE),
        };
        let place = if let Some(place) = self.list.get_mut(self.vacant as usize) {
            let at = self.vacant;
            self.vacant = place.next;
            *place = part;
            let from = at as usize * self.sum_count;
            self.sums[from..from + self.sum_count].copy_from_slice(sums);
            at
        } else {
            let Ok(at) = u32::try_from(self.list.len()) else {
                return false;
            };
            self.list.push(part);
            self.sums.extend_from_slice(sums);
            at
        };
        self.first.insert(document, place);
        place != NONE && self.len_bytes() + others_bytes <= self.bytes_max
    }

    /// Gives up what a document adds, and gives it to `visit`; false when it adds nothing.
    pub(super) fn take(&mut self, document: u64, visit: &mut impl FnMut(u32, &[Sum])) -> bool {
        let Some(mut at) = self.first.remove(&document) else {
            return false;
        };
        while let Some(part) = self.list.get_mut(at as usize) {
            let from = at as usize * self.sum_count;
            visit(part.group, &self.sums[from..from + self.sum_count]);
            let next = part.next;
            *part = Part {
                group: NONE,
                next: self.vacant,
            };
            self.vacant = at;
            at = next;
        }
        true
    }

    /// Gives everything to `visit`.
    pub(super) fn for_each(&self, visit: &mut impl FnMut(u32, &[Sum])) {
        for (at, part) in self.list.iter().enumerate() {
            if part.group != NONE {
                let from = at * self.sum_count;
                visit(part.group, &self.sums[from..from + self.sum_count]);
            }
        }
    }
}
