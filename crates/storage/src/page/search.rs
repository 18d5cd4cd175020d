//! Counting the smaller of sorted words: the inner loop of every look-up.
//!
//! A word in another cache line costs more than all comparisons together, and a comparison that
//! decides which line is read next cannot overlap with that read. So each round reads all it may
//! need at once: eight samples until few lines are left, the last word of each of these, and then
//! eight words. No round has a branch that depends on a word.

use zerocopy::little_endian::U64;

/// Words of a cache line.
const LINE: usize = 8;

/// Words searched line by line.
const WINDOW: usize = 12 * LINE;

/// Number of words less than `bound`; `words` ascend.
#[inline]
pub(crate) fn count_less(words: &[U64], bound: u64) -> usize {
    let mut window = words;
    let mut base = 0;
    while window.len() > WINDOW {
        let step = window.len() / LINE;
        let samples = window.chunks_exact(step);
        let skip = step
            * samples
                .filter(|chunk| chunk[step - 1].get() < bound)
                .count();
        base += skip;
        window = &window[skip..];
        if skip < step * LINE {
            window = &window[..step.min(window.len())];
        }
    }
    let (lines, _) = window.as_chunks::<LINE>();
    let full = lines
        .iter()
        .filter(|line| line[LINE - 1].get() < bound)
        .count();
    let Some(last) = window.len().checked_sub(LINE) else {
        return base + window.iter().filter(|word| word.get() < bound).count();
    };
    // The last line may be a part only: then look at the eight last words.
    let start = last.min(full * LINE);
    let Some(line) = window[start..].first_chunk::<LINE>() else {
        return base + start;
    };
    base + start + line.iter().filter(|word| word.get() < bound).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_smaller_words() {
        for count in (0..140_u64).chain([511, 512, 513, 738, 1016]) {
            let words: Vec<U64> = (0..count).map(|n| U64::new(n * 2 + 1)).collect();
            for bound in 0..count * 2 + 3 {
                let expected = usize::try_from(count.min(bound / 2)).unwrap();
                assert_eq!(count_less(&words, bound), expected, "{count} {bound}");
            }
            assert_eq!(count_less(&words, u64::MAX), words.len());
        }
    }
}
