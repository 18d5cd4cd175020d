//! Keys whatever they hold: existence, names, databases, walks.

use super::call::Call;
use super::scans::ScanOptions;
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::glob;
use crate::keyspace::{Shard, Space};

use Handler::{Either, Key, Whole};

pub(super) const SPECS: &[Spec] = &[
    row(
        "del",
        -2,
        "wq",
        (1, -1, 1),
        Either(delete_one, delete),
        "Deletes keys",
    ),
    row(
        "unlink",
        -2,
        "wf",
        (1, -1, 1),
        Either(delete_one, delete),
        "Deletes keys",
    ),
    row(
        "exists",
        -2,
        "rf",
        (1, -1, 1),
        Either(exists_one, exists),
        "How many of the keys are there",
    ),
    row(
        "touch",
        -2,
        "rf",
        (1, -1, 1),
        Whole(touch),
        "Counts as a use of the keys",
    ),
    row("type", 2, "rf", (1, 1, 1), Key(type_of), "What a key holds"),
    row("rename", 3, "w", (1, 2, 1), Whole(rename), "Renames a key"),
    row(
        "renamenx",
        3,
        "wf",
        (1, 2, 1),
        Whole(rename_if_new),
        "Renames a key when the new name is free",
    ),
    row("copy", -3, "wm", (1, 2, 1), Whole(copy), "Copies a key"),
    row(
        "move",
        3,
        "wf",
        (1, 1, 1),
        Whole(move_key),
        "Moves a key into another database",
    ),
    row(
        "keys",
        2,
        "r",
        (0, 0, 0),
        Whole(keys),
        "All keys that match a pattern",
    ),
    row(
        "scan",
        -2,
        "r",
        (0, 0, 0),
        Whole(scan),
        "Walks over the keys in steps",
    ),
    row(
        "randomkey",
        1,
        "r",
        (0, 0, 0),
        Whole(random_key),
        "A random key",
    ),
    row(
        "dbsize",
        1,
        "rf",
        (0, 0, 0),
        Whole(database_size),
        "How many keys the database has",
    ),
    row(
        "flushdb",
        -1,
        "w",
        (0, 0, 0),
        Whole(flush_database),
        "Deletes all keys of the database",
    ),
    row(
        "flushall",
        -1,
        "w",
        (0, 0, 0),
        Whole(flush_all),
        "Deletes all keys of all databases",
    ),
    row(
        "swapdb",
        3,
        "wf",
        (0, 0, 0),
        Whole(swap_databases),
        "Exchanges two databases",
    ),
    row(
        "object",
        -2,
        "r",
        (2, 2, 1),
        Whole(object),
        "How a key is held",
    ),
    row(
        "memory",
        -2,
        "r",
        (2, 2, 1),
        Whole(memory),
        "What a key takes in memory",
    ),
];

fn delete_one(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    let is_there = shard.peek(&key, call.now).is_some();
    if is_there {
        shard.remove(&key);
    }
    call.out.flag(is_there);
    Ok(())
}

fn exists_one(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let is_there = shard.peek(&call.key(), call.now).is_some();
    call.out.flag(is_there);
    Ok(())
}

fn delete(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let mut count = 0;
    for position in 1..call.len() {
        let (shard, key) = call.shard_in(space, position);
        if shard.peek(&key, call.now).is_some() {
            shard.remove(&key);
            count += 1;
        }
    }
    call.out.count(count);
    Ok(())
}

fn exists(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let mut count = 0;
    for position in 1..call.len() {
        let (shard, key) = call.shard_in(space, position);
        count += usize::from(shard.peek(&key, call.now).is_some());
    }
    call.out.count(count);
    Ok(())
}

fn touch(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let mut count = 0;
    for position in 1..call.len() {
        let (shard, key) = call.shard_in(space, position);
        count += usize::from(shard.find(&key, call.now).is_some());
    }
    call.out.count(count);
    Ok(())
}

