//! `cargo xtask test studio`: Studio from the binary in a real Chromium, with pictures.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::server::Server;
use crate::{process, repository, studio};

const ALBUMS: &str = "20000";
/// Where distributions put it.
const CHROMIUM: &[&str] = &[
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/snap/bin/chromium",
];

/// # Errors
/// When npm or Chromium cannot be had, or a check of Studio fails.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("unknown argument `{argument}`; see `cargo xtask test --help`");
    }
    let root = repository::root();
    if !process::exists("npm") {
        bail!("npm was not found: install Node.js 20 or later");
    }
    let chromium = chromium()?;
    studio::install(&root)?;
    studio::build(&root)?;
    let server = Server::start(&root, &["demo", "--albums", ALBUMS])?;
    let mut test = Command::new("npm");
    test.args(["run", "--silent", "test"])
        .current_dir(root.join("studio"));
    test.env("CHROMIUM", chromium)
        .env("JACKDAW", &server.binary)
        .env("JACKDAW_URL", &server.url);
    process::run(test.env("JACKDAW_DATABASE", "music"))
}

/// The browser, installed by the system's package manager when it is missing and we may.
fn chromium() -> Result<PathBuf> {
    let find = || {
        let chosen = std::env::var_os("CHROMIUM").map(PathBuf::from);
        chosen.or_else(|| {
            CHROMIUM
                .iter()
                .map(PathBuf::from)
                .find(|path| path.exists())
        })
    };
    if let Some(path) = find() {
        return Ok(path);
    }
    if process::exists("apt-get") && is_root() {
        println!("Chromium is missing: installing it");
        process::run(Command::new("apt-get").args(["update", "-qq"]))?;
        let install = [
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
            "chromium",
        ];
        let mut command = Command::new("apt-get");
        process::run(
            command
                .args(install)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )?;
    }
    match find() {
        Some(path) => Ok(path),
        None => bail!(
            "Chromium was not found: install it (Debian: `apt-get install chromium`), or name it \
             in the variable CHROMIUM"
        ),
    }
}

fn is_root() -> bool {
    // The owner of this process's folder in /proc is its effective user.
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(Path::new("/proc/self")).is_ok_and(|metadata| metadata.uid() == 0)
}
