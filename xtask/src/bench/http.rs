//! `cargo xtask bench http`: the server over HTTP, next to another that speaks the same protocol.
//!
//! Each repetition starts a fresh server of our own, drives it and the others in turn with the load
//! generator of benches/http, and measures how fast hyper answers from memory: the roof.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::postgres::Postgres;
use super::table::median;
use crate::test::Server;
use crate::{process, repository};

const REPETITIONS: usize = 3;
const DOCUMENTS: &str = "100000";
const SECONDS: &str = "3";
/// Tasks that the roof answers.
const OF_ROOF: &[&str] = &["load, 32 connections", "hello, 32 connections"];
/// Tasks that PostgreSQL runs.
const OF_POSTGRES: &[&str] = &[
    "store, 1 connection",
    "store, 32 connections",
    "batch of 100",
];
const OWN: &str = "Jackdaw";
const ROOF: &str = "roof";
const POSTGRES: &str = "PostgreSQL";
/// Tasks of a secured server, which tell what a token costs.
const OF_SECURED: &[&str] = &[
    "load over TLS, certificate",
    "load over TLS, token",
    "hello over TLS, token",
    "hello over TLS, nobody",
];

struct Settings {
    compare: Option<String>,
    has_postgres: bool,
    has_secured: bool,
    /// A file with one document a line.
    lines: Option<String>,
    repetitions: usize,
    documents: String,
    seconds: String,
    task: String,
}

impl Settings {
    fn wants(&self, tasks: &[&str]) -> bool {
        tasks.iter().any(|task| task.contains(&self.task))
    }
}

/// One line of the load generator.
struct Sample {
    server: String,
    task: String,
    unit: String,
    value: f64,
    /// Median latency, when the task repeats one request.
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    /// What the server computed per request or document.
    processor_us: Option<f64>,
}

/// # Errors
/// When a build fails, a server cannot be reached, or refuses a request.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let settings = parse(arguments)?;
    let root = repository::root();
    let target = process::target_directory(&root)?;
    let load = build(&root, &target)?;
    let mut samples = Vec::new();
    for repetition in 1..=settings.repetitions {
        println!("repetition {repetition} of {}", settings.repetitions);
        let own = Server::start(&root, &["serve"])?;
        samples.extend(drive(&load, OWN, &own.url, &settings, &[])?);
        drop(own);
        if settings.has_secured && settings.wants(OF_SECURED) {
            samples.extend(drive_secured(&root, &load, &settings)?);
        }
        if let Some(url) = &settings.compare {
            samples.extend(drive(&load, url, url, &settings, &[])?);
        }
        if settings.has_postgres && settings.wants(OF_POSTGRES) {
            let peer = Postgres::start(&target)?;
            samples.extend(drive(&load, POSTGRES, &peer.url, &settings, &[])?);
        }
        if settings.wants(OF_ROOF) {
            let roof = Roof::start(&load)?;
            samples.extend(drive(&load, ROOF, &roof.url, &settings, &[])?);
        }
    }
    print!("\n{}", table(&samples));
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Settings> {
    let mut settings = Settings {
        compare: None,
        has_postgres: false,
        has_secured: false,
        lines: None,
        repetitions: REPETITIONS,
        documents: DOCUMENTS.to_owned(),
        seconds: SECONDS.to_owned(),
        task: String::new(),
    };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let flag = match name.as_str() {
            "--postgres" => Some(&mut settings.has_postgres),
            "--secured" => Some(&mut settings.has_secured),
            _ => None,
        };
        if let Some(flag) = flag {
            *flag = true;
            continue;
        }
        let value = rest.next();
        let value = value.with_context(|| format!("`{name}` needs a value"))?;
        match name.as_str() {
            "--compare" => settings.compare = Some(value.trim_end_matches('/').to_owned()),
            "--repetitions" => settings.repetitions = value.parse().context("--repetitions")?,
            "--documents" => settings.documents.clone_from(value),
            "--seconds" => settings.seconds.clone_from(value),
            "--task" => settings.task.clone_from(value),
            "--lines" => settings.lines = Some(value.clone()),
            _ => bail!("unknown argument `{name}`; see `cargo xtask bench --help`"),
        }
    }
    Ok(settings)
}

/// The load generator, built in a separate target directory.
fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    let target = target.join("http-load");
    let folder = root.join("benches/http");
    let mut build = process::cargo_in(&folder, &["build", "--release", "--locked"]);
    process::run(build.env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("release/jackdaw-http-load"))
}

