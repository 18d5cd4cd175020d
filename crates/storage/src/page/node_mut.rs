//! Branch and leaf pages, changed in place with as few changed bytes as possible.
//!
//! Trees insert, remove, split and merge through [`NodeMut`]; the layout is in `node`.
//!
//! Invariants:
//! - An insert moves slots but no entry, unless the page must be rebuilt to make room: the journal
//!   stores differences of pages, so every moved byte is written to disk.
//! - Heap bytes from `upper` on are live entries or counted as dead.
//! - Every rebuild stores the longest prefix that all keys share.

use zerocopy::little_endian::U16;

use crate::error::StorageError;
use crate::page::counts::{CHILD_BYTES, child_bytes};
use crate::page::key::{
    HEAD_BYTES, PREFIX_LINE_BYTES, SearchKey, common_prefix_len, head_of, rest_of,
};
use crate::page::node::{
    ASCENDING_RUN_MIN, DEAD_AT, ENTRY_HEADER_BYTES, INLINE_ENTRY_BYTES_MAX, KEY_BYTES_MAX,
    NEXT_SLOT_AT, NODE_CAPACITY, NODE_HEADER_BYTES, Node, PREFIX_AT, RUN_AT, SLOT_BYTES, Slot,
    ValueKind, encode_entry_header, prefix_tail_len, to_u16,
};
use crate::page::{PAGE_BYTES, Page, PageKind, PageNumber};

/// A full page with more entries than one is rebuilt only when that leaves this much room;
/// otherwise it is split, lest every growing value rewrite the page once more.
const REBUILD_GAIN_BYTES_MIN: usize = 256;

/// Bytes an entry takes together with its slot.
#[inline]
fn entry_bytes(suffix_len: usize, stored_len: usize) -> usize {
    SLOT_BYTES + ENTRY_HEADER_BYTES + suffix_len.saturating_sub(HEAD_BYTES) + stored_len
}

/// A branch or leaf page, to change.
pub(crate) struct NodeMut<'a> {
    page: &'a mut Page,
}

