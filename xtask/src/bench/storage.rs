//! `cargo xtask bench storage`: the storage workloads on Jackdaw and its peers, in turn.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::plot;
use super::table::{self, Row, Sample};
use crate::{process, repository};

const WORKLOADS: &[&str] = &[
    "seq",
    "random",
    "one-transaction",
    "small",
    "small-16",
    "read",
    "scan",
    "large",
    "delete",
];
const OWN: &str = "jackdaw";
/// Peers that are quickly built.
const PEERS: &[&str] = &["lmdb", "redb"];
/// Peers of `--compare`.
const MORE_PEERS: &[&str] = &["libmdbx", "fjall", "sqlite"];
/// A peer that is compared with when the system has its library.
const ROCKSDB: &str = "rocksdb";
const ROCKSDB_HEADER: &str = "/usr/include/rocksdb/c.h";
const REPETITIONS: usize = 3;

struct Settings {
    workloads: Vec<String>,
    engines: Vec<String>,
    repetitions: usize,
    directory: PathBuf,
    json: PathBuf,
    /// Arguments that every engine gets as they are.
    passed_on: Vec<String>,
}

/// # Errors
/// When a build or a run fails, or a run prints something else than measurements.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let root = repository::root();
    let settings = parse(arguments, &root)?;
    let binaries = Binaries::build(&root, &settings)?;
    let mut json = std::fs::File::create(&settings.json)
        .with_context(|| format!("cannot write {}", settings.json.display()))?;
    let mut samples = Vec::new();
    for workload in &settings.workloads {
        for repetition in 1..=settings.repetitions {
            for engine in &settings.engines {
                println!("{workload}, repetition {repetition}, {engine}");
                for line in run_once(&binaries, &settings, engine, workload)? {
                    writeln!(json, "{line}")?;
                    samples.push(sample_of(&line)?);
                }
            }
        }
    }
    report(&settings, &table::rows(&samples))
}

fn report(settings: &Settings, rows: &[Row]) -> Result<()> {
    let table = table::markdown(rows, OWN);
    let best = table::best_of_peers(rows, OWN);
    println!("\n{table}\n{best}");
    let text = settings.json.with_extension("md");
    std::fs::write(&text, format!("{table}\n{best}"))?;
    let picture = settings.json.with_extension("svg");
    std::fs::write(&picture, plot::rates(rows, OWN))?;
    println!(
        "Every measurement: {}\nTables and picture: {}, {}",
        settings.json.display(),
        text.display(),
        picture.display()
    );
    Ok(())
}

fn parse(arguments: &[String], root: &Path) -> Result<Settings> {
    let directory = root.join("target/bench");
    let mut settings = Settings {
        workloads: Vec::new(),
        engines: Vec::new(),
        repetitions: REPETITIONS,
        json: directory.join("storage.json"),
        directory,
        passed_on: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--compare" {
            settings.engines = all_engines();
            continue;
        }
        let value = rest
            .next()
            .with_context(|| format!("`{argument}` needs a value"))?;
        match argument.as_str() {
            "--workload" => settings.workloads.push(one_of(value, WORKLOADS)?),
            "--engine" if value == OWN => settings.engines.push(value.clone()),
            "--engine" => settings.engines.push(one_of(value, &peers())?),
            "--repetitions" => settings.repetitions = value.parse().context("--repetitions")?,
            "--directory" => settings.directory = PathBuf::from(value),
            "--json" => settings.json = PathBuf::from(value),
            "--items" | "--per-transaction" | "--durability" => {
                settings.passed_on.extend([argument.clone(), value.clone()]);
            }
            _ => bail!("unknown argument `{argument}`; see `cargo xtask bench --help`"),
        }
    }
    if settings.workloads.is_empty() {
        settings.workloads = WORKLOADS.iter().map(|w| (*w).to_owned()).collect();
    }
    if settings.engines.is_empty() {
        let all = [OWN].iter().chain(PEERS);
        settings.engines = all.map(|engine| (*engine).to_owned()).collect();
    }
    Ok(settings)
}

fn peers() -> Vec<&'static str> {
    [PEERS, MORE_PEERS, &[ROCKSDB]].concat()
}

/// Everything that can be built here; says what cannot.
fn all_engines() -> Vec<String> {
    let mut engines = vec![OWN.to_owned()];
    engines.extend(peers().into_iter().map(str::to_owned));
    if !Path::new(ROCKSDB_HEADER).exists() {
        println!(
            "Without RocksDB: its library is missing (Debian: `apt-get install librocksdb-dev`)"
        );
        engines.retain(|engine| engine != ROCKSDB);
    }
    engines
}

fn one_of(value: &str, allowed: &[&str]) -> Result<String> {
    if !allowed.contains(&value) {
        bail!("`{value}` is none of: {}", allowed.join(", "));
    }
    Ok(value.to_owned())
}

