//! The jackdaw binary.
fn main() {}
