//! Long random sequences of operations, with keys and values made to hit the limits.

use super::*;
use crate::page::KEY_BYTES_MAX;

/// What keys look like.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// Few bytes of few values: many ties and empty keys.
    Dense,
    /// Random bytes.
    Random,
    /// Long shared prefixes that end at different places.
    Prefixed,
    /// Up to the limit.
    Huge,
    /// Mostly growing.
    Ascending,
}

impl Keys {
    fn make(self, random: &mut Random, step: usize) -> Vec<u8> {
        match self {
            Keys::Dense => {
                let len = random.below(7);
                (0..len)
                    .map(|_| [0, 1, b'a', 255][random.below(4)])
                    .collect()
            }
            Keys::Random => {
                let len = 4 + random.below(20);
                random.bytes(len)
            }
            Keys::Prefixed => {
                let depth = 1 + random.below(3);
                let mut key = b"documents/".repeat(random.below(3));
                for _ in 0..depth {
                    key.extend(format!("users/{}/", random.below(12)).bytes());
                }
                key
            }
            Keys::Huge => {
                let mut key = vec![b'h'; random.below(KEY_BYTES_MAX - 3)];
                key.extend(random.bytes(3));
                key
            }
            Keys::Ascending => {
                let n = if random.below(10) == 0 {
                    random.below(step + 1)
                } else {
                    step
                };
                format!("orders/{:010}-A", n / 2).into_bytes()
            }
        }
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    let len = match random.below(40) {
        0 => [0, 3_899, 3_900, 3_901, 4_056, 4_057][random.below(6)],
        1 => [8_159, 8_160, 8_161, 30_000][random.below(4)],
        2 => random.below(3_900),
        _ => random.below(100),
    };
    let byte = random.next().to_le_bytes()[0];
    vec![byte; len]
}

/// Applies `steps` random operations to a tree and a map. Trees of odd seeds are counted.
fn run(keys: Keys, seed: u64, steps: usize) {
    let mut random = Random::announced(seed);
    let empty = if seed.is_multiple_of(2) {
        TreeRoot::empty()
    } else {
        TreeRoot::empty_counted()
    };
    let mut fixture = Fixture::over(empty);
    let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut deletes = 3;
    for step in 0..steps {
        if step % (steps / 6) == 0 {
            // Grow, shrink, grow, ...: structure changes both ways.
            deletes = if (step / (steps / 6)).is_multiple_of(2) {
                3
            } else {
                14
            };
            fixture.assert_equals(&model);
        }
        let key = keys.make(&mut random, step);
        let mut tree = fixture.tree_mut();
        match random.below(20) {
            0 => {
                let mut end = key.clone();
                end.extend_from_slice(b"\xff");
                let gone: Vec<_> = model
                    .range(key.clone()..end.clone())
                    .map(|(k, _)| k.clone())
                    .collect();
                assert_eq!(
                    tree.delete_range(&key[..]..&end[..]).unwrap(),
                    gone.len() as u64
                );
                gone.iter()
                    .for_each(|key| assert!(model.remove(key).is_some()));
            }
            1 => sorted_batch(keys, &mut random, step, &mut tree, &mut model),
            n if n < 2 + deletes => {
                // Half of the deletes take a key that is there.
                let near = model.range(key.clone()..).next().map(|(k, _)| k.clone());
                let key = near.filter(|_| n % 2 == 0).unwrap_or_else(|| key.clone());
                assert_eq!(tree.delete(&key).unwrap(), model.remove(&key).is_some());
            }
            _ => {
                let value = value(&mut random);
                assert_eq!(tree.put(&key, &value).unwrap(), model.contains_key(&key));
                model.insert(key.clone(), value);
            }
        }
        let probe = keys.make(&mut random, step);
        assert_eq!(
            tree.get(&probe).unwrap(),
            model.get(&probe).map(Vec::as_slice)
        );
        assert_eq!(
            tree.as_tree().get(&key).unwrap(),
            model.get(&key).map(Vec::as_slice)
        );
        if empty.is_counted() {
            ranks::assert_ranks(&fixture.tree(), &model, &probe, &key);
        }
        let mut range = fixture.tree().range(&probe[..]..).unwrap();
        let next = range.next().transpose().unwrap().map(|(k, _)| k.to_vec());
        assert_eq!(
            next.as_ref(),
            model.range(probe.clone()..).next().map(|(k, _)| k)
        );
        assert_skips(&fixture.tree(), &model, [&key, &probe], &mut random);
    }
    fixture.assert_equals(&model);
    let mut tree = fixture.tree_mut();
    for key in model.keys() {
        assert!(tree.delete(key).unwrap());
    }
    assert_eq!(fixture.pages.page_count(), 0);
    assert_eq!(fixture.state.root, empty);
}

/// A range between two keys that leaps ahead gives what the model has there.
fn assert_skips(
    tree: &Tree<'_, MemoryPages>,
    model: &BTreeMap<Vec<u8>, Vec<u8>>,
    mut ends: [&Vec<u8>; 2],
    random: &mut Random,
) {
    ends.sort_unstable();
    let (low, high) = (ends[0].as_slice(), ends[1].as_slice());
    let mut range = tree.range(low..high).unwrap();
    let mut from = low.to_vec();
    for _ in 0..8 {
        // Steps of a few entries, of one, back, and to keys that are not there.
        let ahead = model.range(from.clone()..).nth(random.below(300));
        let mut to = ahead.map_or_else(|| high.to_vec(), |(key, _)| key.clone());
        match random.below(4) {
            0 => to.push(0),
            1 => drop(to.pop()),
            _ => {}
        }
        range.skip_to(&to).unwrap();
        from = from.max(to);
        let found = range
            .next()
            .transpose()
            .unwrap()
            .map(|(key, _)| key.to_vec());
        let expected = match from.as_slice() < high {
            true => model.range(from.clone()..high.to_vec()).next(),
            false => None,
        };
        assert_eq!(found.as_ref(), expected.map(|(key, _)| key));
        let Some(found) = found else { break };
        from = [&found[..], &[0]].concat();
    }
}

fn sorted_batch(
    keys: Keys,
    random: &mut Random,
    step: usize,
    tree: &mut TreeMut<'_, MemoryPages>,
    model: &mut BTreeMap<Vec<u8>, Vec<u8>>,
) {
    let mut batch: Vec<_> = (0..random.below(30))
        .map(|_| keys.make(random, step))
        .collect();
    if random.below(8) != 0 {
        batch.sort_unstable();
    }
    if random.below(2) == 0 {
        let entries: Vec<_> = batch.into_iter().map(|key| (key, value(random))).collect();
        let before = model.len();
        model.extend(entries.iter().cloned());
        assert_eq!(
            tree.put_sorted(entries).unwrap(),
            (model.len() - before) as u64
        );
    } else {
        let removed = batch
            .iter()
            .filter(|&key| model.remove(key).is_some())
            .count();
        assert_eq!(tree.delete_sorted(&batch).unwrap(), removed as u64);
    }
}

#[test]
fn dense_keys_behave_like_a_map() {
    (0..6).for_each(|seed| run(Keys::Dense, seed, 3_000));
}

#[test]
fn random_keys_behave_like_a_map() {
    (10..16).for_each(|seed| run(Keys::Random, seed, 3_000));
}

#[test]
fn keys_with_prefixes_behave_like_a_map() {
    (20..26).for_each(|seed| run(Keys::Prefixed, seed, 3_000));
}

#[test]
fn huge_keys_behave_like_a_map() {
    (30..36).for_each(|seed| run(Keys::Huge, seed, 1_500));
}

#[test]
fn ascending_keys_behave_like_a_map() {
    (40..46).for_each(|seed| run(Keys::Ascending, seed, 3_000));
}