/// One run against a server of our own that is secured, with a key of an operator.
fn drive_secured(root: &Path, load: &Path, settings: &Settings) -> Result<Vec<Sample>> {
    let own = Server::start_secured(root, &["serve"])?;
    let mut create = Command::new(&own.binary);
    create.args([
        "key",
        "create",
        "bench",
        "--clearance",
        "Operator",
        "--data",
    ]);
    let told = process::output_of(create.arg(&own.directory))?;
    let key = told
        .split_whitespace()
        .find(|word| word.starts_with("jdk_"));
    let key = key.context("`jackdaw key create` printed no key")?;
    let directory = own.directory.to_str().context("a directory in UTF-8")?;
    let added = ["--data", directory, "--key", key];
    drive(load, OWN, &own.url, settings, &added)
}

/// One run of the load generator against a server.
fn drive(
    load: &Path,
    server: &str,
    url: &str,
    settings: &Settings,
    added: &[&str],
) -> Result<Vec<Sample>> {
    let mut command = Command::new(load);
    command.arg(url).args(["--documents", &settings.documents]);
    command.args(["--seconds", &settings.seconds]);
    if !settings.task.is_empty() {
        command.args(["--task", &settings.task]);
    }
    if let Some(file) = &settings.lines {
        command.args(["--lines", file]);
    }
    let text = process::output_of(command.args(added))?;
    text.lines().map(|line| read(server, line)).collect()
}

fn read(server: &str, line: &str) -> Result<Sample> {
    let row: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    Ok(Sample {
        server: server.to_owned(),
        task: text("task"),
        unit: text("unit"),
        value: row["value"].as_f64().context("a task without its value")?,
        p50_us: row["p50_us"].as_f64(),
        p99_us: row["p99_us"].as_f64(),
        processor_us: row["processor_us"].as_f64(),
    })
}

/// Medians by task and server, with the ratio of our own to each other server: above 1, ours does
/// more, or takes more memory.
fn table(samples: &[Sample]) -> String {
    let mut rows: Vec<[String; 7]> = Vec::new();
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for sample in samples {
        let key = (sample.task.as_str(), sample.server.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let of = |task: &str, server: &str, number: fn(&Sample) -> Option<f64>| {
        let chosen = samples
            .iter()
            .filter(|s| s.task == task && s.server == server);
        let numbers: Vec<f64> = chosen.filter_map(number).collect();
        (!numbers.is_empty()).then(|| median(numbers))
    };
    let mut tasks: Vec<&str> = Vec::new();
    for (task, _) in &keys {
        if !tasks.contains(task) {
            tasks.push(task);
        }
    }
    for task in tasks {
        let own = of(task, OWN, |sample| Some(sample.value));
        for (_, server) in keys.iter().filter(|(of_task, _)| *of_task == task) {
            let value = of(task, server, |sample| Some(sample.value)).unwrap_or_default();
            let unit = samples
                .iter()
                .find(|s| s.task == task)
                .map(|s| s.unit.as_str());
            let ratio = own.filter(|_| *server != OWN).map(|own| own / value);
            let shown = |number: Option<f64>| number.map_or(String::new(), |n| format!("{n:.0}"));
            rows.push([
                task.to_owned(),
                (*server).to_owned(),
                format!("{value:.0} {}", unit.unwrap_or_default()),
                ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
                shown(of(task, server, |sample| sample.p50_us)),
                shown(of(task, server, |sample| sample.p99_us)),
                of(task, server, |sample| sample.processor_us)
                    .map_or(String::new(), |n| format!("{n:.1}")),
            ]);
        }
    }
    let head = [
        "task",
        "server",
        "median",
        "Jackdaw to it",
        "p50 us",
        "p99 us",
        "processor us each",
    ];
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    };
    line(&head.map(str::to_owned));
    line(&head.map(|_| "---".to_owned()));
    rows.iter().for_each(|row| line(row));
    text
}

/// hyper alone, answering from memory; ended when dropped.
struct Roof {
    child: Child,
    url: String,
}

impl Roof {
    fn start(load: &Path) -> Result<Roof> {
        let mut command = Command::new(load);
        let mut child = command.arg("roof").stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("its output is not piped")?;
        let mut url = String::new();
        let read = BufReader::new(output).read_line(&mut url);
        let roof = Roof {
            child,
            url: url.trim().to_owned(),
        };
        read?;
        Ok(roof)
    }
}

impl Drop for Roof {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_stand_beside_their_ratios() {
        let line = |value: f64| format!("{{\"task\":\"t\",\"unit\":\"/s\",\"value\":{value}}}");
        let mut samples = Vec::new();
        for (server, values) in [(OWN, [90.0, 100.0, 700.0]), ("other", [50.0, 40.0, 60.0])] {
            samples.extend(values.map(|value| read(server, &line(value)).unwrap()));
        }
        let text = table(&samples);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "| t | Jackdaw | 100 /s |  |  |  |  |");
        assert_eq!(lines[3], "| t | other | 50 /s | 2.00 |  |  |  |");
        assert!(read(OWN, "rubbish").is_err());
    }
}
