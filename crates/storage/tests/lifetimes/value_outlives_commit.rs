//! A value of a write transaction ends before the commit.

use jackdaw_storage::WriteTransaction;

fn change(transaction: WriteTransaction) -> usize {
    let tree = transaction.tree("t").expect("sound").expect("exists");
    let value = tree.get(b"a").expect("sound").expect("exists");
    transaction.commit().expect("commits");
    value.len()
}

fn main() {}
