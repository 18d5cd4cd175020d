//! Branch and leaf pages, read: sorted slots over a heap of entries.
//!
//! Trees search and decode through [`Node`]; `node_mut` changes the same bytes.
//! Bytes: docs/format.md, branch and leaf pages.
//!
//! ```text
//! header 32 | dead u16, last_slot u16, run u16, 0 u16 | prefix, padded to 8 | slots [u64] ->  ...  <- entries
//! slot  = first 6 suffix bytes, big-endian, zero padded (48 bits) | value kind (2) | 0 (1) | offset of entry (13)
//! entry = suffix length (11 bits), value length (13 bits): 3 bytes | suffix from byte 6 | value
//! ```
//!
//! Invariants:
//! - A key is the page's prefix and the entry's suffix. Slots ascend strictly by key.
//! - The value of a branch entry is a child's page number. Slot 0 of a branch has an empty suffix
//!   that counts as less than every key.
//! - Order of slots as plain numbers never contradicts the order of keys, so most searches touch
//!   no entry but the one they end at.

use std::cmp::Ordering;

use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

use crate::error::{DamageKind, StorageError};
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

/// Header of the page and the word of counters behind it.
pub(crate) const NODE_HEADER_BYTES: usize = PAGE_HEADER_BYTES + 8;

/// Bytes of a slot.
pub(crate) const SLOT_BYTES: usize = 8;

/// Bytes before an entry's suffix.
pub(crate) const ENTRY_HEADER_BYTES: usize = 3;

/// Suffix bytes held in the slot.
pub(crate) const HEAD_BYTES: usize = 6;

/// Bytes that prefix, slots and entries may fill.
pub(crate) const NODE_CAPACITY: usize = PAGE_BYTES - NODE_HEADER_BYTES;

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

/// Length of the prefix area for a prefix of `len` bytes: slots stay aligned to words.
#[inline]
pub(crate) fn padded(len: usize) -> usize {
    (len + 7) & !7
}

/// The part of a suffix that an entry stores.
#[inline]
pub(crate) fn rest_of(suffix: &[u8]) -> &[u8] {
    suffix.get(HEAD_BYTES..).unwrap_or(&[])
}

/// First 6 bytes of a suffix as the high 48 bits of a number.
#[inline]
pub(crate) fn head_of(suffix: &[u8]) -> u64 {
    if let Some(first) = suffix.first_chunk::<8>() {
        return u64::from_be_bytes(*first) & HEAD_MASK;
    }
    let mut head = 0;
    for &byte in suffix {
        head = head << 8 | u64::from(byte);
    }
    // At most 7 bytes: align them left, then drop the seventh.
    (head << 1 << (63 - 8 * suffix.len())) & HEAD_MASK
}

/// Number of leading bytes that `a` and `b` share.
#[inline]
pub(crate) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
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

/// Suffix length and value length from an entry's first 3 bytes.
#[inline]
pub(crate) fn decode_entry_header(bytes: [u8; ENTRY_HEADER_BYTES]) -> (usize, usize) {
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
    ((word & 0x7FF) as usize, (word >> 11) as usize)
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

/// A key inside a page: three pieces, put together only on demand.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    prefix: &'a [u8],
    head: [u8; 8],
    head_len: usize,
    rest: &'a [u8],
}

impl<'a> Key<'a> {
    /// A key that is one piece already.
    pub(crate) fn whole(bytes: &'a [u8]) -> Key<'a> {
        Key {
            prefix: &[],
            head: [0; 8],
            head_len: 0,
            rest: bytes,
        }
    }

    /// Length in bytes.
    #[inline]
    #[expect(
        clippy::len_without_is_empty,
        reason = "an empty key is a key like any other"
    )]
    pub fn len(&self) -> usize {
        self.prefix.len() + self.head_len + self.rest.len()
    }

    /// Replaces the content of `buffer` by the key.
    #[inline]
    pub fn copy_to(&self, buffer: &mut Vec<u8>) {
        buffer.clear();
        buffer.extend_from_slice(self.prefix);
        buffer.extend_from_slice(self.head());
        buffer.extend_from_slice(self.rest);
    }

    /// The key as one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.len());
        self.copy_to(&mut key);
        key
    }

    #[inline]
    fn head(&self) -> &[u8] {
        &self.head[..self.head_len]
    }

    /// Order relative to `other`.
    #[inline]
    pub fn compare(&self, other: &[u8]) -> Ordering {
        let mut other = other;
        for piece in [self.prefix, self.head(), self.rest] {
            let (same, left) = other.split_at(piece.len().min(other.len()));
            match piece.cmp(same) {
                Ordering::Equal => other = left,
                different => return different,
            }
        }
        if other.is_empty() {
            Ordering::Equal
        } else {
            Ordering::Less
        }
    }
}

