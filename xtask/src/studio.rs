//! `cargo xtask studio`: builds Studio into `studio/dist`, where the server's build embeds it.
//!
//! Without npm the server is built with a page in Studio's place; a line says so, nothing fails.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::{process, repository};

pub(crate) const SUMMARY: &str = "builds Studio, the web part of the server";

pub(crate) const HELP: &str = "\
cargo xtask studio

Installs Studio's packages from its lock file (npm ci) and builds it into studio/dist; does nothing
when that is newer than every source. The next build of the server embeds it.";

/// What a build depends on, inside `studio/`.
const SOURCES: &[&str] = &[
    "src",
    "public",
    "index.html",
    "package-lock.json",
    "vite.config.ts",
];

pub(crate) fn run(_arguments: &[String]) -> Result<()> {
    build(&repository::root())
}

/// Builds Studio when it is out of date and npm is there.
///
/// # Errors
/// When npm fails.
pub(crate) fn build(root: &Path) -> Result<()> {
    let studio = root.join("studio");
    if is_current(&studio)? {
        return Ok(());
    }
    if !process::exists("npm") {
        println!(
            "Studio is not built: npm was not found. Install Node.js 20 or later and run this \
             again; everything else works without it."
        );
        return Ok(());
    }
    install(root)?;
    process::run(
        Command::new("npm")
            .current_dir(&studio)
            .args(["run", "--silent", "build"]),
    )
}

/// Brings the packages of the lock file in, unless they are there.
///
/// # Errors
/// When npm fails.
pub(crate) fn install(root: &Path) -> Result<()> {
    let studio = root.join("studio");
    let installed = newest(&studio.join("node_modules/.package-lock.json"))?;
    if installed.is_some() && installed >= newest(&studio.join("package-lock.json"))? {
        return Ok(());
    }
    let arguments = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    process::run(Command::new("npm").current_dir(&studio).args(arguments))
}

/// Whether a real build is there (the server's stand-in has no assets) and newer than its sources.
fn is_current(studio: &Path) -> Result<bool> {
    let Some(built) = newest(&studio.join("dist/assets"))? else {
        return Ok(false);
    };
    for source in SOURCES {
        if newest(&studio.join(source))?.is_some_and(|changed| changed > built) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The latest change of a file, or of any file below a folder; nothing when there is none.
fn newest(path: &Path) -> Result<Option<SystemTime>> {
    let Ok(metadata) = std::fs::metadata(path) else {
        return Ok(None);
    };
    if metadata.is_file() {
        return Ok(Some(metadata.modified()?));
    }
    let mut latest = None;
    let entries = std::fs::read_dir(path);
    for entry in entries.with_context(|| format!("cannot list {}", path.display()))? {
        latest = latest.max(newest(&entry?.path())?);
    }
    Ok(latest)
}
