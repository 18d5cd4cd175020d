//! A server's disk runs full under six writers; then space is freed, and writes go on without a
//! restart. What was acknowledged, before, during and after, is there; what was refused is there
//! whole or not at all. Then the server is killed, `jackdaw check` finds its files sound, and the
//! next start has the same documents.
//!
//! The disk is an ext4 image of 48 MiB on a loop device, mounted in a mount namespace that only the
//! server is in: however server or test end, the kernel takes mount and device away with it. A file
//! beside the data holds the space that is freed.
//!
//! `JACKDAW_FULL_DISKS` changes how often. Needs root; without, nothing is tested, and said.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jackdaw_client::{Client, DatabaseClient};
use jackdaw_slow_tests::server::{Server, jackdaw};
use jackdaw_slow_tests::{TestDirectory, mix};

const ROUNDS: u64 = 1;
const IMAGE_BYTES: u64 = 48 << 20;
const WRITERS: u64 = 6;
const DATABASE: &str = "ledger";
/// The disk counts as full when nothing was acknowledged for this long.
const STANDSTILL: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);
/// Acknowledged writes, of all writers, after which writing counts as going on.
const WRITES_AFTER: u64 = 300;

/// A command in a mount namespace of its own, with the image mounted at `mount`. It ends with this
/// process.
fn inside(image: &Path, mount: &Path, program: &Path) -> Command {
    let script = "mount -o loop \"$0\" \"$1\" && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]);
    command.args(["setpriv", "--pdeathsig", "KILL", "sh", "-c", script]);
    command.arg(image).arg(mount).arg(program);
    command
}

fn is_success(output: std::io::Result<Output>) -> bool {
    output.is_ok_and(|output| output.status.success())
}

/// Why nothing can be tested here.
fn obstacle(directory: &Path) -> Option<&'static str> {
    let image = new_image(directory);
    let mount = directory.join("mount");
    match image {
        None => Some("mkfs.ext4 is not installed"),
        Some(image) if !is_success(inside(&image, &mount, Path::new("true")).output()) => {
            Some("mounting a loop device was refused (are you root?)")
        }
        Some(image) => {
            wait_until_detached(&image);
            None
        }
    }
}

fn new_image(directory: &Path) -> Option<PathBuf> {
    let image = directory.join("image");
    std::fs::create_dir_all(directory.join("mount")).unwrap();
    File::create(&image).unwrap().set_len(IMAGE_BYTES).unwrap();
    let mut format = Command::new("mkfs.ext4");
    format.args(["-q", "-F", "-m", "0"]).arg(&image);
    is_success(format.output()).then_some(image)
}

