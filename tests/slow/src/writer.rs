//! A program to be killed: writes transactions to an environment and prints the number of each one
//! when it was acknowledged.
//!
//! Transaction `n` sets `last` to `n` and writes or deletes keys that depend on `n` alone, so that
//! `tests/kill.rs` can tell what an environment with `n` transactions holds.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its output is what it is run for")]

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use jackdaw_io::RealVfs;
use jackdaw_storage::{Environment, Options};

fn main() -> Result<()> {
    let directory = std::env::args()
        .nth(1)
        .context("usage: slow-writer DIRECTORY")?;
    // Small limits: flushes and new journal files come often.
    let options = Options {
        background_flush: true,
        ..Options::small()
    };
    let environment = Environment::open(RealVfs::new(), Path::new(&directory), options)?;
    loop {
        let mut transaction = environment.begin_write()?;
        let number = transaction.id().0;
        let mut tree = transaction.tree_mut("t")?;
        for change in jackdaw_slow_tests::changes(number) {
            match change.value {
                Some(value) => drop(tree.put(&change.key, &value)?),
                None => drop(tree.delete(&change.key)?),
            }
        }
        transaction.commit()?;
        println!("{number}");
        std::io::stdout().flush()?;
    }
}
