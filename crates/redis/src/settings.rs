//! Settings: those fixed at the start, and those that CONFIG SET changes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use crate::keyspace::EvictionPolicy;
use crate::resp::ParserLimits;

/// Where the server listens unless it is told otherwise.
pub const DEFAULT_PORT: u16 = 6379;

/// How a server is started.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RedisConfig {
    /// Address and port; port 0 picks a free one. Without a password only loopback is allowed.
    pub listen: SocketAddr,
    /// What AUTH has to give; none lets everybody in.
    pub password: Option<String>,
    /// Budget in bytes of all keys and values; 0 is none.
    pub memory_bytes: usize,
    /// What happens when the budget is used up.
    pub policy: EvictionPolicy,
    /// Directory in which every acknowledged write is durable; none keeps keys in memory only.
    pub data: Option<PathBuf>,
    /// Event loops; 1 to 16.
    pub threads: usize,
    /// Databases that SELECT can choose from.
    pub databases: u16,
    /// Clients that may be connected at once.
    pub clients_max: usize,
    /// Bytes that commands and replies of all clients may take together while they come and wait.
    /// One reply may take half of it. Beyond it, the client that holds most is closed.
    pub clients_bytes_max: usize,
}

/// From this threshold on, commands of constant time are not timed: none of them takes as long.
const TIMED_BELOW_MICROS: i64 = 1_000;
/// Part of the memory that keys and values may take unless the caller sets a budget: the databases
/// of documents in the same process need the rest.
const KEYS_PART_OF_MEMORY: u64 = 4;
/// Part of the memory that commands and replies of clients may take.
const CLIENTS_PART_OF_MEMORY: u64 = 8;
/// The least that they may take, however little memory there is.
const CLIENTS_BYTES_MIN: usize = 8 << 20;
/// Memory for which there is one client. One that is idle takes an eighth of it, mostly in the
/// kernel, and what clients hold beyond that is counted.
const MEMORY_OF_CLIENT: u64 = 64 << 10;
/// Least clients, however little memory there is.
const CLIENTS_MIN: usize = 256;

impl RedisConfig {
    /// Bounds keys, clients, and their commands and replies, by the memory that the server may
    /// take.
    #[must_use]
    pub fn for_memory(mut self, memory_bytes: u64) -> RedisConfig {
        let keys = usize::try_from(memory_bytes / KEYS_PART_OF_MEMORY).unwrap_or(usize::MAX);
        self.memory_bytes = keys.max(1);
        let part = usize::try_from(memory_bytes / CLIENTS_PART_OF_MEMORY).unwrap_or(usize::MAX);
        self.clients_bytes_max = part.max(CLIENTS_BYTES_MIN).min(self.clients_bytes_max);
        let count = usize::try_from(memory_bytes / MEMORY_OF_CLIENT).unwrap_or(usize::MAX);
        self.clients_max = count.max(CLIENTS_MIN).min(self.clients_max);
        self
    }
}

/// Event loops unless said otherwise. Two on a machine with few cores take them from the clients
/// and from each other: on two cores, one loop is faster in everything but very long pipelines.
fn default_threads() -> usize {
    match jackdaw_io::system::core_count() {
        0..4 => 1,
        _ => 2,
    }
}

impl Default for RedisConfig {
    fn default() -> RedisConfig {
        RedisConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)),
            password: None,
            memory_bytes: 0,
            policy: EvictionPolicy::NoEviction,
            data: None,
            threads: default_threads(),
            databases: 16,
            clients_max: 10_000,
            clients_bytes_max: 8 << 30,
        }
    }
}

/// What a reply says around a string at most.
const AROUND_STRING_BYTES: i64 = 256;

