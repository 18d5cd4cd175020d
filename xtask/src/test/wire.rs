//! `cargo xtask test wire`: recorded exchanges of the protocol, replayed against a server.
//!
//! The suite lies in `tests/wire` and needs only Python's standard library. It prints a line per
//! area and closes with how many exchanges were equal, different with a reason, and failed.

use std::process::Command;

use anyhow::{Result, bail};

use super::server::Server;
use crate::{process, repository};

const SUITE: &str = "tests/wire/main.py";

/// # Errors
/// When Python is missing, or an exchange differs without a listed reason.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    if !process::exists("python3") {
        bail!("python3 was not found: install Python 3.9 or later");
    }
    let root = repository::root();
    let server = Server::start(&root, &["serve"])?;
    let mut command = Command::new("python3");
    command.arg(root.join(SUITE)).arg(&server.url);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    process::run(command.args(arguments))
}
