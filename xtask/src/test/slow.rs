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
/// The test that is a folder.
const HOSTILE: &str = "hostile";
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
/// The same for `watchers` and `hostile`.
const WATCHER_VARIABLES: &[(&str, &str)] = &[
    ("--watchers", "JACKDAW_WATCHERS"),
    ("--seconds", "JACKDAW_WATCHER_SECONDS"),
    ("--soak-watchers", "JACKDAW_SOAK_WATCHERS"),
    ("--seed", "JACKDAW_SEED"),
];
const HOSTILE_VARIABLES: &[(&str, &str)] = &[
    ("--rounds", "JACKDAW_HOSTILE_ROUNDS"),
    ("--memory-mib", "JACKDAW_HOSTILE_MIB"),
    ("--from", "JACKDAW_HOSTILE_FROM"),
    ("--seed", "JACKDAW_SEED"),
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
    let names = names.iter().map(String::as_str);
    let names: Vec<&str> = names.chain([HOSTILE]).collect();
    run_tests(&root, &names, &[])
}

/// # Errors
/// When a watcher misses something, or takes too much.
pub(super) fn run_watchers(arguments: &[String]) -> Result<()> {
    let names = ["watchers", "watcher_soak"];
    run_tests(
        &repository::root(),
        &names,
        &given(arguments, WATCHER_VARIABLES)?,
    )
}

/// # Errors
/// When the server ends, hangs, panics or takes too much.
pub(super) fn run_hostile(arguments: &[String]) -> Result<()> {
    let variables = given(arguments, HOSTILE_VARIABLES)?;
    run_tests(&repository::root(), &[HOSTILE], &variables)
}

/// Arguments as the variables by which tests take them, with their values.
fn given<'a>(
    arguments: &'a [String],
    known: &[(&str, &'static str)],
) -> Result<Vec<(&'static str, &'a str)>> {
    let named = numbers(arguments)?.into_iter();
    named
        .map(|(name, value)| Ok((variable(name, known)?, value)))
        .collect()
}

/// Names with whole numbers behind them.
fn numbers(arguments: &[String]) -> Result<Vec<(&str, &str)>> {
    let mut named = Vec::new();
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            bail!("`{}` needs a value", pair[0])
        };
        let number = value.parse::<u64>();
        number.with_context(|| format!("{name} wants a whole number"))?;
        named.push((name.as_str(), value.as_str()));
    }
    Ok(named)
}

fn variable(name: &str, known: &[(&str, &'static str)]) -> Result<&'static str> {
    let found = known.iter().find(|(argument, _)| *argument == name);
    let (_, variable) = found.with_context(|| format!("unknown argument `{name}`"))?;
    Ok(variable)
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
    for (name, value) in numbers(arguments)? {
        if proof::ARGUMENTS.contains(&name) {
            of_proof.extend([name, value]);
        } else {
            variables.push((variable(name, VARIABLES)?, value));
        }
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
