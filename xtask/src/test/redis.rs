//! `cargo xtask test redis`: Redis's clients against the Redis server, in memory and durable.
//!
//! The suites lie in `tests/clients/redis`, one folder a client, with pinned releases of those from
//! a registry. Scenarios that need a password or a restart start servers of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::redis_own;
use super::server::Server;
use super::suites::{self, Suite};
use crate::{process, repository};

const SUITES_DIRECTORY: &str = "tests/clients/redis";
const PYTHON_EXAMPLE: &str = "examples/python/redis_keys.py";
const MODES: [&str; 2] = ["memory", "durable"];
/// Environment variable with the program that scenarios start as a server.
const BINARY_VARIABLE: &str = "JACKDAW_BINARY";

/// Where things are, and what was asked for.
struct Context {
    root: PathBuf,
    target: PathBuf,
    binary: PathBuf,
    url: String,
    scenario: String,
}

const SUITES: &[Suite<Context>] = &[
    Suite {
        name: "python",
        programs: &["python3"],
        advice: "install Python 3.10 or later",
        run: python,
    },
    Suite {
        name: "node",
        programs: &["node", "npm"],
        advice: "install Node.js 20 or later, which brings npm",
        run: node,
    },
    Suite {
        name: "cli",
        programs: &["redis-cli", "python3"],
        advice: "install redis-cli 7 or later and Python 3.9 or later \
                 (Debian: `apt-get install redis-tools python3`)",
        run: cli,
    },
];

/// # Errors
/// When a client cannot be had, or a scenario fails.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    if let [option, sources, rest @ ..] = arguments
        && option == "--sources"
    {
        return run_own(Path::new(sources), rest);
    }
    let mut chosen = suites::choose(SUITES, arguments)?;
    let modes = modes(&chosen.others)?;
    let root = repository::root();
    let target = process::target_directory(&root)?;
    let mut failed = suites::leave_out_missing(&mut chosen.suites);
    for mode in modes {
        println!("Redis server, keys {mode}:");
        let keys = target.join(format!("test-redis-{}", std::process::id()));
        let keys_text = keys.to_string_lossy();
        let mut arguments = vec!["serve", "--redis", "127.0.0.1:0"];
        if mode == "durable" {
            arguments.extend(["--redis-data", &keys_text]);
        }
        let server = Server::start(&root, &arguments)?;
        let context = Context {
            root: root.clone(),
            target: target.clone(),
            binary: server.binary.clone(),
            url: server.redis_url.clone(),
            scenario: chosen.scenario.clone(),
        };
        let of_mode = suites::run_all(&chosen.suites, &context);
        failed.extend(of_mode.iter().map(|name| format!("{name} ({mode})")));
        drop(server);
        if mode == "durable" {
            std::fs::remove_dir_all(&keys)?;
        }
    }
    if !failed.is_empty() {
        bail!("suites of Redis clients that failed: {}", failed.join(", "));
    }
    Ok(())
}

/// Redis's own programs, in both modes unless one is named.
fn run_own(sources: &Path, arguments: &[String]) -> Result<()> {
    if !process::exists("timeout") {
        bail!("`timeout` was not found: install coreutils");
    }
    let (named, parts) = match arguments {
        [option, mode, parts @ ..] if option == "--mode" => {
            (&[option.clone(), mode.clone()][..], parts)
        }
        parts => (&[][..], parts),
    };
    let modes = modes(named)?;
    modes
        .into_iter()
        .try_for_each(|mode| redis_own::run(sources, mode, parts))
}

/// `--mode memory` or `--mode durable`; both without it.
fn modes(arguments: &[String]) -> Result<Vec<&'static str>> {
    let named = |mode: &str| MODES.into_iter().find(|known| *known == mode);
    match arguments {
        [] => Ok(MODES.to_vec()),
        [option, mode] if option == "--mode" => match named(mode) {
            Some(mode) => Ok(vec![mode]),
            None => bail!("`--mode` is `memory` or `durable`, not `{mode}`"),
        },
        [other, ..] => bail!("unknown argument `{other}`; see `cargo xtask test --help`"),
    }
}

impl Context {
    fn suite(&self, name: &str) -> PathBuf {
        self.root.join(SUITES_DIRECTORY).join(name)
    }

    /// Runs a suite's main program, whose command is complete but for what all of them take.
    fn run(&self, command: &mut Command) -> Result<()> {
        command.env(BINARY_VARIABLE, &self.binary).arg(&self.url);
        process::run(command.arg(&self.scenario))
    }
}

/// The scenarios with redis-py, and the example.
fn python(context: &Context) -> Result<()> {
    let suite = context.suite("python");
    let environment = context.target.join("redis-client");
    let python = suites::python_with(&environment, &suite.join("requirements.txt"))?;
    context.run(&mut suites::python_script(&python, &suite.join("main.py")))?;
    let address = context.url.trim_start_matches("redis://");
    match address.rsplit_once(':') {
        Some((host, port)) if context.scenario.is_empty() => {
            let mut example = suites::python_script(&python, &context.root.join(PYTHON_EXAMPLE));
            process::run(example.args([host, port]))
        }
        _ => Ok(()),
    }
}

fn node(context: &Context) -> Result<()> {
    let suite = context.suite("node");
    suites::install_node_modules(&suite)?;
    context.run(Command::new("node").arg(suite.join("main.mjs")))
}

fn cli(context: &Context) -> Result<()> {
    let main = context.suite("cli").join("main.py");
    context.run(&mut suites::python_script(Path::new("python3"), &main))
}
