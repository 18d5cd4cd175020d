//! Conversions between integer widths that cannot lose anything on the machines we build for.
//!
//! Formats and file offsets are 64 bit, memory is `usize`. Only 64-bit machines are supported, so
//! both are the same; the assertion below keeps it that way.

const _: () = assert!(size_of::<usize>() == size_of::<u64>());

/// A 64-bit number as a length or position in memory.
#[expect(
    clippy::cast_possible_truncation,
    reason = "usize has 64 bits, asserted above"
)]
#[inline]
#[must_use]
pub const fn to_usize(value: u64) -> usize {
    value as usize
}

/// The low 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "dropping the high half is the purpose"
)]
#[inline]
#[must_use]
pub const fn low_u32(value: u64) -> u32 {
    value as u32
}
