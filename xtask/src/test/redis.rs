//! `cargo xtask test redis`: redis-py and redis-cli against the Redis server.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::server::Server;
use crate::{process, repository};

const CLIENT: &str = "redis==5.2.1";
const SCRIPT: &str = "examples/python/redis_keys.py";

/// # Errors
/// When Python or the client cannot be had, or the script fails.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("unknown argument `{argument}`; see `cargo xtask test --help`");
    }
    let root = repository::root();
    let target = process::target_directory(&root)?;
    let python = python_with_client(&target)?;
    let keys = target.join(format!("test-redis-{}", std::process::id()));
    let keys_text = keys.to_string_lossy().into_owned();
    for mode in [&[][..], &["--redis-data", &keys_text]] {
        let port = free_port()?;
        let address = format!("127.0.0.1:{port}");
        let arguments = [&["serve", "--redis", &address][..], mode].concat();
        let server = Server::start(&root, &arguments)?;
        let mut script = Command::new(&python);
        script
            .arg(root.join(SCRIPT))
            .args(["127.0.0.1", &port.to_string()]);
        process::run(&mut script)?;
        ask_cli(port)?;
        drop(server);
    }
    std::fs::remove_dir_all(&keys)?;
    println!("Redis clients: {SCRIPT} passed in memory and in durable mode");
    Ok(())
}

/// `redis-cli`, where it is installed.
fn ask_cli(port: u16) -> Result<()> {
    if !process::exists("redis-cli") {
        println!("redis-cli was not found and is left out");
        return Ok(());
    }
    let port = port.to_string();
    let mut command = Command::new("redis-cli");
    command.args(["-p", &port, "-3", "ECHO", "from redis-cli"]);
    let output = process::output_of(&mut command)?;
    if !output.contains("from redis-cli") {
        bail!("redis-cli got {output:?}");
    }
    println!("redis-cli: passed");
    Ok(())
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    Ok(listener.local_addr()?.port())
}

/// A virtual environment with the client, made once; gives its Python.
fn python_with_client(target: &Path) -> Result<PathBuf> {
    let environment = target.join("redis-client");
    let python = environment.join("bin/python");
    let freeze = Command::new(&python)
        .args(["-m", "pip", "freeze", "--quiet"])
        .output();
    if freeze.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(CLIENT)) {
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
    process::run(Command::new(&python).args(["-m", "pip", "install", "--quiet", CLIENT]))?;
    Ok(python)
}
