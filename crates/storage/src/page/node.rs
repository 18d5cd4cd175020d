//! Branch and leaf pages, read: sorted slots over a heap of entries.
//!
//! Trees search and decode through [`Node`]; `node_mut` changes the same bytes.
//! Bytes: docs/format.md, branch and leaf pages.
//!
//! ```text
//! header 32 | dead u16, next_slot u16, run u16, 0 u16 | first 24 bytes of the prefix: one line
//! slots [u64] -> ... <- entries | prefix from byte 24 on
//! slot  = first 6 suffix bytes, big-endian, zero padded: 48 bits | 0, value kind, 0: 1 bit each
//!         | where the entry starts: 13 bits
//! entry = suffix length (11 bits), value length (13 bits): 3 bytes | suffix from byte 6 | value
//! ```
//!
//! Invariants:
//! - A key is the page's prefix and the entry's suffix. Slots ascend strictly by key.
//! - The value of a branch entry is a child's page number, then in a counted tree the number of
//!   entries below the child. Slot 0 of a branch has an empty suffix
//!   that counts as less than every key.
//! - Order of slots as plain numbers never contradicts the order of keys, so most searches touch
//!   no entry but the one they end at.
//! - Slots start at byte 64 whatever the prefix: a processor fetches them while it still waits for
//!   the header.

use std::cmp::Ordering;

use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

use crate::error::{DamageKind, StorageError};
use crate::page::counts::BRANCH_COUNTED;
use crate::page::key::{
    HEAD_BYTES, Key, PREFIX_LINE_BYTES, SearchKey, compare_bytes, rest_of, same_bytes,
};
use crate::page::search::count_less;
use crate::page::{PAGE_BYTES, PAGE_HEADER_BYTES, Page, PageKind, PageNumber};

/// Longest key of a tree: seven such separators still fit a branch page.
pub const KEY_BYTES_MAX: usize = 1024;

/// Longest value stored inside a leaf.
pub const INLINE_VALUE_BYTES_MAX: usize = 3900;

/// Longest key and value together stored inside a leaf: two such entries fit any leaf, whatever
/// their prefix, so a split always makes room.
pub const INLINE_ENTRY_BYTES_MAX: usize = 4056;

/// Whether a value of `value_len` bytes is stored in the leaf of its key.
#[inline]
pub(crate) fn is_inline_length(key_len: usize, value_len: usize) -> bool {
    value_len <= INLINE_VALUE_BYTES_MAX
        && key_len + value_len <= INLINE_ENTRY_BYTES_MAX
        && key_len <= KEY_BYTES_MAX
}

/// Header of the page, the word of counters behind it, and the prefix: one cache line.
pub(crate) const NODE_HEADER_BYTES: usize = PAGE_HEADER_BYTES + 8 + PREFIX_LINE_BYTES;

/// Where the prefix starts.
pub(crate) const PREFIX_AT: usize = PAGE_HEADER_BYTES + 8;

/// Inserts in a row, each behind the one before, that make a split leave the left page full.
pub(crate) const ASCENDING_RUN_MIN: usize = 8;

/// Bytes of a slot.
pub(crate) const SLOT_BYTES: usize = 8;

/// Bytes before an entry's suffix.
pub(crate) const ENTRY_HEADER_BYTES: usize = 3;

/// Bytes that slots, entries and the end of a long prefix may fill.
pub(crate) const NODE_CAPACITY: usize = PAGE_BYTES - NODE_HEADER_BYTES;

// Fields of the page header and of the word behind it.
pub(crate) const KIND_AT: usize = 24;
const FLAGS_AT: usize = 25;
const LOWER_AT: usize = 26;
const UPPER_AT: usize = 28;
const PREFIX_LEN_AT: usize = 30;
pub(crate) const DEAD_AT: usize = 32;
pub(crate) const NEXT_SLOT_AT: usize = 34;
pub(crate) const RUN_AT: usize = 36;

