//! `cargo xtask crash` and `cargo xtask sim`: the proof suites of the package `tests/proof`.

use anyhow::{Result, bail};

use crate::{process, repository};

pub(crate) const SUMMARY: &str = "replays a random history of the storage engine by its seed";

pub(crate) const HELP: &str = "\
cargo xtask sim --seed N

Runs one random history with crashes on the simulated disk, the same each time, and prints what it
did. A failing suite names the seed to give here.";

/// Arguments of `crash` that are the proof suites' own.
pub(crate) const ARGUMENTS: &[&str] = &[
    "--seed",
    "--seeds",
    "--images",
    "--failure-seeds",
    "--isolation-seconds",
    "--index-steps",
    "--index-images",
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [name, seed] = arguments else {
        bail!("which seed? see `cargo xtask sim --help`");
    };
    if name != "--seed" {
        bail!("unknown argument `{name}`; see `cargo xtask sim --help`");
    }
    start(&["sim", "--seed", seed])
}

/// Builds and runs the program of the proof suites.
///
/// # Errors
/// When it cannot be built, or a suite fails.
pub(crate) fn start(arguments: &[&str]) -> Result<()> {
    let cargo = [
        "run",
        "--package",
        "jackdaw-proof",
        "--features",
        "planted",
        "--",
    ];
    process::run(process::cargo_in(&repository::root(), &cargo).args(arguments))
}
