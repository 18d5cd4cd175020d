//! Hashes: fields with values.

use super::call::Call;
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::keyspace::Shard;
use crate::number;
use crate::value::HashValue;

use Handler::Key;

pub(super) const SPECS: &[Spec] = &[
    row("hset", -4, "wmf", (1, 1, 1), Key(set), "Sets fields"),
    row("hmset", -4, "wmf", (1, 1, 1), Key(set_old), "Sets fields"),
    row(
        "hsetnx",
        4,
        "wmf",
        (1, 1, 1),
        Key(set_if_new),
        "Sets a field that is not there",
    ),
    row("hget", 3, "rf", (1, 1, 1), Key(get), "The value of a field"),
    row(
        "hmget",
        -3,
        "rf",
        (1, 1, 1),
        Key(get_many),
        "The values of fields",
    ),
    row(
        "hgetall",
        2,
        "r",
        (1, 1, 1),
        Key(get_all),
        "All fields with values",
    ),
    row("hkeys", 2, "r", (1, 1, 1), Key(fields), "All fields"),
    row("hvals", 2, "r", (1, 1, 1), Key(values), "All values"),
    row(
        "hlen",
        2,
        "rf",
        (1, 1, 1),
        Key(len),
        "How many fields there are",
    ),
    row(
        "hstrlen",
        3,
        "rf",
        (1, 1, 1),
        Key(value_len),
        "The length of a value",
    ),
    row(
        "hexists",
        3,
        "rf",
        (1, 1, 1),
        Key(exists),
        "Whether a field is there",
    ),
    row("hdel", -3, "wf", (1, 1, 1), Key(delete), "Deletes fields"),
    row(
        "hincrby",
        4,
        "wmf",
        (1, 1, 1),
        Key(increment),
        "Adds to a number in a field",
    ),
    row(
        "hincrbyfloat",
        4,
        "wmf",
        (1, 1, 1),
        Key(increment_float),
        "Adds to a floating point number in a field",
    ),
    row(
        "hrandfield",
        -2,
        "r",
        (1, 1, 1),
        Key(random),
        "Random fields",
    ),
];

fn put_fields(call: &mut Call<'_>, shard: &mut Shard) -> Result<usize, Failure> {
    if call.len() % 2 == 1 {
        return Err(call.wrong_count());
    }
    let pairs = &call.args[2..];
    let added = shard.edit(&call.key(), call.now, true, |hash: &mut HashValue, edit| {
        let pairs = pairs.chunks_exact(2);
        Ok(pairs
            .filter(|pair| hash.set(pair[0], pair[1], edit))
            .count())
    })?;
    Ok(added.unwrap_or(0))
}

fn set(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let added = put_fields(call, shard)?;
    call.out.count(added);
    Ok(())
}

fn set_old(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    put_fields(call, shard)?;
    call.out.ok();
    Ok(())
}

fn set_if_new(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (field, value) = (call.args[2], call.args[3]);
    let added = shard.edit(&call.key(), call.now, true, |hash: &mut HashValue, edit| {
        let is_new = hash.get(field).is_none();
        if is_new {
            hash.set(field, value, edit);
        }
        Ok(is_new)
    })?;
    call.out.flag(added.unwrap_or(false));
    Ok(())
}

fn get(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let hash = shard.collection::<HashValue>(&call.key(), call.now)?;
    match hash.and_then(|hash| hash.get(call.args[2])) {
        Some(value) => call.out.bulk(value),
        None => call.out.null(),
    }
    Ok(())
}

fn get_many(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let hash = shard.collection::<HashValue>(&call.key(), call.now)?;
    call.out.array(call.len() - 2);
    for field in &call.args[2..] {
        match hash.and_then(|hash| hash.get(field)) {
            Some(value) => call.out.bulk(value),
            None => call.out.null(),
        }
    }
    Ok(())
}

fn get_all(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let hash = shard.collection::<HashValue>(&call.key(), call.now)?;
    call.out.map(hash.map_or(0, HashValue::len));
    for (field, value) in hash.into_iter().flat_map(HashValue::iter) {
        call.out.bulk(field);
        call.out.bulk(value);
    }
    Ok(())
}

