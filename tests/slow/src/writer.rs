//! A program to be killed: writes transactions to an environment and prints the number of each one
//! when it was acknowledged.
//!
//! Transaction `n` sets `last` to `n` and writes or deletes keys that depend on `n` alone, so that
//! `tests/kill.rs` and `tests/syscall_kill.rs` can tell what an environment with `n` transactions
//! holds. Without a number of transactions it writes until it is killed; with one it closes the
//! environment after them. `alone` flushes on the writing thread: then all system calls that change
//! files are in one order.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its output is what it is run for")]

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use jackdaw_io::RealVfs;
use jackdaw_storage::{Environment, Options};

const USAGE: &str = "slow-writer DIRECTORY [TRANSACTIONS] [alone]";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (directory, rest) = arguments.split_first().context(USAGE)?;
    let count = rest.first().map_or(Ok(u64::MAX), |text| text.parse());
    // Small limits: flushes and new journal files come often.
    let options = Options {
        background_flush: rest.get(1).is_none_or(|word| word != "alone"),
        ..Options::small()
    };
    let environment = Environment::open(RealVfs::new(), Path::new(&directory), options)?;
    for _ in 0..count.context(USAGE)? {
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
    Ok(())
}
