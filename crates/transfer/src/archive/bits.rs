//! Bit strings of bzip2 streams: finding the 48-bit marks, and copying ranges that begin anywhere.
//!
//! Called by `blocks`. Bits count from the most significant bit of byte 0.

/// Begins a block: the digits of pi.
pub(super) const BLOCK_MARK: u64 = 0x3141_5926_5359;
/// Ends a stream: the digits of the square root of pi.
pub(super) const END_MARK: u64 = 0x1772_4538_5090;
/// Length of a mark in bits.
pub(super) const MARK_BITS: usize = 48;
const MARK_MASK: u64 = (1 << MARK_BITS) - 1;

/// Bytes that can be the second one touched by a mark, whatever the shift: 16 of 256, so that most
/// bytes are passed by after one look.
const SECOND_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut shift = 0;
    while shift < 8 {
        table[((BLOCK_MARK >> (32 + shift)) & 0xff) as usize] = true;
        table[((END_MARK >> (32 + shift)) & 0xff) as usize] = true;
        shift += 1;
    }
    table
};

/// A mark and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) bit: usize,
    pub(super) is_end: bool,
}

/// The first mark at or after `from_bit` that lies wholly in `bytes`.
pub(super) fn find_mark(bytes: &[u8], from_bit: usize) -> Option<Mark> {
    let mut pos = from_bit / 8;
    while pos + 6 <= bytes.len() {
        if SECOND_BYTES[usize::from(bytes[pos + 1])] {
            for shift in 0..8 {
                let bit = pos * 8 + shift;
                if bit < from_bit {
                    continue;
                }
                let window = read_bits(bytes, bit, MARK_BITS);
                if window == Some(BLOCK_MARK) || window == Some(END_MARK) {
                    return Some(Mark {
                        bit,
                        is_end: window == Some(END_MARK),
                    });
                }
            }
        }
        pos += 1;
    }
    None
}

/// `count` bits (at most 56) from `bit` on; `None` when `bytes` ends before.
pub(super) fn read_bits(bytes: &[u8], bit: usize, count: usize) -> Option<u64> {
    debug_assert!(count <= 56, "more than 56 bits may touch nine bytes");
    if bit + count > bytes.len() * 8 {
        return None;
    }
    let first = bit / 8;
    let mut word = [0u8; 8];
    let available = (bytes.len() - first).min(8);
    word[..available].copy_from_slice(&bytes[first..first + available]);
    let aligned = u64::from_be_bytes(word) << (bit % 8);
    Some(if count == 0 {
        0
    } else {
        aligned >> (64 - count)
    })
}

/// A growing string of bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BitString {
    bytes: Vec<u8>,
    len_bits: usize,
}

impl BitString {
    pub(super) fn with_bytes(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            len_bits: bytes.len() * 8,
        }
    }

    pub(super) fn len_bits(&self) -> usize {
        self.len_bits
    }

    /// The bits; the last byte is filled up with zeros.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the low `count` (1 to 48) bits of `value`.
    pub(super) fn push(&mut self, value: u64, count: usize) {
        let aligned = (value & MARK_MASK) << (64 - count);
        self.push_range(&aligned.to_be_bytes(), 0, count);
    }

    /// Appends `count` bits of `source` from `from_bit` on; they must exist.
    pub(super) fn push_range(&mut self, source: &[u8], from_bit: usize, count: usize) {
        let mut bit = from_bit;
        let end = from_bit + count;
        self.bytes.reserve(count / 8 + 2);
        // Bring the destination to a byte boundary, then move whole bytes.
        while bit < end && !self.len_bits.is_multiple_of(8) {
            self.push_bit(source[bit / 8] >> (7 - bit % 8) & 1);
            bit += 1;
        }
        let (whole, shift) = ((end - bit) / 8, bit % 8);
        let first = bit / 8;
        if shift == 0 {
            self.bytes.extend_from_slice(&source[first..first + whole]);
        } else {
            let pairs = source[first..].iter().zip(&source[first + 1..]).take(whole);
            self.bytes
                .extend(pairs.map(|(high, low)| high << shift | low >> (8 - shift)));
        }
        self.len_bits += whole * 8;
        bit += whole * 8;
        while bit < end {
            self.push_bit(source[bit / 8] >> (7 - bit % 8) & 1);
            bit += 1;
        }
    }

    fn push_bit(&mut self, value: u8) {
        if self.len_bits.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= value << (7 - self.len_bits % 8);
        }
        self.len_bits += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_at_every_shift() {
        for (mark, is_end) in [(BLOCK_MARK, false), (END_MARK, true)] {
            for lead in 0..64 {
                let mut bits = BitString::default();
                for _ in 0..lead {
                    bits.push(1, 1);
                }
                bits.push(mark, MARK_BITS);
                bits.push(0b101, 3);
                let found = find_mark(bits.as_bytes(), 0);
                assert_eq!(found, Some(Mark { bit: lead, is_end }), "after {lead} bits");
                assert_eq!(find_mark(bits.as_bytes(), lead), found);
                assert_eq!(find_mark(bits.as_bytes(), lead + 1), None);
            }
        }
    }

    #[test]
    fn a_mark_cut_by_the_end_is_not_found() {
        let mut bits = BitString::default();
        bits.push(0, 5);
        bits.push(BLOCK_MARK >> 8, 40);
        assert_eq!(find_mark(bits.as_bytes(), 0), None);
        assert_eq!(find_mark(&[], 0), None);
    }

    #[test]
    fn ranges_keep_their_bits_at_every_shift() {
        let source: Vec<u8> = (0..40u8).map(|i| i.wrapping_mul(73) ^ 0x5a).collect();
        let bit_of = |bytes: &[u8], bit: usize| bytes[bit / 8] >> (7 - bit % 8) & 1;
        for lead in 0..9 {
            for from in 0..17 {
                for count in [0, 1, 7, 8, 9, 100, 200] {
                    let mut bits = BitString::default();
                    (0..lead).for_each(|_| bits.push(0, 1));
                    bits.push_range(&source, from, count);
                    assert_eq!(bits.len_bits(), lead + count);
                    for i in 0..count {
                        let (got, want) =
                            (bit_of(bits.as_bytes(), lead + i), bit_of(&source, from + i));
                        assert_eq!(got, want, "lead {lead} from {from} count {count} bit {i}");
                    }
                }
            }
        }
    }
}
