//! `cargo xtask test slow` and `crash`: the tests of the package `tests/slow`.
//!
//! They are built without the budget of the fast suite, and left out of `cargo test --workspace`:
//! their manifest turns them off, and naming them turns them on.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{process, proof, repository};

const PACKAGE: &str = "jackdaw-slow-tests";
const CRASH_TESTS: &[&str] = &[
    "full_disk",
    "histories",
    "import_kill",
    "kill",
    "redis_kill",
    "server_kill",
    "syscall_kill",
];
/// Arguments of `crash` and the variables by which the tests take them.
const VARIABLES: &[(&str, &str)] = &[
    ("--kills", "JACKDAW_KILLS"),
    ("--server-kills", "JACKDAW_SERVER_KILLS"),
    ("--redis-kills", "JACKDAW_REDIS_KILLS"),
    ("--albums", "JACKDAW_IMPORT_ALBUMS"),
    ("--history-seconds", "JACKDAW_HISTORY_SECONDS"),
    ("--syscall-kills", "JACKDAW_SYSCALL_KILLS"),
    ("--syscall-errors", "JACKDAW_SYSCALL_ERRORS"),
    ("--full-disks", "JACKDAW_FULL_DISKS"),
];

/// Argument of `crash` that starts the soak, and nothing else.
const SOAK: &str = "--soak-minutes";

/// # Errors
/// When a test fails.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("unknown argument `{argument}`; see `cargo xtask test --help`");
    }
    let root = repository::root();
    let names = repository::rust_file_names(&root.join("tests/slow/tests"))?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    run_tests(&root, &names, &[])
}

/// # Errors
/// When a test fails.
pub(super) fn run_crash(arguments: &[String]) -> Result<()> {
    if let Some((first, minutes)) = arguments.split_first()
        && first == SOAK
    {
        return run_soak(minutes);
    }
    let mut variables = Vec::new();
    let mut of_proof = vec!["crash"];
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            bail!("`{}` needs a value", pair[0])
        };
        value
            .parse::<u64>()
            .with_context(|| format!("{name} wants a whole number"))?;
        if proof::ARGUMENTS.contains(&name.as_str()) {
            of_proof.extend([name.as_str(), value.as_str()]);
            continue;
        }
        let known = VARIABLES.iter().find(|(argument, _)| argument == name);
        let (_, variable) = known.with_context(|| format!("unknown argument `{name}`"))?;
        variables.push((*variable, value.as_str()));
    }
    proof::start(&of_proof)?;
    run_tests(&repository::root(), CRASH_TESTS, &variables)
}

fn run_soak(minutes: &[String]) -> Result<()> {
    let [minutes] = minutes else {
        bail!("{SOAK} wants a number of minutes and nothing beside it");
    };
    let cargo = ["run", "--package", PACKAGE, "--bin", "soak", "--"];
    process::run(process::cargo_in(&repository::root(), &cargo).arg(minutes))
}

fn run_tests(root: &Path, names: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    // Some of them start the binary, from the folder where they lie themselves.
    let binary = ["build", "--package", "jackdaw-cli", "--bin", "jackdaw"];
    process::run(&mut process::cargo_in(root, &binary))?;
    let mut command = process::cargo_in(root, &["test", "--package", PACKAGE, "--no-fail-fast"]);
    for name in names {
        command.args(["--test", name]);
    }
    // What the tests print says how much they did.
    command
        .args(["--", "--nocapture"])
        .envs(variables.iter().copied());
    process::run(&mut command)
}
