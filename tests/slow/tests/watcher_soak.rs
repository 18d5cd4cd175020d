//! Readers of the feed join, leave, stall and are cut off while others write; each checks that it
//! misses nothing.
//!
//! `JACKDAW_WATCHER_SECONDS` says for how long (15), `JACKDAW_SOAK_WATCHERS` how many (200). Two
//! kinds of documents are written. Lines are new documents with a number that each writer counts
//! up: a reader has to hear of every number, in order, wherever it was between. Cells are few
//! documents that are changed and deleted over and over: a reader may miss states of them, but
//! never goes back to an older one, and knows the last one when all writers have stopped. Half of
//! the readers begin with the first change, and have to know all lines and cells in the end; the
//! others begin when they come.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use jackdaw_client::{Client, DatabaseClient};
use jackdaw_slow_tests::feed::{Event, FeedReader};
use jackdaw_slow_tests::process::resident_bytes;
use jackdaw_slow_tests::server::Server;
use jackdaw_slow_tests::{TestDirectory, mix};
use serde_json::Value;
use tokio::task::JoinSet;

const DATABASE: &str = "soak";
const SECONDS: u64 = 15;
const WATCHERS: u64 = 200;
const WRITERS: u64 = 2;
const CELLS: u64 = 300;
/// One of so many stays of a reader ends with a stall.
const STALL_ONE_OF: u64 = 8;
/// Longest stay, absence and stall in milliseconds; one of twenty stalls is long enough for the
/// server to let the reader go when its buffers are full.
const STAY_MAX: u64 = 6_000;
const ABSENCE_MAX: u64 = 4_000;
const STALL_MAX: u64 = 3_000;
const LONG_STALL: u64 = 65_000;
/// How long readers may need for what is left when the writers have stopped.
const CATCH_UP_MAX: Duration = Duration::from_secs(60);

/// Last state of each cell: its number, `None` when it is deleted.
type Cells = HashMap<String, Option<u64>>;

/// What all share.
struct Soak {
    address: SocketAddr,
    over: AtomicBool,
    seed: u64,
    stays: AtomicU64,
    stalls: AtomicU64,
    cut_off: AtomicU64,
    events: AtomicU64,
}

/// Writes until it is over; gives the number of its lines, and the last state of its cells.
fn write(database: &DatabaseClient, writer: u64, soak: &Soak) -> Result<(u64, Cells)> {
    let (mut lines, mut cells) = (0, Cells::new());
    for step in 0.. {
        if soak.over.load(Ordering::Relaxed) {
            break;
        }
        let random = mix(soak.seed ^ mix(writer << 32 | step));
        let cell = format!("cells/{writer}/{}", (random >> 8) % CELLS);
        match random % 8 {
            0..3 => {
                lines += 1;
                let text = format!("{{\"Writer\":{writer},\"Number\":{lines}}}");
                database.put_text(&format!("lines/{writer}/{lines}"), &text)?;
            }
            3 if cells.get(&cell).is_some_and(Option::is_some) => {
                database.delete(&cell)?;
                cells.insert(cell, None);
            }
            _ => {
                database.put_text(&cell, &format!("{{\"Number\":{step}}}"))?;
                cells.insert(cell, Some(step));
            }
        }
        // Readers have to keep up on the same machine.
        std::thread::sleep(Duration::from_millis(random >> 20 & 3));
    }
    Ok((lines, cells))
}

/// What one reader knows.
#[derive(Default)]
struct Known {
    /// It began with the first change.
    knows_all: bool,
    /// Last line by writer.
    lines: HashMap<u64, u64>,
    cells: Cells,
    etag: u64,
}

