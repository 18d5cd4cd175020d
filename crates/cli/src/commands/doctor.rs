//! `jackdaw doctor`: judges the machine, the disk and the configuration before they are needed.
//!
//! Every line is a fact with a verdict. Exit codes: 0 nothing to worry about, 1 something that can
//! lose data or stop a server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jackdaw_io::system::{FileSystem, SystemFacts, file_system_of, system_facts};
use jackdaw_io::{DecryptedLimits, RealVfs, Vfs, is_encrypted_directory};

use super::inventory::places;
use crate::bench::journal::{self, meaning, measure_typical};
use crate::output::failure::sentence;
use crate::output::numbers::{bytes, count, duration};
use crate::output::say::say;

const EXIT_FINDINGS: u8 = 1;
/// A database has a few files and a server a connection per client.
const OPEN_FILES_MIN: u64 = 4_096;
/// Threads of a server with some databases, and room for as many again.
const THREADS_MIN: u64 = 256;
/// Fewer ranges of memory than this are not enough for the threads and files of some hundred open
/// databases.
const MEMORY_RANGES_MIN: u64 = 16_384;
/// Less room than this is gone in minutes of an import.
const DISK_FREE_MIN: u64 = 1 << 30;
/// Less memory than this leaves no room for the caches of the system.
const MEMORY_MIN: u64 = 512 << 20;
/// For each of the three writes that are measured.
const MEASURE_TIME: Duration = Duration::from_millis(150);

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DoctorArguments {
    /// The data directory to judge; it need not exist yet.
    #[arg(long, value_name = "DIR", default_value = super::DEFAULT_DATA)]
    data: PathBuf,
}

/// How bad a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Good,
    Note,
    Problem,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Problem => "PROBLEM",
        })
    }
}

/// One line of the report.
#[derive(Clone, Debug)]
struct Finding {
    verdict: Verdict,
    about: &'static str,
    text: String,
}

/// Examines and prints.
pub(crate) fn run(arguments: &DoctorArguments, disk: anyhow::Result<Arc<dyn Vfs>>) -> ExitCode {
    let mut findings = machine(&system_facts());
    findings.extend(data_directory(&arguments.data));
    // Without the key of encrypted data nothing can be said; the line on encryption says so.
    if let Ok(disk) = disk {
        findings.extend(contents(&arguments.data, &disk));
    }
    for finding in &findings {
        say!(
            "{:<8} {:<14} {}",
            finding.verdict,
            finding.about,
            finding.text
        );
    }
    say!("\nConfiguration in force without further options:");
    for (name, value) in configuration(&arguments.data) {
        say!("  {name:<14} {value}");
    }
    match findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Problem)
        .count()
    {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FINDINGS),
    }
}

fn judge(bad: bool, verdict: Verdict, about: &'static str, fact: String, advice: &str) -> Finding {
    if bad {
        return Finding {
            verdict,
            about,
            text: format!("{fact}: {advice}"),
        };
    }
    Finding {
        verdict: Verdict::Good,
        about,
        text: fact,
    }
}

fn machine(facts: &SystemFacts) -> Vec<Finding> {
    let memory = facts
        .memory_limit_bytes
        .into_iter()
        .chain(facts.memory_total_bytes)
        .min();
    let limit = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), count);
    let threads = &facts.threads;
    let thread_room = [
        (threads.control_group_max, threads.control_group_count),
        (threads.user_max, threads.user_count),
        (threads.machine_max, threads.machine_count),
        (threads.identifiers_max, threads.machine_count),
    ]
    .into_iter()
    .filter_map(|(max, used)| Some(max?.saturating_sub(used.unwrap_or(0))))
    .min();
    vec![
        Finding {
            verdict: Verdict::Good,
            about: "machine",
            text: format!("Linux {}, {} cores", facts.kernel_release, facts.core_count),
        },
        judge(
            memory.is_some_and(|memory| memory < MEMORY_MIN),
            Verdict::Note,
            "memory",
            memory.map_or("not told by the system".to_owned(), bytes),
            "little; large imports and queries will be slow",
        ),
        judge(
            facts
                .open_files_hard
                .is_some_and(|hard| hard < OPEN_FILES_MIN),
            Verdict::Problem,
            "open files",
            format!(
                "{} allowed, {} at most",
                limit(facts.open_files_soft),
                limit(facts.open_files_hard)
            ),
            "raise `ulimit -Hn` (LimitNOFILE= in systemd), or clients will be refused",
        ),
        judge(
            thread_room.is_some_and(|room| room < THREADS_MIN),
            Verdict::Problem,
            "threads",
            format!("room for {} more", limit(thread_room)),
            "raise TasksMax= of the systemd unit, the pids limit of the container, or `ulimit -u`",
        ),
        judge(
            threads
                .memory_ranges_max
                .is_some_and(|max| max < MEMORY_RANGES_MIN),
            Verdict::Problem,
            "memory maps",
            format!("{} a process", limit(threads.memory_ranges_max)),
            "raise them with `sysctl vm.max_map_count=65530`, or databases cannot be opened",
        ),
    ]
}

