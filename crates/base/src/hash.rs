//! XXH3 under the names the formats use. Not cryptographic: it finds accidents, not attackers.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// XXH3-64 of `bytes` with a seed.
#[must_use]
pub fn xxh3_64(bytes: &[u8], seed: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, bytes)
}

/// XXH3-64 of the concatenation of `parts` with a seed, without joining them in memory.
#[must_use]
pub fn xxh3_64_parts(parts: &[&[u8]], seed: u64) -> u64 {
    let mut hasher = XxHash3_64::with_seed(seed);
    for part in parts {
        hasher.write(part);
    }
    hasher.finish()
}

/// XXH3-64 with a seed of bytes that come piece by piece.
pub struct Xxh3(XxHash3_64);

impl Xxh3 {
    /// The hash of nothing so far.
    #[must_use]
    pub fn new(seed: u64) -> Xxh3 {
        Xxh3(XxHash3_64::with_seed(seed))
    }

    /// Goes on with `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The hash of all bytes, as [`xxh3_64`] of them in one.
    #[must_use]
    pub fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// XXH3-64, seed 0, of a structure without its last 8 bytes, where this value is kept.
///
/// # Panics
/// When there are fewer than 8 bytes.
#[must_use]
pub fn xxh3_64_without_checksum(structure: &[u8]) -> u64 {
    xxh3_64(&structure[..structure.len() - size_of::<u64>()], 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the reference implementation: hashes are in files.
    #[test]
    fn hashes_are_those_of_xxh3() {
        assert_eq!(xxh3_64(b"", 0), 0x2d06_8005_38d3_94c2);
        let long: Vec<u8> = (0..=255).cycle().take(8184).collect();
        assert_eq!(xxh3_64(&long, 42), 0xe789_16cf_cf08_a4d0);
    }

    #[test]
    fn the_checksum_of_a_structure_is_not_part_of_it() {
        let head = xxh3_64(b"head", 0);
        assert_eq!(xxh3_64_without_checksum(b"head12345678"), head);
        assert_eq!(xxh3_64_without_checksum(b"head87654321"), head);
        assert_ne!(xxh3_64_without_checksum(b"Head12345678"), head);
    }

    #[test]
    fn parts_hash_like_the_whole() {
        assert_eq!(xxh3_64_parts(&[b"ab", b"", b"c"], 7), xxh3_64(b"abc", 7));
        assert_ne!(xxh3_64(b"abc", 7), xxh3_64(b"abc", 8));
        let long: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        for piece_bytes in [1, 4096, 69_999] {
            let mut hasher = Xxh3::new(9);
            long.chunks(piece_bytes)
                .for_each(|piece| hasher.update(piece));
            assert_eq!(hasher.finish(), xxh3_64(&long, 9));
        }
    }
}