/// The programs to run, in release builds.
struct Binaries {
    own: PathBuf,
    compare: PathBuf,
}

impl Binaries {
    fn build(root: &Path, settings: &Settings) -> Result<Binaries> {
        std::fs::create_dir_all(&settings.directory)
            .with_context(|| format!("cannot create {}", settings.directory.display()))?;
        let own = process::build_jackdaw(root)?;
        let compare = root.join("benches/compare");
        // One target folder for both: the peers' workspace shares what the two have in common.
        let target = process::target_directory(root)?;
        if settings.engines.iter().any(|engine| engine != OWN) {
            let features = features_for(&settings.engines);
            let mut build = process::cargo_in(&compare, &["build", "--release"]);
            build.args(["--features", &features]);
            build.env("CARGO_TARGET_DIR", &target);
            if std::env::var_os("ROCKSDB_LIB_DIR").is_none() {
                let library = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
                build.env("ROCKSDB_LIB_DIR", library);
            }
            process::run(&mut build)?;
        }
        let release = target.join("release");
        Ok(Binaries {
            own,
            compare: release.join("jackdaw-compare"),
        })
    }

    fn command(&self, engine: &str) -> Command {
        if engine == OWN {
            let mut command = Command::new(&self.own);
            command.args(["bench", "storage"]);
            return command;
        }
        let mut command = Command::new(&self.compare);
        command.args(["--engine", engine]);
        command
    }
}

/// Features of `benches/compare` that bring the engines.
fn features_for(engines: &[String]) -> String {
    let has = |names: &[&str]| {
        engines
            .iter()
            .any(|engine| names.contains(&engine.as_str()))
    };
    let mut features = Vec::new();
    if has(MORE_PEERS) {
        features.push("more");
    }
    if has(&[ROCKSDB]) {
        features.push("rocksdb");
    }
    features.join(",")
}

/// One process in an empty directory; returns its lines of JSON.
fn run_once(
    binaries: &Binaries,
    settings: &Settings,
    engine: &str,
    workload: &str,
) -> Result<Vec<String>> {
    let directory = settings.directory.join(format!("{engine}-{workload}"));
    remove(&directory)?;
    let mut command = binaries.command(engine);
    command
        .args(["--workload", workload, "--json", "--directory"])
        .arg(&directory);
    let output = process::output_of(command.args(&settings.passed_on));
    remove(&directory)?;
    Ok(output?.lines().map(str::to_owned).collect())
}

fn remove(directory: &Path) -> Result<()> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)
            .with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    Ok(())
}

fn sample_of(line: &str) -> Result<Sample> {
    let value: Value = serde_json::from_str(line)
        .with_context(|| format!("a run printed something else than a measurement: {line}"))?;
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| value[name].as_f64().unwrap_or(f64::NAN);
    Ok(Sample {
        engine: text("engine"),
        workload: text("workload"),
        mode: text("mode"),
        ops_per_s: number("ops_per_s"),
        p50_us: number("p50_us"),
        p99_us: number("p99_us"),
        p999_us: number("p999_us"),
        write_ratio: number("write_bytes") / number("logical_bytes"),
        flush_ratio: number("flushes") / number("ops"),
        file_mib: number("file_bytes") / f64::from(1 << 20),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_run_becomes_a_sample() {
        let line = "{\"engine\":\"lmdb\",\"workload\":\"seq\",\"mode\":\"durable\",\"ops\":100,\
                    \"seconds\":0.5,\"ops_per_s\":200.0,\"p50_us\":7.0,\"p99_us\":9.0,\
                    \"p999_us\":11.0,\"logical_bytes\":1000,\"write_bytes\":2500,\"flushes\":1,\
                    \"file_bytes\":1048576,\"peak_rss_kib\":1}";
        let sample = sample_of(line).unwrap();
        assert_eq!(
            (sample.engine.as_str(), sample.workload.as_str()),
            ("lmdb", "seq")
        );
        assert!((sample.write_ratio - 2.5).abs() < f64::EPSILON);
        assert!((sample.file_mib - 1.0).abs() < f64::EPSILON);
        assert!(sample_of("Segmentation fault").is_err());
    }

    #[test]
    fn unknown_names_are_refused() {
        let root = Path::new("/nowhere");
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            parse(&words, root)
        };
        assert!(parse(&["--workload", "sequential"]).is_err());
        assert!(parse(&["--engine", "postgres"]).is_err());
        assert!(parse(&["--workload"]).is_err());
        let settings = parse(&["--engine", "lmdb", "--items", "10"]).unwrap();
        assert_eq!(settings.engines, ["lmdb"]);
        assert_eq!(settings.passed_on, ["--items", "10"]);
        assert_eq!(settings.workloads.len(), WORKLOADS.len());
    }
}
