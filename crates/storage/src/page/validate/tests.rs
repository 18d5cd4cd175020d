//! Whatever bytes a page has: it is refused, or everything that can be done with it works.
//!
//! Pages of real trees are damaged at random places, most often where headers and slots are.
//! Seeds as in `tree::tests`.

use crate::page::{MemoryPages, PAGE_BYTES, Page, PageNumber, PageRead, PageWrite, validate};
use crate::tree::tests::Random;
use crate::tree::{FixedTree, FixedTreeMut, MultiTreeMut, Tree, TreeMut, TreeRoot, TreeState};
use zerocopy::FromBytes;

/// A small tree of two levels with keys of all kinds.
fn tree(random: &mut Random) -> (MemoryPages, TreeState) {
    let mut pages = MemoryPages::new();
    let mut state = TreeState::new(TreeRoot::empty());
    let mut tree = TreeMut::new(&mut pages, &mut state);
    let prefix = b"prefix/".repeat(random.below(8));
    for n in 0..40 + random.below(200) {
        let mut key = prefix.clone();
        let len = random.below(12);
        key.extend(random.bytes(len));
        let value = vec![1; [0, 5, 60, 300, 5_000][random.below(if n % 16 == 0 { 5 } else { 3 })]];
        tree.put(&key, &value).unwrap();
        if random.below(4) == 0 {
            tree.delete(&key).unwrap();
        }
    }
    (pages, state)
}

fn fixed_tree(random: &mut Random) -> (MemoryPages, TreeState) {
    let width = [0, 8, 20][random.below(3)];
    let mut pages = MemoryPages::new();
    let mut state = TreeState::new(TreeRoot::empty_fixed(width));
    let mut tree = FixedTreeMut::new(&mut pages, &mut state);
    for _ in 0..1_500 {
        tree.put(random.next() >> 50, &vec![1; width.into()])
            .unwrap();
    }
    (pages, state)
}

/// Changes some bytes, mostly those other bytes depend on.
fn damage(page: &mut Page, random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        let at = match random.below(8) {
            0..3 => 24 + random.below(16),
            3..6 => 64 + random.below(512),
            _ => 8 + random.below(PAGE_BYTES - 8),
        };
        page.bytes_mut()[at] = match random.below(4) {
            0 => 0,
            1 => 255,
            2 => page.bytes()[at] ^ 1 << random.below(8),
            _ => random.next().to_le_bytes()[0],
        };
    }
}

/// Does everything to a tree that may be damaged. Errors are right, panics are not.
fn exercise(pages: &mut MemoryPages, state: &mut TreeState, random: &mut Random) {
    let tree = Tree::new(pages, state.root);
    let _ = (
        tree.first().map(drop),
        tree.last().map(drop),
        tree.verify().map(drop),
    );
    let keys: Vec<Vec<u8>> = tree
        .iter()
        .into_iter()
        .flatten()
        .map_while(Result::ok)
        .map(|(k, _)| k.to_vec())
        .collect();
    let _ = tree
        .range(&b"p"[..]..)
        .map(|range| range.rev().map_while(Result::ok).count());
    for _ in 0..40 {
        let mut key = keys
            .get(random.below(keys.len() + 1))
            .cloned()
            .unwrap_or_default();
        if random.below(3) == 0 {
            key.truncate(random.below(key.len() + 1));
            key.push(random.next().to_le_bytes()[0]);
        }
        let _ = Tree::new(pages, state.root).get(&key).map(drop);
        let mut tree = TreeMut::new(pages, state);
        let _ = match random.below(8) {
            0..3 => tree.delete(&key).map(drop),
            3 => tree.delete_range(&key[..]..).map(drop),
            _ => tree.put(&key, &vec![2; random.below(600)]).map(drop),
        };
    }
    let _ = TreeMut::new(pages, state).clear();
}

fn exercise_fixed(pages: &mut MemoryPages, state: &mut TreeState, random: &mut Random) {
    let tree = FixedTree::new(pages, state.root);
    let _ = (
        tree.first().map(drop),
        tree.last().map(drop),
        tree.verify().map(drop),
    );
    let _ = tree
        .iter()
        .map(|range| range.rev().map_while(Result::ok).count());
    let value = vec![3; tree.value_width()];
    for _ in 0..40 {
        let key = random.next() >> (50 * random.below(2));
        let _ = FixedTree::new(pages, state.root).get(key).map(drop);
        let mut tree = FixedTreeMut::new(pages, state);
        let _ = match random.below(8) {
            0..3 => tree.delete(key).map(drop),
            3 => tree.delete_range(key..key + 300).map(drop),
            _ => tree.put(key, &value).map(drop),
        };
    }
    let _ = FixedTreeMut::new(pages, state).clear();
}

