//! Sixteen clients fight over the same few values of a real server, which is killed every few
//! seconds. What each was told is written down with its times; afterwards some order of the calls
//! on each value has to explain every answer (`linearizable`), across the kills.
//!
//! Three kinds of values: compare-exchange values, documents (written blindly, by change vector,
//! and deleted), and pairs of documents that one batch writes and one request loads: these must
//! never be seen apart.
//!
//! `JACKDAW_HISTORY_SECONDS` changes how long the clients run in all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jackdaw_client::{Batch, Client, ClientError, DatabaseClient, Exchanged};
use jackdaw_slow_tests::linearizable::{Action, Call, Held, is_linearizable};
use jackdaw_slow_tests::server::Server;
use jackdaw_slow_tests::{TestDirectory, mix};

const SECONDS: u64 = 12;
/// Between two kills, at most; longer runs are cut into rounds of this.
const SECONDS_A_ROUND_MAX: u64 = 20;
const ROUNDS_MIN: u64 = 3;
const CLIENTS: u64 = 16;
/// So many calls go to a value of each kind before the clients move on to the next.
const CALLS_A_VALUE: u64 = 60;
const DATABASE: &str = "histories";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Exchange,
    Document,
    Pair,
}

const KINDS: [Kind; 3] = [Kind::Exchange, Kind::Document, Kind::Pair];

/// A value: its kind and number.
type Name = (Kind, u64);
type Histories = BTreeMap<Name, Vec<Call>>;

/// What all clients share.
struct Shared {
    clock: Instant,
    calls: AtomicU64,
    over: AtomicBool,
}

impl Shared {
    fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).unwrap()
    }
}

/// What a client last saw of the value it works on, as far as a condition needs it.
#[derive(Default)]
struct Seen {
    held: Held,
    /// Index, or change vector; empty when there was nothing.
    version: String,
}

/// Why a client stops: the server is gone. The action is what may have happened.
struct Gone(Option<Action>);

fn key((kind, number): Name) -> String {
    format!("{kind:?}/{number}").to_lowercase()
}

fn text(value: u64) -> String {
    format!("{{\"Object\":{value}}}")
}

fn read_text(text: &str) -> Held {
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    Some(document["Object"].as_u64().unwrap())
}

/// Only a failure of the connection leaves open what happened.
fn gone(error: &ClientError, action: Option<Action>) -> Gone {
    let is_of_connection = matches!(
        error,
        ClientError::Transport { .. } | ClientError::BrokenOff { .. }
    );
    assert!(is_of_connection, "the server refused: {error}");
    Gone(action)
}

fn read(database: &DatabaseClient, name: Name, seen: &mut Seen) -> Result<Action, Gone> {
    let failed = |error: ClientError| gone(&error, None);
    let key = key(name);
    *seen = match name.0 {
        Kind::Exchange => match database.exchange_value(&key).map_err(failed)? {
            Some(found) => Seen {
                held: read_text(&found.value),
                version: found.index.to_string(),
            },
            None => Seen::default(),
        },
        Kind::Document => match database.load_text(&key).map_err(failed)? {
            Some(found) => {
                let document: serde_json::Value = serde_json::from_str(&found).unwrap();
                let version = document["@metadata"]["@change-vector"].as_str().unwrap();
                Seen {
                    held: document["Object"].as_u64(),
                    version: version.to_owned(),
                }
            }
            None => Seen::default(),
        },
        Kind::Pair => {
            let [left, right] = pair(&key);
            let found = database.load_texts(&[&left, &right]).map_err(failed)?;
            let held: Vec<Held> = found.iter().map(|text| read_text(text.as_ref()?)).collect();
            assert_eq!(held[0], held[1], "half a batch was seen of {key}");
            Seen {
                held: held[0],
                version: String::new(),
            }
        }
    };
    Ok(Action::Read(seen.held))
}

fn pair(key: &str) -> [String; 2] {
    ["left", "right"].map(|side| format!("{key}/{side}"))
}

fn write(database: &DatabaseClient, name: Name, to: Held) -> Result<Action, Gone> {
    let action = Action::Write(to);
    let failed = |error: ClientError| gone(&error, Some(action));
    let key = key(name);
    match (name.0, to) {
        (Kind::Pair, to) => {
            let mut batch = Batch::new();
            for id in pair(&key) {
                match to {
                    Some(value) => batch.put_text(&id, &text(value)),
                    None => batch.delete(&id),
                };
            }
            database.batch(&batch).map(drop).map_err(failed)?;
        }
        (_, Some(value)) => {
            let put = database.put_text(&key, &text(value));
            put.map(drop).map_err(failed)?;
        }
        (_, None) => database.delete(&key).map_err(failed)?,
    }
    Ok(action)
}

