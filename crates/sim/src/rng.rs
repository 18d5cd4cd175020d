//! Random numbers from a seed, the same on every machine and in every release.
//!
//! Every random choice of the simulator and of workloads comes from here.
//!
//! The generator is xoshiro256**, seeded through splitmix64 (both by Blackman and Vigna, in the
//! public domain). Not for secrets.

/// A seeded generator. Cloning copies its future.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator for `seed`; close seeds give unrelated numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        let state = [(); 4].map(|()| {
            counter = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
            mix(counter)
        });
        Self { state }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let result = self.state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = self.state[1] << 17;
        self.state[2] ^= self.state[0];
        self.state[3] ^= self.state[1];
        self.state[1] ^= self.state[2];
        self.state[0] ^= self.state[3];
        self.state[2] ^= shifted;
        self.state[3] = self.state[3].rotate_left(45);
        result
    }

    /// A number below `limit`. The bias is below `limit / 2^64`.
    ///
    /// # Panics
    /// When `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "no number is below 0");
        let product = u128::from(self.next_u64()) * u128::from(limit);
        u64::try_from(product >> 64).expect("the upper half of 128 bits")
    }

    /// A position below `limit`, for slices.
    ///
    /// # Panics
    /// When `limit` is 0.
    pub fn below_usize(&mut self, limit: usize) -> usize {
        usize::try_from(self.below(limit as u64)).expect("below a usize")
    }

    /// A number of `low..=high`.
    ///
    /// # Panics
    /// When `low` is above `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "the range {low}..={high} is empty");
        match (high - low).checked_add(1) {
            Some(width) => low + self.below(width),
            None => self.next_u64(),
        }
    }

    /// True once in `one_in` times on average.
    ///
    /// # Panics
    /// When `one_in` is 0.
    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// When there is none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below_usize(choices.len())]
    }

    /// Fills `buffer`.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let bytes = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }

    /// Puts `items` into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for position in (1..items.len()).rev() {
            items.swap(position, self.below_usize(position + 1));
        }
    }

    /// A generator of its own for a part of the work, so that what that part draws does not
    /// change what the others get.
    pub fn fork(&mut self) -> Self {
        Self::new(self.next_u64())
    }
}

/// Mixes the bits of `value`: every input bit changes half of the output bits (splitmix64).
#[must_use]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generators() {
        // splitmix64 from seed 0, then xoshiro256** over that state.
        let rng = Rng::new(0);
        assert_eq!(rng.state[0], 0xE220_A839_7B1D_CDAF);
        assert_eq!(rng.state[1], 0x6E78_9E6A_A1B9_65F4);
        let mut rng = Rng {
            state: [1, 2, 3, 4],
        };
        let first: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        assert_eq!(first, [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    #[test]
    fn ranges_are_kept_and_filled() {
        let mut rng = Rng::new(7);
        let mut seen = [0_u32; 5];
        for _ in 0..5_000 {
            seen[rng.below_usize(5)] += 1;
            assert!((10..=12).contains(&rng.between(10, 12)));
        }
        assert!(
            seen.iter().all(|&count| (800..1_200).contains(&count)),
            "{seen:?}"
        );
        assert_eq!(rng.between(3, 3), 3);
        rng.between(0, u64::MAX);
        let hits = (0..8_000).filter(|_| rng.chance(8)).count();
        assert!((800..1_200).contains(&hits), "{hits}");
    }

    #[test]
    fn same_seed_same_numbers_and_forks_differ() {
        let (mut one, mut other) = (Rng::new(42), Rng::new(42));
        assert_eq!(one.next_u64(), other.next_u64());
        let mut fork = one.fork();
        assert_eq!(fork.next_u64(), other.fork().next_u64());
        assert_ne!(fork.next_u64(), one.next_u64());
        let (mut left, mut right) = ([0; 13], [0; 13]);
        one.fill(&mut left);
        other.fill(&mut right);
        assert_ne!(left, [0; 13]);
        let mut items: Vec<u32> = (0..20).collect();
        one.shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
        assert!([1, 2, 3].contains(one.pick(&[1, 2, 3])));
    }
}
