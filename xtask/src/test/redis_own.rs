//! `cargo xtask test redis --sources DIR`: Redis's own test programs against the Redis server.
//!
//! DIR is an unpacked source of Redis, which is never part of this repository. Which of its files
//! are run, and which of their tests fail for a reason, stands in `tests/clients/redis/own`. A test
//! fails the run when it is not named there, and a name that no test failed under does, too.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::server::Server;
use crate::{process, repository};

const FILES: &str = "tests/clients/redis/own/files.json";
/// What no server has that was not started by the programs themselves, and comparisons of how
/// Redis keeps values in memory.
const ARGUMENTS: [&str; 9] = [
    "--host",
    "127.0.0.1",
    "--singledb",
    "--durable",
    "--ignore-encoding",
    "--ignore-digest",
    "--dont-clean",
    "--tags",
    "-needs:debug -needs:repl -needs:save",
];
/// The programs talk to each other on a port of their own, this far below what they are given.
const CONTROL_PORT_BELOW: u16 = 32;
/// Seconds that a file may take.
const TIME_MAX: &str = "300";

/// A file of tests, with what is known of it.
struct File {
    name: String,
    /// Tests that fail.
    differences: BTreeSet<String>,
    /// Tests that are not run, because those behind them would fail or wait for ever.
    left_out: Vec<String>,
}

/// What a run of a file said.
#[derive(Default)]
struct Outcome {
    passed: usize,
    ignored: usize,
    failed: BTreeSet<String>,
    is_complete: bool,
}

/// Runs the files whose names hold one of `parts`, all without one.
///
/// # Errors
/// When a program is missing, or a test fails, or passes, that should not.
pub(super) fn run(sources: &Path, mode: &str, parts: &[String]) -> Result<()> {
    if !sources.join("tests/test_helper.tcl").exists() {
        bail!(
            "{} holds no source of Redis: give the folder that `apt-get source redis` makes",
            sources.display()
        );
    }
    let root = repository::root();
    let mut totals = (0, 0);
    let mut surprises = Vec::new();
    let mut passed = Vec::new();
    for file in read_files(&root.join(FILES))? {
        let is_wanted = |part: &String| file.name.contains(part.as_str());
        if !parts.is_empty() && !parts.iter().any(is_wanted) {
            continue;
        }
        let outcome = run_file(&root, sources, mode, &file)?;
        let run = outcome.passed + outcome.failed.len();
        totals = (totals.0 + outcome.passed, totals.1 + run);
        passed.push(format!(
            "{:<24} {:>4} of {run:<4} passed, {} left out by the programs",
            file.name, outcome.passed, outcome.ignored
        ));
        for name in outcome.failed.difference(&file.differences) {
            surprises.push(format!("{}: {name} failed", file.name));
        }
        for name in file.differences.difference(&outcome.failed) {
            surprises.push(format!("{}: {name} did not fail", file.name));
        }
        if !outcome.is_complete {
            surprises.push(format!("{} did not come to its end", file.name));
        }
    }
    passed.iter().for_each(|line| println!("{line}"));
    println!("{} of {} tests passed ({mode})", totals.0, totals.1);
    if !surprises.is_empty() {
        bail!("not as {FILES} says:\n  {}", surprises.join("\n  "));
    }
    Ok(())
}

fn read_files(path: &Path) -> Result<Vec<File>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let value: Value = serde_json::from_str(&text)?;
    let files = value["files"].as_array().context("no list of files")?;
    let names = |list: &Value| -> Vec<String> {
        let reasons = list.as_array().into_iter().flatten();
        let tests = reasons.filter_map(|reason| reason["tests"].as_array());
        let names = tests.flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    };
    let read = |file: &Value| {
        Ok(File {
            name: file["file"].as_str().context("a file has no name")?.into(),
            differences: names(&file["differences"]).into_iter().collect(),
            left_out: names(&file["left_out"]),
        })
    };
    files.iter().map(read).collect()
}

/// Runs a file against a fresh server.
fn run_file(root: &Path, sources: &Path, mode: &str, file: &File) -> Result<Outcome> {
    let target = process::target_directory(root)?;
    let keys = target.join(format!("test-redis-own-{}", std::process::id()));
    let keys_text = keys.to_string_lossy();
    // With several threads, commands of two clients run in no fixed order.
    let mut arguments = vec!["serve", "--redis", "127.0.0.1:0", "--redis-threads", "1"];
    if mode == "durable" {
        arguments.extend(["--redis-data", &keys_text]);
    }
    let server = Server::start(root, &arguments)?;
    let port = server.redis_url.rsplit(':').next().unwrap_or_default();
    let mut command = Command::new("timeout");
    command
        .args([TIME_MAX, "tclsh", "tests/test_helper.tcl"])
        .args(ARGUMENTS)
        .args(["--port", port, "--single", &file.name, "--baseport"])
        .arg(base_port()?.to_string())
        .current_dir(sources);
    for name in &file.left_out {
        command.args(["--skiptest", name]);
    }
    println!("{}, keys {mode}:", file.name);
    // It ends with a failure when a test has failed, which may be as it should be.
    let output = command.output().context("cannot start tclsh")?;
    drop(server);
    if mode == "durable" {
        std::fs::remove_dir_all(&keys)?;
    }
    let outcome = read_output(&String::from_utf8_lossy(&output.stdout));
    if !outcome.is_complete {
        println!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(outcome)
}

/// A port above which some are free, most likely.
fn base_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port().max(CONTROL_PORT_BELOW + 1024))
}

fn read_output(output: &str) -> Outcome {
    let mut outcome = Outcome::default();
    for line in output.lines() {
        let line = without_colors(line);
        if line.starts_with("[ok]: ") {
            outcome.passed += 1;
        } else if line.starts_with("[ignore]") || line.starts_with("[skip]") {
            outcome.ignored += 1;
        } else if let Some(rest) = line.strip_prefix("[err]: ") {
            let name = rest
                .rsplit_once(" in tests/")
                .map_or(rest, |(name, _)| name);
            outcome.failed.insert(name.to_owned());
        } else if line.contains("The End") {
            outcome.is_complete = true;
        }
    }
    outcome
}

/// A line without the codes that color it on a terminal.
fn without_colors(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, code)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = code.split_once('m').map_or("", |(_, after)| after);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_file_is_counted() {
        let output = "\u{1b}[0;32m[ok]\u{1b}[0m: SET (1 ms)\n\
            [ignore]: DEBUG: Tag: needs:debug denied\n\
            \u{1b}[0;31m[err]\u{1b}[0m: SORT in place in tests/unit/sort.tcl\n\
            Expected '' to equal or match 'a'\n";
        let outcome = read_output(output);
        assert_eq!((outcome.passed, outcome.ignored), (1, 1));
        assert_eq!(outcome.failed, BTreeSet::from(["SORT in place".to_owned()]));
        assert!(!outcome.is_complete);
    }

    #[test]
    fn the_list_of_files_can_be_read() {
        let files = read_files(&repository::root().join(FILES)).expect("reads");
        assert!(files.iter().any(|file| file.name == "unit/type/string"));
    }
}
