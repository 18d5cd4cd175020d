//! Structural validation: afterwards no decoder panics or loops on the page.
//!
//! The environment calls [`validate`] once for each page it reads from the data file, together
//! with the checksum; `verify` of trees calls it again.
//!
//! Invariants:
//! - Any 8 KiB are accepted as input.
//! - What `node` and `fixed_node` assume ("validated: ...") is checked here, and nowhere else.

use crate::error::{Damage, DamageKind};
use crate::page::counts::{BRANCH_COUNTED, child_bytes};
use crate::page::fixed_node::validate_fixed;
use crate::page::key::HEAD_BYTES;
use crate::page::node::{
    ENTRY_HEADER_BYTES, KEY_BYTES_MAX, NODE_HEADER_BYTES, Node, OverflowRef, SLOT_BYTES, Slot,
    decode_entry_header, is_inline_length, prefix_tail_len,
};
use crate::page::{PAGE_BYTES, Page, PageKind};

/// Checks that the bytes of a page fit its kind.
///
/// The first page of an overflow run can be checked, its other pages cannot: they are all value.
///
/// # Errors
/// The first contradiction found. The page must not be used.
pub fn validate(page: &Page) -> Result<(), Damage> {
    let kind = page.header().kind;
    let result = match PageKind::from_byte(kind) {
        Some(PageKind::Branch | PageKind::Leaf) => validate_node(page),
        Some(PageKind::FixedBranch | PageKind::FixedLeaf) => validate_fixed(page),
        Some(PageKind::Overflow | PageKind::SpaceMap) => Ok(()),
        None => Err(DamageKind::PageKind {
            expected: "a known kind",
            actual: kind,
        }),
    };
    result.map_err(|what| Damage::on_page(page.number(), what))
}

#[cold]
fn layout(field: &'static str, actual: usize) -> DamageKind {
    DamageKind::Layout {
        field,
        actual: actual as u64,
    }
}

fn validate_node(page: &Page) -> Result<(), DamageKind> {
    let header = page.header();
    let is_branch = header.kind == PageKind::Branch as u8;
    let (lower, upper) = (
        usize::from(header.lower.get()),
        usize::from(header.upper.get()),
    );
    let prefix_len = usize::from(header.aux.get());
    if prefix_len > KEY_BYTES_MAX {
        return Err(layout("prefix length", prefix_len));
    }
    if is_branch && header.flags & !BRANCH_COUNTED != 0 {
        return Err(layout("flags of a branch", header.flags.into()));
    }
    let (slots_at, heap_end) = (NODE_HEADER_BYTES, PAGE_BYTES - prefix_tail_len(prefix_len));
    if lower < slots_at || !(lower - slots_at).is_multiple_of(SLOT_BYTES) {
        return Err(layout("end of the slots", lower));
    }
    if upper < lower || upper > heap_end {
        return Err(layout("start of the entries", upper));
    }
    let count = (lower - slots_at) / SLOT_BYTES;
    if count == 0 {
        return Err(layout("number of entries", 0));
    }
    let mut heap_bytes = 0;
    for at in 0..count {
        let slot_at = slots_at + SLOT_BYTES * at;
        let mut word = [0; SLOT_BYTES];
        word.copy_from_slice(&page.bytes()[slot_at..slot_at + SLOT_BYTES]);
        let slot = Slot(u64::from_le_bytes(word));
        heap_bytes += validate_entry(page, slot, upper..heap_end, prefix_len, is_branch)?;
    }
    let node = Node::of(page);
    if heap_bytes + node.dead_bytes() != heap_end - upper {
        return Err(layout("number of dead bytes", node.dead_bytes()));
    }
    validate_order(&node)?;
    validate_heap(&node)
}

/// Checks one entry; gives the heap bytes it takes.
fn validate_entry(
    page: &Page,
    slot: Slot,
    heap: std::ops::Range<usize>,
    prefix_len: usize,
    is_branch: bool,
) -> Result<usize, DamageKind> {
    let offset = slot.offset();
    if slot.reserved_bits() != 0 {
        return Err(layout("reserved bits of a slot", 1));
    }
    let header = page
        .bytes()
        .get(offset..)
        .and_then(|entry| entry.first_chunk());
    let Some(&[a, b, c]) = header.filter(|_| offset >= heap.start) else {
        return Err(layout("offset of an entry", offset));
    };
    let (suffix_len, stored_len) = decode_entry_header(u32::from_le_bytes([a, b, c, 0]));
    if prefix_len + suffix_len > KEY_BYTES_MAX {
        return Err(layout("length of a key", prefix_len + suffix_len));
    }
    let heap_bytes = ENTRY_HEADER_BYTES + suffix_len.saturating_sub(HEAD_BYTES) + stored_len;
    if offset + heap_bytes > heap.end {
        return Err(layout("length of a value", stored_len));
    }
    let expected_len = match (is_branch, slot.is_overflow()) {
        (true, true) => return Err(layout("kind of a child", 1)),
        (true, false) => child_bytes(page.header().flags),
        (false, true) => OverflowRef::BYTES,
        (false, false) if is_inline_length(prefix_len + suffix_len, stored_len) => stored_len,
        (false, false) => return Err(layout("length of a value", stored_len)),
    };
    if stored_len != expected_len {
        return Err(layout("length of a reference", stored_len));
    }
    let padding = slot.head() & (u64::MAX >> (8 * suffix_len.min(HEAD_BYTES)));
    if padding != 0 {
        return Err(layout("padding of a head", suffix_len));
    }
    Ok(heap_bytes)
}

/// Checks that keys ascend strictly, entries do not overlap, and slot 0 of a branch is empty.
fn validate_order(node: &Node<'_>) -> Result<(), DamageKind> {
    let first = node.first_key_slot();
    if node.is_branch() && (node.entry(node.slot(0)).suffix_len, node.slot(0).head()) != (0, 0) {
        return Err(DamageKind::KeyOrder { slot: 0 });
    }
    for at in first + 1..node.count() {
        let (before, slot) = (node.slot(at - 1), node.slot(at));
        let ascends = before.head() < slot.head()
            || before.head() == slot.head() && {
                let (before, entry) = (node.entry(before), node.entry(slot));
                before
                    .rest
                    .cmp(entry.rest)
                    .then(before.suffix_len.cmp(&entry.suffix_len))
                    .is_lt()
            };
        if !ascends {
            return Err(DamageKind::KeyOrder { slot: at });
        }
    }
    Ok(())
}

/// Checks that no two entries share bytes: a change of one must not damage another.
fn validate_heap(node: &Node<'_>) -> Result<(), DamageKind> {
    let mut starts = [0_u64; PAGE_BYTES / 64];
    for at in 0..node.count() {
        let offset = node.slot(at).offset();
        let (word, bit) = (&mut starts[offset / 64], 1 << (offset % 64));
        if *word & bit != 0 {
            return Err(layout("offset of an entry", offset));
        }
        *word |= bit;
    }
    for at in 0..node.count() {
        let slot = node.slot(at);
        let (from, to) = (
            slot.offset() + 1,
            slot.offset() + node.entry(slot).heap_bytes(),
        );
        // Bits from..to, word by word.
        for (word, bits) in starts
            .iter()
            .enumerate()
            .take(to.div_ceil(64))
            .skip(from / 64)
        {
            let low = u64::MAX << from.saturating_sub(word * 64).min(63);
            let high = u64::MAX >> (64 - (to - word * 64).min(64));
            if bits & low & high != 0 {
                return Err(layout("offset of an entry", slot.offset()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