impl<'a> NodeMut<'a> {
    /// Sees a page that was seen as a [`Node`] before.
    #[inline]
    pub(crate) fn of(page: &'a mut Page) -> NodeMut<'a> {
        NodeMut { page }
    }

    /// Sees a leaf page.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when the page is of another kind.
    #[inline]
    pub(crate) fn leaf(page: &'a mut Page) -> Result<NodeMut<'a>, StorageError> {
        Node::leaf(page)?;
        Ok(NodeMut { page })
    }

    /// Makes an empty node of a page, for keys that start with `prefix`.
    pub(crate) fn create(page: &'a mut Page, kind: PageKind, prefix: &[u8]) -> NodeMut<'a> {
        let header = page.header_mut();
        header.kind = kind as u8;
        header.flags = 0;
        let mut node = NodeMut { page };
        node.reset(prefix);
        node
    }

    /// The page, to read.
    #[inline]
    pub(crate) fn node(&self) -> Node<'_> {
        Node::of(self.page)
    }

    /// Removes all entries and stores a new prefix.
    fn reset(&mut self, prefix: &[u8]) {
        debug_assert!(prefix.len() <= KEY_BYTES_MAX);
        let (line, tail) = prefix.split_at(prefix.len().min(PREFIX_LINE_BYTES));
        let heap_end = PAGE_BYTES - tail.len();
        let bytes = self.page.bytes_mut();
        bytes[PREFIX_AT..NODE_HEADER_BYTES].fill(0);
        bytes[PREFIX_AT..][..line.len()].copy_from_slice(line);
        bytes[heap_end..].copy_from_slice(tail);
        self.set_dead(0);
        let header = self.page.header_mut();
        header.aux.set(to_u16(prefix.len()));
        header.lower.set(to_u16(NODE_HEADER_BYTES));
        header.upper.set(to_u16(heap_end));
    }

    /// Remembers that an ascending run goes on at the front of this new page.
    pub(crate) fn continue_run(&mut self) {
        self.set_run(0, ASCENDING_RUN_MIN);
    }

    /// Adds an entry at slot `at` and gives the place of its value.
    ///
    /// `None`, and nothing has changed, when the page has no room: then it has two entries at
    /// least, and a split makes progress.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        at: usize,
        key: &SearchKey<'_>,
        kind: ValueKind,
        stored_len: usize,
    ) -> Option<&mut [u8]> {
        let bytes = key.bytes();
        debug_assert!(stored_len + bytes.len() <= INLINE_ENTRY_BYTES_MAX);
        let node = self.node();
        let has_keys = node.count() > node.first_key_slot();
        let fits = has_keys
            && node.has_prefix_of(key)
            && entry_bytes(bytes.len() - node.prefix_len(), stored_len)
                <= node.upper() - node.lower();
        if !fits && !self.make_room(key, stored_len) {
            return None;
        }
        let prefix_len = self.node().prefix_len();
        Some(self.push_at(at, &bytes[prefix_len..], kind, stored_len))
    }

    /// Adds a child to a branch at slot `at`, with a count of 0 if the branch has counts; false,
    /// and nothing has changed, without room.
    pub(crate) fn insert_child(&mut self, at: usize, separator: &[u8], child: PageNumber) -> bool {
        let sought = SearchKey::new(separator);
        let stored_len = child_bytes(self.node().flags());
        let Some(place) = self.insert(at, &sought, ValueKind::Inline, stored_len) else {
            return false;
        };
        let (number, count) = place.split_at_mut(CHILD_BYTES);
        number.copy_from_slice(&child.0.to_le_bytes());
        count.fill(0);
        true
    }

    /// Adds an entry that is known to fit.
    #[inline]
    fn push_at(
        &mut self,
        at: usize,
        suffix: &[u8],
        kind: ValueKind,
        stored_len: usize,
    ) -> &mut [u8] {
        let node = self.node();
        let (lower, upper, count) = (node.lower(), node.upper(), node.count());
        let run = if node.next_slot() == at {
            node.run() + 1
        } else {
            1
        };
        let rest = rest_of(suffix);
        let entry_at = upper - (ENTRY_HEADER_BYTES + rest.len() + stored_len);
        let slot = Slot::new(head_of(suffix), kind, entry_at);
        self.set_run(at + 1, run);
        let header = self.page.header_mut();
        header.lower.set(to_u16(lower + SLOT_BYTES));
        header.upper.set(to_u16(entry_at));
        let bytes = self.page.bytes_mut();
        let slot_at = lower - SLOT_BYTES * (count - at);
        bytes.copy_within(slot_at..lower, slot_at + SLOT_BYTES);
        bytes[slot_at..][..SLOT_BYTES].copy_from_slice(&slot.0.to_le_bytes());
        let entry = &mut bytes[entry_at..upper];
        entry[..ENTRY_HEADER_BYTES].copy_from_slice(&encode_entry_header(suffix.len(), stored_len));
        let (stored_rest, value) = entry[ENTRY_HEADER_BYTES..].split_at_mut(rest.len());
        stored_rest.copy_from_slice(rest);
        value
    }

    /// Rebuilds the page so that the entry fits; false when it would not, and nothing changes.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, sought: &SearchKey<'_>, stored_len: usize) -> bool {
        let key = sought.bytes();
        let node = self.node();
        let first = node.first_key_slot();
        let count = node.count();
        if count <= first {
            // No key yet. A prefix chosen when the page was made is a guess worth keeping.
            let keeps_prefix = count == 0 && node.has_prefix_of(sought);
            let prefix_len = if keeps_prefix {
                node.prefix_len()
            } else {
                key.len()
            };
            self.rebuild(&key[..prefix_len]);
            return true;
        }
        let low = node.key(first).to_vec();
        let prefix_len = node
            .key(count - 1)
            .common_prefix_len(&low)
            .min(common_prefix_len(&low, key));
        let needed = prefix_tail_len(prefix_len)
            + encoded_bytes(&node, 0, count, prefix_len)
            + entry_bytes(key.len() - prefix_len, stored_len);
        let limit = if prefix_len >= node.prefix_len() && count > 1 {
            NODE_CAPACITY - REBUILD_GAIN_BYTES_MIN
        } else {
            NODE_CAPACITY
        };
        let fits = needed <= limit;
        if fits {
            self.rebuild(&key[..prefix_len]);
        }
        fits
    }

