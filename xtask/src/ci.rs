//! `cargo xtask ci`: everything a change must pass, the same at a desk and in CI.

use anyhow::Result;

use crate::{process, repository, test, tidy};

pub(crate) const SUMMARY: &str = "format, lints, tidy, documentation, tests, dependency audit";

pub(crate) const HELP: &str = "\
cargo xtask ci

Runs in this order and stops at the first failure: rustfmt --check, tidy, clippy with warnings
denied, rustdoc with warnings denied, the fast suite, cargo-deny (when it is installed).";

pub(crate) fn run(_arguments: &[String]) -> Result<()> {
    let root = repository::root();
    process::run(&mut process::cargo_in(&root, &["fmt", "--all", "--check"]))?;
    tidy::run(&[])?;
    process::run(&mut process::cargo_in(
        &root,
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
    ))?;
    process::run(
        process::cargo_in(&root, &["doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    test::run(&[])?;
    if process::exists("cargo-deny") {
        process::run(&mut process::cargo_in(&root, &["deny", "check"]))?;
    } else {
        println!("cargo-deny is not installed: licences and advisories were not checked");
        println!("(`cargo install cargo-deny --locked` brings it)");
    }
    Ok(())
}
