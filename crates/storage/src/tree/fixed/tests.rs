//! Fixed trees against `BTreeMap`; seeds as in `tree::tests`.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::*;
use crate::error::StorageError;
use crate::page::MemoryPages;
use crate::tree::tests::Random;
use crate::tree::{TreeReport, TreeRoot, TreeState};

struct Fixture {
    pages: MemoryPages,
    state: TreeState,
}

impl Fixture {
    fn new(width: u16) -> Fixture {
        let state = TreeState::new(TreeRoot::empty_fixed(width));
        Fixture {
            pages: MemoryPages::new(),
            state,
        }
    }

    fn tree(&self) -> FixedTree<'_, MemoryPages> {
        FixedTree::new(&self.pages, self.state.root)
    }

    fn tree_mut(&mut self) -> FixedTreeMut<'_, MemoryPages> {
        FixedTreeMut::new(&mut self.pages, &mut self.state)
    }

    fn verify(&self) -> TreeReport {
        let report = self.tree().verify().unwrap();
        assert_eq!(self.pages.page_count(), report.pages());
        report
    }

    fn assert_equals(&self, model: &BTreeMap<u64, Vec<u8>>) {
        self.verify();
        let entries = || self.tree().iter().unwrap().map(|entry| entry.unwrap());
        assert!(entries().map(|(k, v)| (k, v.to_vec())).eq(model.clone()));
        assert!(
            entries()
                .rev()
                .map(|(k, v)| (k, v.to_vec()))
                .eq(model.clone().into_iter().rev())
        );
        let first = self.tree().first().unwrap().map(|(key, _)| key);
        assert_eq!(first, model.keys().next().copied());
        let last = self.tree().last().unwrap().map(|(key, _)| key);
        assert_eq!(last, model.keys().next_back().copied());
    }
}

/// Applies random operations to a tree and a map.
fn run(width: u16, spread: usize, seed: u64) {
    let mut random = Random::announced(seed);
    let mut fixture = Fixture::new(width);
    let mut model = BTreeMap::new();
    for step in 0..6_000_u64 {
        if step % 1_000 == 0 {
            fixture.assert_equals(&model);
        }
        let deletes = if step / 1_000 % 2 == 0 { 3 } else { 14 };
        let near_end = model
            .keys()
            .next_back()
            .map_or(0, |&last: &u64| last.saturating_add(1));
        let key = match random.below(10) {
            0 => u64::MAX - random.below(3) as u64,
            1..4 => near_end,
            _ => random.below(spread) as u64,
        };
        let mut tree = fixture.tree_mut();
        match random.below(20) {
            0 if random.below(8) == 0 => {
                let bounds = match random.below(4) {
                    0 => (Bound::Excluded(key), Bound::Unbounded),
                    1 => (Bound::Unbounded, Bound::Included(key / 8)),
                    _ => (
                        Bound::Included(key),
                        Bound::Excluded(key.saturating_add(700)),
                    ),
                };
                let gone: Vec<u64> = model.range(bounds).map(|(&key, _)| key).collect();
                gone.iter()
                    .for_each(|key| assert!(model.remove(key).is_some()));
                assert_eq!(tree.delete_range(bounds).unwrap(), gone.len() as u64);
            }
            n if n < 1 + deletes => {
                let key = model.range(key..).next().map_or(key, |(&key, _)| key);
                assert_eq!(tree.delete(key).unwrap(), model.remove(&key).is_some());
            }
            _ => {
                let value = random.bytes(width.into());
                assert_eq!(tree.put(key, &value).unwrap(), model.contains_key(&key));
                model.insert(key, value);
            }
        }
        assert_eq!(tree.get(key).unwrap(), model.get(&key).map(Vec::as_slice));
        assert_eq!(tree.len(), model.len() as u64);
    }
    fixture.assert_equals(&model);
    fixture.tree_mut().clear().unwrap();
    assert_eq!(fixture.pages.page_count(), 0);
    assert_eq!(fixture.state.root, TreeRoot::empty_fixed(width));
}

#[test]
fn behaves_like_a_map() {
    for (seed, width) in [0, 1, 8, 12, 512].into_iter().enumerate() {
        run(width, 3_000, 100 + seed as u64);
        run(width, usize::MAX >> 1, 200 + seed as u64);
    }
}

#[test]
fn ascending_inserts_fill_pages_anywhere() {
    for first in [0, 1 << 40] {
        let mut fixture = Fixture::new(8);
        fixture.tree_mut().put(1 << 60, &[0; 8]).unwrap();
        for key in first..first + 50_000 {
            fixture.tree_mut().put(key, &key.to_le_bytes()).unwrap();
        }
        let report = fixture.verify();
        let fill = report.leaf_bytes * 100 / (report.leaf_pages * 8128);
        assert!(fill >= 97, "{fill} %");
        let keys = fixture
            .tree()
            .range(first + 10..first + 13)
            .unwrap()
            .map(|e| e.unwrap().0);
        assert!(keys.eq(first + 10..first + 13));
    }
}

#[test]
fn wrong_widths_are_errors() {
    let mut fixture = Fixture::new(8);
    let short = fixture.tree_mut().put(1, b"short");
    assert!(matches!(
        short,
        Err(StorageError::WrongValueWidth {
            len_bytes: 5,
            width: 8
        })
    ));
    assert!(fixture.tree().is_empty());
    fixture.tree_mut().put(1, b"8 bytes!").unwrap();
    fixture.state.root = TreeRoot::empty_fixed(4);
    fixture.state.root.set_root(crate::page::PageNumber(1), 1);
    assert!(matches!(
        fixture.tree().get(1),
        Err(StorageError::Corrupt(_))
    ));
    assert!(matches!(
        fixture.tree_mut().put(1, b"4444"),
        Err(StorageError::Corrupt(_))
    ));
}
