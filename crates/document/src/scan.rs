//! Fast scanning of JSON text: runs of plain string bytes, and white space.
//!
//! Called by `parser` and `write`. Long runs go 32 bytes a step, in a loop that the compiler turns
//! into vector instructions; what is shorter eight bytes a step, by arithmetic on 64-bit words.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;
/// Bytes of a step through long runs: two vector registers of any processor.
const BLOCK_BYTES: usize = 32;

/// Where a run of plain string bytes ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// First byte that is `"`, `\` or a control character; the end of the text if there is none.
    pub(crate) end: usize,
    /// Whether a byte of the run is not ASCII.
    pub(crate) wide: bool,
}

/// Finds the end of the plain bytes from `start` on.
#[inline]
pub(crate) fn plain_run(text: &[u8], start: usize) -> Run {
    let mut pos = start;
    let mut wide = 0u64;
    while let Some(block) = text.get(pos..).and_then(<[u8]>::first_chunk::<BLOCK_BYTES>) {
        let (stops, is_wide) = look_over(block);
        if stops {
            break;
        }
        wide |= u64::from(is_wide) << 7;
        pos += BLOCK_BYTES;
    }
    while let Some(word) = word_at(text, pos) {
        let stops = stops(word);
        if stops != 0 {
            let before = stops.trailing_zeros() - 7;
            // Bytes below the first stop; a shift by 64 cannot occur as `before` is below 64.
            wide |= word & ((1u64 << before) - 1);
            return Run {
                end: pos + before as usize / 8,
                wide: wide & HIGHS != 0,
            };
        }
        wide |= word;
        pos += 8;
    }
    let mut wide = wide & HIGHS != 0;
    while let Some(&b) = text.get(pos) {
        if b == b'"' || b == b'\\' || b < 0x20 {
            break;
        }
        wide |= b >= 0x80;
        pos += 1;
    }
    Run { end: pos, wide }
}

/// Whether a byte of the block is no plain one, and whether one is not ASCII.
#[inline]
fn look_over(block: &[u8; BLOCK_BYTES]) -> (bool, bool) {
    let (mut stops, mut is_wide) = (false, false);
    for &b in block {
        stops |= (b == b'"') | (b == b'\\') | (b < 0x20);
        is_wide |= b >= 0x80;
    }
    (stops, is_wide)
}

/// The high bit of each byte that is `"`, `\` or below 0x20. Bits above the lowest one set may be
/// wrong, as subtraction borrows upwards.
#[inline]
fn stops(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let slash = slash.wrapping_sub(ONES) & !slash;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | slash | control) & HIGHS
}

#[inline]
fn word_at(text: &[u8], pos: usize) -> Option<u64> {
    text.get(pos..pos + 8)?
        .first_chunk::<8>()
        .map(|b| u64::from_le_bytes(*b))
}

/// Position of the first byte from `pos` on that is not JSON white space.
#[inline]
pub(crate) fn skip_space(text: &[u8], pos: usize) -> usize {
    match text.get(pos) {
        Some(&b) if b <= b' ' => skip_space_slow(text, pos),
        _ => pos,
    }
}

fn skip_space_slow(text: &[u8], mut pos: usize) -> usize {
    loop {
        // Indentation comes in long runs of spaces.
        while word_at(text, pos) == Some(ONES * b' ' as u64) {
            pos += 8;
        }
        match text.get(pos) {
            Some(b' ' | b'\n' | b'\r' | b'\t') => pos += 1,
            _ => return pos,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_run_slow(text: &[u8], start: usize) -> Run {
        let run = text[start..]
            .iter()
            .position(|&b| b == b'"' || b == b'\\' || b < 0x20);
        let end = run.map_or(text.len(), |n| start + n);
        Run {
            end,
            wide: !text[start..end].is_ascii(),
        }
    }

    #[test]
    fn every_byte_at_every_place_ends_a_run_as_it_should() {
        for filler in [b'a', 0x7F, 0x80, 0xFF, b'!', b'#', b'[', b']', b' '] {
            for b in 0..=255u8 {
                for place in 0..20 {
                    let mut text = vec![filler; 20];
                    text[place] = b;
                    for second in [b'"', 0x01, 0xC3] {
                        text[19] = second;
                        for start in [0, 1, 7] {
                            assert_eq!(plain_run(&text, start), plain_run_slow(&text, start));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn space_is_skipped_and_nothing_else() {
        for n in 0..40 {
            let mut text = vec![b' '; n];
            text.extend_from_slice(b"\n\t\r   x");
            assert_eq!(skip_space(&text, 0), n + 6);
            assert_eq!(skip_space(&text, n + 6), n + 6);
        }
        assert_eq!(skip_space(b"  ", 0), 2);
        assert_eq!(skip_space(b"\x0b", 0), 0);
    }
}