const HEAD_MASK: u64 = !0xFFFF;
const OFFSET_MASK: u64 = 0x1FFF;
const KIND_SHIFT: u32 = 14;

/// Where the bytes of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ValueKind {
    /// In the entry.
    Inline = 0,
    /// In a run of pages; the entry holds an [`OverflowRef`].
    Overflow = 1,
}

/// Narrows a number that is known to be at most [`PAGE_BYTES`].
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "positions in a page fit 16 bits"
)]
pub(crate) fn to_u16(n: usize) -> u16 {
    debug_assert!(n <= usize::from(u16::MAX), "{n} is no position in a page");
    n as u16
}

/// One slot, taken apart.
#[derive(Clone, Copy)]
pub(crate) struct Slot(pub(crate) u64);

impl Slot {
    #[inline]
    pub(crate) fn new(head: u64, kind: ValueKind, offset: usize) -> Slot {
        Slot(head & HEAD_MASK | u64::from(kind as u8) << KIND_SHIFT | offset as u64 & OFFSET_MASK)
    }

    #[inline]
    pub(crate) fn head(self) -> u64 {
        self.0 & HEAD_MASK
    }

    #[inline]
    pub(crate) fn offset(self) -> usize {
        usize::from(to_u16_masked(self.0 & OFFSET_MASK))
    }

    /// Whether the value is in a run of pages.
    #[inline]
    pub(crate) fn is_overflow(self) -> bool {
        self.0 >> KIND_SHIFT & 1 == 1
    }

    #[inline]
    pub(crate) fn value_kind(self) -> ValueKind {
        if self.is_overflow() {
            ValueKind::Overflow
        } else {
            ValueKind::Inline
        }
    }

    /// Bits that no writer sets.
    pub(crate) fn reserved_bits(self) -> u64 {
        self.0 & (1 << 13 | 1 << 15)
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the caller masked 13 bits")]
fn to_u16_masked(n: u64) -> u16 {
    n as u16
}

/// One entry's heap bytes, taken apart.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) suffix_len: usize,
    /// Suffix from byte 6.
    pub(crate) rest: &'a [u8],
    /// As stored: an [`OverflowRef`] when the slot says so.
    pub(crate) stored: &'a [u8],
}

impl Entry<'_> {
    /// Heap bytes it takes.
    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        ENTRY_HEADER_BYTES + self.rest.len() + self.stored.len()
    }
}

/// Suffix length and value length from an entry's first 3 bytes, which are the low ones.
#[inline]
pub(crate) fn decode_entry_header(word: u32) -> (usize, usize) {
    ((word & 0x7FF) as usize, (word >> 11 & 0x1FFF) as usize)
}

/// The 3 bytes before an entry's suffix.
#[inline]
pub(crate) fn encode_entry_header(suffix_len: usize, stored_len: usize) -> [u8; 3] {
    debug_assert!(suffix_len <= KEY_BYTES_MAX && stored_len < PAGE_BYTES);
    let word = u32::from(to_u16(suffix_len)) | u32::from(to_u16(stored_len)) << 11;
    let [a, b, c, _] = word.to_le_bytes();
    [a, b, c]
}

/// Where a long value is: 12 bytes in place of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverflowRef {
    pub(crate) page: PageNumber,
    pub(crate) len_bytes: u32,
}

impl OverflowRef {
    pub(crate) const BYTES: usize = 12;

    pub(crate) fn decode(stored: &[u8]) -> Option<OverflowRef> {
        let (page, len) = stored.split_first_chunk::<8>()?;
        Some(OverflowRef {
            page: PageNumber(u64::from_le_bytes(*page)),
            len_bytes: u32::from_le_bytes(len.try_into().ok()?),
        })
    }

    pub(crate) fn encode(self) -> [u8; OverflowRef::BYTES] {
        let mut stored = [0; OverflowRef::BYTES];
        stored[..8].copy_from_slice(&self.page.0.to_le_bytes());
        stored[8..].copy_from_slice(&self.len_bytes.to_le_bytes());
        stored
    }
}

