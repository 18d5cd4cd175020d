//! `cargo xtask bench search`: the same rows and queries on Jackdaw, tantivy and Lucene, in turn.
//!
//! Each engine runs alone, in a separate process and directory. Drivers: benches/search
//! (Jackdaw and tantivy), benches/search/lucene (Java, built by Maven).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{process, repository};

const OWN: &str = "jackdaw";
const TANTIVY: &str = "tantivy";
const LUCENE: &str = "lucene";
const ALBUMS: &str = "500000";
/// File of the tables, in the directory of the run.
const TABLES: &str = "tables.markdown";
/// Work whose rate is compared; all other lines are of queries.
const INDEXING: &[&str] = &[
    "commit every 1,000",
    "commit every row",
    "one commit",
    "update 20 %",
];
const STATES: &[&str] = &["fresh", "updated"];

struct Settings {
    engines: Vec<String>,
    /// Rows made by the caller; invented ones otherwise.
    rows: Option<PathBuf>,
    albums: String,
    directory: PathBuf,
}

/// One line of a driver.
struct Sample {
    engine: String,
    work: String,
    state: String,
    line: Value,
}

/// # Errors
/// When a build or a run fails, or an engine does not find what it indexed.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let root = repository::root();
    let settings = parse(arguments, &root)?;
    std::fs::create_dir_all(&settings.directory)?;
    let driver = build_driver(&root)?;
    let lucene = match settings.engines.iter().any(|engine| engine == LUCENE) {
        true => Some(build_lucene(&root)?),
        false => None,
    };
    let rows = match &settings.rows {
        Some(rows) => rows.clone(),
        None => invent_rows(&root, &settings)?,
    };
    let queries = settings.directory.join("queries.tsv");
    process::run(Command::new(&driver).arg("queries").args([&rows, &queries]))?;
    let mut samples = Vec::new();
    for engine in &settings.engines {
        println!("{engine}");
        let directory = settings.directory.join(engine);
        if directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        let mut command = match &lucene {
            Some(classes) if engine == LUCENE => java(classes),
            _ => {
                let mut command = Command::new(&driver);
                command.args(["run", engine]);
                command
            }
        };
        let text = process::output_of(command.args([&rows, &queries, &directory]))?;
        for line in text.lines() {
            samples.push(read(line)?);
        }
        std::fs::remove_dir_all(&directory)?;
    }
    let text = format!("{}\n{}", indexing(&samples), queries_table(&samples));
    println!("\n{text}");
    let path = settings.directory.join(TABLES);
    std::fs::write(&path, text)?;
    println!("The tables: {}", path.display());
    Ok(())
}

fn parse(arguments: &[String], root: &Path) -> Result<Settings> {
    let mut settings = Settings {
        engines: Vec::new(),
        rows: None,
        albums: ALBUMS.to_owned(),
        directory: root.join("target/bench/search"),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--compare" {
            settings.engines = [OWN, TANTIVY, LUCENE].map(str::to_owned).into();
            continue;
        }
        let value = rest
            .next()
            .with_context(|| format!("`{argument}` needs a value"))?;
        match argument.as_str() {
            "--engine" => {
                let is_known = [OWN, TANTIVY, LUCENE].contains(&value.as_str());
                ensure!(is_known, "there is no engine `{value}`");
                settings.engines.push(value.clone());
            }
            "--rows" => settings.rows = Some(PathBuf::from(value)),
            "--albums" => settings.albums.clone_from(value),
            "--directory" => settings.directory = PathBuf::from(value),
            _ => bail!("unknown argument `{argument}`; see `cargo xtask bench --help`"),
        }
    }
    if settings.engines.is_empty() {
        settings.engines.push(OWN.to_owned());
    }
    Ok(settings)
}

/// The driver of Jackdaw and tantivy, built in a separate target directory.
fn build_driver(root: &Path) -> Result<PathBuf> {
    let target = process::target_directory(root)?.join("search-compare");
    let folder = root.join("benches/search");
    let mut build = process::cargo_in(&folder, &["build", "--release", "--locked"]);
    process::run(build.env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("release/jackdaw-search-compare"))
}

/// The driver of Lucene; returns its class path.
fn build_lucene(root: &Path) -> Result<String> {
    for program in ["java", "mvn"] {
        ensure!(
            process::exists(program),
            "Lucene needs `{program}`; without it: --engine jackdaw --engine tantivy"
        );
    }
    let target = process::target_directory(root)?.join("lucene-compare");
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "package"]);
    maven.arg(format!("-DbuildDirectory={}", target.display()));
    process::run(maven.current_dir(root.join("benches/search/lucene")))?;
    let (classes, libraries) = (target.join("classes"), target.join("dependency"));
    Ok(format!("{}:{}/*", classes.display(), libraries.display()))
}

