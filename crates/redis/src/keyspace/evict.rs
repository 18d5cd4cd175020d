//! Making room when memory is over its budget: which key goes is chosen among a few at random.

use super::shard::access_of;
use super::{SHARD_COUNT, Space};
use crate::value::Bytes;

/// Shards looked at for one key to go, and keys looked at in each.
const SHARDS_SAMPLED: usize = 4;
const KEYS_SAMPLED: usize = 4;
/// Fruitless rounds before the search for a key is given up.
const ROUNDS_MAX: usize = 16;
/// Keys that go before the command that needs room; the rest go with the next commands.
const EVICTIONS_MAX: usize = 64;

/// Which keys go when the budget is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvictionPolicy {
    /// None: writes that need memory are refused.
    #[default]
    NoEviction,
    /// The keys that were not used for the longest time.
    AllKeysLru,
    /// The same among keys with an expiry.
    VolatileLru,
    /// Any keys.
    AllKeysRandom,
    /// Any keys with an expiry.
    VolatileRandom,
    /// The keys that end soonest.
    VolatileTtl,
}

impl EvictionPolicy {
    /// All of them with the names that Redis gives them.
    pub const NAMES: [(&'static str, EvictionPolicy); 6] = [
        ("noeviction", EvictionPolicy::NoEviction),
        ("allkeys-lru", EvictionPolicy::AllKeysLru),
        ("volatile-lru", EvictionPolicy::VolatileLru),
        ("allkeys-random", EvictionPolicy::AllKeysRandom),
        ("volatile-random", EvictionPolicy::VolatileRandom),
        ("volatile-ttl", EvictionPolicy::VolatileTtl),
    ];

    /// The policy of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<EvictionPolicy> {
        let known = EvictionPolicy::NAMES.iter();
        known
            .copied()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, policy)| policy)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let known = EvictionPolicy::NAMES.iter();
        known
            .copied()
            .find(|(_, policy)| *policy == self)
            .map_or("noeviction", |(name, _)| name)
    }

    fn is_volatile(self) -> bool {
        matches!(
            self,
            EvictionPolicy::VolatileLru
                | EvictionPolicy::VolatileRandom
                | EvictionPolicy::VolatileTtl
        )
    }
}

/// A key that might go; the greatest weight goes first.
struct Candidate {
    weight: u64,
    database: u16,
    key: Bytes,
}

/// Evicts until less than `budget` bytes are used; `false` when that cannot be had.
pub(crate) fn make_room(space: &Space, budget: usize, policy: EvictionPolicy, now: u64) -> bool {
    let mut evictions = 0;
    while space.used_about() > budget {
        if policy == EvictionPolicy::NoEviction {
            return false;
        }
        if evictions == EVICTIONS_MAX {
            return true;
        }
        let Some(candidate) = choose(space, policy, now) else {
            return false;
        };
        let key = space.key(candidate.database, &candidate.key);
        let mut shard = space.lock(key.hash);
        if shard.remove(&key).is_some() {
            shard.statistics.evicted += 1;
        }
        evictions += 1;
    }
    true
}

fn choose(space: &Space, policy: EvictionPolicy, now: u64) -> Option<Candidate> {
    let mut best: Option<Candidate> = None;
    for round in 0..ROUNDS_MAX {
        for _ in 0..SHARDS_SAMPLED {
            sample(
                space,
                fastrand::usize(0..SHARD_COUNT),
                policy,
                now,
                &mut best,
            );
        }
        if best.is_some() {
            return best;
        }
        // Few keys may qualify: look everywhere before giving up.
        if round + 1 == ROUNDS_MAX {
            for position in 0..SHARD_COUNT {
                sample(space, position, policy, now, &mut best);
            }
        }
    }
    best
}

fn sample(
    space: &Space,
    position: usize,
    policy: EvictionPolicy,
    now: u64,
    best: &mut Option<Candidate>,
) {
    let shard = space.lock_at(position);
    for (database, table) in (0_u16..).zip(&shard.tables) {
        for _ in 0..KEYS_SAMPLED {
            let entry = match policy.is_volatile() {
                false => table.random(),
                true => table.random_volatile(policy == EvictionPolicy::VolatileTtl),
            };
            let Some(entry) = entry else { break };
            let weight = match policy {
                EvictionPolicy::AllKeysRandom | EvictionPolicy::VolatileRandom => 1,
                EvictionPolicy::VolatileTtl => u64::MAX - entry.expiry().unwrap_or(u64::MAX),
                _ => u64::from(access_of(now).saturating_sub(entry.access())) + 1,
            };
            if best.as_ref().is_none_or(|known| known.weight < weight) {
                *best = Some(Candidate {
                    weight,
                    database,
                    key: entry.key().into(),
                });
            }
        }
    }
}

impl super::shard::Table {
    /// A random entry with an expiry, or the one that ends soonest.
    fn random_volatile(&self, soonest: bool) -> Option<&super::Entry> {
        let deadlines = self.deadlines.as_slice();
        if deadlines.is_empty() {
            return None;
        }
        let position = if soonest {
            0
        } else {
            fastrand::usize(0..deadlines.len())
        };
        let (_, hash) = deadlines[position].0;
        // The key of an old deadline may be gone, or no longer end.
        self.entries.find(hash, |entry| entry.expiry().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_have_names() {
        for (name, policy) in EvictionPolicy::NAMES {
            assert_eq!(EvictionPolicy::named(name), Some(policy));
            assert_eq!(policy.name(), name);
        }
        assert_eq!(EvictionPolicy::named("lru"), None);
    }

    #[test]
    fn room_is_made_among_the_keys_that_qualify() {
        let space = Space::new(1, false);
        for number in 0..2_000 {
            let bytes = format!("key:{number}");
            let key = space.key(0, bytes.as_bytes());
            let expiry = (number % 2 == 0).then_some(1_000_000 + number);
            let mut shard = space.lock(key.hash);
            shard.set_text(&key, &[b'v'; 400], expiry, 1_000 * number);
        }
        let budget = 500_000;
        assert!(!make_room(&space, budget, EvictionPolicy::NoEviction, 0));
        while space.used_about() > budget {
            assert!(make_room(
                &space,
                budget,
                EvictionPolicy::VolatileLru,
                2_000_000
            ));
        }
        let mut space = space;
        let keys = space.shards().flat_map(|shard| shard.entries(0));
        let plain = keys.filter(|entry| entry.expiry().is_none()).count();
        assert_eq!(plain, 1_000);
        // Nothing with an expiry is left in the end.
        assert!(!(0..100).all(|_| make_room(&space, 1, EvictionPolicy::VolatileTtl, 0)));
    }
}
