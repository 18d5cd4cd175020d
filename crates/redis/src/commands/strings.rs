//! Strings: values of bytes, counters, and parts of them.

use super::call::{Call, TimeUnit};
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::keyspace::{SHORT_STRING_BYTES_MAX, Shard, Space};
use crate::number::{self, DECIMAL_BYTES_MAX};

use Handler::{Key, Whole};

pub(super) const SPECS: &[Spec] = &[
    row("get", 2, "rf", (1, 1, 1), Key(get), "The string of a key"),
    row(
        "set",
        -3,
        "wmq",
        (1, 1, 1),
        Key(set),
        "Sets a string, with conditions and expiry",
    ),
    row(
        "getset",
        3,
        "wmf",
        (1, 1, 1),
        Key(get_set),
        "Sets a string, gives the one before",
    ),
    row(
        "getdel",
        2,
        "wf",
        (1, 1, 1),
        Key(get_delete),
        "Gives a string and deletes the key",
    ),
    row(
        "getex",
        -2,
        "wf",
        (1, 1, 1),
        Key(get_expire),
        "Gives a string and changes its expiry",
    ),
    row(
        "setnx",
        3,
        "wmf",
        (1, 1, 1),
        Key(set_if_new),
        "Sets a string when there is no key",
    ),
    row(
        "setex",
        4,
        "wmq",
        (1, 1, 1),
        Key(set_seconds),
        "Sets a string with expiry in seconds",
    ),
    row(
        "psetex",
        4,
        "wmq",
        (1, 1, 1),
        Key(set_millis),
        "Sets a string with expiry in milliseconds",
    ),
    row(
        "mget",
        -2,
        "rf",
        (1, -1, 1),
        Whole(get_many),
        "The strings of several keys",
    ),
    row(
        "mset",
        -3,
        "wm",
        (1, -1, 2),
        Whole(set_many),
        "Sets several strings at once",
    ),
    row(
        "msetnx",
        -3,
        "wm",
        (1, -1, 2),
        Whole(set_many_if_new),
        "The same when none of the keys is there",
    ),
    row(
        "append",
        3,
        "wmf",
        (1, 1, 1),
        Key(append),
        "Appends to a string",
    ),
    row(
        "strlen",
        2,
        "rf",
        (1, 1, 1),
        Key(length),
        "The length of a string",
    ),
    row(
        "setrange",
        4,
        "wm",
        (1, 1, 1),
        Key(set_range),
        "Overwrites a part of a string",
    ),
    row(
        "getrange",
        4,
        "r",
        (1, 1, 1),
        Key(get_range),
        "A part of a string",
    ),
    row(
        "substr",
        4,
        "r",
        (1, 1, 1),
        Key(get_range),
        "A part of a string",
    ),
    row(
        "incr",
        2,
        "wmf",
        (1, 1, 1),
        Key(increment),
        "Adds 1 to a number",
    ),
    row(
        "decr",
        2,
        "wmf",
        (1, 1, 1),
        Key(decrement),
        "Takes 1 from a number",
    ),
    row(
        "incrby",
        3,
        "wmf",
        (1, 1, 1),
        Key(increment_by),
        "Adds to a number",
    ),
    row(
        "decrby",
        3,
        "wmf",
        (1, 1, 1),
        Key(decrement_by),
        "Takes from a number",
    ),
    row(
        "incrbyfloat",
        3,
        "wmf",
        (1, 1, 1),
        Key(increment_by_float),
        "Adds to a floating point number",
    ),
    row(
        "lcs",
        -3,
        "r",
        (1, 2, 1),
        Whole(common_subsequence),
        "The longest common subsequence of two strings",
    ),
];

/// Steps of a longest common subsequence; more would hold everybody else up.
const LCS_STEPS_MAX: usize = 64 << 20;

fn get(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    match shard.text(&call.key(), call.now)? {
        Some(text) => call.out.bulk(text),
        None => call.out.null(),
    }
    Ok(())
}

#[derive(Default)]
struct SetOptions {
    expiry: Option<u64>,
    keep_expiry: bool,
    only_new: bool,
    only_old: bool,
    get: bool,
}

