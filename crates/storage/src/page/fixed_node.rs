//! Branch and leaf pages of fixed trees: an array of keys and an array of values.
//!
//! Fixed trees read through [`FixedNode`] and change through [`FixedNodeMut`].
//! Bytes: docs/format.md, fixed branch and fixed leaf pages.
//!
//! ```text
//! header 32 (lower = value width, aux = count) | 0 u16, next_slot u16, run u16 | zeros up to 64
//! keys [u64; capacity] | values [[u8; width]; capacity]      capacity = 8128 / (8 + width)
//! ```
//!
//! Invariants:
//! - Keys ascend strictly. The arrays have fixed places, so an append touches one slot of each.
//! - The values of a branch are page numbers. Its key 0 is 0 and counts as less than every key.

use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

use crate::error::{DamageKind, StorageError};
use crate::page::node::{
    ASCENDING_RUN_MIN, KIND_AT, NEXT_SLOT_AT, NODE_CAPACITY, NODE_HEADER_BYTES, RUN_AT, to_u16,
};
use crate::page::search::count_less;
use crate::page::{PAGE_BYTES, Page, PageKind, PageNumber};

/// Widest value of a fixed tree: 15 of them fit a leaf.
pub const FIXED_VALUE_BYTES_MAX: usize = 512;

const KEY_BYTES: usize = size_of::<u64>();

/// Entries that fit a page.
#[inline]
pub(crate) fn capacity(width: usize) -> usize {
    NODE_CAPACITY / (KEY_BYTES + width)
}

#[inline]
fn values_at(width: usize) -> usize {
    NODE_HEADER_BYTES + KEY_BYTES * capacity(width)
}

/// A branch or leaf page of a fixed tree, to read.
#[derive(Clone, Copy)]
pub(crate) struct FixedNode<'a> {
    bytes: &'a [u8; PAGE_BYTES],
    keys: &'a [U64],
    width: usize,
}

impl<'a> FixedNode<'a> {
    /// Sees a leaf page.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when the page is of another kind.
    #[inline]
    pub(crate) fn leaf(page: &'a Page) -> Result<FixedNode<'a>, StorageError> {
        FixedNode::of_kind(page, PageKind::FixedLeaf, "a fixed leaf")
    }

    /// Sees a branch page with at least one child.
    ///
    /// # Errors
    /// As for `leaf`.
    #[inline]
    pub(crate) fn branch(page: &'a Page) -> Result<FixedNode<'a>, StorageError> {
        FixedNode::of_kind(page, PageKind::FixedBranch, "a fixed branch")
    }

    /// Sees the topmost page of a tree of `levels` levels.
    ///
    /// # Errors
    /// As for `leaf`.
    #[inline]
    pub(crate) fn at_level(page: &'a Page, levels: usize) -> Result<FixedNode<'a>, StorageError> {
        if levels > 1 {
            FixedNode::branch(page)
        } else {
            FixedNode::leaf(page)
        }
    }

    #[inline]
    fn of_kind(
        page: &'a Page,
        kind: PageKind,
        expected: &'static str,
    ) -> Result<FixedNode<'a>, StorageError> {
        let actual = page.header().kind;
        if actual == kind as u8 {
            return Ok(FixedNode::of(page));
        }
        let what = DamageKind::PageKind { expected, actual };
        Err(StorageError::corrupt_page(page.number(), what))
    }

    /// Sees a validated page known to be of a fixed tree.
    #[inline]
    pub(crate) fn of(page: &'a Page) -> FixedNode<'a> {
        let header = page.header();
        let width = usize::from(header.lower.get());
        let bytes = page.bytes();
        let keys = &bytes[NODE_HEADER_BYTES..][..KEY_BYTES * usize::from(header.aux.get())];
        let keys = <[U64]>::ref_from_bytes(keys).expect("whole words");
        FixedNode { bytes, keys, width }
    }

    #[inline]
    pub(crate) fn is_branch(&self) -> bool {
        self.bytes[KIND_AT] == PageKind::FixedBranch as u8
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.keys.len()
    }

    #[inline]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    #[inline]
    pub(crate) fn key(&self, slot: usize) -> u64 {
        self.keys[slot].get()
    }

    #[inline]
    pub(crate) fn value(&self, slot: usize) -> &'a [u8] {
        &self.bytes[values_at(self.width) + self.width * slot..][..self.width]
    }

    /// The child of a branch entry.
    #[inline]
    pub(crate) fn child(&self, slot: usize) -> PageNumber {
        let bytes = self.value(slot).first_chunk::<8>();
        PageNumber(u64::from_le_bytes(
            *bytes.expect("validated: branch values are 8 bytes"),
        ))
    }

    /// Position of `key` in a leaf, or where it would go.
    #[inline]
    pub(crate) fn search(&self, key: u64) -> Result<usize, usize> {
        let at = lower_bound(self.keys, key);
        if self.keys.get(at).is_some_and(|found| found.get() == key) {
            Ok(at)
        } else {
            Err(at)
        }
    }

    /// Slot of the child of a branch that covers `key`.
    #[inline]
    pub(crate) fn child_slot(&self, key: u64) -> usize {
        let at = lower_bound(&self.keys[1..], key);
        if self
            .keys
            .get(at + 1)
            .is_some_and(|found| found.get() == key)
        {
            at + 1
        } else {
            at
        }
    }

    /// Whether an insert at `at` continues a run of ascending inserts.
    #[inline]
    pub(crate) fn is_run(&self, at: usize) -> bool {
        self.u16_at(NEXT_SLOT_AT) == at && self.u16_at(RUN_AT) >= ASCENDING_RUN_MIN
    }

    #[inline]
    fn u16_at(&self, at: usize) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]))
    }
}

