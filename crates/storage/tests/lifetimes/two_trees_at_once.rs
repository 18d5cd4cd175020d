//! One tree of a write transaction is changed at a time: two could free each other's pages.

use jackdaw_storage::WriteTransaction;

fn change(transaction: &mut WriteTransaction) {
    let mut one = transaction.tree_mut("one").expect("a tree");
    let mut two = transaction.tree_mut("two").expect("a tree");
    one.put(b"a", b"1").expect("sound");
    two.put(b"b", b"2").expect("sound");
}

fn main() {}