    /// Writes all entries anew, behind a prefix that all keys share.
    fn rebuild(&mut self, prefix: &[u8]) {
        let copy = *self.page;
        let source = Node::of(&copy);
        let (next_slot, run) = (source.next_slot(), source.run());
        self.reset(prefix);
        self.push_all(&source, 0, source.count(), None);
        self.set_run(next_slot, run);
    }

    /// Adds the entries `from..to` of another node behind the own ones; they are known to fit.
    ///
    /// `separator` is the key that slot 0 of a branch gets; without one it stays empty.
    pub(crate) fn push_all(
        &mut self,
        source: &Node<'_>,
        from: usize,
        to: usize,
        separator: Option<&[u8]>,
    ) {
        let prefix_len = self.node().prefix_len();
        let same_prefix = prefix_len == source.prefix_len();
        let mut key = Vec::new();
        for at in from..to {
            let slot = source.slot(at);
            let entry = source.entry(slot);
            let count = self.node().count();
            let value = if source.is_branch() && count == 0 {
                self.push_at(0, &[], ValueKind::Inline, entry.stored.len())
            } else if source.is_branch() && at == 0 {
                let separator = separator.unwrap_or_default();
                let suffix = separator.get(prefix_len..).unwrap_or_default();
                self.push_at(count, suffix, ValueKind::Inline, entry.stored.len())
            } else if same_prefix {
                self.push_raw(slot, source.entry_slice(slot));
                continue;
            } else {
                source.key(at).copy_to(&mut key);
                let suffix = key.get(prefix_len..).unwrap_or_default();
                self.push_at(count, suffix, slot.value_kind(), entry.stored.len())
            };
            value.copy_from_slice(entry.stored);
        }
    }

    /// Adds a copy of an entry of a page with the same prefix behind the own ones.
    #[inline]
    fn push_raw(&mut self, slot: Slot, entry: &[u8]) {
        let node = self.node();
        let (lower, entry_at) = (node.lower(), node.upper() - entry.len());
        let slot = Slot::new(slot.head(), slot.value_kind(), entry_at);
        let header = self.page.header_mut();
        header.lower.set(to_u16(lower + SLOT_BYTES));
        header.upper.set(to_u16(entry_at));
        let bytes = self.page.bytes_mut();
        bytes[lower..][..SLOT_BYTES].copy_from_slice(&slot.0.to_le_bytes());
        bytes[entry_at..][..entry.len()].copy_from_slice(entry);
    }

    /// The place for a new value of the entry at `at`, when there is room without a rebuild.
    ///
    /// A value of the same length keeps its place, so equal bytes stay equal on disk.
    #[inline]
    pub(crate) fn replace(
        &mut self,
        at: usize,
        kind: ValueKind,
        stored_len: usize,
    ) -> Option<&mut [u8]> {
        let node = self.node();
        let slot = node.slot(at);
        let entry = node.entry(slot);
        let (suffix_len, rest_len) = (entry.suffix_len, entry.rest.len());
        let old_len = entry.stored.len();
        let (lower, upper, dead) = (node.lower(), node.upper(), node.dead_bytes());
        let old_at = slot.offset();
        let mut entry_at = old_at;
        if stored_len <= old_len {
            self.set_dead(dead + old_len - stored_len);
        } else {
            let new_bytes = ENTRY_HEADER_BYTES + rest_len + stored_len;
            entry_at = upper
                .checked_sub(new_bytes)
                .filter(|&entry_at| entry_at >= lower)?;
            self.set_dead(dead + ENTRY_HEADER_BYTES + rest_len + old_len);
            self.page.header_mut().upper.set(to_u16(entry_at));
            let key_at = old_at + ENTRY_HEADER_BYTES;
            let bytes = self.page.bytes_mut();
            bytes.copy_within(key_at..key_at + rest_len, entry_at + ENTRY_HEADER_BYTES);
        }
        let new_slot = Slot::new(slot.head(), kind, entry_at);
        self.set_slot(at, new_slot);
        let entry = &mut self.page.bytes_mut()[entry_at..];
        entry[..ENTRY_HEADER_BYTES].copy_from_slice(&encode_entry_header(suffix_len, stored_len));
        Some(&mut entry[ENTRY_HEADER_BYTES + rest_len..][..stored_len])
    }