#[inline]
fn u16_at(bytes: &[u8; PAGE_BYTES], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

/// Bytes of a prefix that lie at the end of the page.
#[inline]
pub(crate) fn prefix_tail_len(prefix_len: usize) -> usize {
    prefix_len.saturating_sub(PREFIX_LINE_BYTES)
}

/// A branch or leaf page, to read.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    bytes: &'a [u8; PAGE_BYTES],
    slots: &'a [U64],
    prefix_len: usize,
}

impl<'a> Node<'a> {
    /// Sees a leaf page.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when the page is of another kind.
    #[inline]
    pub(crate) fn leaf(page: &'a Page) -> Result<Node<'a>, StorageError> {
        if page.bytes()[KIND_AT] == PageKind::Leaf as u8 {
            Ok(Node::of(page))
        } else {
            Err(wrong_kind(page, "a leaf"))
        }
    }

    /// Sees a branch page with at least one child.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when the page is of another kind.
    #[inline]
    pub(crate) fn branch(page: &'a Page) -> Result<Node<'a>, StorageError> {
        if page.bytes()[KIND_AT] == PageKind::Branch as u8 {
            Ok(Node::of(page))
        } else {
            Err(wrong_kind(page, "a branch"))
        }
    }

    /// Sees the topmost page of a tree of `levels` levels.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when the page is of another kind.
    #[inline]
    pub(crate) fn at_level(page: &'a Page, levels: usize) -> Result<Node<'a>, StorageError> {
        if levels > 1 {
            Node::branch(page)
        } else {
            Node::leaf(page)
        }
    }

    /// Sees a validated page known to be a branch or a leaf.
    #[inline]
    pub(crate) fn of(page: &'a Page) -> Node<'a> {
        let bytes = page.bytes();
        let (lower, prefix_len) = (u16_at(bytes, LOWER_AT), u16_at(bytes, PREFIX_LEN_AT));
        let slots = &bytes[NODE_HEADER_BYTES..lower];
        let slots = <[U64]>::ref_from_bytes(slots).expect("validated: slots are whole words");
        Node {
            bytes,
            slots,
            prefix_len,
        }
    }

    #[inline]
    pub(crate) fn is_branch(&self) -> bool {
        self.bytes[KIND_AT] == PageKind::Branch as u8
    }

    /// Whether the values of this branch hold counts.
    #[inline]
    pub(crate) fn is_counted(&self) -> bool {
        self.flags() & BRANCH_COUNTED != 0
    }

    #[inline]
    pub(crate) fn flags(&self) -> u8 {
        self.bytes[FLAGS_AT]
    }

    /// Number of entries.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(crate) fn prefix_len(&self) -> usize {
        self.prefix_len
    }

    /// The prefix: what is in the first line, and what is at the end of the page.
    #[inline]
    pub(crate) fn prefix(&self) -> (&'a [u8], &'a [u8]) {
        let in_line = self.prefix_len.min(PREFIX_LINE_BYTES);
        (
            &self.bytes[PREFIX_AT..][..in_line],
            &self.bytes[self.heap_end()..],
        )
    }

    /// Whether `key` starts with the prefix.
    #[inline]
    pub(crate) fn has_prefix_of(&self, key: &SearchKey<'_>) -> bool {
        let (line, tail) = self.prefix_area();
        key.has_prefix(line, tail, self.prefix_len)
    }

    #[inline]
    fn prefix_area(&self) -> (&'a [u8; PREFIX_LINE_BYTES], &'a [u8]) {
        let line = self.bytes[PREFIX_AT..].first_chunk();
        (
            line.expect("a page is longer than a line"),
            &self.bytes[self.heap_end()..],
        )
    }

    /// Where entries end.
    #[inline]
    pub(crate) fn heap_end(&self) -> usize {
        PAGE_BYTES - prefix_tail_len(self.prefix_len)
    }

    #[inline]
    pub(crate) fn slot(&self, slot: usize) -> Slot {
        Slot(self.slots[slot].get())
    }

    #[inline]
    pub(crate) fn entry(&self, slot: Slot) -> Entry<'a> {
        // Slots and header lie before every entry, so one byte too many can be read in front.
        let word = self.bytes[slot.offset() - 1..].first_chunk::<4>();
        let word = u32::from_le_bytes(*word.expect("validated: entries lie inside the page")) >> 8;
        let (suffix_len, stored_len) = decode_entry_header(word);
        let rest_at = slot.offset() + ENTRY_HEADER_BYTES;
        let value_at = rest_at + suffix_len.saturating_sub(HEAD_BYTES);
        Entry {
            suffix_len,
            rest: &self.bytes[rest_at..value_at],
            stored: &self.bytes[value_at..value_at + stored_len],
        }
    }

    /// Bytes of the heap.
    #[inline]
    pub(crate) fn heap_from(&self, offset: usize, len: usize) -> &'a [u8] {
        &self.bytes[offset..][..len]
    }

    /// The key of an entry. Meaningless for slot 0 of a branch.
    #[inline]
    pub(crate) fn key(&self, slot: usize) -> Key<'a> {
        let slot = self.slot(slot);
        let entry = self.entry(slot);
        let (prefix, prefix_tail) = self.prefix();
        Key {
            prefix,
            prefix_tail,
            head: slot.head().to_be_bytes(),
            head_len: entry.suffix_len.min(HEAD_BYTES),
            rest: entry.rest,
        }
    }

