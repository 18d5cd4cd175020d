//! A server is killed with SIGKILL again and again while sixteen clients write to it over HTTP.
//! Whatever a client was told is there after the next start; what it was not told is there wholly
//! or not at all: each write is a batch of two documents.
//!
//! `JACKDAW_SERVER_KILLS` changes how often. The clients keep the only record of what they were
//! told, and ask for it over HTTP like anybody else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jackdaw_client::{Batch, Client, DatabaseClient};
use jackdaw_slow_tests::server::Server;
use jackdaw_slow_tests::{TestDirectory, mix};

const KILLS: u64 = 4;
const WRITERS: u64 = 16;
/// The server is killed this long after the writers began, in milliseconds.
const SHORTEST_RUN: u64 = 10;
const LONGEST_RUN: u64 = 800;
const DATABASE: &str = "ledger";

/// What a client knows of its writes.
#[derive(Clone, Default)]
struct Ledger {
    acknowledged: u64,
    begun: u64,
    /// Of each write up to the last kill: whether it is there for good.
    is_there: Vec<bool>,
}

fn ids(writer: u64, number: u64) -> [String; 2] {
    ["left", "right"].map(|side| format!("{side}/{writer}/{number}"))
}

fn write(database: &DatabaseClient, writer: u64, number: u64) -> bool {
    let mut batch = Batch::new();
    for id in ids(writer, number) {
        batch.put_text(&id, &format!("{{\"Writer\":{writer},\"Number\":{number}}}"));
    }
    database.batch(&batch).is_ok()
}

/// Writes until the server is gone.
fn write_until_killed(
    database: &DatabaseClient,
    writer: u64,
    ledger: &mut Ledger,
    over: &AtomicBool,
) {
    while !over.load(Ordering::Relaxed) {
        ledger.begun += 1;
        if !write(database, writer, ledger.begun) {
            return;
        }
        ledger.acknowledged = ledger.begun;
    }
}

/// How many of the two documents of a write are there.
fn found(database: &DatabaseClient, writer: u64, number: u64) -> usize {
    let ids = ids(writer, number);
    let texts = database.load_texts(&[ids[0].as_str(), ids[1].as_str()]);
    texts.unwrap().iter().flatten().count()
}

/// Asks for what was begun since the last kill; gives how many of unknown outcome are there.
fn check(database: &DatabaseClient, writer: u64, ledger: &mut Ledger) -> u64 {
    let mut unknown = 0;
    for number in ledger.is_there.len() as u64 + 1..=ledger.begun {
        let count = found(database, writer, number);
        let is_unknown = number > ledger.acknowledged;
        assert!(
            count == 2 || is_unknown && count == 0,
            "writer {writer}, number {number} of {} acknowledged: {count} of 2 documents",
            ledger.acknowledged
        );
        unknown += u64::from(is_unknown && count == 2);
        ledger.is_there.push(count == 2);
    }
    ledger.acknowledged = ledger.begun;
    unknown
}

#[test]
fn a_killed_server_loses_nothing_it_acknowledged() {
    let text = std::env::var("JACKDAW_SERVER_KILLS").unwrap_or_default();
    let kills = text.parse().unwrap_or(KILLS);
    let directory = TestDirectory::new("server-kill").unwrap();
    let mut ledgers = vec![Ledger::default(); WRITERS as usize];
    let (mut total, mut unknown) = (0, 0);
    let mut server = Server::start(&directory.0).unwrap();
    Client::new(&server.url).create_database(DATABASE).unwrap();
    for round in 0..kills {
        let over = AtomicBool::new(false);
        let run_for = SHORTEST_RUN + mix(round) % (LONGEST_RUN - SHORTEST_RUN);
        let url = server.url.clone();
        std::thread::scope(|scope| {
            for (writer, ledger) in (0..).zip(&mut ledgers) {
                // A connection each: sixteen requests are under way at the same time.
                let (database, over) = (Client::new(&url).database(DATABASE), &over);
                scope.spawn(move || write_until_killed(&database, writer, ledger, over));
            }
            std::thread::sleep(Duration::from_millis(run_for));
            server.kill().unwrap();
            over.store(true, Ordering::Relaxed);
        });
        server = Server::start(&directory.0).unwrap();
        let database = Client::new(&server.url).database(DATABASE);
        for (writer, ledger) in (0..).zip(&mut ledgers) {
            total += ledger
                .acknowledged
                .saturating_sub(ledger.is_there.len() as u64);
            unknown += check(&database, writer, ledger);
        }
    }
    // Later kills took nothing away, and brought nothing back.
    let database = Client::new(&server.url).database(DATABASE);
    for (writer, ledger) in (0..).zip(&ledgers) {
        for (number, is_there) in (1..).zip(&ledger.is_there) {
            assert_eq!(found(&database, writer, number), 2 * usize::from(*is_there));
        }
    }
    server.kill().unwrap();
    println!(
        "server kill loop: {kills} kills under {WRITERS} writers, {total} batches acknowledged, \
         {unknown} of unknown outcome were there whole, 0 lost"
    );
}
