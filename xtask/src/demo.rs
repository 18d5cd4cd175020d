//! `cargo xtask demo`: the whole product in one command, from a fresh checkout.

use anyhow::Result;

use crate::{process, repository, studio};

pub(crate) const SUMMARY: &str = "builds everything and runs `jackdaw demo`";

pub(crate) const HELP: &str = "\
cargo xtask demo [arguments of `jackdaw demo`]

Builds Studio (when npm is there) and the binary, then runs `jackdaw demo`: it imports a music
catalogue, asks it questions, and serves it at the address that it prints. With --exit it ends after
the questions. `jackdaw demo --help` lists the rest.";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let root = repository::root();
    studio::build(&root)?;
    let run = [
        "run",
        "--release",
        "--package",
        "jackdaw-cli",
        "--bin",
        "jackdaw",
        "--",
        "demo",
    ];
    process::run(process::cargo_in(&root, &run).args(arguments))
}