    /// The child of a branch entry.
    #[inline]
    pub(crate) fn child(&self, slot: usize) -> PageNumber {
        let stored = self.entry(self.slot(slot)).stored;
        let bytes = stored
            .first_chunk::<8>()
            .expect("validated: branch values have 8 bytes or more");
        PageNumber(u64::from_le_bytes(*bytes))
    }

    /// The entry of `key` in a leaf.
    #[inline]
    pub(crate) fn find(&self, key: &SearchKey<'_>) -> Option<(Slot, Entry<'a>)> {
        if !self.has_prefix_of(key) {
            return None;
        }
        let head = key.head(self.prefix_len);
        let at = count_less(self.slots, head);
        let slot = Slot(self.slots.get(at)?.get());
        if slot.head() != head {
            return None;
        }
        let suffix = key.suffix(self.prefix_len);
        let entry = self.entry(slot);
        if entry.suffix_len == suffix.len() && same_bytes(entry.rest, rest_of(suffix)) {
            return Some((slot, entry));
        }
        let slot = self.slot(self.search_ties(at, head, suffix).ok()?);
        Some((slot, self.entry(slot)))
    }

    /// Position of `key` in a leaf, or where it would go.
    #[inline]
    pub(crate) fn search(&self, key: &SearchKey<'_>) -> Result<usize, usize> {
        self.search_from(0, key)
    }

    /// As `search`, with a look at the last key first when the last insert went behind it.
    #[inline]
    pub(crate) fn search_ascending(&self, key: &SearchKey<'_>) -> Result<usize, usize> {
        let count = self.count();
        if count > 0 && self.next_slot() == count && self.is_behind_last(key) {
            return Err(count);
        }
        self.search(key)
    }

    /// Whether all keys are less than `key`.
    #[inline]
    fn is_behind_last(&self, key: &SearchKey<'_>) -> bool {
        if !self.has_prefix_of(key) {
            return false;
        }
        let (last, head) = (self.slot(self.count() - 1), key.head(self.prefix_len));
        last.head() < head
            || last.head() == head && self.compare_tie(last, key.suffix(self.prefix_len)).is_lt()
    }

    /// Slot of the child of a branch that covers `key`.
    #[inline]
    pub(crate) fn child_slot(&self, key: &SearchKey<'_>) -> usize {
        match self.search_from(1, key) {
            Ok(slot) => slot,
            Err(slot) => slot - 1,
        }
    }