fn set_options(call: &Call<'_>) -> Result<SetOptions, Failure> {
    let mut options = SetOptions::default();
    let mut position = 3;
    while position < call.len() {
        if call.is(position, "NX") && !options.only_old {
            options.only_new = true;
        } else if call.is(position, "XX") && !options.only_new {
            options.only_old = true;
        } else if call.is(position, "GET") {
            options.get = true;
        } else if call.is(position, "KEEPTTL") && options.expiry.is_none() {
            options.keep_expiry = true;
        } else if let Some(unit) = TimeUnit::of_option(call.args[position])
            && options.expiry.is_none()
            && !options.keep_expiry
            && position + 1 < call.len()
        {
            position += 1;
            options.expiry = Some(call.future(position, unit)?);
        } else {
            return Err(Failure::Syntax);
        }
        position += 1;
    }
    Ok(options)
}

fn set(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    if call.len() == 3 {
        shard.set_text(&key, call.args[2], None, call.now);
        call.out.ok();
        return Ok(());
    }
    let options = set_options(call)?;
    let found = shard.find(&key, call.now);
    let is_there = found.is_some();
    let mut expiry = options.expiry;
    let mut is_answered = false;
    if let Some(entry) = found {
        if options.keep_expiry {
            expiry = entry.expiry();
        }
        if options.get {
            let text = entry.text().ok_or(Failure::WrongType)?;
            call.out.bulk_if_room(text)?;
            is_answered = true;
        }
    }
    if options.get && !is_answered {
        call.out.null();
    }
    if options.only_new && is_there || options.only_old && !is_there {
        if !options.get {
            call.out.null();
        }
        return Ok(());
    }
    shard.set_text(&key, call.args[2], expiry, call.now);
    if !options.get {
        call.out.ok();
    }
    Ok(())
}

fn get_set(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    match shard.text(&key, call.now)? {
        Some(text) => call.out.bulk_if_room(text)?,
        None => call.out.null(),
    }
    shard.set_text(&key, call.args[2], None, call.now);
    Ok(())
}

fn get_delete(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    match shard.text(&key, call.now)? {
        Some(text) => {
            call.out.bulk_if_room(text)?;
            shard.remove(&key);
        }
        None => call.out.null(),
    }
    Ok(())
}

fn get_expire(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    let change = match call.args {
        [_, _] => None,
        [_, _, _] if call.is(2, "PERSIST") => Some(None),
        [_, _, word, _] => {
            let unit = TimeUnit::of_option(word).ok_or(Failure::Syntax)?;
            Some(Some(call.future(3, unit)?))
        }
        _ => return Err(Failure::Syntax),
    };
    let Some(text) = shard.text(&key, call.now)? else {
        call.out.null();
        return Ok(());
    };
    call.out.bulk(text);
    match change {
        Some(Some(moment)) if moment <= call.now => {
            shard.remove(&key);
        }
        Some(expiry) => shard.set_expiry(&key, expiry),
        None => {}
    }
    Ok(())
}

fn set_if_new(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    let is_new = shard.find(&key, call.now).is_none();
    if is_new {
        shard.set_text(&key, call.args[2], None, call.now);
    }
    call.out.flag(is_new);
    Ok(())
}

fn set_seconds(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let expiry = call.future(2, TimeUnit::SECONDS)?;
    shard.set_text(&call.key(), call.args[3], Some(expiry), call.now);
    call.out.ok();
    Ok(())
}

fn set_millis(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let expiry = call.future(2, TimeUnit::MILLIS)?;
    shard.set_text(&call.key(), call.args[3], Some(expiry), call.now);
    call.out.ok();
    Ok(())
}

fn get_many(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    call.out.array(call.len() - 1);
    for position in 1..call.len() {
        let (shard, key) = call.shard_in(space, position);
        match shard.text(&key, call.now) {
            Ok(Some(text)) => call.out.bulk(text),
            _ => call.out.null(),
        }
    }
    Ok(())
}

fn set_many(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    if call.len().is_multiple_of(2) {
        return Err(call.wrong_count());
    }
    for position in (1..call.len()).step_by(2) {
        let (shard, key) = call.shard_in(space, position);
        shard.set_text(&key, call.args[position + 1], None, call.now);
    }
    call.out.ok();
    Ok(())
}

