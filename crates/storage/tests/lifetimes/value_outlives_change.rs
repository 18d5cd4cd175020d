//! A value read through a tree that is being changed ends before the next change.

use jackdaw_storage::WriteTransaction;

fn change(transaction: &mut WriteTransaction) -> usize {
    let mut tree = transaction.tree_mut("t").expect("a tree");
    let value = tree.get(b"a").expect("sound").expect("exists");
    tree.put(b"b", b"2").expect("sound");
    value.len()
}

fn main() {}
