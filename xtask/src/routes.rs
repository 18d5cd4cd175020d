//! `cargo xtask routes`: writes the documents that are made from the table of routes.
//!
//! A test of the server compares them with the table; this runs it so that it writes instead.

use anyhow::{Result, bail};

use crate::{process, repository};

pub(crate) const SUMMARY: &str = "writes docs/routes.md, docs/openapi.json and the matrix of roles";

pub(crate) const HELP: &str = "\
cargo xtask routes

Writes docs/routes.md, docs/openapi.json and crates/server/tests/data/access.txt from the table of
routes in crates/server/src/routes/table.rs. A test of the fast suite fails when they differ.";

const TEST: &str = "the_documents_are_what_the_table_says";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("unknown argument `{argument}`; see `cargo xtask routes --help`");
    }
    let root = repository::root();
    let test = [
        "test",
        "--quiet",
        "--package",
        "jackdaw-server",
        "--lib",
        TEST,
    ];
    process::run(process::cargo_in(&root, &test).env("UPDATE_EXPECT", "1"))?;
    println!(
        "docs/routes.md, docs/openapi.json and crates/server/tests/data/access.txt are written"
    );
    Ok(())
}