fn set_many_if_new(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    if call.len().is_multiple_of(2) {
        return Err(call.wrong_count());
    }
    for position in (1..call.len()).step_by(2) {
        let (shard, key) = call.shard_in(space, position);
        if shard.peek(&key, call.now).is_some() {
            call.out.flag(false);
            return Ok(());
        }
    }
    for position in (1..call.len()).step_by(2) {
        let (shard, key) = call.shard_in(space, position);
        shard.set_text(&key, call.args[position + 1], None, call.now);
    }
    call.out.flag(true);
    Ok(())
}

fn append(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    let tail = call.args[2];
    let Some(entry) = shard.find(&key, call.now) else {
        shard.set_text(&key, tail, None, call.now);
        call.out.count(tail.len());
        return Ok(());
    };
    let text = entry.text().ok_or(Failure::WrongType)?;
    let len = text.len() + tail.len();
    call.check_growth(len)?;
    if len <= SHORT_STRING_BYTES_MAX {
        let (joined, expiry) = ([text, tail].concat(), entry.expiry());
        shard.set_text(&key, &joined, expiry, call.now);
    } else {
        shard.edit_text(&key, call.now, |text| text.extend_from_slice(tail))?;
    }
    call.out.count(len);
    Ok(())
}

fn length(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let len = shard.text(&call.key(), call.now)?.map_or(0, <[u8]>::len);
    call.out.count(len);
    Ok(())
}

fn set_range(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    let offset = call.integer(2)?;
    let offset = usize::try_from(offset).map_err(|_| Failure::other("offset is out of range"))?;
    let value = call.args[3];
    let old_len = shard.text(&key, call.now)?.map(<[u8]>::len);
    if value.is_empty() {
        call.out.count(old_len.unwrap_or(0));
        return Ok(());
    }
    let end = offset
        .checked_add(value.len())
        .ok_or(Failure::StringLength)?;
    call.check_growth(end)?;
    let len = shard.edit_text(&key, call.now, |text| {
        if text.len() < end {
            text.resize(end, 0);
        }
        text[offset..end].copy_from_slice(value);
        text.len()
    })?;
    call.out.count(len);
    Ok(())
}

fn get_range(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let text = shard.text(&call.key(), call.now)?.unwrap_or_default();
    // Two negative positions in the wrong order are empty before they are cut to the string.
    let (start, end) = match start < 0 && stop < 0 && start > stop {
        true => (0, 0),
        false => {
            let len = i64::try_from(text.len()).unwrap_or(i64::MAX);
            // A stop before the string means its first byte.
            let stop = if stop < 0 {
                stop.saturating_add(len).max(0)
            } else {
                stop
            };
            super::call::range_of(start, stop, text.len())
        }
    };
    call.out.bulk(&text[start..end]);
    Ok(())
}

fn increment(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    add(call, shard, 1)
}

fn decrement(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    add(call, shard, -1)
}

fn increment_by(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    add(call, shard, call.integer(2)?)
}

fn decrement_by(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let amount = call.integer(2)?.checked_neg();
    let amount = amount.ok_or_else(|| Failure::other("decrement would overflow"))?;
    add(call, shard, amount)
}

fn add(call: &mut Call<'_>, shard: &mut Shard, amount: i64) -> Outcome {
    let key = call.key();
    let (value, expiry) = match shard.find(&key, call.now) {
        None => (0, None),
        Some(entry) => {
            let text = entry.text().ok_or(Failure::WrongType)?;
            let value = number::parse_integer(text).ok_or(Failure::NotInteger)?;
            (value, entry.expiry())
        }
    };
    let value = value.checked_add(amount).ok_or(Failure::Overflow)?;
    let mut digits = [0; DECIMAL_BYTES_MAX];
    shard.set_text(&key, number::decimal(value, &mut digits), expiry, call.now);
    call.out.integer(value);
    Ok(())
}

fn increment_by_float(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    let (value, expiry) = match shard.find(&key, call.now) {
        None => (0.0, None),
        Some(entry) => {
            let text = entry.text().ok_or(Failure::WrongType)?;
            let value = number::parse_double(text).ok_or(Failure::NotFloat)?;
            (value, entry.expiry())
        }
    };
    let value = value + call.double(2)?;
    if !value.is_finite() {
        return Err(Failure::other("increment would produce NaN or Infinity"));
    }
    let text = number::format_plain(value);
    shard.set_text(&key, text.as_bytes(), expiry, call.now);
    call.out.text(&text);
    Ok(())
}