fn type_of(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let found = shard.peek(&call.key(), call.now);
    call.out
        .simple(found.map_or("none", |entry| entry.type_name()));
    Ok(())
}

fn rename(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let (shard, from) = call.shard_in(space, 1);
    if shard.peek(&from, call.now).is_none() {
        return Err(Failure::NoSuchKey);
    }
    if call.args[1] != call.args[2] {
        let entry = shard.remove(&from).ok_or(Failure::NoSuchKey)?;
        let (shard, to) = call.shard_in(space, 2);
        shard.put(&to, entry.renamed(to.bytes));
    }
    call.out.ok();
    Ok(())
}

fn rename_if_new(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let (shard, from) = call.shard_in(space, 1);
    if shard.peek(&from, call.now).is_none() {
        return Err(Failure::NoSuchKey);
    }
    let (shard, to) = call.shard_in(space, 2);
    if shard.peek(&to, call.now).is_some() {
        call.out.flag(false);
        return Ok(());
    }
    let (shard, from) = call.shard_in(space, 1);
    let entry = shard.remove(&from).ok_or(Failure::NoSuchKey)?;
    let (shard, to) = call.shard_in(space, 2);
    shard.put(&to, entry.renamed(to.bytes));
    call.out.flag(true);
    Ok(())
}

/// The database that an argument names.
pub(super) fn database(call: &Call<'_>, position: usize) -> Result<u16, Failure> {
    let number = call.integer(position)?;
    let number = u16::try_from(number).ok();
    let known = number.filter(|&number| number < call.shared.settings.databases);
    known.ok_or_else(|| Failure::other("DB index is out of range"))
}

fn copy(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let mut target = call.session.database;
    let mut replace = false;
    let mut position = 3;
    while position < call.len() {
        if call.is(position, "REPLACE") {
            replace = true;
        } else if call.is(position, "DB") && position + 1 < call.len() {
            position += 1;
            target = database(call, position)?;
        } else {
            return Err(Failure::Syntax);
        }
        position += 1;
    }
    if target == call.session.database && call.args[1] == call.args[2] {
        return Err(Failure::other(
            "source and destination objects are the same",
        ));
    }
    let (shard, from) = call.shard_in(space, 1);
    let Some(entry) = shard.peek(&from, call.now).cloned() else {
        call.out.flag(false);
        return Ok(());
    };
    let to = space.key(target, call.args[2]);
    let shard = space.shard(to.hash);
    if shard.peek(&to, call.now).is_some() && !replace {
        call.out.flag(false);
        return Ok(());
    }
    shard.put(&to, entry.renamed(to.bytes));
    call.out.flag(true);
    Ok(())
}

fn move_key(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let target = database(call, 2)?;
    if target == call.session.database {
        return Err(Failure::other(
            "source and destination objects are the same",
        ));
    }
    let to = space.key(target, call.args[1]);
    let (shard, from) = call.shard_in(space, 1);
    let is_free = shard.peek(&to, call.now).is_none();
    let is_there = shard.peek(&from, call.now).is_some();
    if is_free
        && is_there
        && let Some(entry) = shard.remove(&from)
    {
        shard.put(&to, entry);
        call.out.flag(true);
    } else {
        call.out.flag(false);
    }
    Ok(())
}

fn keys(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let (database, now, pattern) = (call.session.database, call.now, call.args[1]);
    let start = call.out.open_array();
    let mut count = 0;
    for shard in space.shards() {
        for entry in shard.entries(database) {
            let is_live = entry.expiry().is_none_or(|expiry| expiry > now);
            if is_live && glob::matches(pattern, entry.key()) {
                call.out.bulk(entry.key());
                count += 1;
            }
        }
    }
    call.out.patch(start, count);
    Ok(())
}

