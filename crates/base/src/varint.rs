//! Variable-length integers: seven bits a byte, least significant group first (LEB128).
//!
//! Used by every format of the product; bytes: docs/format.md. Signed values go through
//! [`zigzag`] first, so that small magnitudes of either sign stay short.
//!
//! Invariants:
//! - A decoder never reads past its slice and never loops on damaged bytes: more than
//!   [`LEN_BYTES_MAX`] bytes, or bits beyond the 64th, are refused.
//!
//! Threads: pure functions.

/// Longest encoding of a `u64`: ceil(64 / 7).
pub const LEN_BYTES_MAX: usize = 10;

/// Appends `value` to `out`: 1 byte below 128, at most [`LEN_BYTES_MAX`].
#[inline]
pub fn encode(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(low_group(value) | 0x80);
        value >>= 7;
    }
    out.push(low_group(value));
}

/// Writes `value` to the front of `out` and returns the number of bytes written, or `None`
/// when `out` is too short (what was written then is unspecified).
#[inline]
pub fn encode_to(mut value: u64, out: &mut [u8]) -> Option<usize> {
    let mut position = 0;
    while value >= 0x80 {
        *out.get_mut(position)? = low_group(value) | 0x80;
        value >>= 7;
        position += 1;
    }
    *out.get_mut(position)? = low_group(value);
    Some(position + 1)
}

/// Reads one value from the front of `bytes`: the value and the number of bytes it took.
///
/// `None` when the bytes end early or do not fit 64 bits. Encodings longer than needed are
/// accepted, so that a writer may reserve room.
#[inline]
pub fn decode(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    decode_long(bytes)
}

fn decode_long(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (position, &byte) in bytes.iter().take(LEN_BYTES_MAX).enumerate() {
        let group = u64::from(byte & 0x7f);
        if position == LEN_BYTES_MAX - 1 && group > 1 {
            return None;
        }
        value |= group << (7 * position);
        if byte < 0x80 {
            return Some((value, position + 1));
        }
    }
    None
}

/// Reads one value and moves `bytes` behind it; `None` as [`decode`], `bytes` then unmoved.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (value, len_bytes) = decode(bytes)?;
    *bytes = bytes.get(len_bytes..)?;
    Some(value)
}

/// Number of bytes that [`encode`] appends for `value`: 1 to [`LEN_BYTES_MAX`].
#[inline]
#[must_use]
pub fn len_bytes(value: u64) -> usize {
    let bits = (u64::BITS - value.leading_zeros()).max(1);
    bits.div_ceil(7) as usize
}

/// Maps signed to unsigned so that 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
#[must_use]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The inverse of [`zigzag`].
#[inline]
#[must_use]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[inline]
fn low_group(value: u64) -> u8 {
    (value & 0x7f) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge_values() -> Vec<u64> {
        let mut values = vec![0, 1, u64::MAX];
        for bit in 0..64 {
            let power = 1_u64 << bit;
            values.extend([power - 1, power, power + 1]);
        }
        values
    }

    #[test]
    fn every_bit_length_comes_back() {
        for value in edge_values() {
            let mut bytes = Vec::new();
            encode(value, &mut bytes);
            assert_eq!(bytes.len(), len_bytes(value));
            assert_eq!(decode(&bytes), Some((value, bytes.len())));
            let mut fixed = [0; LEN_BYTES_MAX];
            assert_eq!(encode_to(value, &mut fixed), Some(bytes.len()));
            assert_eq!(fixed[..bytes.len()], bytes[..]);
            assert_eq!(encode_to(value, &mut fixed[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn short_and_overlong_bytes_are_refused() {
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0xff; 9]), None);
        assert_eq!(decode(&[0xff; 20]), None);
        let mut too_wide = [0x80; 10];
        too_wide[9] = 2;
        assert_eq!(decode(&too_wide), None);
    }

    #[test]
    fn take_moves_only_on_success() {
        let mut bytes: &[u8] = &[5, 0x80];
        assert_eq!(take(&mut bytes), Some(5));
        assert_eq!(take(&mut bytes), None);
        assert_eq!(bytes, &[0x80]);
    }

    #[test]
    fn zigzag_keeps_small_magnitudes_small() {
        for value in [0, 1, -1, 2, -2, 1_000, -1_000, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!([zigzag(0), zigzag(-1), zigzag(1), zigzag(-2)], [0, 1, 2, 3]);
    }
}
