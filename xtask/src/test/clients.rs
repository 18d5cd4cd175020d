//! `cargo xtask test clients`: the official Python client, from its registry, against a server.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::server::Server;
use crate::{process, repository};

/// The release of the client that the wire protocol was recorded with.
const PYTHON_CLIENT: &str = "ravendb==7.2.7";
const PYTHON_SCRIPT: &str = "examples/python/albums.py";

/// # Errors
/// When Python or the client cannot be had, or the script fails.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("unknown argument `{argument}`; see `cargo xtask test --help`");
    }
    let root = repository::root();
    let python = python_with_client(&process::target_directory(&root)?)?;
    let server = Server::start(&root, &["serve"])?;
    let mut script = Command::new(python);
    process::run(script.arg(root.join(PYTHON_SCRIPT)).arg(&server.url))?;
    println!("Python client: {PYTHON_SCRIPT} passed");
    Ok(())
}

/// A virtual environment with the client, made once; gives its Python.
fn python_with_client(target: &Path) -> Result<PathBuf> {
    let environment = target.join("python-client");
    let python = environment.join("bin/python");
    let is_installed = |python: &Path| {
        let asks = ["-m", "pip", "freeze", "--quiet"];
        let freeze = Command::new(python).args(asks).output();
        freeze.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains(PYTHON_CLIENT))
    };
    if is_installed(&python) {
        return Ok(python);
    }
    if !process::exists("python3") {
        bail!("python3 was not found: install Python 3.9 or later");
    }
    if environment.exists() {
        std::fs::remove_dir_all(&environment)?;
    }
    process::run(
        Command::new("python3")
            .args(["-m", "venv"])
            .arg(&environment),
    )?;
    let arguments = ["-m", "pip", "install", "--quiet", PYTHON_CLIENT];
    process::run(Command::new(&python).args(arguments))?;
    Ok(python)
}
