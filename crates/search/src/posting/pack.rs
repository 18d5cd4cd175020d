//! Bit packing of 128 integers: four lanes of 32 values, each lane a stream of whole words.
//!
//! Called by `chunk` for the bodies of blocks. Value `i` lies in lane `i % 4`, row `i / 4`; word
//! `w` of lane `l` is the little-endian `u32` at byte `16 * w + 4 * l`. Four lanes are what one
//! 128-bit register holds, so the plain loops below become vector code without any `unsafe`.
//!
//! Threads: pure functions.

/// Values in one block.
pub(crate) const BLOCK_ENTRIES: usize = 128;

/// Widest packed value.
pub(crate) const BITS_MAX: u8 = 32;

const LANES: usize = 4;

/// Bytes of a packed block of `bits` bits a value.
pub(crate) const fn packed_len_bytes(bits: u8) -> usize {
    bits as usize * LANES * 4
}

/// Appends the low `bits` bits of every value. Higher bits are dropped; the caller keeps them
/// elsewhere.
pub(crate) fn pack(values: &[u32; BLOCK_ENTRIES], bits: u8, out: &mut Vec<u8>) {
    macro_rules! by_width {
        ($($width:literal)*) => {
            match bits {
                $($width => pack_width::<$width>(values, out),)*
                _ => debug_assert_eq!(bits, 0, "no width beyond 32 is ever asked for"),
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
        31 32);
}

/// Reads 128 values of `bits` bits from the front of `bytes`; `None` when there are too few bytes
/// or `bits` is beyond 32.
pub(crate) fn unpack(bytes: &[u8], bits: u8, values: &mut [u32; BLOCK_ENTRIES]) -> Option<()> {
    macro_rules! by_width {
        ($($width:literal)*) => {
            match bits {
                0 => values.fill(0),
                $($width => unpack_width::<$width>(bytes, values)?,)*
                _ => return None,
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
        31 32);
    Some(())
}

/// Makes ascending entries out of gaps: the first is `first` and its gap, each further one is
/// behind the one before by its gap and one. Only one addition of four waits for another.
pub(crate) fn add_up(first: u64, gaps: &[u32; BLOCK_ENTRIES], out: &mut [u64; BLOCK_ENTRIES]) {
    let mut before = first.wrapping_sub(1);
    let ((gaps, _), (out, _)) = (gaps.as_chunks::<LANES>(), out.as_chunks_mut::<LANES>());
    for (&[a, b, c, d], out) in gaps.iter().zip(out) {
        let (a, b) = (u64::from(a) + 1, u64::from(b) + 1);
        let (c, d) = (u64::from(c) + 1, u64::from(d) + 1);
        let two = a + b;
        out[0] = before.wrapping_add(a);
        out[1] = before.wrapping_add(two);
        out[2] = before.wrapping_add(two + c);
        before = before.wrapping_add(two + (c + d));
        out[3] = before;
    }
}

const fn mask(bits: usize) -> u32 {
    if bits == 32 {
        u32::MAX
    } else {
        (1 << bits) - 1
    }
}

#[inline(always)]
fn pack_width<const BITS: usize>(values: &[u32; BLOCK_ENTRIES], out: &mut Vec<u8>) {
    // One word more than needed, so that the spill of the last row has a place (it is empty).
    let mut words = [[0_u32; LANES]; 33];
    let (rows, _) = values.as_chunks::<LANES>();
    for (row, lanes) in rows.iter().enumerate() {
        let (word, shift) = (row * BITS / 32, row * BITS % 32);
        for lane in 0..LANES {
            let value = lanes[lane] & mask(BITS);
            words[word][lane] |= value << shift;
            if shift + BITS > 32 {
                words[word + 1][lane] |= value >> (32 - shift);
            }
        }
    }
    for lanes in words.iter().take(BITS) {
        for word in lanes {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
}

#[inline(always)]
fn unpack_width<const BITS: usize>(bytes: &[u8], values: &mut [u32; BLOCK_ENTRIES]) -> Option<()> {
    let bytes = bytes.get(..BITS * LANES * 4)?;
    let mut words = [[0_u32; LANES]; 33];
    let (quads, _) = bytes.as_chunks::<4>();
    for (position, quad) in quads.iter().enumerate() {
        words[position / LANES][position % LANES] = u32::from_le_bytes(*quad);
    }
    let (rows, _) = values.as_chunks_mut::<LANES>();
    for (row, lanes) in rows.iter_mut().enumerate() {
        let (word, shift) = (row * BITS / 32, row * BITS % 32);
        for lane in 0..LANES {
            let mut value = words[word][lane] >> shift;
            if shift + BITS > 32 {
                value |= words[word + 1][lane] << (32 - shift);
            }
            lanes[lane] = value & mask(BITS);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_add_up() {
        let mut gaps = [0; BLOCK_ENTRIES];
        for (at, gap) in (0..).zip(&mut gaps) {
            *gap = at * 7 % 5 + u32::from(at == 9) * u32::MAX / 2;
        }
        for first in [0, 77, u64::MAX - 3] {
            let mut entries = [0; BLOCK_ENTRIES];
            add_up(first, &gaps, &mut entries);
            let mut expected = first.wrapping_sub(1);
            for (entry, gap) in entries.iter().zip(gaps) {
                expected = expected.wrapping_add(u64::from(gap)).wrapping_add(1);
                assert_eq!(*entry, expected);
            }
        }
    }

    fn pattern(bits: u8) -> [u32; BLOCK_ENTRIES] {
        let mut state = 0x9e37_79b9_u32.wrapping_add(u32::from(bits));
        std::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if bits == 0 {
                0
            } else {
                state >> (32 - u32::from(bits))
            }
        })
    }

    #[test]
    fn every_width_comes_back() {
        for bits in 0..=BITS_MAX {
            let values = pattern(bits);
            let mut bytes = Vec::new();
            pack(&values, bits, &mut bytes);
            assert_eq!(bytes.len(), packed_len_bytes(bits));
            let mut again = [1; BLOCK_ENTRIES];
            unpack(&bytes, bits, &mut again).unwrap();
            assert_eq!(again, values, "{bits} bits");
        }
    }

    #[test]
    fn layout_is_the_documented_one() {
        for bits in 1..=BITS_MAX {
            let values = pattern(bits);
            let mut bytes = Vec::new();
            pack(&values, bits, &mut bytes);
            for (position, value) in values.iter().enumerate() {
                let (lane, row) = (position % 4, position / 4);
                let mut naive = 0_u64;
                for bit in 0..usize::from(bits) {
                    let stream_bit = row * usize::from(bits) + bit;
                    let byte = 16 * (stream_bit / 32) + 4 * lane + stream_bit % 32 / 8;
                    naive |= u64::from(bytes[byte] >> (stream_bit % 8) & 1) << bit;
                }
                assert_eq!(naive, u64::from(*value), "{bits} bits, value {position}");
            }
        }
    }

    #[test]
    fn too_few_bytes_are_refused() {
        let mut values = [0; BLOCK_ENTRIES];
        for bits in 1..=BITS_MAX {
            let short = vec![0; packed_len_bytes(bits) - 1];
            assert_eq!(unpack(&short, bits, &mut values), None);
        }
        assert_eq!(unpack(&[0; 1024], 33, &mut values), None);
    }
}
