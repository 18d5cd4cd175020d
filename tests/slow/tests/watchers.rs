//! Opens thousands of feeds of a server in another process, and prints what they cost it: time to
//! open, memory of each, processor while nothing changes, how long a change takes to reach all, and
//! what becomes of other requests meanwhile.
//!
//! `JACKDAW_WATCHERS` says how many (2,000). Two processes, because each has its own limit of open
//! files.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jackdaw_client::Client;
use jackdaw_slow_tests::TestDirectory;
use jackdaw_slow_tests::feed::{Event, FeedReader};
use jackdaw_slow_tests::process::{open_files, processor_seconds, resident_bytes};
use jackdaw_slow_tests::server::Server;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

const DATABASE: &str = "w";
const WATCHERS: usize = 2_000;
/// Opened at a time, as many clients do that come back after a restart.
const OPENED_AT_ONCE: usize = 64;
const CHANGES: usize = 10;
const LOADS: usize = 2_000;
/// Longer than the server's heartbeat, so that one is in it.
const IDLE: Duration = Duration::from_secs(20);

/// Most memory of one idle watcher in the server.
const BYTES_OF_WATCHER_MAX: u64 = 20 << 10;
/// Longest time until all are open, and until a change has reached ninety-nine of a hundred.
const OPENING_MAX: Duration = Duration::from_secs(30);
const SPREAD_MAX: Duration = Duration::from_secs(10);
/// How long the server may take to see that all have left, and files it may have opened meanwhile.
const LEAVING_MAX: Duration = Duration::from_secs(30);
const FILES_MORE: usize = 50;
/// Most of the memory that may stay with the server when all have left, beside what few would take.
const STAYS_MAX: f64 = 0.1;
const STAYS_BYTES_MAX: u32 = 8 << 20;
/// How long it may take to give back the rest: two heartbeats, and some time to spare.
const GIVING_BACK_MAX: Duration = Duration::from_secs(40);

/// When a watcher that hears nothing has missed a change.
const HEARING_MAX: Duration = Duration::from_secs(60);

/// Durations, sorted.
struct Times(Vec<Duration>);

impl Times {
    fn new(mut all: Vec<Duration>) -> Times {
        all.sort_unstable();
        Times(all)
    }

    fn percent(&self, percent: usize) -> Duration {
        let slot = (self.0.len() * percent / 100).min(self.0.len() - 1);
        self.0[slot]
    }
}

/// Loads a document again and again over one connection.
fn loads(client: &Client, count: usize) -> Result<Times> {
    let database = client.database(DATABASE);
    let one = || {
        let started = Instant::now();
        database.load_text("beside")?;
        Ok(started.elapsed())
    };
    let all: Result<Vec<Duration>> = (0..count).map(|_| one()).collect();
    Ok(Times::new(all?))
}

/// Opens all feeds; each tells the moment of every change it hears of.
async fn open_all(
    address: SocketAddr,
    count: usize,
    heard: mpsc::UnboundedSender<Instant>,
) -> Result<JoinSet<()>> {
    let places = Arc::new(tokio::sync::Semaphore::new(OPENED_AT_ONCE));
    let mut opening = JoinSet::new();
    for _ in 0..count {
        let places = places.clone();
        opening.spawn(async move {
            let _place = places.acquire().await?;
            let mut reader = FeedReader::open(address, DATABASE, None).await?;
            let first = timeout(HEARING_MAX, reader.next()).await??;
            ensure!(matches!(first, Some(Event::Open)), "{first:?}");
            Ok(reader)
        });
    }
    let mut reading = JoinSet::new();
    while let Some(opened) = opening.join_next().await {
        let mut reader = opened??;
        let heard = heard.clone();
        reading.spawn(async move {
            while let Ok(Some(event)) = reader.next().await {
                if matches!(event, Event::Change(_)) {
                    let _ = heard.send(Instant::now());
                }
            }
        });
    }
    Ok(reading)
}