    /// The stored value of an entry, to change without changing its length.
    #[inline]
    pub(crate) fn stored_mut(&mut self, at: usize) -> &mut [u8] {
        let node = self.node();
        let slot = node.slot(at);
        let entry = node.entry(slot);
        let value_at = slot.offset() + ENTRY_HEADER_BYTES + entry.rest.len();
        let len = entry.stored.len();
        &mut self.page.bytes_mut()[value_at..][..len]
    }

    /// Removes the entries `from..to`.
    pub(crate) fn remove(&mut self, from: usize, to: usize) {
        let node = self.node();
        let (lower, count) = (node.lower(), node.count());
        let (mut upper, mut dead) = (node.upper(), node.dead_bytes());
        for at in from..to {
            let slot = node.slot(at);
            let heap_bytes = node.entry(slot).heap_bytes();
            if slot.offset() == upper {
                upper += heap_bytes;
            } else {
                dead += heap_bytes;
            }
        }
        if from == 0 && to == count {
            (upper, dead) = (node.heap_end(), 0);
        }
        let slots_at = lower - SLOT_BYTES * count;
        let bytes = self.page.bytes_mut();
        bytes.copy_within(
            slots_at + SLOT_BYTES * to..lower,
            slots_at + SLOT_BYTES * from,
        );
        self.set_dead(dead);
        let header = self.page.header_mut();
        header.lower.set(to_u16(lower - SLOT_BYTES * (to - from)));
        header.upper.set(to_u16(upper));
    }

    /// Removes the children `from..to` of a branch, of which some remain.
    pub(crate) fn remove_children(&mut self, from: usize, to: usize) {
        self.remove(from, to);
        if from == 0 && self.node().count() > 0 {
            self.clear_first_key();
        }
    }

    /// Empties the suffix of slot 0 of a branch, which counts as less than every key.
    fn clear_first_key(&mut self) {
        let node = self.node();
        let slot = node.slot(0);
        let entry = node.entry(slot);
        let (rest_len, child_len) = (entry.rest.len(), entry.stored.len());
        let dead = node.dead_bytes() + rest_len;
        let (entry_at, value_at) = (slot.offset(), slot.offset() + ENTRY_HEADER_BYTES);
        self.set_dead(dead);
        self.set_slot(0, Slot::new(0, ValueKind::Inline, entry_at));
        let bytes = self.page.bytes_mut();
        bytes.copy_within(
            value_at + rest_len..value_at + rest_len + child_len,
            value_at,
        );
        bytes[entry_at..value_at].copy_from_slice(&encode_entry_header(0, child_len));
    }

    /// Adds all entries of `right`, whose keys follow the own ones; see [`merged_bytes`].
    pub(crate) fn merge(&mut self, right: &Node<'_>, separator: &[u8]) {
        let left = self.node();
        let prefix = merged_prefix(&left, right, separator);
        self.rebuild(&prefix);
        self.push_all(right, 0, right.count(), Some(separator));
        self.set_run(0, 0);
    }

    fn set_slot(&mut self, at: usize, slot: Slot) {
        let node = self.node();
        let slot_at = node.lower() - SLOT_BYTES * (node.count() - at);
        self.page.bytes_mut()[slot_at..][..SLOT_BYTES].copy_from_slice(&slot.0.to_le_bytes());
    }

    #[inline]
    fn set_dead(&mut self, dead: usize) {
        self.set_u16(DEAD_AT, to_u16(dead));
    }

    #[inline]
    fn set_run(&mut self, next_slot: usize, run: usize) {
        self.set_u16(NEXT_SLOT_AT, to_u16(next_slot));
        self.set_u16(RUN_AT, to_u16(run.min(usize::from(u16::MAX))));
    }

    #[inline]
    fn set_u16(&mut self, at: usize, value: u16) {
        self.page.bytes_mut()[at..at + 2].copy_from_slice(&U16::new(value).to_bytes());
    }
}

