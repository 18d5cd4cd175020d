//! Generated items: 16-byte keys and incompressible values, the same for every engine and run.
//!
//! An item is a pure function of its number, so a batch is three numbers and can be sent to
//! whatever thread writes it.

use std::sync::LazyLock;

/// Length of every key.
pub const ITEM_KEY_BYTES: usize = 16;
/// Values are slices of one pool of random bytes: generating them costs nothing while timed. The
/// pool is far larger than the window of any fast compressor, and so are the distances in it.
const POOL_BYTES: usize = 4 << 20;

/// A key of the workloads.
pub type Key = [u8; ITEM_KEY_BYTES];

/// How keys relate to the order in which items are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Ascending keys.
    Sequential,
    /// Keys spread evenly over the whole range.
    Random,
}

/// Consecutive items, written or deleted in one transaction.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    start: u64,
    count: u64,
    order: Order,
    value_bytes: usize,
    /// Distance between the numbers of neighbors: 1, or the stride of a shuffled walk.
    stride: u64,
    modulus: u64,
}

impl Batch {
    /// Items `start..start + count` of an order, with values of that length.
    pub fn new(order: Order, start: u64, count: u64, value_bytes: usize) -> Batch {
        Batch {
            start,
            count,
            order,
            value_bytes,
            stride: 1,
            modulus: u64::MAX,
        }
    }

    /// As `new`, but walks all `items` numbers in a shuffled order without repetition: position
    /// `start` of that walk is a number far from that of `start + 1`.
    pub fn shuffled(order: Order, items: u64, start: u64, count: u64) -> Batch {
        Batch {
            start,
            count,
            order,
            value_bytes: 0,
            stride: stride_of(items),
            modulus: items,
        }
    }

    /// Number of items.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The keys in the order in which they are to be written.
    pub fn keys(self) -> impl Iterator<Item = Key> + Send {
        (self.start..self.start + self.count).map(move |position| {
            let number = match self.stride {
                1 => position,
                stride => mul_mod(position, stride, self.modulus),
            };
            key(self.order, number)
        })
    }

    /// The items in the order in which they are to be written.
    pub fn items(self) -> impl Iterator<Item = (Key, &'static [u8])> + Send {
        let numbers = self.start..self.start + self.count;
        self.keys()
            .zip(numbers)
            .map(move |(key, number)| (key, value(number, self.value_bytes)))
    }
}

/// Reads what a measured `get` or scan must have fetched; adding the results up keeps an optimizer
/// from dropping the read.
pub fn touch(value: &[u8]) -> u64 {
    let ends = value.first().copied().unwrap_or(0) ^ value.last().copied().unwrap_or(0);
    value.len() as u64 + u64::from(ends)
}

pub(crate) fn key(order: Order, number: u64) -> Key {
    let high = match order {
        Order::Sequential => number,
        Order::Random => mix(number),
    };
    let mut key = [0; ITEM_KEY_BYTES];
    key[..8].copy_from_slice(&high.to_be_bytes());
    // Like an identifier that begins with a time: the second half does not repeat.
    key[8..].copy_from_slice(&mix(number ^ 0x5bd1_e995).to_be_bytes());
    key
}

fn value(number: u64, len_bytes: usize) -> &'static [u8] {
    static POOL: LazyLock<Vec<u8>> = LazyLock::new(|| {
        (0..POOL_BYTES as u64 / 8)
            .flat_map(|word| mix(word).to_le_bytes())
            .collect()
    });
    let places = (POOL_BYTES - len_bytes) as u64;
    let at = usize::try_from(mix(!number) % places).expect("below the length of the pool");
    &POOL[at..at + len_bytes]
}

/// A bijection of 64-bit numbers that looks random (the finalizer of SplitMix64).
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stride that visits every number below `items` once, far from its neighbors.
fn stride_of(items: u64) -> u64 {
    // The golden ratio spreads neighbors most evenly; the next number without a common divisor
    // makes the walk a permutation.
    let start = items / 1_000 * 618 + items % 1_000 * 618 / 1_000;
    (start.max(2)..)
        .find(|stride| greatest_common_divisor(*stride, items) == 1)
        .unwrap_or(1)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

fn mul_mod(a: u64, b: u64, modulus: u64) -> u64 {
    let product = u128::from(a) * u128::from(b) % u128::from(modulus);
    u64::try_from(product).expect("a remainder is below its modulus")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sequential_keys_ascend_and_random_ones_do_not_repeat() {
        let keys: Vec<Key> = Batch::new(Order::Sequential, 0, 1_000, 8).keys().collect();
        assert!(keys.is_sorted());
        let keys: BTreeSet<Key> = Batch::new(Order::Random, 0, 10_000, 8).keys().collect();
        assert_eq!(keys.len(), 10_000);
    }

    #[test]
    fn a_shuffled_walk_visits_every_item_once() {
        for items in [1, 2, 3, 10, 1_000, 1_024] {
            let walked: BTreeSet<Key> = Batch::shuffled(Order::Random, items, 0, items)
                .keys()
                .collect();
            let written: BTreeSet<Key> = Batch::new(Order::Random, 0, items, 8).keys().collect();
            assert_eq!(walked, written, "{items} items");
        }
    }

    #[test]
    fn a_batch_gives_the_same_items_every_time() {
        let batch = Batch::new(Order::Random, 500, 100, 128);
        let items: Vec<_> = batch.items().collect();
        assert_eq!(items, batch.items().collect::<Vec<_>>());
        assert!(items.iter().all(|(_, value)| value.len() == 128));
        assert_eq!(batch.len(), 100);
    }
}