#[test]
fn thousands_of_idle_watchers_cost_little_and_all_hear_of_a_change() -> Result<()> {
    let count = std::env::var("JACKDAW_WATCHERS").map_or(Ok(WATCHERS), |text| text.parse())?;
    jackdaw_io::system::raise_open_file_limit()?;
    let directory = TestDirectory::new("watchers")?;
    let server = Server::start(&directory.0)?;
    let address: SocketAddr = server.http_address()?;
    let client = Client::new(&server.url);
    client.create_database(DATABASE)?;
    let database = client.database(DATABASE);
    database.put_text("beside", "{\"A\":1}")?;
    let alone = loads(&client, LOADS)?;
    let before = resident_bytes(server.process_id())?;
    let files = open_files(server.process_id())? + FILES_MORE;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let (heard, mut hearing) = mpsc::unbounded_channel();
    let started = Instant::now();
    let mut reading = runtime.block_on(open_all(address, count, heard))?;
    let opening = started.elapsed();
    let opened = resident_bytes(server.process_id())?;
    let each = |bytes: (u64, u64)| bytes.1.saturating_sub(before.1) / count as u64;
    println!(
        "{count} watchers opened in {opening:.1?}, {} bytes each",
        each(opened)
    );

    let processor = processor_seconds(server.process_id())?;
    std::thread::sleep(IDLE);
    let idle = (processor_seconds(server.process_id())? - processor) / IDLE.as_secs_f64() * 100.0;
    let quiet = loads(&client, LOADS)?;

    let mut spreads = Vec::with_capacity(count * CHANGES);
    let beside = std::thread::scope(|scope| -> Result<Times> {
        let own = Client::new(&server.url);
        let loading = scope.spawn(move || loads(&own, LOADS));
        for number in 0..CHANGES {
            let started = Instant::now();
            database.put_text("told", &format!("{{\"Number\":{number}}}"))?;
            for _ in 0..count {
                let heard = hearing.recv();
                let heard = runtime.block_on(async { timeout(HEARING_MAX, heard).await });
                let at = heard?.context("a watcher was cut off")?;
                spreads.push(at.saturating_duration_since(started));
            }
        }
        loading.join().expect("it does not panic")
    })?;
    let spreads = Times::new(spreads);
    // A task ends with its feed.
    ensure!(reading.try_join_next().is_none(), "a watcher was cut off");
    let told = resident_bytes(server.process_id())?;

    runtime.block_on(reading.shutdown());
    drop(runtime);
    // Once the server has seen that all are gone.
    let leaving = Instant::now();
    while open_files(server.process_id())? > files {
        ensure!(leaving.elapsed() < LEAVING_MAX, "connections stay open");
        loads(&client, LOADS / 100)?;
    }
    let leaving = leaving.elapsed();
    let taken = |bytes: (u64, u64)| bytes.1.saturating_sub(before.1) as f64;
    let stays_max = STAYS_MAX * taken(told) + f64::from(STAYS_BYTES_MAX);
    let giving_back = Instant::now();
    let mut left = resident_bytes(server.process_id())?;
    while taken(left) > stays_max && giving_back.elapsed() < GIVING_BACK_MAX {
        std::thread::sleep(Duration::from_millis(500));
        left = resident_bytes(server.process_id())?;
    }
    let giving_back = giving_back.elapsed();
    println!(
        "idle: {idle:.1} % of a core; {CHANGES} changes reached all: p50 {:.1?}, p99 {:.1?}, last \
         {:.1?}; then {} bytes each",
        spreads.percent(50),
        spreads.percent(99),
        spreads.percent(100),
        each(told),
    );
    for (when, times) in [("alone", &alone), ("idle", &quiet), ("changes", &beside)] {
        let (p50, p99) = (times.percent(50), times.percent(99));
        println!("loads beside, {when}: p50 {p50:.1?}, p99 {p99:.1?}");
    }
    println!(
        "memory of the server: {} MiB before, {} open, {} told, {} when all have left: seen after \
         {leaving:.1?}, given back after another {giving_back:.1?}",
        before.0 >> 20,
        opened.0 >> 20,
        told.0 >> 20,
        left.0 >> 20
    );
    ensure!(each(opened) <= BYTES_OF_WATCHER_MAX, "too much memory each");
    ensure!(opening <= OPENING_MAX, "opening took too long");
    ensure!(spreads.percent(99) <= SPREAD_MAX, "a change took too long");
    ensure!(
        taken(left) <= stays_max,
        "the memory of watchers stays when they have left"
    );
    Ok(())
}