impl<'a> Node<'a> {
    /// Heap bytes of an entry, as they are.
    #[inline]
    fn entry_slice(&self, slot: Slot) -> &'a [u8] {
        self.heap_from(slot.offset(), self.entry(slot).heap_bytes())
    }
}

/// Bytes that slots and entries `from..to` take behind a prefix of `prefix_len` bytes.
pub(crate) fn encoded_bytes(node: &Node<'_>, from: usize, to: usize, prefix_len: usize) -> usize {
    (from..to)
        .map(|at| {
            let entry = node.entry(node.slot(at));
            let key_len = node.prefix_len() + entry.suffix_len;
            let suffix_len = if at < node.first_key_slot() {
                0
            } else {
                key_len.saturating_sub(prefix_len)
            };
            entry_bytes(suffix_len, entry.stored.len())
        })
        .sum()
}

/// The prefix that the keys `from..to` share; of a branch without its slot 0.
pub(crate) fn shared_prefix(node: &Node<'_>, from: usize, to: usize) -> Vec<u8> {
    let from = from.max(node.first_key_slot());
    if from >= to {
        return Vec::new();
    }
    let mut first = node.key(from).to_vec();
    let shared = node.key(to - 1).common_prefix_len(&first);
    first.truncate(shared);
    first
}

/// The prefix that the keys of two neighbors share; `separator` is the key between branches.
fn merged_prefix(left: &Node<'_>, right: &Node<'_>, separator: &[u8]) -> Vec<u8> {
    let first = left.first_key_slot();
    let mut low = if left.count() > first {
        left.key(first).to_vec()
    } else {
        separator.to_vec()
    };
    let shared = if right.count() > first {
        right.key(right.count() - 1).common_prefix_len(&low)
    } else {
        common_prefix_len(separator, &low)
    };
    low.truncate(shared);
    low
}

/// Bytes that two neighbors would take in one page.
pub(crate) fn merged_bytes(left: &Node<'_>, right: &Node<'_>, separator: &[u8]) -> usize {
    let prefix_len = merged_prefix(left, right, separator).len();
    let pulled = if left.is_branch() {
        separator.len().saturating_sub(prefix_len)
    } else {
        0
    };
    prefix_tail_len(prefix_len)
        + encoded_bytes(left, 0, left.count(), prefix_len)
        + encoded_bytes(right, 0, right.count(), prefix_len)
        + pulled
}

/// Where to split a node of two entries or more: near the middle by bytes, at the shortest
/// separator between 40 and 60 percent.
pub(crate) fn split_position(node: &Node<'_>) -> usize {
    let count = node.count();
    debug_assert!(count >= 2);
    let total = encoded_bytes(node, 0, count, node.prefix_len());
    let mut best = (1, usize::MAX, usize::MAX);
    let mut left_bytes = 0;
    for at in 1..count {
        left_bytes += SLOT_BYTES + node.entry(node.slot(at - 1)).heap_bytes();
        let distance = (left_bytes * 2).abs_diff(total);
        let separator_len = if distance * 5 > total {
            usize::MAX
        } else if node.is_branch() {
            node.entry(node.slot(at)).suffix_len
        } else {
            separator_len(node, at)
        };
        if (separator_len, distance) < (best.1, best.2) {
            best = (at, separator_len, distance);
        }
    }
    best.0
}

/// Suffix bytes that tell the entry at `at` from the one before.
fn separator_len(node: &Node<'_>, at: usize) -> usize {
    let (before, slot) = (node.slot(at - 1), node.slot(at));
    let different = before.head() ^ slot.head();
    if different != 0 {
        return different.leading_zeros() as usize / 8 + 1;
    }
    HEAD_BYTES + common_prefix_len(node.entry(before).rest, node.entry(slot).rest) + 1
}

/// The shortest key greater than `low` and not greater than `high`.
pub(crate) fn shortest_separator(low: &[u8], high: &[u8]) -> Vec<u8> {
    debug_assert!(low < high);
    high[..(common_prefix_len(low, high) + 1).min(high.len())].to_vec()
}
