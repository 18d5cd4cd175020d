//! Loops that compare vectors: plain ones, over lanes, which the compiler turns into vector code.
//!
//! Called by `value`, `walk` and `nearest`, for bytes as they lie in pages.
//!
//! Invariants:
//! - Sums are always added in the same order: equal bytes have equal similarities everywhere.
//!
//! Threads: pure functions.

use super::options::VectorStorage;

/// Sums that go side by side: a few registers of any machine.
const LANES: usize = 16;

/// How near two vectors are. Bytes that one has more than the other do not count.
pub(super) fn similarity(storage: VectorStorage, dimensions: u16, a: &[u8], b: &[u8]) -> f32 {
    match storage {
        VectorStorage::F32 => dot_floats(a, b).clamp(-1.0, 1.0),
        VectorStorage::I8 => {
            let dimensions = usize::from(dimensions);
            let (Some((a, a_inverse)), Some((b, b_inverse))) = (
                a.split_at_checked(dimensions),
                b.split_at_checked(dimensions),
            ) else {
                return 0.0;
            };
            let inverse =
                |bytes: &[u8]| bytes.first_chunk().map_or(0.0, |b| f32::from_le_bytes(*b));
            // Up to 4,096 times 127 squared: exact in a float of eight bytes, near enough in four.
            let dot = dot_bytes(a, b) as f32;
            // Both ways the same: the product of the inverses comes first.
            (dot * (inverse(a_inverse) * inverse(b_inverse))).clamp(-1.0, 1.0)
        }
        VectorStorage::I1 => {
            let differing = differing_bits(a, b) as f32;
            1.0 - differing / f32::from(dimensions.max(1))
        }
    }
}

fn dot_floats(a: &[u8], b: &[u8]) -> f32 {
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (
        a.as_chunks::<{ 4 * LANES }>(),
        b.as_chunks::<{ 4 * LANES }>(),
    );
    let mut sums = [0_f32; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        let (a, b) = (a.as_chunks::<4>().0, b.as_chunks::<4>().0);
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += f32::from_le_bytes(*a) * f32::from_le_bytes(*b);
        }
    }
    let (a, b) = (a_rest.as_chunks::<4>().0, b_rest.as_chunks::<4>().0);
    for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
        *sum += f32::from_le_bytes(*a) * f32::from_le_bytes(*b);
    }
    sums.iter().sum()
}

fn dot_bytes(a: &[u8], b: &[u8]) -> i32 {
    let product = |a: u8, b: u8| i32::from(a.cast_signed()) * i32::from(b.cast_signed());
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0_i32; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += product(*a, *b);
        }
    }
    let rest: i32 = a_rest
        .iter()
        .zip(b_rest)
        .map(|(a, b)| product(*a, *b))
        .sum();
    sums.iter().sum::<i32>() + rest
}

fn differing_bits(a: &[u8], b: &[u8]) -> u32 {
    let ((a_words, a_rest), (b_words, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let words = a_words.iter().zip(b_words);
    let of_words: u32 = words
        .map(|(a, b)| (u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)).count_ones())
        .sum();
    let rest = a_rest.iter().zip(b_rest);
    of_words + rest.map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that differ, of every length around the lanes.
    #[test]
    fn lanes_leave_nothing_out() {
        for len in 1..70_usize {
            let floats: Vec<f32> = (0..len).map(|i| i as f32 - 9.0).collect();
            let bytes: Vec<u8> = floats
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            let expected: f32 = floats.iter().map(|value| value * value).sum();
            assert!((dot_floats(&bytes, &bytes) - expected).abs() < 0.5, "{len}");
            let (a, b): (Vec<u8>, Vec<u8>) = (0..=255_u8).take(len).map(|i| (i, 255 - i)).unzip();
            let expected: i32 = a
                .iter()
                .zip(&b)
                .map(|(a, b)| i32::from(*a as i8) * i32::from(*b as i8))
                .sum();
            assert_eq!(dot_bytes(&a, &b), expected, "{len}");
            assert_eq!(differing_bits(&a, &b) as usize, 8 * len);
            assert_eq!(differing_bits(&a, &a), 0);
        }
    }
}
