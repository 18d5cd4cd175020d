//! Multi trees against a map of sets; seeds as in `tree::tests`.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::page::{KEY_BYTES_MAX, MemoryPages};
use crate::tree::tests::Random;
use crate::tree::{TreeRoot, TreeState};

type Model = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

struct Fixture {
    pages: MemoryPages,
    state: TreeState,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture {
            pages: MemoryPages::new(),
            state: TreeState::new(TreeRoot::empty_multi()),
        }
    }

    fn tree(&self) -> MultiTree<'_, MemoryPages> {
        MultiTree::new(&self.pages, self.state.root)
    }

    fn tree_mut(&mut self) -> MultiTreeMut<'_, MemoryPages> {
        MultiTreeMut::new(&mut self.pages, &mut self.state)
    }

    fn assert_equals(&self, model: &Model) {
        let tree = self.tree();
        let report = tree.verify().unwrap();
        assert_eq!(self.pages.page_count(), report.pages());
        assert_eq!(tree.key_count(), model.len() as u64);
        assert_eq!(
            tree.value_count(),
            model.values().map(|set| set.len() as u64).sum::<u64>()
        );
        let collect = |(key, values): (crate::page::Key<'_>, MultiValues<'_, MemoryPages>)| {
            (
                key.to_vec(),
                values
                    .map(|value| value.unwrap().to_vec())
                    .collect::<BTreeSet<_>>(),
            )
        };
        assert!(
            tree.range(..)
                .unwrap()
                .map(|entry| collect(entry.unwrap()))
                .eq(model.clone())
        );
        for (key, set) in model {
            assert_eq!(tree.count(key).unwrap(), set.len() as u64);
            let backwards = tree
                .values(key)
                .unwrap()
                .rev()
                .map(|value| value.unwrap().to_vec());
            assert!(backwards.eq(set.iter().rev().cloned()));
        }
    }
}

#[test]
fn behaves_like_a_map_of_sets() {
    for seed in 300..306 {
        let mut random = Random::announced(seed);
        let mut fixture = Fixture::new();
        let mut model = Model::new();
        for step in 0..4_000 {
            if step % 1_000 == 0 {
                fixture.assert_equals(&model);
            }
            // Some keys get most of the values.
            let spread = 1 + random.below(40);
            let key = format!("artist/{}", random.below(spread)).into_bytes();
            let mut value = format!("albums/{:05}", random.below(2_000)).into_bytes();
            if random.below(50) == 0 {
                value.resize(KEY_BYTES_MAX - random.below(30), b'x');
            }
            let mut tree = fixture.tree_mut();
            let removes = if step / 1_000 % 2 == 0 { 2 } else { 7 };
            match random.below(10) {
                0 if random.below(20) == 0 => {
                    let gone = model.remove(&key).map_or(0, |set| set.len() as u64);
                    assert_eq!(tree.remove_key(&key).unwrap(), gone);
                }
                n if n < removes => {
                    let near = model
                        .get(&key)
                        .and_then(|set| set.range(value.clone()..).next());
                    let value = near.cloned().unwrap_or(value);
                    let was_there = model.get_mut(&key).is_some_and(|set| set.remove(&value));
                    model.retain(|_, set| !set.is_empty());
                    assert_eq!(tree.remove(&key, &value).unwrap(), was_there);
                }
                _ => {
                    let is_new = model.entry(key.clone()).or_default().insert(value.clone());
                    assert_eq!(tree.add(&key, &value).unwrap(), is_new);
                    assert!(tree.as_tree().contains(&key, &value).unwrap());
                }
            }
        }
        fixture.assert_equals(&model);
        fixture.tree_mut().clear().unwrap();
        assert_eq!(fixture.pages.page_count(), 0);
        assert_eq!(fixture.state.root, TreeRoot::empty_multi());
    }
}

#[test]
fn a_key_with_many_values_counts_them_at_once() {
    let mut fixture = Fixture::new();
    for n in 0..20_000_u64 {
        assert!(fixture.tree_mut().add(b"rock", &n.to_be_bytes()).unwrap());
    }
    assert_eq!(fixture.tree().count(b"rock").unwrap(), 20_000);
    assert_eq!(fixture.tree().key_count(), 1);
    let last = fixture
        .tree()
        .values(b"rock")
        .unwrap()
        .next_back()
        .unwrap()
        .unwrap();
    assert_eq!(last.to_vec(), 19_999_u64.to_be_bytes());
    assert_eq!(fixture.tree_mut().remove_key(b"rock").unwrap(), 20_000);
    assert_eq!(fixture.pages.page_count(), 0);
}

#[test]
fn damaged_sets_are_errors() {
    for stored in [
        &b""[..],
        b"\x02",
        b"\x00\x05",
        b"\x00\x05\x00abc",
        b"\x01short",
    ] {
        let mut fixture = Fixture::new();
        fixture.tree_mut().tree().put(b"k", stored).unwrap();
        assert!(fixture.tree().values(b"k").is_err(), "{stored:?}");
        assert!(fixture.tree().verify().is_err());
        assert!(fixture.tree_mut().add(b"k", b"v").is_err());
    }
}
