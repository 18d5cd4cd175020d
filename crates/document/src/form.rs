//! Byte layout of the binary document form: tags, widths, and bounds-checked reads.
//!
//! Used by every module that reads or writes the form. Bytes: docs/format.md, "Document form".
//!
//! Invariants:
//! - Nothing here panics on any input: a read outside the bytes is `None`.
//! - `value_end` always answers a position beyond the one it was given, so loops over values end.

use jackdaw_base::varint;

/// Version byte of the form written by this crate.
pub(crate) const VERSION: u8 = 1;

/// Position of the root value: right behind the version byte.
pub(crate) const ROOT: usize = 1;

/// Objects with more fields than this carry a sorted name index and a table of value positions.
/// Up to here a scan of names and a walk over values stay below 200 ns, and a table would cost
/// 3 to 6 bytes a field.
pub(crate) const LINEAR_FIELDS_MAX: usize = 64;

/// Deepest nesting any document may have, whatever the configured limits say: comparing two
/// documents recurses once a level.
pub const DEPTH_MAX: usize = 512;

/// First byte of each value.
pub(crate) mod tag {
    pub(crate) const NULL: u8 = 0x00;
    pub(crate) const FALSE: u8 = 0x01;
    pub(crate) const TRUE: u8 = 0x02;
    pub(crate) const EMPTY_ARRAY: u8 = 0x03;
    pub(crate) const EMPTY_OBJECT: u8 = 0x04;
    pub(crate) const LONG_8: u8 = 0x05;
    pub(crate) const LONG_16: u8 = 0x06;
    pub(crate) const LONG_32: u8 = 0x07;
    pub(crate) const LONG_64: u8 = 0x08;
    pub(crate) const DOUBLE: u8 = 0x09;
    pub(crate) const DECIMAL_8: u8 = 0x0A;
    pub(crate) const DECIMAL_16: u8 = 0x0B;
    pub(crate) const DECIMAL_32: u8 = 0x0C;
    pub(crate) const NUMBER_8: u8 = 0x0D;
    pub(crate) const NUMBER_32: u8 = 0x0E;
    /// Then `+ 1` and `+ 2` for 16-bit and 32-bit lengths.
    pub(crate) const STRING: u8 = 0x10;
    /// Then `+ 1` and `+ 2` for 16-bit and 32-bit lengths.
    pub(crate) const ARRAY: u8 = 0x13;
    /// Then `+ 3 * class of the length + class of the shape number`.
    pub(crate) const OBJECT: u8 = 0x16;
    pub(crate) const OBJECT_LAST: u8 = 0x1E;
    /// Tags 0x20 to 0x7F are the integers from `SMALL_LONG_FIRST` on.
    pub(crate) const SMALL_LONG: u8 = 0x20;
    pub(crate) const SMALL_LONG_FIRST: i64 = -16;
    pub(crate) const SMALL_LONG_LAST: i64 = 79;
    /// Tags 0x80 to 0xFF are strings of 0 to 127 bytes.
    pub(crate) const SHORT_STRING: u8 = 0x80;
}

/// Width of a length, a count or a number of a shape: 1, 2 or 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    One,
    Two,
    Four,
}

impl Width {
    /// The smallest width that holds `n`.
    pub(crate) fn of(n: usize) -> Width {
        match n {
            0..=0xFF => Width::One,
            0x100..=0xFFFF => Width::Two,
            _ => Width::Four,
        }
    }

    pub(crate) fn from_class(class: u8) -> Width {
        match class {
            0 => Width::One,
            1 => Width::Two,
            _ => Width::Four,
        }
    }

    pub(crate) fn class(self) -> u8 {
        match self {
            Width::One => 0,
            Width::Two => 1,
            Width::Four => 2,
        }
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Width::One => 1,
            Width::Two => 2,
            Width::Four => 4,
        }
    }

    /// Largest number of this width.
    pub(crate) fn max(self) -> usize {
        match self {
            Width::One => 0xFF,
            Width::Two => 0xFFFF,
            Width::Four => u32::MAX as usize,
        }
    }

    /// Reads a number of this width.
    #[inline]
    pub(crate) fn read(self, bytes: &[u8], pos: usize) -> Option<usize> {
        match self {
            Width::One => bytes.get(pos).map(|&b| b as usize),
            Width::Two => fixed::<2>(bytes, pos).map(|b| u16::from_le_bytes(b) as usize),
            Width::Four => fixed::<4>(bytes, pos).map(|b| u32::from_le_bytes(b) as usize),
        }
    }

    /// Appends `n`, which fits this width.
    pub(crate) fn push(self, out: &mut Vec<u8>, n: usize) {
        let le = (n as u64).to_le_bytes();
        out.extend_from_slice(&le[..self.bytes()]);
    }

    /// Overwrites the number at `pos` of `out`.
    pub(crate) fn put(self, out: &mut [u8], pos: usize, n: usize) {
        let le = (n as u64).to_le_bytes();
        out[pos..pos + self.bytes()].copy_from_slice(&le[..self.bytes()]);
    }
}

