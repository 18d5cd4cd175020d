//! `cargo xtask test race`: the lock-free pieces under loom, which runs every interleaving that
//! their atomics allow.
//!
//! `--cfg loom` swaps the atomics of `base::sync`; tests for it stand in modules named `races`.

use anyhow::{Result, bail};

use crate::{process, repository};

const PACKAGES: &[&str] = &["jackdaw-storage"];

/// # Errors
/// When an interleaving breaks an assertion.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("unknown argument `{argument}`; see `cargo xtask test --help`");
    }
    let root = repository::root();
    // Optimized: there are millions of interleavings.
    let mut command = process::cargo_in(&root, &["test", "--release", "--lib"]);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    command.arg("races").env("RUSTFLAGS", "--cfg loom");
    process::run(command.env("CARGO_TARGET_DIR", root.join("target/race")))
}
