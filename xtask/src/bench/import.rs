//! `cargo xtask bench import`: an archive of albums into an empty database, until queries by disc
//! id, artist and title are answered from a complete index.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::table::median;
use crate::{process, repository};

const ALBUMS: u64 = 500_000;
const REPETITIONS: usize = 3;
/// Asks for all three fields at once, so that one index holds them.
const QUERY: &str = "from Albums where DiscIds = 'f2112f0f' or Artist = 'THE velvet HARBOURS' \
                     or startsWith(Title, 'silver') limit 1";
/// How often the memory of a running import is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What one run took.
struct Run {
    import: Duration,
    /// From the end of the import until the index is complete and the query answered.
    index: Duration,
    peak_rss_kib: u64,
}

/// # Errors
/// When a build or a run fails.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let (albums, repetitions) = parse(arguments)?;
    let root = repository::root();
    let target = process::target_directory(&root)?;
    let directory = target.join("bench");
    std::fs::create_dir_all(&directory)?;
    let build = [
        "build",
        "--release",
        "--package",
        "jackdaw-cli",
        "--package",
        "jackdaw-examples",
    ];
    process::run(process::cargo_in(&root, &build).args(["--bin", "jackdaw", "--examples"]))?;
    let release = target.join("release");
    let archive = directory.join(format!("albums-{albums}.tar"));
    if !archive.exists() {
        let mut make = Command::new(release.join("examples/demo_archive"));
        process::run(make.arg(albums.to_string()).arg(&archive))?;
    }
    let first = directory.join("albums-1.tar");
    let mut make = Command::new(release.join("examples/demo_archive"));
    process::run(make.arg("1").arg(&first))?;

    let mut runs = Vec::new();
    for repetition in 1..=repetitions {
        let files = Files {
            jackdaw: release.join("jackdaw"),
            data: directory.join("import-data"),
        };
        let run = files.measure(&first, &archive)?;
        println!(
            "run {repetition}: import {:.2} s, index complete after {:.2} s more, {} MiB",
            run.import.as_secs_f64(),
            run.index.as_secs_f64(),
            run.peak_rss_kib >> 10
        );
        runs.push(run);
    }
    report(albums, &runs);
    Ok(())
}

fn parse(arguments: &[String]) -> Result<(u64, usize)> {
    let (mut albums, mut repetitions) = (ALBUMS, REPETITIONS);
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            bail!("`{}` needs a value", pair[0])
        };
        match name.as_str() {
            "--albums" => albums = value.parse().context("--albums wants a whole number")?,
            "--repetitions" => repetitions = value.parse().context("--repetitions")?,
            _ => bail!("unknown argument `{name}`; see `cargo xtask bench --help`"),
        }
    }
    Ok((albums, repetitions))
}

struct Files {
    jackdaw: PathBuf,
    data: PathBuf,
}

impl Files {
    fn measure(&self, first: &Path, archive: &Path) -> Result<Run> {
        self.remove()?;
        // One album and one question: the database and its index are there before the clock runs.
        self.import(first)?;
        self.query()?;
        let started = Instant::now();
        let peak_rss_kib = self.import(archive)?;
        let import = started.elapsed();
        self.query()?;
        let index = started.elapsed() - import;
        self.remove()?;
        Ok(Run {
            import,
            index,
            peak_rss_kib,
        })
    }

    /// Imports an archive; returns the largest memory of the process.
    fn import(&self, archive: &Path) -> Result<u64> {
        let mut command = Command::new(&self.jackdaw);
        command.args(["import", "freedb"]).arg(archive);
        let mut child = self
            .quiet(&mut command)
            .spawn()
            .context("cannot start jackdaw")?;
        let status_page = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        loop {
            if let Some(status) = child.try_wait()? {
                if !status.success() {
                    bail!("the import of {} failed ({status})", archive.display());
                }
                return Ok(peak);
            }
            let page = std::fs::read_to_string(&status_page).unwrap_or_default();
            let line = page.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            peak = kib.unwrap_or(0).max(peak);
            std::thread::sleep(LOOK);
        }
    }

    fn query(&self) -> Result<()> {
        let mut command = Command::new(&self.jackdaw);
        command.args(["query", QUERY]);
        let status = self
            .quiet(&mut command)
            .status()
            .context("cannot start jackdaw")?;
        if !status.success() {
            bail!("the query failed ({status})");
        }
        Ok(())
    }

    fn quiet<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .args(["--database", "music", "--data"])
            .arg(&self.data);
        command.stdout(Stdio::null())
    }

    fn remove(&self) -> Result<()> {
        match self.data.exists() {
            true => Ok(std::fs::remove_dir_all(&self.data)?),
            false => Ok(()),
        }
    }
}

fn report(albums: u64, runs: &[Run]) {
    let of = |seconds: fn(&Run) -> f64| median(runs.iter().map(seconds).collect());
    let import = of(|run| run.import.as_secs_f64());
    let ready = of(|run| (run.import + run.index).as_secs_f64());
    println!(
        "\nMedian of {} runs, {albums} albums from a plain archive:\n  \
         imported           {:>8.2} s {:>8.0} albums/s\n  \
         and index complete {:>8.2} s {:>8.0} albums/s\n  \
         largest memory     {:>6.0} MiB",
        runs.len(),
        import,
        albums as f64 / import,
        ready,
        albums as f64 / ready,
        of(|run| (run.peak_rss_kib >> 10) as f64),
    );
}
