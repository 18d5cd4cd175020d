//! The page: 8 KiB, of which the first 32 bytes say what it is.
//!
//! Every layer of this crate uses it. Bytes: docs/format.md, page header.
//!
//! Invariants:
//! - `Page` has alignment 1 and no padding: any 8,192 bytes of a map or frame can be seen as one.
//! - `checksum` is 0 while a page is in memory; the flusher stamps its copy.

use std::fmt;

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Length of a page: two 4 KiB sectors, fan-out above 200 with short keys.
pub const PAGE_BYTES: usize = PAGE_BYTES_U32 as usize;

/// [`PAGE_BYTES`] as it is stored in file headers.
pub(crate) const PAGE_BYTES_U32: u32 = 8192;

/// Length of [`PageHeader`], the part all kinds of pages share.
pub const PAGE_HEADER_BYTES: usize = 32;

/// Position of a page in the data file, in pages. Page 0 is never part of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber(pub u64);

impl PageNumber {
    /// Says "no page" where a page number is stored.
    pub const NONE: PageNumber = PageNumber(0);
}

impl fmt::Display for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// Inner page of a tree.
    Branch = 1,
    /// Page with the entries of a tree.
    Leaf = 2,
    /// First page of a run that holds one long value; the other pages of the run have no header.
    Overflow = 3,
    /// Inner page of a fixed tree.
    FixedBranch = 4,
    /// Page with the entries of a fixed tree.
    FixedLeaf = 5,
    /// Page of the free-space map.
    SpaceMap = 12,
}

impl PageKind {
    /// The kind stored as `byte`, if it is one.
    pub fn from_byte(byte: u8) -> Option<PageKind> {
        Some(match byte {
            1 => PageKind::Branch,
            2 => PageKind::Leaf,
            3 => PageKind::Overflow,
            4 => PageKind::FixedBranch,
            5 => PageKind::FixedLeaf,
            12 => PageKind::SpaceMap,
            _ => return None,
        })
    }
}

/// The first 32 bytes of a page.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PageHeader {
    /// XXH3-64 of the rest of the page (of the run for overflow); 0 while in memory.
    pub checksum: U64,
    /// Own position: catches misdirected reads and writes.
    pub page_number: U64,
    /// Transaction that changed the page last.
    pub transaction_id: U64,
    /// A [`PageKind`].
    pub kind: u8,
    /// Meaning depends on the kind.
    pub flags: u8,
    /// End of the part that grows upwards. Overflow: low half of the length in bytes.
    pub lower: U16,
    /// Start of the part that grows downwards. Overflow: high half of the length in bytes.
    pub upper: U16,
    /// Length of the key prefix (branch, leaf) or number of entries (fixed).
    pub aux: U16,
}

impl PageHeader {
    /// Length in bytes of the value of an overflow run.
    pub fn overflow_len(&self) -> u32 {
        u32::from(self.lower.get()) | u32::from(self.upper.get()) << 16
    }

    /// Stores the length in bytes of the value of an overflow run.
    pub fn set_overflow_len(&mut self, len_bytes: u32) {
        let [a, b, c, d] = len_bytes.to_le_bytes();
        self.lower = U16::from_bytes([a, b]);
        self.upper = U16::from_bytes([c, d]);
    }
}

/// Number of pages of the run that holds a value of `len_bytes` behind its header.
pub const fn run_page_count(len_bytes: u32) -> u32 {
    // At most 2^32 / 2^13 + 1, so the casts are exact.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a 33-bit length gives a 20-bit count"
    )]
    let pages = (len_bytes as u64 + PAGE_HEADER_BYTES as u64).div_ceil(PAGE_BYTES as u64) as u32;
    pages
}

/// 8 KiB of the data file.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(transparent)]
pub struct Page([u8; PAGE_BYTES]);

impl Page {
    /// A page of zeros on the heap.
    pub fn zeroed() -> Box<Page> {
        Box::new(Page([0; PAGE_BYTES]))
    }

    /// Sees `bytes` as a page; `None` unless there are exactly [`PAGE_BYTES`].
    #[inline]
    pub fn from_bytes(bytes: &[u8]) -> Option<&Page> {
        Page::ref_from_bytes(bytes).ok()
    }

    /// Sees `bytes` as a page that may be changed; `None` unless there are [`PAGE_BYTES`].
    #[inline]
    pub fn from_bytes_mut(bytes: &mut [u8]) -> Option<&mut Page> {
        Page::mut_from_bytes(bytes).ok()
    }

    /// All bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8; PAGE_BYTES] {
        &self.0
    }

    /// All bytes, to change.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8; PAGE_BYTES] {
        &mut self.0
    }

    /// The first 32 bytes.
    #[inline]
    pub fn header(&self) -> &PageHeader {
        let (header, _) =
            PageHeader::ref_from_prefix(&self.0).expect("a page is longer than its header");
        header
    }

    /// The first 32 bytes, to change.
    #[inline]
    pub fn header_mut(&mut self) -> &mut PageHeader {
        let (header, _) =
            PageHeader::mut_from_prefix(&mut self.0).expect("a page is longer than its header");
        header
    }

    /// Own position according to the header.
    #[inline]
    pub fn number(&self) -> PageNumber {
        PageNumber(self.header().page_number.get())
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.header().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_fields_are_where_the_format_says() {
        assert_eq!(size_of::<PageHeader>(), PAGE_HEADER_BYTES);
        assert_eq!(std::mem::offset_of!(PageHeader, page_number), 8);
        assert_eq!(std::mem::offset_of!(PageHeader, transaction_id), 16);
        assert_eq!(std::mem::offset_of!(PageHeader, kind), 24);
        assert_eq!(std::mem::offset_of!(PageHeader, lower), 26);
        assert_eq!(std::mem::offset_of!(PageHeader, upper), 28);
        assert_eq!(std::mem::offset_of!(PageHeader, aux), 30);
        assert_eq!((size_of::<Page>(), align_of::<Page>()), (PAGE_BYTES, 1));
    }

    #[test]
    fn runs_have_exactly_the_pages_their_value_needs() {
        let first = u32::try_from(PAGE_BYTES - PAGE_HEADER_BYTES).unwrap();
        assert_eq!(run_page_count(0), 1);
        assert_eq!(run_page_count(first), 1);
        assert_eq!(run_page_count(first + 1), 2);
        assert_eq!(run_page_count(u32::MAX), 1 << 19 | 1);
    }

    #[test]
    fn overflow_length_spans_two_fields() {
        let mut page = Page::zeroed();
        page.header_mut().set_overflow_len(0x1234_5678);
        assert_eq!(page.header().overflow_len(), 0x1234_5678);
        assert_eq!(page.bytes()[26..30], 0x1234_5678_u32.to_le_bytes());
    }

    #[test]
    fn layout_is_that_of_the_format_page() {
        jackdaw_sim::assert_layout!(
            "storage::page::header::PageHeader",
            PageHeader {
                checksum,
                page_number,
                transaction_id,
                kind,
                flags,
                lower,
                upper,
                aux
            }
        );
    }
}