impl std::fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.to_vec().escape_ascii())
    }
}

impl PartialEq<[u8]> for Key<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        self.compare(other).is_eq()
    }
}

/// A branch or leaf page, to read.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    bytes: &'a [u8; PAGE_BYTES],
    prefix: &'a [u8],
    slots: &'a [U64],
}

impl<'a> Node<'a> {
    /// Sees a leaf page.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when the page is of another kind.
    #[inline]
    pub(crate) fn leaf(page: &'a Page) -> Result<Node<'a>, StorageError> {
        if page.header().kind == PageKind::Leaf as u8 {
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
        if page.header().kind == PageKind::Branch as u8 {
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
        let header = page.header();
        let prefix_len = usize::from(header.aux.get());
        let bytes = page.bytes();
        let slots_at = NODE_HEADER_BYTES + padded(prefix_len);
        let slots = &bytes[slots_at..usize::from(header.lower.get())];
        let slots = <[U64]>::ref_from_bytes(slots).expect("validated: slots are whole words");
        Node {
            bytes,
            prefix: &bytes[NODE_HEADER_BYTES..][..prefix_len],
            slots,
        }
    }

    #[inline]
    pub(crate) fn is_branch(&self) -> bool {
        self.bytes[24] == PageKind::Branch as u8
    }

    /// Number of entries.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(crate) fn prefix(&self) -> &'a [u8] {
        self.prefix
    }

    #[inline]
    pub(crate) fn slot(&self, slot: usize) -> Slot {
        Slot(self.slots[slot].get())
    }

    #[inline]
    pub(crate) fn entry(&self, slot: Slot) -> Entry<'a> {
        let (header, tail) = self.bytes[slot.offset()..]
            .split_first_chunk::<ENTRY_HEADER_BYTES>()
            .expect("validated: entries lie inside the page");
        let (suffix_len, stored_len) = decode_entry_header(*header);
        let (rest, tail) = tail.split_at(suffix_len.saturating_sub(HEAD_BYTES));
        Entry {
            suffix_len,
            rest,
            stored: &tail[..stored_len],
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
        Key {
            prefix: self.prefix,
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
            .expect("validated: branch values are 8 bytes");
        PageNumber(u64::from_le_bytes(*bytes))
    }

    /// Position of `key` in a leaf, or where it would go.
    #[inline]
    pub(crate) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        self.search_from(0, key)
    }

    /// As `search`, with a look at the last key first when the last insert went behind it.
    #[inline]
    pub(crate) fn search_ascending(&self, key: &[u8]) -> Result<usize, usize> {
        let count = self.count();
        if usize::from(self.last_slot()) + 1 == count && self.key(count - 1).compare(key).is_lt() {
            return Err(count);
        }
        self.search(key)
    }

    /// Slot of the child of a branch that covers `key`.
    #[inline]
    pub(crate) fn child_slot(&self, key: &[u8]) -> usize {
        match self.search_from(1, key) {
            Ok(slot) => slot,
            Err(slot) => slot - 1,
        }
    }

    /// Position of `key` among the slots from `first` on.
    #[inline]
    fn search_from(&self, first: usize, key: &[u8]) -> Result<usize, usize> {
        let Some(suffix) = self.strip_prefix(key) else {
            return Err(if key < self.prefix {
                first
            } else {
                self.count()
            });
        };
        let head = head_of(suffix);
        let slots = &self.slots[first..];
        let at = lower_bound(slots, head);
        let ties = slots[at..]
            .iter()
            .take_while(|slot| Slot(slot.get()).head() == head)
            .count();
        self.search_ties(first + at, ties, suffix)
    }

    #[inline]
    fn strip_prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        key.strip_prefix(self.prefix)
    }

    /// Binary search among `count` slots from `first` on whose heads all equal that of `suffix`.
    #[inline]
    fn search_ties(&self, first: usize, count: usize, suffix: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (first, first + count);
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.compare_tie(middle, suffix) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Order of an entry relative to a suffix that has the same head.
    #[inline]
    fn compare_tie(&self, slot: usize, suffix: &[u8]) -> Ordering {
        let entry = self.entry(self.slot(slot));
        // When a rest is empty its suffix is a prefix of the other but for zero padding, so the
        // shorter one is less.
        entry
            .rest
            .cmp(rest_of(suffix))
            .then(entry.suffix_len.cmp(&suffix.len()))
    }

    /// Bytes of prefix, slots and live entries.
    #[inline]
    pub(crate) fn used_bytes(&self) -> usize {
        let (lower, upper, dead) = (self.lower(), self.upper(), self.dead_bytes());
        (lower + PAGE_BYTES).saturating_sub(upper + dead + NODE_HEADER_BYTES)
    }

    #[inline]
    pub(crate) fn lower(&self) -> usize {
        NODE_HEADER_BYTES + padded(self.prefix.len()) + SLOT_BYTES * self.slots.len()
    }

    #[inline]
    pub(crate) fn upper(&self) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[28], self.bytes[29]]))
    }

    /// Heap bytes that belong to no entry.
    #[inline]
    pub(crate) fn dead_bytes(&self) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[32], self.bytes[33]]))
    }

    /// Where the last insert went.
    #[inline]
    pub(crate) fn last_slot(&self) -> u16 {
        u16::from_le_bytes([self.bytes[34], self.bytes[35]])
    }

    /// How many inserts in a row went right behind the one before.
    #[inline]
    pub(crate) fn run(&self) -> u16 {
        u16::from_le_bytes([self.bytes[36], self.bytes[37]])
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

/// Number of slots less than `head`.
///
/// Halves without branches down to a few slots, then counts those: a mispredicted branch would
/// cost more than the comparisons it saves.
#[inline]
fn lower_bound(slots: &[U64], head: u64) -> usize {
    let mut window = slots;
    let mut base = 0;
    while window.len() > 8 {
        let half = window.len() / 2;
        let (left, right) = window.split_at(half);
        let skip = left[half - 1].get() < head;
        base += if skip { half } else { 0 };
        window = if skip {
            right
        } else {
            &window[..window.len() - half]
        };
    }
    base + window.iter().filter(|slot| slot.get() < head).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_order_like_keys() {
        let mut keys: Vec<&[u8]> = vec![
            b"", b"\0", b"\0\0", b"a", b"a\0", b"abcdef", b"abcdefg", b"abcdeg", b"\xff",
        ];
        keys.sort_unstable();
        for pair in keys.windows(2) {
            assert!(head_of(pair[0]) <= head_of(pair[1]), "{pair:?}");
        }
        assert_eq!(head_of(b"abcdef"), u64::from_be_bytes(*b"abcdef\0\0"));
        assert_eq!(head_of(b"abcdefg"), u64::from_be_bytes(*b"abcdef\0\0"));
        assert_eq!(head_of(b"abcdefgh"), u64::from_be_bytes(*b"abcdef\0\0"));
        assert_eq!(head_of(b"a"), u64::from_be_bytes(*b"a\0\0\0\0\0\0\0"));
    }

    #[test]
    fn entry_headers_hold_all_lengths() {
        for (suffix, value) in [(0, 0), (1, 2), (KEY_BYTES_MAX, INLINE_VALUE_BYTES_MAX)] {
            assert_eq!(
                decode_entry_header(encode_entry_header(suffix, value)),
                (suffix, value)
            );
        }
    }

    #[test]
    fn lower_bound_counts_smaller_slots() {
        for count in 0..70_u64 {
            let slots: Vec<U64> = (0..count).map(|n| U64::new(n * 2)).collect();
            for needle in 0..count * 2 + 2 {
                let expected = slots.iter().filter(|slot| slot.get() < needle).count();
                assert_eq!(lower_bound(&slots, needle), expected, "{count} {needle}");
            }
        }
    }

    #[test]
    fn keys_compare_piece_by_piece() {
        let key = Key {
            prefix: b"us",
            head: *b"ers/1-\0\0",
            head_len: 6,
            rest: b"A",
        };
        assert_eq!(key.to_vec(), b"users/1-A");
        for (other, order) in [
            (&b"users/1-A"[..], Ordering::Equal),
            (b"users/1-", Ordering::Greater),
            (b"users/1-AB", Ordering::Less),
            (b"u", Ordering::Greater),
            (b"", Ordering::Greater),
            (b"userz", Ordering::Less),
        ] {
            assert_eq!(key.compare(other), order, "{other:?}");
        }
    }
}