/// `N` bytes at `pos`.
#[inline]
pub(crate) fn fixed<const N: usize>(bytes: &[u8], pos: usize) -> Option<[u8; N]> {
    bytes.get(pos..)?.first_chunk::<N>().copied()
}

/// Reads a variable-length number below 2^32; gives it and the position behind it.
#[inline]
pub(crate) fn read_varint(bytes: &[u8], pos: usize) -> Option<(usize, usize)> {
    let (n, len) = varint::decode(bytes.get(pos..)?)?;
    let n = u32::try_from(n).ok()?;
    Some((n as usize, pos + len))
}

/// Length of the value by its tag; 0 where the length is in the bytes behind the tag, or the tag
/// is unknown.
const FIXED_LEN: [u8; 256] = {
    let mut t = [0u8; 256];
    t[tag::NULL as usize] = 1;
    t[tag::FALSE as usize] = 1;
    t[tag::TRUE as usize] = 1;
    t[tag::EMPTY_ARRAY as usize] = 1;
    t[tag::EMPTY_OBJECT as usize] = 1;
    t[tag::LONG_8 as usize] = 2;
    t[tag::LONG_16 as usize] = 3;
    t[tag::LONG_32 as usize] = 5;
    t[tag::LONG_64 as usize] = 9;
    t[tag::DOUBLE as usize] = 9;
    t[tag::DECIMAL_8 as usize] = 3;
    t[tag::DECIMAL_16 as usize] = 4;
    t[tag::DECIMAL_32 as usize] = 6;
    let mut i = tag::SMALL_LONG as usize;
    while i < tag::SHORT_STRING as usize {
        t[i] = 1;
        i += 1;
    }
    let mut len = 1u8;
    while i < 256 {
        t[i] = len;
        len += 1;
        i += 1;
    }
    t
};

/// Position behind the value at `pos`; always greater than `pos`. It may lie outside the bytes.
#[inline]
pub(crate) fn value_end(bytes: &[u8], pos: usize) -> Option<usize> {
    let tag = *bytes.get(pos)?;
    let len = FIXED_LEN[tag as usize];
    if len != 0 {
        return Some(pos + len as usize);
    }
    let (content, len) = prefixed(bytes, pos, tag)?;
    content.checked_add(len)
}

/// Content position and length of a value whose tag is followed by a length.
#[inline]
pub(crate) fn prefixed(bytes: &[u8], pos: usize, tag: u8) -> Option<(usize, usize)> {
    let width = match tag {
        tag::NUMBER_8 => Width::One,
        tag::NUMBER_32 => Width::Four,
        tag::STRING..tag::ARRAY => Width::from_class(tag - tag::STRING),
        tag::ARRAY..tag::OBJECT => Width::from_class(tag - tag::ARRAY),
        tag::OBJECT..=tag::OBJECT_LAST => object_widths(tag).0,
        _ => return None,
    };
    let len = width.read(bytes, pos + 1)?;
    Some((pos + 1 + width.bytes(), len))
}

/// Whether values of this tag hold other values.
#[inline]
pub(crate) fn is_container(tag: u8) -> bool {
    (tag::ARRAY..=tag::OBJECT_LAST).contains(&tag)
}

/// Widths of the length and of the shape number of an object with this tag.
#[inline]
pub(crate) fn object_widths(tag: u8) -> (Width, Width) {
    let k = tag.wrapping_sub(tag::OBJECT);
    (Width::from_class(k / 3), Width::from_class(k % 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_has_one_meaning() {
        for t in 0..=255u8 {
            let mut bytes = [0u8; 300];
            bytes[0] = t;
            let end = value_end(&bytes, 0);
            let unknown = matches!(t, 0x0F | 0x1F);
            assert_eq!(end.is_none(), unknown, "tag {t:#x}");
            if let Some(end) = end {
                assert!(end >= 1);
            }
        }
    }
}