/// Waits until the kernel has let go of the image, some moments after the process that mounted it.
fn wait_until_detached(image: &Path) {
    let started = Instant::now();
    loop {
        let output = Command::new("losetup").arg("-j").arg(image).output();
        if output.unwrap().stdout.is_empty() {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "the loop device stays");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a writer knows of a write that it began.
struct Written {
    id: String,
    text: String,
    is_acknowledged: bool,
}

#[derive(Default)]
struct Course {
    is_over: AtomicBool,
    acknowledged: AtomicU64,
    refused: AtomicU64,
    /// What the server said first when it refused.
    refusal: Mutex<Option<String>>,
}

fn write(database: &DatabaseClient, writer: u64, course: &Course) -> Vec<Written> {
    let mut ledger = Vec::new();
    for number in 0.. {
        if course.is_over.load(Ordering::Relaxed) {
            break;
        }
        let id = format!("docs/{writer}/{number}");
        let words = (0..mix(number) % 300).map(|word| mix(number ^ word << 32).to_string());
        let words: Vec<String> = words.collect();
        let text = format!("{{\"Number\":{number},\"Text\":\"{}\"}}", words.join(" "));
        let outcome = database.put_text(&id, &text);
        let is_acknowledged = outcome.is_ok();
        ledger.push(Written {
            id,
            text,
            is_acknowledged,
        });
        match outcome {
            Ok(_) => drop(course.acknowledged.fetch_add(1, Ordering::Relaxed)),
            Err(error) => {
                course.refused.fetch_add(1, Ordering::Relaxed);
                let mut refusal = course.refusal.lock().unwrap();
                refusal.get_or_insert_with(|| error.to_string());
                drop(refusal);
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    ledger
}

/// Waits for something.
fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) -> Result<()> {
    let started = Instant::now();
    while !is_there() {
        ensure!(started.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Compares all documents; gives how many refused ones are there nevertheless.
fn compare(url: &str, ledger: &[Written]) -> u64 {
    let database = Client::new(url).database(DATABASE);
    let mut whole = 0;
    for some in ledger.chunks(100) {
        let ids: Vec<&str> = some.iter().map(|written| written.id.as_str()).collect();
        let found = database.load_texts(&ids).unwrap();
        for (written, found) in some.iter().zip(found) {
            // The server adds metadata behind the fields.
            let start = written.text.trim_end_matches('}');
            let is_there = found.as_ref().is_some_and(|text| text.starts_with(start));
            assert!(
                is_there || !written.is_acknowledged && found.is_none(),
                "{}, acknowledged {}: {found:?}",
                written.id,
                written.is_acknowledged
            );
            whole += u64::from(is_there && !written.is_acknowledged);
        }
    }
    whole
}

/// Writes until the disk is full, frees the ballast, and writes on: what the writers were told.
fn fill_and_free(server: &Server, ballast: &Path) -> Result<(Course, Vec<Written>)> {
    let course = Course::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (database, course) = (Client::new(&server.url).database(DATABASE), &course);
                scope.spawn(move || write(&database, writer, course))
            })
            .collect();
        let outcome = watch(server, ballast, &course);
        // Whatever it is: the writers would go on for ever.
        course.is_over.store(true, Ordering::Relaxed);
        let ledger = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        let ledger = ledger.collect();
        outcome.map(|()| ledger)
    })
    .map(|ledger| (course, ledger))
}

/// Sees the disk run full, frees the ballast, and sees writes go on.
fn watch(server: &Server, ballast: &Path, course: &Course) -> Result<()> {
    let acknowledged = || course.acknowledged.load(Ordering::Relaxed);
    let (mut last, mut since) = (acknowledged(), Instant::now());
    wait_for("the disk runs full", || {
        if acknowledged() != last {
            (last, since) = (acknowledged(), Instant::now());
        }
        course.refused.load(Ordering::Relaxed) > 0 && since.elapsed() > STANDSTILL
    })?;
    let database = Client::new(&server.url).database(DATABASE);
    let first = database.load_text("docs/0/0")?;
    ensure!(first.is_some(), "reading does not go on");
    let before = acknowledged();
    std::fs::remove_file(ballast)?;
    wait_for("writes go on", || acknowledged() > before + WRITES_AFTER)
}

#[test]
fn a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_space_again() {
    let text = std::env::var("JACKDAW_FULL_DISKS").unwrap_or_default();
    let rounds = text.parse().unwrap_or(ROUNDS);
    let directory = TestDirectory::new("full-disk").unwrap();
    if let Some(obstacle) = obstacle(&directory.0) {
        println!("FULL DISK SKIPPED: {obstacle}");
        return;
    }
    let mount = directory.0.join("mount");
    let (mut acknowledged, mut refused, mut whole) = (0, 0, 0);
    for round in 0..rounds {
        let image = new_image(&directory.0).unwrap();
        let serve = || {
            let mut command = inside(&image, &mount, &jackdaw().unwrap());
            command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
            // It logs every request that it refuses.
            command.arg(mount.join("data")).stderr(Stdio::null());
            Server::start_by(&mut command).unwrap()
        };
        let mut server = serve();
        Client::new(&server.url).create_database(DATABASE).unwrap();
        // Only the server sees the disk; this is its view of the file system.
        let view = PathBuf::from(format!("/proc/{}/root", server.process_id()));
        let ballast = view.join(mount.join("ballast").strip_prefix("/").unwrap());
        let ballast_bytes = (2 << (round % 3)) << 20;
        let mut file = File::create(&ballast).unwrap();
        file.write_all(&vec![1; ballast_bytes]).unwrap();
        file.sync_all().unwrap();
        drop(file);

        let (course, ledger) = fill_and_free(&server, &ballast).unwrap();
        whole += compare(&server.url, &ledger);
        acknowledged += course.acknowledged.into_inner();
        refused += course.refused.into_inner();
        if let Some(refusal) = course.refusal.into_inner().unwrap() {
            println!(
                "round {round}: {} MiB freed; refused with: {refusal}",
                ballast_bytes >> 20
            );
        }
        server.kill().unwrap();
        wait_until_detached(&image);
        let mut check = inside(&image, &mount, &jackdaw().unwrap());
        let output = check.arg("check").arg(mount.join("data")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        wait_until_detached(&image);
        let mut server = serve();
        compare(&server.url, &ledger);
        server.kill().unwrap();
        wait_until_detached(&image);
    }
    println!(
        "full disk: {rounds} times full and freed under {WRITERS} writers, {acknowledged} writes \
         acknowledged, {refused} refused of which {whole} were there whole, 0 lost"
    );
}
