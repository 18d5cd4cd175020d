//! Suites of programs that are clients of a server: which of them run, what they need, and how the
//! clients come from their registries.
//!
//! Each suite prints a line per scenario and closes with `N passed, N failed`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// Set by CI: a suite whose tools are missing is then a failure.
const CI_VARIABLE: &str = "CI";

/// A suite: its name, the programs it needs, and what runs it.
pub(super) struct Suite<C: 'static> {
    pub(super) name: &'static str,
    pub(super) programs: &'static [&'static str],
    /// What to install when one of them is missing.
    pub(super) advice: &'static str,
    pub(super) run: fn(&C) -> Result<()>,
}

/// What the arguments of a runner ask for.
pub(super) struct Chosen<C: 'static> {
    pub(super) suites: Vec<&'static Suite<C>>,
    /// Only scenarios whose name holds this run; empty for all.
    pub(super) scenario: String,
    /// Arguments that name neither.
    pub(super) others: Vec<String>,
}

/// Reads names of suites, all when there is none, and `--scenario PART`.
///
/// # Errors
/// When the part is missing.
pub(super) fn choose<C>(suites: &'static [Suite<C>], arguments: &[String]) -> Result<Chosen<C>> {
    let mut chosen = Chosen {
        suites: Vec::new(),
        scenario: String::new(),
        others: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--scenario" {
            let Some(part) = rest.next() else {
                bail!("`--scenario` needs a part of a scenario's name");
            };
            chosen.scenario.clone_from(part);
        } else if let Some(suite) = suites.iter().find(|suite| suite.name == argument) {
            chosen.suites.push(suite);
        } else {
            chosen.others.push(argument.clone());
        }
    }
    if chosen.suites.is_empty() {
        chosen.suites.extend(suites);
    }
    Ok(chosen)
}

/// Removes suites whose programs are missing, with a line for each; returns their names when that
/// is a failure.
pub(super) fn leave_out_missing<C>(suites: &mut Vec<&'static Suite<C>>) -> Vec<String> {
    let mut failed = Vec::new();
    suites.retain(|suite| {
        let missing = suite.programs.iter().find(|name| !process::exists(name));
        if let Some(missing) = missing {
            println!(
                "The suite `{}` did not run: `{missing}` was not found; {}.",
                suite.name, suite.advice
            );
            if std::env::var_os(CI_VARIABLE).is_some() {
                failed.push(suite.name.to_owned());
            }
        }
        missing.is_none()
    });
    failed
}

/// Runs suites one after another, failed or not; returns the names of those that failed.
pub(super) fn run_all<C>(suites: &[&'static Suite<C>], context: &C) -> Vec<String> {
    let mut failed = Vec::new();
    for suite in suites {
        if let Err(error) = (suite.run)(context) {
            println!("The suite `{}` failed: {error:#}", suite.name);
            failed.push(suite.name.to_owned());
        }
    }
    failed
}

/// A Python script that leaves no files next to its source.
pub(super) fn python_script(python: &Path, script: &Path) -> Command {
    let mut command = Command::new(python);
    command.env("PYTHONDONTWRITEBYTECODE", "1").arg(script);
    command
}

/// Makes a virtual environment with the client that `requirements` pins, once; returns its Python.
///
/// # Errors
/// When it cannot be made, or the client cannot be had.
pub(super) fn python_with(environment: &Path, requirements: &Path) -> Result<PathBuf> {
    let wanted = std::fs::read_to_string(requirements)?;
    let python = environment.join("bin/python");
    let asks = ["-m", "pip", "freeze", "--quiet"];
    let freeze = Command::new(&python).args(asks).output();
    if freeze.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains(wanted.trim())) {
        return Ok(python);
    }
    if environment.exists() {
        std::fs::remove_dir_all(environment)?;
    }
    let mut make = Command::new("python3");
    process::run(make.args(["-m", "venv"]).arg(environment))?;
    let arguments = ["-m", "pip", "install", "--quiet", "--requirement"];
    let mut install = Command::new(&python);
    process::run(install.args(arguments).arg(requirements))?;
    Ok(python)
}

/// Installs what the lock file of a suite in JavaScript pins, unless it is there.
///
/// # Errors
/// When npm fails.
pub(super) fn install_node_modules(suite: &Path) -> Result<()> {
    let installed = modified(&suite.join("node_modules/.package-lock.json"));
    if installed.is_none() || installed < modified(&suite.join("package-lock.json")) {
        let arguments = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        process::run(Command::new("npm").current_dir(suite).args(arguments))?;
    }
    Ok(())
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}
