//! XXH3 under the names the formats use. Not cryptographic: it finds accidents, not attackers.

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// XXH3-64 of `bytes` with a seed.
#[must_use]
pub fn xxh3_64(bytes: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// XXH3-64 of the concatenation of `parts` with a seed, without joining them in memory.
#[must_use]
pub fn xxh3_64_parts(parts: &[&[u8]], seed: u64) -> u64 {
    let mut hasher = Xxh3::with_seed(seed);
    for part in parts {
        hasher.update(part);
    }
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hash_like_the_whole() {
        assert_eq!(xxh3_64_parts(&[b"ab", b"", b"c"], 7), xxh3_64(b"abc", 7));
        assert_ne!(xxh3_64(b"abc", 7), xxh3_64(b"abc", 8));
    }
}