impl Known {
    /// Takes an event in, and refuses what must not come after what came before.
    fn take(&mut self, event: &Value, token: &str) -> Result<()> {
        let etag = token.split('@').next().and_then(|etag| etag.parse().ok());
        let etag: u64 = etag.with_context(|| format!("no etag in '{token}'"))?;
        ensure!(etag > self.etag, "{etag} after {}", self.etag);
        self.etag = etag;
        let id = event["Id"].as_str().context("a change without an id")?;
        let number = event["After"]["Number"].as_u64();
        if id.starts_with("lines/") {
            let writer = event["After"]["Writer"].as_u64().context("no writer")?;
            let number = number.context("no number")?;
            let last = self.lines.insert(writer, number);
            let last = last.or(self.knows_all.then_some(0));
            let is_next = last.is_none_or(|last| number == last + 1);
            ensure!(is_next, "line {number} of {writer} after {last:?}");
            return Ok(());
        }
        if let (Some(number), Some(Some(last))) = (number, self.cells.get(id)) {
            ensure!(number > *last, "{id}: {number} after {last}");
        }
        self.cells.insert(id.to_owned(), number);
        Ok(())
    }

    /// Whether it knows everything that was written. What it never heard of was before it came,
    /// unless it began with the first change.
    fn is_complete(&self, lines: &HashMap<u64, u64>, cells: &Cells) -> bool {
        if self.knows_all {
            return self.lines == *lines && self.cells == *cells;
        }
        let knows_lines = self
            .lines
            .iter()
            .all(|(writer, number)| lines.get(writer) == Some(number));
        let mut known = self.cells.iter();
        knows_lines && known.all(|(id, number)| cells.get(id) == Some(number))
    }
}

/// Reads for a while; false when the server has cut the reader off.
async fn stay(
    reader: &mut FeedReader,
    known: &mut Known,
    soak: &Soak,
    until: Instant,
) -> Result<bool> {
    loop {
        let next = tokio::time::timeout_at(until.into(), reader.next());
        match next.await {
            Err(_) => return Ok(true),
            Ok(Ok(None)) => return Ok(false),
            // A stalled connection may break in the middle of anything; what comes is right.
            Ok(Err(error)) => match error.downcast::<std::io::Error>() {
                Ok(_) => return Ok(false),
                Err(other) => return Err(other),
            },
            Ok(Ok(Some(Event::Change(event)))) => {
                soak.events.fetch_add(1, Ordering::Relaxed);
                known.take(&event, &reader.last_id)?;
            }
            Ok(Ok(Some(Event::End(why)))) => bail!("the feed ended: {why}"),
            Ok(Ok(Some(Event::Open | Event::Beat))) => {}
        }
    }
}

/// Joins and leaves until it is over; then gives what it knows, and where it is.
async fn watch(number: u64, soak: Arc<Soak>) -> Result<(Known, String)> {
    let mut known = Known {
        knows_all: number % 2 == 0,
        ..Known::default()
    };
    let mut token = known.knows_all.then(|| "0".to_owned());
    for round in 0.. {
        let random = mix(soak.seed ^ mix((number + 1_000) << 32 | round));
        let part = |shift: u32, max: u64| (random >> shift) % max;
        let mut reader = FeedReader::open(soak.address, DATABASE, token.as_deref()).await?;
        soak.stays.fetch_add(1, Ordering::Relaxed);
        let until = Instant::now() + Duration::from_millis(100 + part(0, STAY_MAX));
        let mut is_open = stay(&mut reader, &mut known, &soak, until).await?;
        ensure!(is_open, "a reader that did not stall was cut off");
        let is_over = || soak.over.load(Ordering::Relaxed);
        if part(16, STALL_ONE_OF) == 0 && !is_over() {
            soak.stalls.fetch_add(1, Ordering::Relaxed);
            let length = match part(24, 20) {
                0 => LONG_STALL,
                _ => part(32, STALL_MAX),
            };
            let ends = Instant::now() + Duration::from_millis(length);
            while Instant::now() < ends && !is_over() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let until = Instant::now() + Duration::from_millis(500);
            is_open = stay(&mut reader, &mut known, &soak, until).await?;
        }
        soak.cut_off
            .fetch_add(u64::from(!is_open), Ordering::Relaxed);
        token = Some(reader.last_id.clone()).filter(|token| !token.is_empty());
        drop(reader);
        if is_over() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(part(40, ABSENCE_MAX))).await;
    }
    Ok((known, token.context("the feed never said where it is")?))
}