fn data_directory(data: &Path) -> Vec<Finding> {
    // The nearest directory that exists decides what the data will lie on.
    let existing = data
        .ancestors()
        .map(|path| {
            if path.as_os_str().is_empty() {
                Path::new(".")
            } else {
                path
            }
        })
        .find(|path| path.is_dir())
        .unwrap_or(Path::new("/"));
    let mut findings = Vec::new();
    match file_system_of(existing) {
        Ok(found) => findings.extend(file_system(&found, data)),
        Err(error) => findings.push(Finding {
            verdict: Verdict::Problem,
            about: "data",
            text: error.to_string(),
        }),
    }
    findings.push(encryption(data));
    match measure_typical(existing, MEASURE_TIME) {
        Ok(cells) => findings.push(durability(&cells)),
        Err(error) => findings.push(Finding {
            verdict: Verdict::Problem,
            about: "durability",
            text: sentence(&error),
        }),
    }
    findings
}

/// What is missing in the data directory, and what nothing names there.
fn contents(data: &Path, disk: &Arc<dyn Vfs>) -> Vec<Finding> {
    let Ok(places) = places(data, disk) else {
        return Vec::new();
    };
    let finding = |text| Finding {
        verdict: Verdict::Problem,
        about: "contents",
        text,
    };
    let missing = places.missing.iter().map(|path| {
        let path = path.display();
        finding(format!(
            "{path} is missing: mount its disk, or restore it from a backup"
        ))
    });
    let unknown = places.unknown.iter().filter(|one| !one.is_unfinished);
    let unknown = unknown.map(|one| {
        let path = one.path.display();
        finding(format!(
            "nothing names {path}: adopt or remove it with `jackdaw databases`, or move it away"
        ))
    });
    missing.chain(unknown).collect()
}

/// Whether the data is encrypted, and what that takes.
fn encryption(data: &Path) -> Finding {
    let (verdict, text) = match is_encrypted_directory(&*RealVfs::new(), data) {
        Ok(false) => (Verdict::Good, "off".to_owned()),
        Ok(true) => {
            let limits = DecryptedLimits::of_this_machine();
            let (budget, most) = (bytes(limits.budget_bytes), bytes(limits.bytes_max));
            let text = format!(
                "on; decrypted pages take up to {budget} of memory, {most} while snapshots hold \
                 them: keep swap space encrypted or off"
            );
            (Verdict::Good, text)
        }
        Err(error) => (Verdict::Problem, error.to_string()),
    };
    Finding {
        verdict,
        about: "encryption",
        text,
    }
}

fn file_system(found: &FileSystem, data: &Path) -> Vec<Finding> {
    let kind = format!("{} on {}", data.display(), found.name);
    let medium = if found.is_volatile {
        judge(
            true,
            Verdict::Problem,
            "data",
            kind,
            "in memory; all is lost with the power",
        )
    } else {
        judge(
            found.is_remote,
            Verdict::Problem,
            "data",
            kind,
            "on another machine; locks and syncs cannot be relied on there",
        )
    };
    let room = judge(
        found.available_bytes < DISK_FREE_MIN,
        Verdict::Problem,
        "disk space",
        format!(
            "{} of {} free",
            bytes(found.available_bytes),
            bytes(found.total_bytes)
        ),
        "too little; writes are refused when it is used up",
    );
    vec![medium, room]
}

fn durability(cells: &[journal::Cell]) -> Finding {
    let text = meaning(cells).replace('\n', " ");
    let doubtful = text.contains("too early") || text.contains("refuses O_DIRECT");
    let verdict = if doubtful {
        Verdict::Note
    } else {
        Verdict::Good
    };
    Finding {
        verdict,
        about: "durability",
        text,
    }
}

fn configuration(data: &Path) -> Vec<(&'static str, String)> {
    let server = jackdaw_server::ServerConfig::default();
    let storage = jackdaw_storage::Options::default();
    vec![
        ("data", data.display().to_string()),
        ("listen", format!("{} (this machine only)", server.listen)),
        ("commits", "durable when answered".to_owned()),
        (
            "journal",
            format!("at most {} to replay", bytes(storage.journal_bytes)),
        ),
        ("page memory", bytes(storage.scratch_bytes as u64)),
        (
            "request body",
            format!("at most {}", bytes(server.body_bytes_max as u64)),
        ),
        (
            "connections",
            format!("at most {}", count(server.connections_max as u64)),
        ),
        (
            "drain",
            format!(
                "{} for requests under way at the end",
                duration(server.drain_timeout)
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_in_memory_is_a_problem() {
        if Path::new("/dev/shm").is_dir() {
            let findings = data_directory(Path::new("/dev/shm/jackdaw-not-there"));
            if file_system_of(Path::new("/dev/shm")).unwrap().is_volatile {
                assert_eq!(findings[0].verdict, Verdict::Problem, "{findings:?}");
                assert!(findings[0].text.contains("in memory"));
            }
        }
    }

    #[test]
    fn narrow_limits_are_problems() {
        let mut facts = system_facts();
        facts.open_files_hard = Some(256);
        facts.threads.control_group_max = Some(20);
        facts.threads.control_group_count = Some(10);
        facts.threads.memory_ranges_max = Some(1_000);
        let problems: Vec<&str> = machine(&facts)
            .into_iter()
            .filter(|finding| finding.verdict == Verdict::Problem)
            .map(|finding| finding.about)
            .collect();
        assert_eq!(problems, ["open files", "threads", "memory maps"]);
    }
}
