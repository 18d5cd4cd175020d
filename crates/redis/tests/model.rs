//! Random commands against a naive model: every reply has to agree, in memory and in durable mode,
//! where everything has to be there after restarts, too.
//!
//! `JACKDAW_SEED` replays a run; a failure prints its seed and the command.

mod support;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fastrand::Rng;
use support::{Client, Directory, config, start};

const STEPS: usize = 3_000;
const RESTARTS: usize = 3;
const WRONG_TYPE: &str =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Hash(BTreeMap<String, String>),
    List(VecDeque<String>),
    Set(BTreeSet<String>),
    Sorted(BTreeMap<String, i64>),
}

type Model = BTreeMap<String, Value>;

/// The collection of a key, made when it is not there.
macro_rules! collection {
    ($model:expr, $key:expr, $kind:ident) => {
        match $model
            .entry($key.to_owned())
            .or_insert_with(|| Value::$kind(Default::default()))
        {
            Value::$kind(value) => value,
            _ => return WRONG_TYPE.to_owned(),
        }
    };
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn or_nil(text: Option<&String>) -> String {
    text.map_or("nil".to_owned(), |text| quoted(text))
}

fn list<'a>(items: impl Iterator<Item = &'a String>) -> String {
    format!(
        "[{}]",
        items
            .map(|item| quoted(item))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

fn by_score(set: &BTreeMap<String, i64>) -> Vec<(&String, i64)> {
    let mut all: Vec<_> = set.iter().map(|(member, score)| (member, *score)).collect();
    all.sort_by_key(|(member, score)| (*score, (*member).clone()));
    all
}

/// What the command does to the model, and its reply.
fn apply(model: &mut Model, words: &[String]) -> String {
    let reply = apply_to(model, words);
    model.retain(|_, value| match value {
        Value::Text(_) => true,
        Value::Hash(hash) => !hash.is_empty(),
        Value::List(list) => !list.is_empty(),
        Value::Set(set) => !set.is_empty(),
        Value::Sorted(set) => !set.is_empty(),
    });
    reply
}

fn apply_to(model: &mut Model, words: &[String]) -> String {
    let text = |position: usize| words[position].clone();
    let number = |position: usize| words[position].parse::<i64>().expect("a number");
    let key = words[1].as_str();
    match words[0].as_str() {
        "SET" => {
            model.insert(key.to_owned(), Value::Text(text(2)));
            "OK".to_owned()
        }
        "GET" => match model.get(key) {
            None => "nil".to_owned(),
            Some(Value::Text(text)) => quoted(text),
            Some(_) => WRONG_TYPE.to_owned(),
        },
        "APPEND" => {
            let value = collection!(model, key, Text);
            value.push_str(&words[2]);
            value.len().to_string()
        }
        "DEL" => i64::from(model.remove(key).is_some()).to_string(),
        "RENAME" => match model.remove(key) {
            None => "(error) ERR no such key".to_owned(),
            Some(value) => {
                model.insert(text(2), value);
                "OK".to_owned()
            }
        },
        "HSET" => {
            let is_new = collection!(model, key, Hash)
                .insert(text(2), text(3))
                .is_none();
            i64::from(is_new).to_string()
        }
        "HDEL" => {
            let removed = collection!(model, key, Hash).remove(&words[2]);
            i64::from(removed.is_some()).to_string()
        }
        "HGET" => or_nil(collection!(model, key, Hash).get(&words[2])),
        "RPUSH" => {
            let items = collection!(model, key, List);
            items.push_back(text(2));
            items.len().to_string()
        }
        "LPUSH" => {
            let items = collection!(model, key, List);
            items.push_front(text(2));
            items.len().to_string()
        }
        "LPOP" => or_nil(collection!(model, key, List).pop_front().as_ref()),
        "RPOP" => or_nil(collection!(model, key, List).pop_back().as_ref()),
        "LREM" => {
            let items = collection!(model, key, List);
            let before = items.len();
            items.retain(|item| *item != words[3]);
            (before - items.len()).to_string()
        }
        "LTRIM" => {
            let items = collection!(model, key, List);
            let place = |position| usize::try_from(number(position)).expect("not negative");
            let (start, end) = (place(2), place(3) + 1);
            let kept = items.iter().take(end).skip(start).cloned().collect();
            *items = kept;
            "OK".to_owned()
        }
        "LRANGE" => list(collection!(model, key, List).iter()),
        "SADD" => i64::from(collection!(model, key, Set).insert(text(2))).to_string(),
        "SREM" => i64::from(collection!(model, key, Set).remove(&words[2])).to_string(),
        "SCARD" => collection!(model, key, Set).len().to_string(),
        "SISMEMBER" => i64::from(collection!(model, key, Set).contains(&words[2])).to_string(),
        "ZADD" => {
            let old = collection!(model, key, Sorted).insert(text(3), number(2));
            i64::from(old.is_none()).to_string()
        }
        "ZREM" => {
            let removed = collection!(model, key, Sorted).remove(&words[2]);
            i64::from(removed.is_some()).to_string()
        }
        "ZRANGE" => {
            let set = collection!(model, key, Sorted);
            list(by_score(set).into_iter().map(|(member, _)| member))
        }
        "ZRANK" => {
            let set = collection!(model, key, Sorted);
            let rank = by_score(set)
                .iter()
                .position(|(member, _)| **member == words[2]);
            rank.map_or("nil".to_owned(), |rank| rank.to_string())
        }
        "ZCOUNT" => {
            let (low, high) = (number(2), number(3));
            let scores = collection!(model, key, Sorted).values();
            scores
                .filter(|score| (low..=high).contains(score))
                .count()
                .to_string()
        }
        other => panic!("the model does not know {other}"),
    }
}

fn random_command(random: &mut Rng) -> Vec<String> {
    const COMMANDS: &[(&str, &str)] = &[
        ("SET", "kv"),
        ("GET", "k"),
        ("APPEND", "kv"),
        ("DEL", "k"),
        ("RENAME", "kk"),
        ("HSET", "kmv"),
        ("HDEL", "km"),
        ("HGET", "km"),
        ("RPUSH", "km"),
        ("LPUSH", "km"),
        ("RPUSH", "km"),
        ("LPUSH", "km"),
        ("LPOP", "k"),
        ("RPOP", "k"),
        ("LREM", "k0m"),
        ("LTRIM", "knn"),
        ("LRANGE", "ka"),
        ("SADD", "km"),
        ("SREM", "km"),
        ("SCARD", "k"),
        ("SISMEMBER", "km"),
        ("ZADD", "knm"),
        ("ZADD", "knm"),
        ("ZREM", "km"),
        ("ZRANGE", "ka"),
        ("ZRANK", "km"),
        ("ZCOUNT", "knn"),
    ];
    let (name, parts) = COMMANDS[random.usize(0..COMMANDS.len())];
    // Keys of a type of their own mostly, so that collections live for a while.
    let kind = if random.u8(0..20) == 0 {
        "any"
    } else {
        &name[..1]
    };
    let mut words = vec![name.to_owned()];
    for part in parts.chars() {
        match part {
            'k' => words.push(format!("{kind}{}", random.u8(0..4))),
            'v' => words.push("v".repeat(random.usize(0..700))),
            'm' => words.push(format!("m{}", random.u8(0..30))),
            'n' => words.push(random.i64(0..20).to_string()),
            '0' => words.push("0".to_owned()),
            _ => words.extend(["0".to_owned(), "-1".to_owned()]),
        }
    }
    words
}

fn seed() -> u64 {
    let given = std::env::var("JACKDAW_SEED").ok();
    let seed = given
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    eprintln!("JACKDAW_SEED={seed}");
    seed
}

fn run(client: &mut Client, model: &mut Model, random: &mut Rng, steps: usize, seed: u64) {
    for step in 0..steps {
        let words = random_command(random);
        let expected = apply(model, &words);
        let bytes: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let reply = client.run_words(&bytes);
        assert_eq!(reply, expected, "seed {seed}, step {step}: {words:?}");
    }
}

/// Every key of the model, asked for.
fn compare(client: &mut Client, model: &Model, seed: u64) {
    assert_eq!(client.run("DBSIZE"), model.len().to_string(), "seed {seed}");
    for (key, value) in model {
        match value {
            Value::Text(text) => assert_eq!(client.run(&format!("GET {key}")), quoted(text)),
            Value::List(items) => {
                assert_eq!(
                    client.run(&format!("LRANGE {key} 0 -1")),
                    list(items.iter())
                );
            }
            Value::Sorted(set) => {
                let members = by_score(set).into_iter().map(|(member, _)| member);
                assert_eq!(
                    client.run(&format!("ZRANGE {key} 0 -1")),
                    list(members),
                    "seed {seed}"
                );
            }
            Value::Set(set) => {
                assert_eq!(client.run(&format!("SCARD {key}")), set.len().to_string());
                for member in set {
                    assert_eq!(client.run(&format!("SISMEMBER {key} {member}")), "1");
                }
            }
            Value::Hash(hash) => {
                assert_eq!(client.run(&format!("HLEN {key}")), hash.len().to_string());
                for (field, value) in hash {
                    assert_eq!(client.run(&format!("HGET {key} {field}")), quoted(value));
                }
            }
        }
    }
}

#[test]
fn replies_agree_with_the_model() {
    let seed = seed();
    let server = start(&config());
    let mut client = Client::connect(&server);
    let (mut model, mut random) = (Model::new(), Rng::with_seed(seed));
    run(&mut client, &mut model, &mut random, STEPS, seed);
    compare(&mut client, &model, seed);
}

#[test]
fn the_model_is_there_after_every_restart() {
    let seed = seed();
    let directory = Directory::new("model");
    let mut config = config();
    config.data = Some(directory.path().to_path_buf());
    let (mut model, mut random) = (Model::new(), Rng::with_seed(seed));
    for _ in 0..RESTARTS {
        let server = start(&config);
        let mut client = Client::connect(&server);
        compare(&mut client, &model, seed);
        // In a pipeline: a durable write each would be slow one by one.
        let mut expected = Vec::new();
        for _ in 0..400 {
            let words = random_command(&mut random);
            expected.push((apply(&mut model, &words), words.clone()));
            let bytes: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
            client.send_words(&bytes);
        }
        for (reply, words) in expected {
            assert_eq!(client.reply(), reply, "seed {seed}: {words:?}");
        }
        server.stop();
    }
    let server = start(&config);
    compare(&mut Client::connect(&server), &model, seed);
}
