//! A value borrows from its read transaction.

use jackdaw_storage::Environment;

fn read(environment: &Environment) -> usize {
    let reader = environment.read().expect("a free slot");
    let tree = reader.tree("t").expect("sound").expect("exists");
    let value = tree.get(b"key").expect("sound").expect("exists");
    drop(reader);
    value.len()
}

fn main() {}