fn scan(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let cursor = super::scans::cursor(call, 1)?;
    let options = ScanOptions::read(call, 2, true)?;
    let now = call.now;
    let mut found = Vec::new();
    let accepts = |entry: &crate::keyspace::Entry| {
        entry.expiry().is_none_or(|expiry| expiry > now)
            && options.accepts(entry.key())
            && options
                .type_name
                .as_ref()
                .is_none_or(|name| name.eq_ignore_ascii_case(entry.type_name()))
    };
    let database = call.session.database;
    let next = space.scan(database, cursor, options.count, accepts, &mut found);
    call.out.array(2);
    call.out.text(&next.to_string());
    call.out.array(found.len());
    for key in found {
        call.out.bulk(&key);
    }
    Ok(())
}

fn random_key(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    match space.random_key(call.session.database, call.now) {
        Some(key) => call.out.bulk(&key),
        None => call.out.null(),
    }
    Ok(())
}

fn database_size(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    call.out.count(space.len(call.session.database));
    Ok(())
}

fn check_flush(call: &Call<'_>) -> Outcome {
    match call.len() {
        1 => Ok(()),
        2 if call.is(1, "ASYNC") || call.is(1, "SYNC") => Ok(()),
        _ => Err(Failure::Syntax),
    }
}

fn flush_database(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    check_flush(call)?;
    space.clear(call.session.database);
    call.out.ok();
    Ok(())
}

fn flush_all(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    check_flush(call)?;
    for database in 0..call.shared.settings.databases {
        space.clear(database);
    }
    call.out.ok();
    Ok(())
}

fn swap_databases(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let invalid = |which| Failure::other(format!("invalid {which} DB index"));
    let (Ok(_), Ok(_)) = (call.integer(1), call.integer(2)) else {
        let which = if call.integer(1).is_err() {
            "first"
        } else {
            "second"
        };
        return Err(invalid(which));
    };
    let (first, second) = (database(call, 1)?, database(call, 2)?);
    if first != second {
        space.swap(first, second);
    }
    call.out.ok();
    Ok(())
}

fn object(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let what = call.lower(1);
    if what == "help" {
        let lines = [
            "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "ENCODING <key>",
            "    How the value is held.",
            "IDLETIME <key>",
            "    Seconds since the last use.",
            "REFCOUNT <key>",
            "    Always 1.",
            "HELP",
            "    Print this help.",
        ];
        return super::help(call, &lines);
    }
    if call.len() != 3 {
        return Err(super::unknown_subcommand(call));
    }
    let (shard, key) = call.shard_in(space, 2);
    let Some(entry) = shard.peek(&key, call.now) else {
        call.out.null();
        return Ok(());
    };
    match what.as_str() {
        "encoding" => call.out.text(super::encoding(entry)),
        "idletime" => {
            let now = i64::try_from(call.now / 1000).unwrap_or(i64::MAX);
            call.out.integer((now - i64::from(entry.access())).max(0));
        }
        "refcount" => call.out.integer(1),
        "freq" => {
            return Err(Failure::other(
                "An LFU maxmemory policy is not selected, access frequency not tracked. Please \
                 note that when switching between policies at runtime LRU and LFU data will take \
                 some time to adjust.",
            ));
        }
        _ => return Err(super::unknown_subcommand(call)),
    }
    Ok(())
}

fn memory(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    match (call.lower(1).as_str(), call.len()) {
        ("usage", 3) => {}
        ("usage", 5) if call.is(3, "SAMPLES") => {
            call.integer(4)?;
        }
        ("usage", _) => return Err(Failure::Syntax),
        ("doctor", 2) => {
            call.out
                .verbatim("Memory is accounted by key; MEMORY USAGE tells what one takes.");
            return Ok(());
        }
        ("help", _) => {
            let lines = [
                "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                "USAGE <key> [SAMPLES <count>]",
                "    Estimated bytes of a key with its value.",
                "HELP",
                "    Print this help.",
            ];
            return super::help(call, &lines);
        }
        _ => return Err(super::unknown_subcommand(call)),
    }
    let (shard, key) = call.shard_in(space, 2);
    match shard.peek(&key, call.now) {
        Some(entry) => {
            let bytes = entry.footprint();
            call.out.count(bytes);
        }
        None => call.out.null(),
    }
    Ok(())
}