/// Number of keys less than `key`; a key just behind the last is found at once.
#[inline]
fn lower_bound(keys: &[U64], key: u64) -> usize {
    if keys.last().is_none_or(|last| last.get() < key) {
        return keys.len();
    }
    count_less(keys, key)
}

/// A branch or leaf page of a fixed tree, to change.
pub(crate) struct FixedNodeMut<'a> {
    page: &'a mut Page,
}

impl<'a> FixedNodeMut<'a> {
    /// Sees a page that was seen as a [`FixedNode`] before.
    #[inline]
    pub(crate) fn of(page: &'a mut Page) -> FixedNodeMut<'a> {
        FixedNodeMut { page }
    }

    /// Sees a leaf page with values of `width` bytes.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when the page is another.
    #[inline]
    pub(crate) fn leaf(page: &'a mut Page, width: usize) -> Result<FixedNodeMut<'a>, StorageError> {
        let actual = FixedNode::leaf(page)?.width;
        if actual == width {
            return Ok(FixedNodeMut { page });
        }
        let what = DamageKind::Layout {
            field: "value width",
            actual: actual as u64,
        };
        Err(StorageError::corrupt_page(page.number(), what))
    }

    /// Makes an empty node of a page.
    pub(crate) fn create(page: &'a mut Page, kind: PageKind, width: usize) -> FixedNodeMut<'a> {
        let header = page.header_mut();
        header.kind = kind as u8;
        header.flags = 0;
        header.lower.set(to_u16(width));
        header.upper.set(0);
        header.aux.set(0);
        let mut node = FixedNodeMut { page };
        node.set_run(0, 0);
        node
    }

    /// The page, to read.
    #[inline]
    pub(crate) fn node(&self) -> FixedNode<'_> {
        FixedNode::of(self.page)
    }

    /// Remembers that an ascending run goes on at the front of this new page.
    pub(crate) fn continue_run(&mut self) {
        self.set_run(0, ASCENDING_RUN_MIN);
    }

    /// Adds an entry at slot `at` and gives the place of its value; `None` when the page is full.
    #[inline]
    pub(crate) fn insert(&mut self, at: usize, key: u64) -> Option<&mut [u8]> {
        let node = self.node();
        let (count, width) = (node.count(), node.width);
        if count >= capacity(width) {
            return None;
        }
        let run = if node.u16_at(NEXT_SLOT_AT) == at {
            node.u16_at(RUN_AT) + 1
        } else {
            1
        };
        self.set_run(at + 1, run);
        self.set_count(count + 1);
        let bytes = self.page.bytes_mut();
        let key_at = NODE_HEADER_BYTES + KEY_BYTES * at;
        let keys_end = NODE_HEADER_BYTES + KEY_BYTES * count;
        bytes.copy_within(key_at..keys_end, key_at + KEY_BYTES);
        bytes[key_at..][..KEY_BYTES].copy_from_slice(&key.to_le_bytes());
        let value_at = values_at(width) + width * at;
        bytes.copy_within(value_at..values_at(width) + width * count, value_at + width);
        Some(&mut bytes[value_at..][..width])
    }

    /// Adds a child at slot `at`; false when the page is full.
    pub(crate) fn insert_child(&mut self, at: usize, key: u64, child: PageNumber) -> bool {
        let place = self.insert(at, key);
        place
            .map(|place| place.copy_from_slice(&child.0.to_le_bytes()))
            .is_some()
    }

    /// The value at `slot`, to change.
    #[inline]
    pub(crate) fn value_mut(&mut self, slot: usize) -> &mut [u8] {
        let width = self.node().width;
        &mut self.page.bytes_mut()[values_at(width) + width * slot..][..width]
    }

    /// Adds the entries `from..to` of another node of the same width behind the own ones.
    ///
    /// `separator` is the key that slot 0 of a branch gets behind own entries.
    pub(crate) fn push_all(
        &mut self,
        source: &FixedNode<'_>,
        from: usize,
        to: usize,
        separator: u64,
    ) {
        let (count, width) = (self.node().count(), source.width);
        let added = to - from;
        self.set_count(count + added);
        let bytes = self.page.bytes_mut();
        let key_at = |slot| NODE_HEADER_BYTES + KEY_BYTES * slot;
        let value_at = |slot| values_at(width) + width * slot;
        bytes[key_at(count)..key_at(count + added)]
            .copy_from_slice(&source.bytes[key_at(from)..key_at(to)]);
        bytes[value_at(count)..value_at(count + added)]
            .copy_from_slice(&source.bytes[value_at(from)..value_at(to)]);
        if source.is_branch() && added > 0 && count == 0 {
            self.set_key(0, 0);
        } else if source.is_branch() && added > 0 && from == 0 {
            self.set_key(count, separator);
        }
    }

    /// Removes the entries `from..to`; the first child left in a branch gets key 0.
    pub(crate) fn remove(&mut self, from: usize, to: usize) {
        let node = self.node();
        let (count, width, is_branch) = (node.count(), node.width, node.is_branch());
        let bytes = self.page.bytes_mut();
        let key_at = |slot| NODE_HEADER_BYTES + KEY_BYTES * slot;
        let value_at = |slot| values_at(width) + width * slot;
        bytes.copy_within(key_at(to)..key_at(count), key_at(from));
        bytes.copy_within(value_at(to)..value_at(count), value_at(from));
        self.set_count(count - (to - from));
        if is_branch && from == 0 && to < count {
            self.set_key(0, 0);
        }
    }

    fn set_key(&mut self, slot: usize, key: u64) {
        let key_at = NODE_HEADER_BYTES + KEY_BYTES * slot;
        self.page.bytes_mut()[key_at..][..KEY_BYTES].copy_from_slice(&key.to_le_bytes());
    }

    #[inline]
    fn set_count(&mut self, count: usize) {
        self.page.header_mut().aux.set(to_u16(count));
    }

    #[inline]
    fn set_run(&mut self, next_slot: usize, run: usize) {
        let bytes = self.page.bytes_mut();
        bytes[NEXT_SLOT_AT..][..2].copy_from_slice(&to_u16(next_slot).to_le_bytes());
        let run = to_u16(run.min(usize::from(u16::MAX)));
        bytes[RUN_AT..][..2].copy_from_slice(&run.to_le_bytes());
    }
}

/// Checks what the code above assumes of a page's bytes.
pub(crate) fn validate_fixed(page: &Page) -> Result<(), DamageKind> {
    let header = page.header();
    let is_branch = header.kind == PageKind::FixedBranch as u8;
    let (width, count) = (
        usize::from(header.lower.get()),
        usize::from(header.aux.get()),
    );
    let layout = |field, actual: usize| {
        Err(DamageKind::Layout {
            field,
            actual: actual as u64,
        })
    };
    if width > FIXED_VALUE_BYTES_MAX || is_branch && width != size_of::<u64>() {
        return layout("value width", width);
    }
    if count > capacity(width) || count == 0 {
        return layout("number of entries", count);
    }
    let node = FixedNode::of(page);
    if is_branch && node.key(0) != 0 {
        return Err(DamageKind::KeyOrder { slot: 0 });
    }
    let first = usize::from(is_branch);
    match (first + 1..count).find(|&slot| node.key(slot - 1) >= node.key(slot)) {
        Some(slot) => Err(DamageKind::KeyOrder { slot }),
        None => Ok(()),
    }
}
