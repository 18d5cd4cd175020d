//! `cargo xtask test fuzz`: every fuzz target for a while, on the stable compiler.
//!
//! libFuzzer needs coverage counters in the code, which the compiler adds with flags that are
//! stable, and a C++ compiler for its own part. What it learned stays in `target/fuzz/corpus`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, repository};

const SECONDS: &str = "10";
/// Longest time for one input, and memory of a run.
const LIMITS: &[&str] = &["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"];
/// Lines of a failed run that are shown.
const LINES_SHOWN: usize = 40;
/// What cargo-fuzz passes too, without the sanitizers, which need a nightly compiler.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module \
     -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
     -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares \
     -Ccodegen-units=1 --cfg fuzzing";

/// # Errors
/// When a target cannot be built, or fails on an input.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let root = repository::root();
    let (seconds, chosen) = parse(arguments)?;
    let targets = repository::rust_file_names(&root.join("fuzz/targets"))?;
    if let Some(unknown) = chosen.iter().find(|name| !targets.contains(name)) {
        bail!(
            "there is no fuzz target `{unknown}`; there are: {}",
            targets.join(", ")
        );
    }
    let target_directory = root.join("target/fuzz");
    // Named, although it is this machine's own: flags are then not applied to build scripts.
    let triple = process::host_triple()?;
    let arguments = ["build", "--release", "--target", &triple];
    let mut build = process::cargo_in(&root.join("fuzz"), &arguments);
    process::run(
        build
            .env("RUSTFLAGS", INSTRUMENTATION)
            .env("CARGO_TARGET_DIR", &target_directory),
    )?;
    let mut failed = Vec::new();
    for target in targets
        .iter()
        .filter(|name| chosen.is_empty() || chosen.contains(name))
    {
        let programs = target_directory.join(&triple).join("release");
        if fuzz(&target_directory, &programs.join(target), target, &seconds).is_err() {
            failed.push(target.as_str());
        }
    }
    if !failed.is_empty() {
        bail!("inputs that fail were found for: {}", failed.join(", "));
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<(String, Vec<String>)> {
    let mut seconds = SECONDS.to_owned();
    let mut chosen = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seconds" {
            let value = rest.next().context("--seconds needs a value")?;
            let number: u32 = value.parse().context("--seconds wants a whole number")?;
            seconds = number.to_string();
        } else {
            chosen.push(argument.clone());
        }
    }
    Ok((seconds, chosen))
}

fn fuzz(target_directory: &Path, program: &Path, target: &str, seconds: &str) -> Result<()> {
    let folder = |kind: &str| -> Result<PathBuf> {
        let path = target_directory.join(kind).join(target);
        std::fs::create_dir_all(&path)?;
        Ok(path)
    };
    let corpus = folder("corpus")?;
    let artifacts = folder("artifacts")?;
    let mut command = Command::new(program);
    command
        .arg(&corpus)
        .arg(format!("-max_total_time={seconds}"))
        .args(LIMITS);
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    let output = command
        .output()
        .with_context(|| format!("cannot start {target}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let runs = statistic(&text, "stat::number_of_executed_units:");
    let per_second = statistic(&text, "stat::average_exec_per_sec:");
    if output.status.success() {
        println!("{target}: {runs} runs, {per_second} a second, nothing found");
        return Ok(());
    }
    let lines: Vec<&str> = text.lines().collect();
    println!("{target}: FAILED after {runs} runs");
    println!(
        "{}",
        lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
    );
    bail!("{target} failed");
}

fn statistic<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map_or("?", str::trim)
}