    /// Position of `key` among the slots from `first` on.
    #[inline]
    fn search_from(&self, first: usize, key: &SearchKey<'_>) -> Result<usize, usize> {
        if !self.has_prefix_of(key) {
            let (line, tail) = self.prefix_area();
            let is_less = key.compare_prefix(line, tail, self.prefix_len).is_lt();
            return Err(if is_less { first } else { self.count() });
        }
        let head = key.head(self.prefix_len);
        let at = count_less(self.slots, head).max(first);
        match self.slots.get(at) {
            Some(slot) if Slot(slot.get()).head() == head => {
                self.search_ties(at, head, key.suffix(self.prefix_len))
            }
            _ => Err(at),
        }
    }

    /// Binary search among the slots from `low` on whose head, like that of `suffix`, is `head`.
    fn search_ties(&self, mut low: usize, head: u64, suffix: &[u8]) -> Result<usize, usize> {
        let mut high = low + 1;
        if self
            .slots
            .get(high)
            .is_some_and(|slot| Slot(slot.get()).head() == head)
        {
            let next = head.checked_add(!HEAD_MASK + 1);
            high = next.map_or(self.count(), |next| count_less(self.slots, next));
        }
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.compare_tie(self.slot(middle), suffix) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Order of an entry relative to a suffix that has the same head.
    #[inline]
    fn compare_tie(&self, slot: Slot, suffix: &[u8]) -> Ordering {
        let entry = self.entry(slot);
        // When a rest is empty its suffix is a prefix of the other but for zero padding, so the
        // shorter one is less.
        compare_bytes(entry.rest, rest_of(suffix)).then(entry.suffix_len.cmp(&suffix.len()))
    }

    /// Bytes of slots, live entries and the end of a long prefix.
    #[inline]
    pub(crate) fn used_bytes(&self) -> usize {
        let (lower, upper, dead) = (self.lower(), self.upper(), self.dead_bytes());
        (lower + PAGE_BYTES).saturating_sub(upper + dead + NODE_HEADER_BYTES)
    }

    #[inline]
    pub(crate) fn lower(&self) -> usize {
        NODE_HEADER_BYTES + SLOT_BYTES * self.slots.len()
    }

    #[inline]
    pub(crate) fn upper(&self) -> usize {
        u16_at(self.bytes, UPPER_AT)
    }

    /// Heap bytes that belong to no entry.
    #[inline]
    pub(crate) fn dead_bytes(&self) -> usize {
        u16_at(self.bytes, DEAD_AT)
    }

    /// The slot behind the last insert: an insert there continues a run.
    #[inline]
    pub(crate) fn next_slot(&self) -> usize {
        u16_at(self.bytes, NEXT_SLOT_AT)
    }

    /// How many inserts in a row went right behind the one before.
    #[inline]
    pub(crate) fn run(&self) -> usize {
        u16_at(self.bytes, RUN_AT)
    }

    /// Whether an insert at `at` continues a run of ascending inserts.
    #[inline]
    pub(crate) fn is_run(&self, at: usize) -> bool {
        self.next_slot() == at && self.run() >= ASCENDING_RUN_MIN
    }

    /// First slot whose key means something.
    #[inline]
    pub(crate) fn first_key_slot(&self) -> usize {
        usize::from(self.is_branch())
    }
}

#[cold]
fn wrong_kind(page: &Page, expected: &'static str) -> StorageError {
    let actual = page.header().kind;
    StorageError::corrupt_page(page.number(), DamageKind::PageKind { expected, actual })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_headers_hold_all_lengths() {
        for (suffix, value) in [(0, 0), (1, 2), (KEY_BYTES_MAX, INLINE_VALUE_BYTES_MAX)] {
            let [a, b, c] = encode_entry_header(suffix, value);
            assert_eq!(
                decode_entry_header(u32::from_le_bytes([a, b, c, 9])),
                (suffix, value)
            );
        }
    }
}
