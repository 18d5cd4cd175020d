//! The fast suite: `cargo test` over the workspace, timed after the build.
//!
//! Exit status: 0 when every test passed. The budget is compared and reported; it fails the run
//! only when `--budget-seconds` asks for it, because a cold or shared machine is slow for reasons
//! that no test can change.
//!
//! libtest prints the time of each test only with an unstable flag. The tests are therefore run
//! through `env`, Cargo's "runner", with a `RUSTC_BOOTSTRAP` that names no crate: libtest accepts
//! the flag then, while every compiler stays on stable, also those that a test starts itself.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::report::Report;
use crate::{process, repository};

/// Wall time of the whole suite after the build, on two idle cores; reported when it is exceeded.
const BUDGET: Duration = Duration::from_secs(60);
const SLOWEST_SHOWN: usize = 10;
/// What is built and run. Libraries are among the tests; `--lib` refuses a package without one.
const TARGETS: &[&str] = &["--bins", "--tests", "--examples"];
/// Tests that compile programs against a package: package and test. Their first run builds its
/// dependencies once more, which belongs to the build.
const COMPILING_TESTS: &[(&str, &str)] = &[("jackdaw-storage", "lifetimes")];

#[derive(Debug, PartialEq)]
struct Settings {
    /// Running time beyond which the run fails.
    limit: Option<Duration>,
    packages: Vec<String>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let settings = parse(arguments)?;
    let root = repository::root();
    let mut build = process::cargo_in(&root, &["test", "--no-run"]);
    process::run(build.args(&settings.packages).args(TARGETS))?;
    build_compiling_tests(&root, &settings)?;

    let mut report = Report::default();
    let start = Instant::now();
    let units = run_binaries(&root, &settings, &mut report)?;
    // Documentation tests are built by their runner; that build is part of their time.
    let documentation = run_documentation_tests(&root, &settings, &mut report)?;
    let elapsed = start.elapsed();

    print_report(&report, elapsed);
    let passed = units && documentation && report.failed == 0;
    verdict(passed, elapsed, settings.limit)
}

/// # Errors
/// When a test failed, or the running time is beyond the limit that was asked for.
fn verdict(passed: bool, elapsed: Duration, limit: Option<Duration>) -> Result<()> {
    if !passed {
        bail!("tests failed");
    }
    match limit {
        Some(limit) if elapsed > limit => bail!(
            "the fast suite took {:.1} s, over its limit of {} s: make the slowest faster, or \
             move them to tests/slow",
            elapsed.as_secs_f64(),
            limit.as_secs()
        ),
        _ => Ok(()),
    }
}

/// Runs each of [`COMPILING_TESTS`] once, unmeasured. What fails here fails again where it counts.
fn build_compiling_tests(root: &Path, settings: &Settings) -> Result<()> {
    for (package, test) in COMPILING_TESTS {
        let is_named = |name: &String| name == package || name == "--workspace";
        if !settings.packages.iter().any(is_named) {
            continue;
        }
        let mut command = process::cargo_in(root, &["test", "-q", "-p", package, "--test", test]);
        println!("$ cargo test -q -p {package} --test {test} (builds what it compiles against)");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().context("cannot start cargo")?;
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Settings> {
    let mut settings = Settings {
        limit: None,
        packages: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = rest
            .next()
            .with_context(|| format!("`{argument}` needs a value"))?;
        match argument.as_str() {
            "--budget-seconds" => {
                let seconds = value
                    .parse()
                    .context("--budget-seconds wants a whole number")?;
                settings.limit = Some(Duration::from_secs(seconds));
            }
            "-p" | "--package" => settings.packages.extend(["-p".to_owned(), value.clone()]),
            _ => bail!("unknown argument `{argument}`; see `cargo xtask test --help`"),
        }
    }
    if settings.packages.is_empty() {
        settings.packages.push("--workspace".to_owned());
    }
    Ok(settings)
}

fn run_binaries(root: &Path, settings: &Settings, report: &mut Report) -> Result<bool> {
    let mut command = process::cargo_in(root, &["test", "--no-fail-fast"]);
    command.args(&settings.packages).args(TARGETS);
    if let Some(variable) = runner_variable()? {
        command.env(variable, "env RUSTC_BOOTSTRAP=libtest_report_time");
        command.args(["--", "-Z", "unstable-options", "--report-time"]);
    }
    stream(command, report)
}

fn run_documentation_tests(root: &Path, settings: &Settings, report: &mut Report) -> Result<bool> {
    if settings.packages.iter().any(|argument| argument == "-p") {
        return Ok(true); // Cargo refuses --doc for a package without a library
    }
    let command = process::cargo_in(root, &["test", "--doc", "--workspace", "--no-fail-fast"]);
    stream(command, report)
}

/// The environment variable with which Cargo takes a runner for this machine's target.
fn runner_variable() -> Result<Option<String>> {
    if !process::exists("env") {
        return Ok(None);
    }
    let triple = process::host_triple()?.replace('-', "_").to_uppercase();
    Ok(Some(format!("CARGO_TARGET_{triple}_RUNNER")))
}

/// Runs a command with both of its outputs in one pipe, so that their order is kept; shows every
/// line unchanged and reads it.
fn stream(mut command: Command, report: &mut Report) -> Result<bool> {
    let (reader, writer) = std::io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().context("cannot start cargo")?;
    drop(command); // closes this side's writer: the pipe ends when the child's do
    let mut out = std::io::stdout();
    let mut line = Vec::new();
    let mut reader = BufReader::new(reader);
    while reader.read_until(b'\n', &mut line)? > 0 {
        out.write_all(&line)?;
        report.read_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(child.wait()?.success())
}

fn print_report(report: &Report, elapsed: Duration) {
    let slowest = report.slowest(SLOWEST_SHOWN);
    if !slowest.is_empty() {
        println!("\nTen slowest tests:");
        for test in slowest {
            println!(
                "  {:>7.3} s  {} {}",
                test.time.as_secs_f64(),
                test.binary,
                test.name
            );
        }
    }
    println!(
        "\nFast suite: {} passed, {} failed, {} ignored; {:.1} s after the build",
        report.passed,
        report.failed,
        report.ignored,
        elapsed.as_secs_f64()
    );
    if elapsed > BUDGET {
        println!(
            "That is over the budget of {} s, which holds for two idle cores",
            BUDGET.as_secs()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Settings> {
        let arguments: Vec<String> = arguments.iter().map(|&a| a.to_owned()).collect();
        parse(&arguments)
    }

    #[test]
    fn passing_tests_pass_however_long_they_take() {
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(100_000));
        assert!(verdict(true, long, None).is_ok());
        assert!(verdict(true, short, Some(short)).is_ok());
        assert!(verdict(true, long, Some(short)).is_err());
        assert!(verdict(false, short, None).is_err());
        assert!(verdict(false, short, Some(long)).is_err());
    }

    #[test]
    fn a_limit_is_set_only_by_its_flag() {
        let whole = parsed(&[]).unwrap();
        assert_eq!(whole.limit, None);
        assert_eq!(whole.packages, ["--workspace"]);
        let some = parsed(&["--budget-seconds", "9", "-p", "jackdaw-io"]).unwrap();
        assert_eq!(some.limit, Some(Duration::from_secs(9)));
        assert_eq!(some.packages, ["-p", "jackdaw-io"]);
        assert!(parsed(&["--budget-seconds"]).is_err());
        assert!(parsed(&["--budget-seconds", "-1"]).is_err());
        assert!(parsed(&["--nonsense", "1"]).is_err());
    }
}