#[test]
fn damaged_pages_are_refused_or_harmless() {
    let mut random = Random::announced(400);
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..60 {
        let is_fixed = round % 3 == 0;
        let (pages, state) = if is_fixed {
            fixed_tree(&mut random)
        } else {
            tree(&mut random)
        };
        let numbers: Vec<PageNumber> = pages.pages().map(|(number, _)| number).collect();
        assert!(pages.pages().all(|(_, page)| validate(page).is_ok()));
        for _ in 0..30 {
            let (mut pages, mut state) = (pages.clone(), state.clone());
            let number = numbers[random.below(numbers.len())];
            let page = pages.page_mut(number).unwrap();
            damage(page, &mut random);
            if validate(page).is_err() {
                refused += 1;
                continue;
            }
            accepted += 1;
            if is_fixed {
                exercise_fixed(&mut pages, &mut state, &mut random);
            } else {
                exercise(&mut pages, &mut state, &mut random);
            }
        }
    }
    assert!(
        refused > 300 && accepted > 300,
        "{refused} refused, {accepted} accepted"
    );
}

#[test]
fn random_bytes_are_refused() {
    let mut random = Random::announced(500);
    for _ in 0..300 {
        let bytes = random.bytes(PAGE_BYTES);
        let mut page = Page::read_from_bytes(&bytes).unwrap();
        page.header_mut().kind = [1, 2, 4, 5][random.below(4)];
        assert!(validate(&page).is_err());
    }
    assert!(validate(&Page::zeroed()).is_err());
}

#[test]
fn any_change_of_a_slot_or_header_leaves_a_usable_page() {
    let mut random = Random::announced(600);
    let (pages, state) = tree(&mut random);
    let root = state.root.root_page().unwrap();
    let whole = *pages.page(root).unwrap();
    let lower = usize::from(whole.header().lower.get());
    for at in (24..40).chain(64..lower.min(300)) {
        for bit in 0..8 {
            let (mut pages, mut state) = (pages.clone(), state.clone());
            let page = pages.page_mut(root).unwrap();
            page.bytes_mut()[at] ^= 1 << bit;
            if validate(page).is_ok() {
                exercise(&mut pages, &mut state, &mut random);
            }
        }
    }
}

#[test]
fn overlapping_entries_are_refused() {
    let mut pages = MemoryPages::new();
    let mut state = TreeState::new(TreeRoot::empty());
    let mut tree = TreeMut::new(&mut pages, &mut state);
    tree.put(b"a", &[0; 20]).unwrap();
    tree.put(b"b", &[0; 20]).unwrap();
    let page = pages.page_mut(state.root.root_page().unwrap()).unwrap();
    let first = page.bytes()[64..66].to_vec();
    page.bytes_mut()[72..74].copy_from_slice(&first);
    assert!(validate(page).is_err());
}

#[test]
fn keys_out_of_order_are_refused() {
    let mut pages = MemoryPages::new();
    let mut state = TreeState::new(TreeRoot::empty());
    let mut tree = TreeMut::new(&mut pages, &mut state);
    // The first two differ in the slot, the last two behind it.
    for key in [&b"a"[..], b"bbbbbbb1", b"bbbbbbb2"] {
        tree.put(key, b"").unwrap();
    }
    for at in [64, 72] {
        let mut page = *pages.page(state.root.root_page().unwrap()).unwrap();
        assert!(validate(&page).is_ok());
        page.bytes_mut()[at..at + 16].rotate_left(8);
        assert!(validate(&page).is_err());
    }
}

#[test]
fn damaged_sets_of_a_multi_tree_are_harmless() {
    let mut random = Random::announced(700);
    for _ in 0..60 {
        let mut pages = MemoryPages::new();
        let mut state = TreeState::new(TreeRoot::empty_multi());
        let mut tree = MultiTreeMut::new(&mut pages, &mut state);
        for n in 0..200_u32 {
            tree.add(&[b"abc"[random.below(3)]], &n.to_be_bytes())
                .unwrap();
        }
        let number = state.root.root_page().unwrap();
        let page = pages.page_mut(number).unwrap();
        damage(page, &mut random);
        if validate(page).is_err() {
            continue;
        }
        for key in [b"a", b"b", b"c"] {
            let mut tree = MultiTreeMut::new(&mut pages, &mut state);
            let values = tree.as_tree().values(key).map(|values| values.count());
            let _ = (values, tree.as_tree().verify().map(drop));
            let _ = (
                tree.add(key, b"new"),
                tree.remove(key, &7_u32.to_be_bytes()),
            );
        }
        let _ = MultiTreeMut::new(&mut pages, &mut state).clear();
    }
}
