//! Trees against `BTreeMap`: the same operations give the same content, and the structure stays
//! whole. Random tests print their seed; `TREE_SEED=n cargo test -p jackdaw-storage` replays one.

mod model;
mod ranks;
mod single;

use std::collections::BTreeMap;

use crate::page::MemoryPages;
use crate::tree::{Tree, TreeMut, TreeReport, TreeRoot, TreeState};

/// A tree in memory.
pub(super) struct Fixture {
    pub(super) pages: MemoryPages,
    pub(super) state: TreeState,
}

impl Fixture {
    pub(super) fn new() -> Fixture {
        Fixture::over(TreeRoot::empty())
    }

    /// A new tree with the root `empty`.
    pub(super) fn over(empty: TreeRoot) -> Fixture {
        Fixture {
            pages: MemoryPages::new(),
            state: TreeState::new(empty),
        }
    }

    pub(super) fn tree(&self) -> Tree<'_, MemoryPages> {
        Tree::new(&self.pages, self.state.root)
    }

    pub(super) fn tree_mut(&mut self) -> TreeMut<'_, MemoryPages> {
        TreeMut::new(&mut self.pages, &mut self.state)
    }

    /// Checks structure and accounts.
    pub(super) fn verify(&self) -> TreeReport {
        let report = self.tree().verify().unwrap();
        assert_eq!(
            self.pages.page_count(),
            report.pages(),
            "a page leaked or was lost"
        );
        report
    }

    /// Checks that the content is that of `model`, forwards and backwards.
    pub(super) fn assert_equals(&self, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
        self.verify();
        let tree = self.tree();
        assert_eq!(tree.len(), model.len() as u64);
        let entries = || tree.iter().unwrap().map(|entry| entry.unwrap());
        assert!(
            entries()
                .map(|(k, v)| (k.to_vec(), v.to_vec()))
                .eq(model.clone())
        );
        let backwards = entries().rev().map(|(k, v)| (k.to_vec(), v.to_vec()));
        assert!(backwards.eq(model.clone().into_iter().rev()));
    }
}

/// Splitmix64: enough for tests, and the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A generator whose seed is printed, or taken from `TREE_SEED`.
    pub(crate) fn announced(seed: u64) -> Random {
        let seed = std::env::var("TREE_SEED")
            .ok()
            .and_then(|s| s.parse().ok())
            .unwrap_or(seed);
        println!("TREE_SEED={seed}");
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