#[derive(Default)]
struct LcsOptions {
    length_only: bool,
    indexes: bool,
    match_len_min: usize,
    with_length: bool,
}

/// A range of both strings that is equal: starts and lengths.
struct Matched {
    first: usize,
    second: usize,
    len: usize,
}

fn common_subsequence(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let mut options = LcsOptions::default();
    let mut position = 3;
    while position < call.len() {
        if call.is(position, "LEN") {
            options.length_only = true;
        } else if call.is(position, "IDX") {
            options.indexes = true;
        } else if call.is(position, "WITHMATCHLEN") {
            options.with_length = true;
        } else if call.is(position, "MINMATCHLEN") && position + 1 < call.len() {
            position += 1;
            options.match_len_min = usize::try_from(call.integer(position)?).unwrap_or(0);
        } else {
            return Err(Failure::Syntax);
        }
        position += 1;
    }
    if options.length_only && options.indexes {
        let text = "If you want both the length and indexes, please just use IDX.";
        return Err(Failure::other(text));
    }
    let mut texts: [Vec<u8>; 2] = Default::default();
    for (position, text) in (1..).zip(&mut texts) {
        let (shard, key) = call.shard_in(space, position);
        let found = shard
            .text(&key, call.now)
            .map_err(|_| Failure::other("The specified keys must contain string values"))?;
        *text = found.unwrap_or_default().to_vec();
    }
    let [first, second] = texts;
    let width = second.len() + 1;
    let cells = (first.len() + 1).checked_mul(width);
    let Some(cells) = cells.filter(|&cells| cells <= LCS_STEPS_MAX) else {
        return Err(Failure::other(
            "the strings are too long for LCS: shorten them",
        ));
    };
    // Strings are shorter than 4 GiB.
    let mut lengths = vec![0_u32; cells];
    for (i, a) in (1..).zip(&first) {
        for (j, b) in (1..).zip(&second) {
            lengths[i * width + j] = match a == b {
                true => lengths[(i - 1) * width + j - 1] + 1,
                false => lengths[(i - 1) * width + j].max(lengths[i * width + j - 1]),
            };
        }
    }
    let total = lengths[cells - 1] as usize;
    if options.length_only {
        call.out.count(total);
        return Ok(());
    }
    let (text, matched) = matches_of(&first, &second, &lengths);
    if !options.indexes {
        call.out.bulk(&text);
        return Ok(());
    }
    call.out.map(2);
    call.out.text("matches");
    let long: Vec<&Matched> = matched
        .iter()
        .filter(|m| m.len >= options.match_len_min.max(1))
        .collect();
    call.out.array(long.len());
    for matched in long {
        call.out.array(if options.with_length { 3 } else { 2 });
        for start in [matched.first, matched.second] {
            call.out.array(2);
            call.out.count(start);
            call.out.count(start + matched.len - 1);
        }
        if options.with_length {
            call.out.count(matched.len);
        }
    }
    call.out.text("len");
    call.out.count(total);
    Ok(())
}

/// Walks back through the table of lengths: the subsequence, and its ranges from the last on.
fn matches_of(first: &[u8], second: &[u8], lengths: &[u32]) -> (Vec<u8>, Vec<Matched>) {
    let width = second.len() + 1;
    let mut text = Vec::new();
    let mut matched: Vec<Matched> = Vec::new();
    let (mut i, mut j) = (first.len(), second.len());
    while i > 0 && j > 0 {
        if first[i - 1] == second[j - 1] {
            (i, j) = (i - 1, j - 1);
            text.push(first[i]);
            match matched.last_mut() {
                Some(last) if last.first == i + 1 && last.second == j + 1 => {
                    (last.first, last.second, last.len) = (i, j, last.len + 1);
                }
                _ => matched.push(Matched {
                    first: i,
                    second: j,
                    len: 1,
                }),
            }
        } else if lengths[(i - 1) * width + j] > lengths[i * width + j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    text.reverse();
    (text, matched)
}