/// Settings that hold now.
pub(crate) struct Settings {
    pub(crate) databases: u16,
    memory: AtomicUsize,
    policy: RwLock<EvictionPolicy>,
    password: RwLock<Option<String>>,
    bulk_bytes_max: AtomicI64,
    /// What `bulk_bytes_max` may be set to at most.
    bulk_bytes_greatest: i64,
    command_bytes_max: AtomicUsize,
    output_bytes_max: AtomicUsize,
    listener_bytes_max: AtomicUsize,
    clients_max: AtomicUsize,
    clients_bytes_max: AtomicUsize,
    timeout_seconds: AtomicU64,
    /// Microseconds from which a command is slow; negative is never.
    slow_micros: AtomicI64,
    slow_max: AtomicUsize,
    latency_millis: AtomicU64,
    inert: RwLock<Vec<(&'static str, String)>>,
}

/// Settings of Redis that programs read and write, and that change nothing here: there is one
/// representation of each type, and no replication.
const INERT: &[(&str, &str)] = &[
    ("appendfsync", "always"),
    ("hash-max-listpack-entries", "128"),
    ("hash-max-listpack-value", "64"),
    ("hash-max-ziplist-entries", "128"),
    ("hash-max-ziplist-value", "64"),
    ("lazyfree-lazy-user-del", "no"),
    ("list-compress-depth", "0"),
    ("list-max-listpack-size", "-2"),
    ("list-max-ziplist-size", "-2"),
    ("maxmemory-samples", "16"),
    ("notify-keyspace-events", ""),
    ("save", ""),
    ("set-max-intset-entries", "512"),
    ("set-max-listpack-entries", "128"),
    ("set-max-listpack-value", "64"),
    ("zset-max-listpack-entries", "128"),
    ("zset-max-listpack-value", "64"),
    ("zset-max-ziplist-entries", "128"),
    ("zset-max-ziplist-value", "64"),
];

/// Longest string, and longest argument, of Redis.
const BULK_BYTES_MAX: i64 = 512 << 20;
/// The same in durable mode, where a value is one value of storage.
const DURABLE_BULK_BYTES_MAX: i64 = 128 << 20;
/// Most words of a command.
const ARGUMENTS_MAX: i64 = 1 << 20;

impl Settings {
    pub(crate) fn new(config: &RedisConfig) -> Settings {
        let bulk = match config.data {
            None => BULK_BYTES_MAX,
            Some(_) => DURABLE_BULK_BYTES_MAX,
        };
        let inert = INERT.iter().map(|&(name, value)| (name, value.to_owned()));
        Settings {
            databases: config.databases.max(1),
            memory: AtomicUsize::new(config.memory_bytes),
            policy: RwLock::new(config.policy),
            password: RwLock::new(config.password.clone()),
            bulk_bytes_max: AtomicI64::new(bulk),
            bulk_bytes_greatest: bulk,
            command_bytes_max: AtomicUsize::new(1 << 30),
            output_bytes_max: AtomicUsize::new(1 << 30),
            listener_bytes_max: AtomicUsize::new(32 << 20),
            clients_max: AtomicUsize::new(config.clients_max),
            clients_bytes_max: AtomicUsize::new(config.clients_bytes_max),
            timeout_seconds: AtomicU64::new(0),
            slow_micros: AtomicI64::new(10_000),
            slow_max: AtomicUsize::new(128),
            latency_millis: AtomicU64::new(0),
            inert: RwLock::new(inert.collect()),
        }
    }

    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }

    pub(crate) fn policy(&self) -> EvictionPolicy {
        *self.policy.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn password(&self) -> Option<String> {
        let password = self.password.read();
        password.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Longest string: none that no reply could hold.
    pub(crate) fn bulk_bytes_max(&self) -> i64 {
        let reply = i64::try_from(self.reply_bytes_max()).unwrap_or(i64::MAX);
        let bulk = self.bulk_bytes_max.load(Ordering::Relaxed);
        bulk.min(reply - AROUND_STRING_BYTES)
    }

    pub(crate) fn command_bytes_max(&self) -> usize {
        self.command_bytes_max.load(Ordering::Relaxed)
    }

    /// Bytes of replies that may wait for a client, and of messages for one that listens.
    pub(crate) fn output_bytes_max(&self, is_listener: bool) -> usize {
        match is_listener {
            true => self.listener_bytes_max.load(Ordering::Relaxed),
            false => self.output_bytes_max.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn clients_max(&self) -> usize {
        self.clients_max.load(Ordering::Relaxed)
    }

    /// Bytes that commands and replies of all clients may take together.
    pub(crate) fn clients_bytes_max(&self) -> usize {
        self.clients_bytes_max.load(Ordering::Relaxed)
    }

    /// Bytes that the replies of one batch may take while they are made: the half of what all may
    /// hold, so that whoever holds the other half does not keep others from an answer.
    pub(crate) fn reply_bytes_max(&self) -> usize {
        self.output_bytes_max(false)
            .min(self.clients_bytes_max() / 2)
    }

    pub(crate) fn timeout_seconds(&self) -> u64 {
        self.timeout_seconds.load(Ordering::Relaxed)
    }

    pub(crate) fn slow_micros(&self) -> i64 {
        self.slow_micros.load(Ordering::Relaxed)
    }

    /// Whether even commands of constant time may be slow.
    #[inline]
    pub(crate) fn times_all(&self) -> bool {
        (0..TIMED_BELOW_MICROS).contains(&self.slow_micros())
    }

    pub(crate) fn slow_max(&self) -> usize {
        self.slow_max.load(Ordering::Relaxed)
    }

    pub(crate) fn latency_millis(&self) -> u64 {
        self.latency_millis.load(Ordering::Relaxed)
    }

    pub(crate) fn parser_limits(&self) -> ParserLimits {
        ParserLimits {
            arguments_max: ARGUMENTS_MAX,
            bulk_bytes_max: self.bulk_bytes_max(),
            command_bytes_max: self.command_bytes_max(),
        }
    }

    /// All settings with their values, by name.
    pub(crate) fn all(&self) -> Vec<(&'static str, String)> {
        let listener = self.output_bytes_max(true);
        let normal = self.output_bytes_max(false);
        let mut all = vec![
            ("appendonly", "no".to_owned()),
            (
                "client-output-buffer-limit",
                format!("normal {normal} 0 0 slave 0 0 0 pubsub {listener} 0 0"),
            ),
            (
                "client-query-buffer-limit",
                self.command_bytes_max().to_string(),
            ),
            ("databases", self.databases.to_string()),
            (
                "latency-monitor-threshold",
                self.latency_millis().to_string(),
            ),
            ("maxclients", self.clients_max().to_string()),
            ("maxmemory", self.memory().to_string()),
            ("maxmemory-clients", self.clients_bytes_max().to_string()),
            ("maxmemory-policy", self.policy().name().to_owned()),
            ("proto-max-bulk-len", self.bulk_bytes_max().to_string()),
            ("requirepass", self.password().unwrap_or_default()),
            ("slowlog-log-slower-than", self.slow_micros().to_string()),
            ("slowlog-max-len", self.slow_max().to_string()),
            ("timeout", self.timeout_seconds().to_string()),
        ];
        let inert = self.inert.read().unwrap_or_else(PoisonError::into_inner);
        all.extend(inert.iter().cloned());
        all.sort();
        all
    }

    /// Changes settings: all of them, or none when one of them is wrong.
    ///
    /// # Errors
    /// The name of the wrong one, and what is wrong with it, for the client.
    pub(crate) fn set(&self, changes: &[(String, String)]) -> Result<(), (String, String)> {
        let mut checked = Vec::new();
        for (position, (name, value)) in changes.iter().enumerate() {
            let is_repeated = changes[..position].iter().any(|(other, _)| other == name);
            let change = match is_repeated {
                true => Err("duplicate parameter".to_owned()),
                false => self.checked(name, value),
            };
            checked.push(change.map_err(|why| (name.clone(), why))?);
        }
        checked.into_iter().for_each(|change| change());
        Ok(())
    }

    /// Checks a change of a setting; what it gives makes the change.
    fn checked<'s>(&'s self, name: &str, value: &str) -> Result<Change<'s>, String> {
        let invalid = || format!("argument couldn't be parsed into an integer for '{name}'");
        Ok(match name {
            "maxmemory" => {
                let bytes = parse_bytes(value).ok_or("argument must be a memory value")?;
                store(&self.memory, bytes)
            }
            "maxmemory-clients" => {
                let allowed = parse_bytes(value).filter(|bytes| *bytes >= CLIENTS_BYTES_MIN);
                let bytes = allowed.ok_or("argument must be a memory value from 8mb on")?;
                store(&self.clients_bytes_max, bytes)
            }
            "maxmemory-policy" => {
                let policy = EvictionPolicy::named(value).ok_or_else(|| {
                    let names = EvictionPolicy::NAMES.map(|(name, _)| name);
                    format!(
                        "argument(s) must be one of the following: {}",
                        names.join(", ")
                    )
                })?;
                replace(&self.policy, policy)
            }
            "requirepass" => replace(
                &self.password,
                (!value.is_empty()).then(|| value.to_owned()),
            ),
            "proto-max-bulk-len" => {
                let bytes = parse_bytes(value).and_then(|bytes| i64::try_from(bytes).ok());
                let greatest = self.bulk_bytes_greatest;
                let allowed = bytes.filter(|bytes| (1..=greatest).contains(bytes));
                let invalid = || format!("argument must be between 1 and {}mb", greatest >> 20);
                let bytes = allowed.ok_or_else(invalid)?;
                Box::new(move || self.bulk_bytes_max.store(bytes, Ordering::Relaxed))
            }
            "client-query-buffer-limit" => {
                let allowed = parse_bytes(value).filter(|b| (1 << 20..=1 << 30).contains(b));
                let bytes = allowed.ok_or("argument must be between 1mb and 1gb")?;
                store(&self.command_bytes_max, bytes)
            }
            "client-output-buffer-limit" => self.checked_output(value)?,
            "maxclients" => store(&self.clients_max, value.parse().map_err(|_| invalid())?),
            "timeout" => {
                let seconds = value.parse().map_err(|_| invalid())?;
                Box::new(move || self.timeout_seconds.store(seconds, Ordering::Relaxed))
            }
            "slowlog-log-slower-than" => {
                let micros = value.parse().map_err(|_| invalid())?;
                Box::new(move || self.slow_micros.store(micros, Ordering::Relaxed))
            }
            "slowlog-max-len" => {
                let entries: usize = value.parse().map_err(|_| invalid())?;
                store(&self.slow_max, entries.min(100_000))
            }
            "latency-monitor-threshold" => {
                let millis = value.parse().map_err(|_| invalid())?;
                Box::new(move || self.latency_millis.store(millis, Ordering::Relaxed))
            }
            "databases" | "appendonly" => return Err("can't set immutable config".to_owned()),
            _ => {
                let position = INERT.iter().position(|(known, _)| *known == name);
                let (position, value) = (position.ok_or("unknown")?, value.to_owned());
                Box::new(move || {
                    let mut inert = self.inert.write().unwrap_or_else(PoisonError::into_inner);
                    inert[position].1 = value;
                })
            }
        })
    }

    /// Classes with a hard limit, a soft limit and its seconds; only the hard limit counts.
    fn checked_output<'s>(&'s self, value: &str) -> Result<Change<'s>, String> {
        let words: Vec<&str> = value.split_whitespace().collect();
        let mut changes = Vec::new();
        for class in words.chunks(4) {
            let [name, hard, _, _] = class else {
                return Err("wrong number of arguments".to_owned());
            };
            let bytes = match parse_bytes(hard).ok_or("error in hard limit")? {
                0 => 1 << 30,
                bytes => bytes,
            };
            match *name {
                "normal" => changes.push(store(&self.output_bytes_max, bytes)),
                "pubsub" => changes.push(store(&self.listener_bytes_max, bytes)),
                "slave" | "replica" => {}
                _ => return Err("unrecognized client class".to_owned()),
            }
        }
        Ok(Box::new(move || {
            changes.into_iter().for_each(|change| change());
        }))
    }
}

/// A change of a setting that was found right.
type Change<'s> = Box<dyn FnOnce() + 's>;

fn store(number: &AtomicUsize, value: usize) -> Change<'_> {
    Box::new(move || number.store(value, Ordering::Relaxed))
}

fn replace<T>(setting: &RwLock<T>, value: T) -> Change<'_> {
    Box::new(move || *setting.write().unwrap_or_else(PoisonError::into_inner) = value)
}

/// Bytes with a unit: `100`, `64k`, `64kb`, `1mb`, `2gb`.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    let digits_end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let factor: usize = match unit {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(factor)
}