/// Changes a value if it is still as this client saw it.
fn swap(database: &DatabaseClient, name: Name, seen: &Seen, to: u64) -> Result<Action, Gone> {
    let (from, key) = (seen.held, key(name));
    let done = Action::Swap { from, to: Some(to) };
    let failed = |error: &ClientError| gone(error, Some(done));
    if name.0 == Kind::Exchange {
        let index = seen.version.parse().unwrap_or(0);
        let answer = database.exchange(&key, &text(to), index);
        return Ok(match answer.map_err(|error| failed(&error))? {
            Exchanged::Made { .. } => done,
            Exchanged::Refused(found) => {
                let found = Some(found.and_then(|found| read_text(&found.value)));
                Action::Refused { from, found }
            }
        });
    }
    match database.put_text_if(&key, &text(to), &seen.version) {
        Ok(_) => Ok(done),
        Err(ClientError::Conflict { .. }) => Ok(Action::Refused { from, found: None }),
        Err(error) => Err(failed(&error)),
    }
}

/// Calls until the server is gone; gives what it was told.
fn work(database: &DatabaseClient, client: u64, first: u64, shared: &Shared) -> Histories {
    let mut histories = Histories::new();
    let (mut seen, mut of) = (Seen::default(), (Kind::Exchange, u64::MAX));
    while !shared.over.load(Ordering::Relaxed) {
        let call = shared.calls.fetch_add(1, Ordering::Relaxed);
        let random = mix(call * CLIENTS + client);
        let kind = KINDS[random as usize % KINDS.len()];
        let name = (kind, first + call / (CALLS_A_VALUE * KINDS.len() as u64));
        // What was seen of another value is no condition for this one.
        let may_swap = of == name && kind != Kind::Pair;
        let value = call + first * CALLS_A_VALUE * KINDS.len() as u64;
        let begun = shared.now();
        let outcome = match random >> 60 {
            0..9 if may_swap => swap(database, name, &seen, value),
            9..11 if kind != Kind::Exchange => write(database, name, Some(value)),
            11 if kind != Kind::Exchange => write(database, name, None),
            _ => {
                of = name;
                read(database, name, &mut seen)
            }
        };
        let (action, ended) = match outcome {
            Ok(action) => (Some(action), Some(shared.now())),
            Err(Gone(action)) => (action, None),
        };
        if let Some(action) = action {
            let call = Call {
                begun,
                ended,
                action,
            };
            histories.entry(name).or_default().push(call);
        }
        if ended.is_none() {
            break;
        }
    }
    histories
}

/// One life of the server, and what it left, read from the next.
fn round(
    data: &Path,
    server: &mut Server,
    number: u64,
    run_for: Duration,
    first: u64,
) -> Histories {
    let shared = Shared {
        clock: Instant::now(),
        calls: AtomicU64::new(0),
        over: AtomicBool::new(false),
    };
    let mut all = Histories::new();
    std::thread::scope(|scope| {
        let start = |client| {
            let database = Client::new(&server.url).database(DATABASE);
            let shared = &shared;
            scope.spawn(move || work(&database, client + CLIENTS * number, first, shared))
        };
        let clients: Vec<_> = (0..CLIENTS).map(start).collect();
        std::thread::sleep(run_for);
        server.kill().unwrap();
        shared.over.store(true, Ordering::Relaxed);
        for client in clients {
            for (name, calls) in client.join().unwrap() {
                all.entry(name).or_default().extend(calls);
            }
        }
    });
    *server = Server::start(data).unwrap();
    let database = Client::new(&server.url).database(DATABASE);
    for (name, calls) in &mut all {
        let begun = shared.now();
        let Ok(action) = read(&database, *name, &mut Seen::default()) else {
            panic!("the server is gone although nobody killed it");
        };
        let ended = Some(shared.now());
        calls.push(Call {
            begun,
            ended,
            action,
        });
    }
    all
}

#[test]
fn some_order_of_calls_explains_every_answer_across_kills() {
    let text = std::env::var("JACKDAW_HISTORY_SECONDS").unwrap_or_default();
    let seconds: u64 = text.parse().unwrap_or(SECONDS);
    let rounds = seconds.div_ceil(SECONDS_A_ROUND_MAX).max(ROUNDS_MIN);
    let run_for = Duration::from_secs(seconds) / u32::try_from(rounds).unwrap();
    let directory = TestDirectory::new("histories").unwrap();
    let mut server = Server::start(&directory.0).unwrap();
    Client::new(&server.url).create_database(DATABASE).unwrap();
    let (mut first, mut calls, mut unknown) = (0, 0, 0);
    for number in 0..rounds {
        let histories = round(&directory.0, &mut server, number, run_for, first);
        for (name, history) in &histories {
            assert!(is_linearizable(history), "{}: {history:#?}", key(*name));
            calls += history.len();
            unknown += history.iter().filter(|call| call.ended.is_none()).count();
        }
        let last = histories.keys().map(|(_, number)| *number).max();
        first = last.expect("no client made a call") + 1;
    }
    println!(
        "histories: {rounds} kills under {CLIENTS} clients, {calls} calls on {first} values of \
         each kind, {unknown} of unknown outcome, all linearizable, no batch seen in part"
    );
}
