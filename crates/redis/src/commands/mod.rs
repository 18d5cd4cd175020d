//! The commands: their table, and how one is run.
//!
//! `Batch` is called by `net::connection` for each command of a read. A handler that needs one key
//! gets the locked shard of that key; one that needs several gets the whole space; the rest need no
//! keys at all.

mod bits;
mod call;
mod connection;
mod expiry;
mod hashes;
mod information;
mod keys;
mod lists;
mod publish;
mod run;
mod scans;
mod server;
mod sets;
mod sorted;
mod sorted_ranges;
mod sorted_sets;
mod strings;
mod transactions;

use std::sync::LazyLock;

pub(crate) use call::Call;
pub(crate) use lists::transfer;
pub(crate) use run::{Batch, check_memory, run_in_transaction};

use crate::failure::{Failure, Outcome};
use crate::keyspace::{Entry, Shard, Space};
use crate::number;

/// What runs a command.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// One key: the shard of it.
    Key(fn(&mut Call<'_>, &mut Shard) -> Outcome),
    /// The first for one key, the second for several.
    Either(
        fn(&mut Call<'_>, &mut Shard) -> Outcome,
        fn(&mut Call<'_>, &mut Space) -> Outcome,
    ),
    /// Everything.
    Whole(fn(&mut Call<'_>, &mut Space) -> Outcome),
    /// No keys.
    Session(fn(&mut Call<'_>) -> Outcome),
}

/// A command as it stands in the table.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    /// Words with the name; negative when there may be more.
    pub(crate) arity: i8,
    /// A letter each: r reads, w writes, m needs memory, f is fast, q takes constant time and is
    /// not timed, b waits, p publishes, a administers, s may run before anything else, u is
    /// never queued by MULTI.
    pub(crate) flags: &'static str,
    /// Positions of the first and last key, and the step between keys.
    pub(crate) keys: (i8, i8, i8),
    pub(crate) handler: Handler,
    pub(crate) summary: &'static str,
}

impl Spec {
    pub(crate) fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

const fn row(
    name: &'static str,
    arity: i8,
    flags: &'static str,
    keys: (i8, i8, i8),
    handler: Handler,
    summary: &'static str,
) -> Spec {
    Spec {
        name,
        arity,
        flags,
        keys,
        handler,
        summary,
    }
}

/// Groups of the table, as COMMAND DOCS names them.
pub(crate) const GROUPS: &[(&str, &[Spec])] = &[
    ("string", strings::SPECS),
    ("bitmap", bits::SPECS),
    ("generic", keys::SPECS),
    ("generic", expiry::SPECS),
    ("generic", scans::SPECS),
    ("hash", hashes::SPECS),
    ("list", lists::SPECS),
    ("set", sets::SPECS),
    ("sorted-set", sorted::SPECS),
    ("sorted-set", sorted_ranges::SPECS),
    ("sorted-set", sorted_sets::SPECS),
    ("transactions", transactions::SPECS),
    ("pubsub", publish::SPECS),
    ("connection", connection::SPECS),
    ("server", server::SPECS),
];

/// A command of the table with what is looked at each time it runs.
pub(crate) struct Known {
    pub(crate) spec: &'static Spec,
    pub(crate) group: &'static str,
    /// Position in the table.
    pub(crate) number: usize,
    pub(crate) is_write: bool,
    pub(crate) needs_memory: bool,
    pub(crate) is_timed: bool,
}

/// Longest name of a command.
const NAME_BYTES_MAX: usize = 16;
const BUCKETS: usize = 1024;

struct Table {
    known: Vec<Known>,
    /// Positions in `known`, by the hash of the name.
    buckets: Vec<Vec<u16>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table {
        known: Vec::new(),
        buckets: vec![Vec::new(); BUCKETS],
    };
    for (group, specs) in GROUPS {
        for spec in *specs {
            let number = table.known.len();
            let bucket = bucket_of(spec.name.as_bytes());
            table.buckets[bucket].push(u16::try_from(number).expect("fewer than 65,536 commands"));
            table.known.push(Known {
                spec,
                group,
                number,
                is_write: spec.has('w'),
                needs_memory: spec.has('m'),
                is_timed: !spec.has('f') && !spec.has('q'),
            });
        }
    }
    table
});

/// The bucket of a name, in lower or upper case.
#[inline]
fn bucket_of(name: &[u8]) -> usize {
    let hash = name.iter().fold(0_u32, |hash, byte| {
        (hash ^ u32::from(byte | 0x20)).wrapping_mul(0x0100_0193)
    });
    (hash ^ (hash >> 15)) as usize % BUCKETS
}

/// The command of a name.
#[inline]
pub(crate) fn find(name: &[u8]) -> Option<&'static Known> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let table = &*TABLE;
    table.buckets[bucket_of(name)]
        .iter()
        .map(|&position| &table.known[usize::from(position)])
        .find(|known| known.spec.name.as_bytes().eq_ignore_ascii_case(name))
}

/// All commands.
pub(crate) fn all() -> &'static [Known] {
    &TABLE.known
}

/// Positions of the elements that a random choice of `count` takes from `len`: different ones, or
/// with repetition when `count` is negative.
fn sample(count: i64, len: usize, with_values: bool) -> Result<Vec<usize>, Failure> {
    let out_of_range = || Failure::other("value is out of range");
    if with_values && count.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
        return Err(out_of_range());
    }
    if len == 0 || count == 0 {
        return Ok(Vec::new());
    }
    let wanted = usize::try_from(count.unsigned_abs()).map_err(|_| out_of_range())?;
    if count < 0 {
        if wanted > REPEATED_MAX {
            return Err(out_of_range());
        }
        return Ok((0..wanted).map(|_| fastrand::usize(0..len)).collect());
    }
    if wanted >= len {
        return Ok((0..len).collect());
    }
    Ok(fastrand::choose_multiple(0..len, wanted))
}

/// Elements that a random choice with repetition may give.
const REPEATED_MAX: usize = 10_000_000;

/// The number of keys that stands at a position, with that many arguments behind it.
fn key_count(call: &Call<'_>, position: usize) -> Result<usize, Failure> {
    let invalid = || Failure::other("numkeys should be greater than 0");
    let count = call.integer(position).map_err(|_| invalid())?;
    if count <= 0 {
        // The set operations of sorted sets say it in their own way.
        let name = call.lower(0);
        let takes_sets =
            name.starts_with("zunion") || name.starts_with("zdiff") || name.starts_with("zinter");
        return Err(match takes_sets {
            true => Failure::other(format!(
                "at least 1 input key is needed for '{name}' command"
            )),
            false => invalid(),
        });
    }
    let count = usize::try_from(count).map_err(|_| invalid())?;
    if count > call.len() - position - 1 {
        return Err(match call.lower(0).contains("card") {
            true => Failure::other("Number of keys can't be greater than number of args"),
            false => Failure::Syntax,
        });
    }
    Ok(count)
}

/// How far SINTERCARD and ZINTERCARD count: the LIMIT that may stand at `position`, behind the
/// keys. Without one, and with 0, there is no end.
fn cardinality_limit(call: &Call<'_>, position: usize) -> Result<usize, Failure> {
    let limit = match call.len() - position {
        0 => 0,
        2 if call.is(position, "LIMIT") => {
            let limit = call.integer(position + 1).ok();
            let limit = limit.and_then(|limit| usize::try_from(limit).ok());
            limit.ok_or_else(|| Failure::other("LIMIT can't be negative"))?
        }
        _ => return Err(Failure::Syntax),
    };
    Ok(if limit == 0 { usize::MAX } else { limit })
}

/// A COUNT that has to be positive.
fn positive_count(call: &Call<'_>, position: usize) -> Result<usize, Failure> {
    let count = call.integer(position).ok();
    let count = count.and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|&count| count > 0);
    count.ok_or_else(|| Failure::other("count should be greater than 0"))
}

/// How an entry is held.
fn encoding(entry: &Entry) -> &'static str {
    if let Some(object) = entry.object_ref() {
        return object.encoding();
    }
    let text = entry.text().unwrap_or_default();
    if number::parse_integer(text).is_some() {
        return "int";
    }
    // Redis draws the line between its two forms of strings here.
    if text.len() <= 44 { "embstr" } else { "raw" }
}

fn unknown_subcommand(call: &Call<'_>) -> Failure {
    let name = call.lower(0).to_uppercase();
    let given = String::from_utf8_lossy(call.args.get(1).copied().unwrap_or_default());
    let given: String = given.chars().take(128).collect();
    Failure::other(format!(
        "unknown subcommand or wrong number of arguments for '{given}'. Try {name} HELP."
    ))
}

fn help(call: &mut Call<'_>, lines: &[&str]) -> Outcome {
    call.out.array(lines.len());
    lines.iter().for_each(|line| call.out.simple(line));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_in_any_case() {
        for known in all() {
            let name = known.spec.name;
            assert!(name.len() <= NAME_BYTES_MAX, "{name}");
            for text in [name.to_owned(), name.to_uppercase()] {
                let found = find(text.as_bytes()).unwrap();
                assert_eq!(found.number, known.number, "{name} is there twice");
            }
            assert!(known.spec.arity != 0 && !known.spec.summary.is_empty());
        }
        assert!(find(b"nothing").is_none());
        assert!(find(b"a name that is far too long").is_none());
    }
}