fn java(class_path: &str) -> Command {
    let mut command = Command::new("java");
    command.args(["-Xmx2g", "-cp", class_path]);
    command.arg("dev.jackdaw.bench.LuceneCompare");
    command
}

/// Albums of the demo's generator as rows, made once.
fn invent_rows(root: &Path, settings: &Settings) -> Result<PathBuf> {
    let path = settings
        .directory
        .join(format!("albums-{}.tsv", settings.albums));
    if path.exists() {
        return Ok(path);
    }
    let unfinished = path.with_extension("part");
    let arguments = [
        "run",
        "--release",
        "--package",
        "jackdaw-examples",
        "--example",
        "search_rows",
        "--",
        &settings.albums,
    ];
    let mut command = process::cargo_in(root, &arguments);
    process::run(command.stdout(Stdio::from(File::create(&unfinished)?)))?;
    std::fs::rename(&unfinished, &path)?;
    Ok(path)
}

fn read(line: &str) -> Result<Sample> {
    let value: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    Ok(Sample {
        engine: text("engine"),
        work: text("work"),
        state: text("state"),
        line: value,
    })
}

/// Work of indexing, a row for each engine.
fn indexing(samples: &[Sample]) -> String {
    let columns = [
        ("rows_per_second", "rows/s"),
        ("rows_per_processor_second", "rows/processor s"),
        ("written_mib", "MiB written"),
        ("disk_mib", "MiB on disk"),
        ("peak_memory_mib", "peak MiB"),
        ("p50_us", "visible p50 us"),
        ("p99_us", "visible p99 us"),
    ];
    let mut text = "| work | engine |".to_owned();
    columns
        .iter()
        .for_each(|(_, name)| text.push_str(&format!(" {name} |")));
    text.push_str("\n|---|---|");
    columns.iter().for_each(|_| text.push_str("--:|"));
    text.push('\n');
    for work in INDEXING {
        for sample in samples.iter().filter(|sample| sample.work == *work) {
            text.push_str(&format!("| {work} | {} |", sample.engine));
            for (column, _) in columns {
                text.push_str(&format!(" {} |", number(&sample.line[column])));
            }
            text.push('\n');
        }
    }
    text
}

/// Median times of each class of queries, and ours over the best peer's: below 1, ours is faster.
fn queries_table(samples: &[Sample]) -> String {
    let mut engines: Vec<&str> = Vec::new();
    let mut classes: Vec<&str> = Vec::new();
    for sample in samples {
        if !engines.contains(&sample.engine.as_str()) {
            engines.push(&sample.engine);
        }
        if !INDEXING.contains(&sample.work.as_str()) && !classes.contains(&sample.work.as_str()) {
            classes.push(&sample.work);
        }
    }
    let mut text = String::new();
    for state in STATES {
        text.push_str(&format!("\n| queries, {state} |"));
        for engine in &engines {
            text.push_str(&format!(" {engine} p50 us | p99 | rows |"));
        }
        text.push_str(" to the best peer |\n|---|");
        text.push_str(&"--:|".repeat(engines.len() * 3 + 1));
        text.push('\n');
        for class in &classes {
            let of = |engine: &str| {
                let is_it =
                    |s: &&Sample| s.engine == engine && s.work == *class && s.state == *state;
                samples.iter().find(is_it).map(|sample| &sample.line)
            };
            text.push_str(&format!("| {class} |"));
            for engine in &engines {
                for column in ["p50_us", "p99_us", "rows"] {
                    let shown = of(engine).map(|line| number(&line[column]));
                    text.push_str(&format!(" {} |", shown.unwrap_or_default()));
                }
            }
            let p50 = |engine: &str| of(engine).and_then(|line| line["p50_us"].as_f64());
            let peers = engines.iter().filter(|engine| **engine != OWN);
            let best = peers.filter_map(|engine| p50(engine)).reduce(f64::min);
            let ratio = p50(OWN)
                .zip(best)
                .map(|(own, best)| format!("{:.2}", own / best));
            text.push_str(&format!(" {} |\n", ratio.unwrap_or_default()));
        }
    }
    text
}

fn number(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if number < 100.0 => format!("{number:.1}"),
        Some(number) => format!("{number:.0}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_to_the_best_peer() {
        let line = |engine: &str, p50: f64| {
            let text = format!(
                "{{\"engine\":\"{engine}\",\"work\":\"term\",\"state\":\"fresh\",\"p50_us\":{p50}}}"
            );
            read(&text).unwrap()
        };
        let samples = [line(OWN, 10.0), line(TANTIVY, 40.0), line(LUCENE, 20.0)];
        let table = queries_table(&samples);
        let row = table
            .lines()
            .find(|line| line.starts_with("| term"))
            .unwrap();
        assert_eq!(
            row,
            "| term | 10.0 |  |  | 40.0 |  |  | 20.0 |  |  | 0.50 |"
        );
    }
}
