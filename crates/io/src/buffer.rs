//! Byte buffers whose address and length suit unbuffered (`O_DIRECT`) I/O.
//!
//! The journal encodes into one, recovery and backup read into one. Kept and reused by their
//! owners: growing allocates, shrinking does not.
//!
//! Invariants: the address is a multiple of [`DIRECT_ALIGNMENT`]; bytes that become part of the
//! buffer by growing are zero.

use std::io;
use std::ops::{Deref, DerefMut};

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Alignment of offset, length and memory address for unbuffered I/O. The largest logical sector
/// in use; a device that wants 512 is content with it.
pub const DIRECT_ALIGNMENT: usize = 4096;

/// One unit of the buffer; its alignment gives the whole buffer its alignment.
#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct Block([u8; DIRECT_ALIGNMENT]);

const ZERO_BLOCK: Block = Block([0; DIRECT_ALIGNMENT]);

/// A growable byte buffer at a 4,096-byte boundary.
#[derive(Clone, Default)]
pub struct AlignedBuffer {
    blocks: Vec<Block>,
    len_bytes: usize,
}

impl AlignedBuffer {
    /// An empty buffer; allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A buffer of `len_bytes` zero bytes.
    #[must_use]
    pub fn zeroed(len_bytes: usize) -> Self {
        let mut buffer = Self::new();
        buffer.resize(len_bytes);
        buffer
    }

    /// Sets the length. New bytes are zero; memory is kept when it shrinks.
    pub fn resize(&mut self, len_bytes: usize) {
        let old_len = self.len_bytes;
        self.resize_stale(len_bytes);
        if len_bytes > old_len {
            self.as_mut_slice()[old_len..].zero();
        }
    }

    /// Sets the length; new bytes are what was there before.
    fn resize_stale(&mut self, len_bytes: usize) {
        let blocks_needed = len_bytes.div_ceil(DIRECT_ALIGNMENT);
        if blocks_needed > self.blocks.len() {
            self.blocks.resize(blocks_needed, ZERO_BLOCK); // Grows the memory geometrically.
        }
        self.len_bytes = len_bytes;
    }

    /// Appends `bytes`.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let start = self.len_bytes;
        self.resize_stale(start + bytes.len());
        self.as_mut_slice()[start..].copy_from_slice(bytes);
    }

    /// Removes the first `len_bytes`; the rest moves to the front.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn remove_front(&mut self, len_bytes: usize) {
        let rest_bytes = self.len_bytes - len_bytes;
        self.as_mut_slice().copy_within(len_bytes.., 0);
        self.len_bytes = rest_bytes;
    }

    /// Appends zero bytes until the length is a multiple of [`DIRECT_ALIGNMENT`].
    pub fn pad_to_alignment(&mut self) {
        self.resize(self.len_bytes.next_multiple_of(DIRECT_ALIGNMENT));
    }

    /// Empties the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.len_bytes = 0;
    }

    /// Gives memory beyond `bytes_kept` (rounded up) back, after an unusually large use.
    pub fn shrink_to(&mut self, bytes_kept: usize) {
        let blocks_kept = bytes_kept.max(self.len_bytes).div_ceil(DIRECT_ALIGNMENT);
        self.blocks.truncate(blocks_kept);
        self.blocks.shrink_to(blocks_kept);
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.blocks.capacity() * DIRECT_ALIGNMENT
    }

    /// The content.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.blocks.as_slice().as_bytes()[..self.len_bytes]
    }

    /// The content, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.blocks.as_mut_slice().as_mut_bytes()[..self.len_bytes]
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.as_mut_slice()
    }
}

impl std::fmt::Debug for AlignedBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AlignedBuffer")
            .field("len_bytes", &self.len_bytes)
            .finish()
    }
}

/// Checks that a transfer obeys the alignment that direct files ask for.
///
/// Real and simulated files both call it, so that a violation fails everywhere and not only on
/// the devices that enforce it.
///
/// # Errors
/// `InvalidInput` naming the first rule broken; nothing was transferred.
pub fn check_direct_alignment(bytes: &[u8], offset: u64) -> io::Result<()> {
    let address = bytes.as_ptr().addr();
    let broken = if !offset.is_multiple_of(DIRECT_ALIGNMENT as u64) {
        format!("offset {offset}")
    } else if !bytes.len().is_multiple_of(DIRECT_ALIGNMENT) {
        format!("length {}", bytes.len())
    } else if !address.is_multiple_of(DIRECT_ALIGNMENT) {
        format!("memory address {address:#x}")
    } else {
        return Ok(());
    };
    let text = format!("{broken} is not a multiple of {DIRECT_ALIGNMENT}, as direct I/O needs");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_aligned_at_every_size() {
        for len in [1, 4095, 4096, 4097, 100_000] {
            let buffer = AlignedBuffer::zeroed(len);
            assert_eq!(buffer.len(), len);
            assert!(buffer.as_ptr().addr().is_multiple_of(DIRECT_ALIGNMENT));
            assert!(buffer.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn regrown_bytes_are_zero_after_reuse() {
        let mut buffer = AlignedBuffer::zeroed(5000);
        buffer.fill(7);
        buffer.clear();
        assert!(buffer.is_empty());
        buffer.resize(100);
        buffer.extend_from_slice(b"abc");
        buffer.pad_to_alignment();
        assert_eq!(buffer.len(), 4096);
        assert!(buffer[..100].iter().all(|&byte| byte == 0));
        assert_eq!(&buffer[100..103], b"abc");
        assert!(buffer[103..].iter().all(|&byte| byte == 0));
        buffer.resize(6000);
        assert!(buffer[4096..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn the_rest_behind_a_removed_front_stays() {
        let mut buffer = AlignedBuffer::new();
        buffer.extend_from_slice(&[1; 5000]);
        buffer.extend_from_slice(b"rest");
        buffer.remove_front(5000);
        assert_eq!(&buffer[..], b"rest");
        buffer.pad_to_alignment();
        assert!(buffer[4..].iter().all(|&byte| byte == 0));
        buffer.remove_front(4096);
        assert!(buffer.is_empty());
    }

    #[test]
    fn growth_by_appending_is_amortized_and_shrinks_on_request() {
        let mut buffer = AlignedBuffer::new();
        assert_eq!(buffer.capacity_bytes(), 0);
        let mut moves = 0;
        for _ in 0..1000 {
            let capacity_bytes = buffer.capacity_bytes();
            buffer.extend_from_slice(&[1; 1000]);
            moves += u32::from(buffer.capacity_bytes() != capacity_bytes);
        }
        assert!(moves <= 10, "{moves}");
        assert!(buffer.capacity_bytes() <= 2 * 1_000_000 + DIRECT_ALIGNMENT);
        buffer.clear();
        buffer.shrink_to(8192);
        assert_eq!(buffer.capacity_bytes(), 8192);
    }

    #[test]
    fn each_misalignment_is_named() {
        let buffer = AlignedBuffer::zeroed(8192);
        assert!(check_direct_alignment(&buffer, 4096).is_ok());
        let message = |bytes: &[u8], offset| {
            let error = check_direct_alignment(bytes, offset).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            error.to_string()
        };
        assert!(message(&buffer, 512).starts_with("offset 512 "));
        assert!(message(&buffer[..100], 0).starts_with("length 100 "));
        assert!(message(&buffer[1..4097], 0).starts_with("memory address "));
    }
}
