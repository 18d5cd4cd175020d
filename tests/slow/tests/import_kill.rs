//! An import of a whole archive is killed with SIGKILL at three random moments and started again by
//! the same command. At the end the database is equal, byte for byte of its export, to one that was
//! imported in one go.
//!
//! `JACKDAW_IMPORT_ALBUMS` changes the size of the archive.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jackdaw_cli::demo::DemoArchive;
use jackdaw_io::RealVfs;
use jackdaw_slow_tests::server::jackdaw;
use jackdaw_slow_tests::{TestDirectory, mix};
use jackdaw_storage::{Environment, Options};

const ALBUMS: u64 = 100_000;
const KILLS: u64 = 3;
const SEED: u64 = 7;

fn import(archive: &Path, data: &Path) -> Command {
    let mut command = Command::new(jackdaw().unwrap());
    command
        .args(["import", "freedb"])
        .arg(archive)
        .args(["--database", "music", "--data"]);
    command
        .arg(data)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn export(data: &Path, to: &Path) {
    let mut command = Command::new(jackdaw().unwrap());
    command
        .args(["export", "--database", "music", "--data"])
        .arg(data)
        .arg("-o")
        .arg(to);
    assert!(command.stderr(Stdio::null()).status().unwrap().success());
}

/// Opens the documents as the kill left them; says what recovery did.
fn reopen(data: &Path) -> String {
    let documents = data.join("databases/1/documents");
    if !documents.exists() {
        return "there was no database yet".to_owned();
    }
    let environment = Environment::open(RealVfs::new(), &documents, Options::default()).unwrap();
    let report = environment.statistics().recovery;
    format!(
        "{} transactions, {} MiB of journal, {:.0} ms",
        report.transactions,
        report.journal_bytes >> 20,
        report.nanos as f64 / 1e6
    )
}

#[test]
fn a_killed_import_goes_on_to_the_same_database() {
    let text = std::env::var("JACKDAW_IMPORT_ALBUMS").unwrap_or_default();
    let albums = text.parse().unwrap_or(ALBUMS);
    let directory = TestDirectory::new("import-kill").unwrap();
    let path = |name: &str| directory.0.join(name);
    let archive = path("albums.tar");
    let mut file = File::create(&archive).unwrap();
    std::io::copy(&mut DemoArchive::new(SEED, albums), &mut file).unwrap();
    drop(file);

    let started = Instant::now();
    assert!(import(&archive, &path("whole")).status().unwrap().success());
    let whole_time = started.elapsed();
    println!(
        "{albums} albums in one go: {:.1} s",
        whole_time.as_secs_f64()
    );

    let killed = path("killed");
    let mut kills = 0;
    for round in 0.. {
        let mut child = import(&archive, &killed).spawn().unwrap();
        if kills < KILLS {
            // Up to a third of the whole: the kills fall into all parts of the import.
            let per_mille = mix(SEED + round) % 333;
            let delay = whole_time.as_millis() as u64 * per_mille / 1_000;
            std::thread::sleep(Duration::from_millis(delay));
            child.kill().unwrap();
            kills += u64::from(child.wait().unwrap().code().is_none());
            println!("killed after {delay} ms; reopened: {}", reopen(&killed));
        } else {
            assert!(child.wait().unwrap().success());
            break;
        }
    }
    export(&path("whole"), &path("whole.ndjson"));
    export(&killed, &path("killed.ndjson"));
    let whole = std::fs::read(path("whole.ndjson")).unwrap();
    assert!(
        whole == std::fs::read(path("killed.ndjson")).unwrap(),
        "the databases differ"
    );
    let lines = whole.iter().filter(|byte| **byte == b'\n').count();
    println!(
        "import kill: {kills} kills, {lines} documents, exports of {} bytes equal",
        whole.len()
    );
}