/// Reads until a reader knows everything.
async fn catch_up(
    soak: &Soak,
    (mut known, token): (Known, String),
    lines: &HashMap<u64, u64>,
    cells: &Cells,
) -> Result<()> {
    let mut reader = FeedReader::open(soak.address, DATABASE, Some(&token)).await?;
    let deadline = Instant::now() + CATCH_UP_MAX;
    while !known.is_complete(lines, cells) {
        ensure!(
            Instant::now() < deadline,
            "missed: knows {:?} of lines {lines:?}, and cells that are others",
            known.lines
        );
        let until = Instant::now() + Duration::from_millis(200);
        ensure!(stay(&mut reader, &mut known, soak, until).await?, "cut off");
    }
    Ok(())
}

#[test]
fn readers_that_join_leave_and_stall_miss_nothing() -> Result<()> {
    let variable =
        |name: &str, other: u64| std::env::var(name).map_or(Ok(other), |text| text.parse::<u64>());
    let seconds = variable("JACKDAW_WATCHER_SECONDS", SECONDS)?;
    let watchers = variable("JACKDAW_SOAK_WATCHERS", WATCHERS)?;
    let seed = variable("JACKDAW_SEED", u64::from(std::process::id()))?;
    println!("seed {seed}: replay with JACKDAW_SEED={seed}");
    jackdaw_io::system::raise_open_file_limit()?;
    let directory = TestDirectory::new("watcher-soak")?;
    let server = Server::start(&directory.0)?;
    let client = Client::new(&server.url);
    client.create_database(DATABASE)?;
    let soak = Arc::new(Soak {
        address: server.http_address()?,
        over: AtomicBool::new(false),
        seed,
        stays: AtomicU64::new(0),
        stalls: AtomicU64::new(0),
        cut_off: AtomicU64::new(0),
        events: AtomicU64::new(0),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let mut watching = JoinSet::new();
    for number in 0..watchers {
        watching.spawn_on(watch(number, soak.clone()), runtime.handle());
    }
    let (mut lines, mut cells) = (HashMap::new(), Cells::new());
    std::thread::scope(|scope| -> Result<()> {
        let writing: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (soak, url) = (&soak, &server.url);
                scope.spawn(move || write(&Client::new(url).database(DATABASE), writer, soak))
            })
            .collect();
        let started = Instant::now();
        let mut told = 0;
        while started.elapsed().as_secs() < seconds && writing.iter().all(|one| !one.is_finished())
        {
            std::thread::sleep(Duration::from_millis(500));
            if started.elapsed().as_secs() / 60 > told {
                told = started.elapsed().as_secs() / 60;
                let (all, anonymous) = resident_bytes(server.process_id())?;
                println!(
                    "minute {told}: {} events, {} MiB resident, {} MiB of it anonymous",
                    soak.events.load(Ordering::Relaxed),
                    all >> 20,
                    anonymous >> 20
                );
            }
        }
        soak.over.store(true, Ordering::Relaxed);
        for (writer, one) in (0..).zip(writing) {
            let (count, own) = one.join().expect("it does not panic")?;
            lines.insert(writer, count);
            cells.extend(own);
        }
        Ok(())
    })?;
    let checked = runtime.block_on(async {
        let mut checked = 0_u64;
        while let Some(watched) = watching.join_next().await {
            catch_up(&soak, watched??, &lines, &cells).await?;
            checked += 1;
        }
        Ok::<u64, anyhow::Error>(checked)
    })?;
    let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let written = lines.values().sum::<u64>();
    ensure!(written > 0 && checked == watchers, "too little was done");
    println!(
        "{seconds} s: {written} lines, {} cells; {checked} readers in {} stays with {} stalls, {} \
         times cut off, heard of {} changes and missed none",
        cells.len(),
        count(&soak.stays),
        count(&soak.stalls),
        count(&soak.cut_off),
        count(&soak.events)
    );
    Ok(())
}