fn fields(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let hash = shard.collection::<HashValue>(&call.key(), call.now)?;
    call.out.array(hash.map_or(0, HashValue::len));
    for (field, _) in hash.into_iter().flat_map(HashValue::iter) {
        call.out.bulk(field);
    }
    Ok(())
}

fn values(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let hash = shard.collection::<HashValue>(&call.key(), call.now)?;
    call.out.array(hash.map_or(0, HashValue::len));
    for (_, value) in hash.into_iter().flat_map(HashValue::iter) {
        call.out.bulk(value);
    }
    Ok(())
}

fn len(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let hash = shard.collection::<HashValue>(&call.key(), call.now)?;
    call.out.count(hash.map_or(0, HashValue::len));
    Ok(())
}

fn value_len(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let hash = shard.collection::<HashValue>(&call.key(), call.now)?;
    let value = hash.and_then(|hash| hash.get(call.args[2]));
    call.out.count(value.map_or(0, <[u8]>::len));
    Ok(())
}

fn exists(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let hash = shard.collection::<HashValue>(&call.key(), call.now)?;
    let is_there = hash.is_some_and(|hash| hash.get(call.args[2]).is_some());
    call.out.flag(is_there);
    Ok(())
}

fn delete(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let fields = &call.args[2..];
    let removed = shard.edit(
        &call.key(),
        call.now,
        false,
        |hash: &mut HashValue, edit| {
            let fields = fields.iter();
            Ok(fields
                .filter(|field| hash.remove(field, edit).is_some())
                .count())
        },
    )?;
    call.out.count(removed.unwrap_or(0));
    Ok(())
}

fn increment(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (field, amount) = (call.args[2], call.integer(3)?);
    let value = shard.edit(&call.key(), call.now, true, |hash: &mut HashValue, edit| {
        let value = match hash.get(field) {
            None => 0,
            Some(text) => number::parse_integer(text)
                .ok_or_else(|| Failure::other("hash value is not an integer"))?,
        };
        let value = value.checked_add(amount).ok_or(Failure::Overflow)?;
        let mut digits = [0; number::DECIMAL_BYTES_MAX];
        hash.set(field, number::decimal(value, &mut digits), edit);
        Ok(value)
    })?;
    call.out.integer(value.unwrap_or(0));
    Ok(())
}

fn increment_float(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (field, amount) = (call.args[2], call.double(3)?);
    if !amount.is_finite() {
        return Err(Failure::other("value is NaN or Infinity"));
    }
    let text = shard.edit(&call.key(), call.now, true, |hash: &mut HashValue, edit| {
        let value = match hash.get(field) {
            None => 0.0,
            Some(text) => number::parse_double(text)
                .ok_or_else(|| Failure::other("hash value is not a float"))?,
        };
        let value = value + amount;
        if !value.is_finite() {
            return Err(Failure::other("increment would produce NaN or Infinity"));
        }
        let text = number::format_plain(value);
        hash.set(field, text.as_bytes(), edit);
        Ok(text)
    })?;
    call.out.text(&text.unwrap_or_default());
    Ok(())
}

fn random(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let with_values = match call.len() {
        2 | 3 => false,
        4 if call.is(3, "WITHVALUES") => true,
        _ => return Err(Failure::Syntax),
    };
    let count = if call.len() > 2 {
        Some(call.integer(2)?)
    } else {
        None
    };
    let hash = shard.collection::<HashValue>(&call.key(), call.now)?;
    let Some(count) = count else {
        let field = hash.and_then(|hash| hash.at(fastrand::usize(0..hash.len())));
        match field {
            Some((field, _)) => call.out.bulk(field),
            None => call.out.null(),
        }
        return Ok(());
    };
    let chosen = super::sample(count, hash.map_or(0, HashValue::len), with_values)?;
    let is_nested = with_values && call.out.is_resp3;
    let width = if with_values && !is_nested { 2 } else { 1 };
    call.out.array(chosen.len() * width);
    for (field, value) in chosen.iter().filter_map(|&position| hash?.at(position)) {
        if is_nested {
            call.out.array(2);
        }
        call.out.bulk(field);
        if with_values {
            call.out.bulk(value);
        }
    }
    Ok(())
}
