//! When keys end: setting, asking for and taking away their expiry.

use super::call::{Call, TimeUnit};
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::keyspace::Shard;

use Handler::Key;

pub(super) const SPECS: &[Spec] = &[
    row(
        "expire",
        -3,
        "wf",
        (1, 1, 1),
        Key(expire),
        "Ends a key after seconds",
    ),
    row(
        "pexpire",
        -3,
        "wf",
        (1, 1, 1),
        Key(expire_millis),
        "Ends a key after milliseconds",
    ),
    row(
        "expireat",
        -3,
        "wf",
        (1, 1, 1),
        Key(expire_at),
        "Ends a key at a Unix time",
    ),
    row(
        "pexpireat",
        -3,
        "wf",
        (1, 1, 1),
        Key(expire_at_millis),
        "The same in milliseconds",
    ),
    row(
        "ttl",
        2,
        "rf",
        (1, 1, 1),
        Key(ttl),
        "Seconds until a key ends",
    ),
    row(
        "pttl",
        2,
        "rf",
        (1, 1, 1),
        Key(ttl_millis),
        "Milliseconds until a key ends",
    ),
    row(
        "expiretime",
        2,
        "rf",
        (1, 1, 1),
        Key(expiry_time),
        "When a key ends, in Unix seconds",
    ),
    row(
        "pexpiretime",
        2,
        "rf",
        (1, 1, 1),
        Key(expiry_time_millis),
        "The same in milliseconds",
    ),
    row(
        "persist",
        2,
        "wf",
        (1, 1, 1),
        Key(persist),
        "Takes the expiry of a key away",
    ),
];

#[derive(Default)]
struct Conditions {
    only_without: bool,
    only_with: bool,
    only_greater: bool,
    only_less: bool,
}

fn conditions(call: &Call<'_>) -> Result<Conditions, Failure> {
    let mut conditions = Conditions::default();
    for position in 3..call.len() {
        match call.lower(position).as_str() {
            "nx" => conditions.only_without = true,
            "xx" => conditions.only_with = true,
            "gt" => conditions.only_greater = true,
            "lt" => conditions.only_less = true,
            _ => {
                let given = String::from_utf8_lossy(call.args[position]);
                return Err(Failure::other(format!("Unsupported option {given}")));
            }
        }
    }
    let Conditions {
        only_without,
        only_with,
        only_greater,
        only_less,
    } = conditions;
    if only_without && (only_with || only_greater || only_less) {
        return Err(Failure::other(
            "NX and XX, GT or LT options at the same time are not compatible",
        ));
    }
    if only_greater && only_less {
        return Err(Failure::other(
            "GT and LT options at the same time are not compatible",
        ));
    }
    Ok(conditions)
}

fn set_expiry(call: &mut Call<'_>, shard: &mut Shard, unit: TimeUnit) -> Outcome {
    let moment = call.moment(2, unit)?;
    let conditions = conditions(call)?;
    let key = call.key();
    let Some(entry) = shard.find(&key, call.now) else {
        call.out.flag(false);
        return Ok(());
    };
    let moment = u64::try_from(moment).unwrap_or(0);
    let old = entry.expiry();
    // A key without expiry ends later than any other.
    let end = old.unwrap_or(u64::MAX);
    let is_refused = conditions.only_without && old.is_some()
        || conditions.only_with && old.is_none()
        || conditions.only_greater && moment <= end
        || conditions.only_less && moment >= end;
    if is_refused {
        call.out.flag(false);
        return Ok(());
    }
    if moment <= call.now {
        shard.remove(&key);
    } else {
        shard.set_expiry(&key, Some(moment));
    }
    call.out.flag(true);
    Ok(())
}

fn expire(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    set_expiry(call, shard, TimeUnit::SECONDS)
}

fn expire_millis(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    set_expiry(call, shard, TimeUnit::MILLIS)
}

fn expire_at(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    set_expiry(call, shard, TimeUnit::SECONDS.absolute())
}

fn expire_at_millis(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    set_expiry(call, shard, TimeUnit::MILLIS.absolute())
}

/// Answers -2 without key, -1 without expiry, and `show` of the expiry otherwise.
fn tell(call: &mut Call<'_>, shard: &mut Shard, show: impl Fn(u64, u64) -> u64) -> Outcome {
    let now = call.now;
    let answer = match shard.peek(&call.key(), now).map(|entry| entry.expiry()) {
        None => -2,
        Some(None) => -1,
        Some(Some(expiry)) => i64::try_from(show(expiry, now)).unwrap_or(i64::MAX),
    };
    call.out.integer(answer);
    Ok(())
}

fn ttl(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    tell(call, shard, |expiry, now| (expiry - now + 500) / 1000)
}

fn ttl_millis(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    tell(call, shard, |expiry, now| expiry - now)
}

fn expiry_time(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    tell(call, shard, |expiry, _| expiry.saturating_add(500) / 1000)
}

fn expiry_time_millis(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    tell(call, shard, |expiry, _| expiry)
}

fn persist(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    let found = shard.find(&key, call.now);
    let has_expiry = found.is_some_and(|entry| entry.expiry().is_some());
    if has_expiry {
        shard.set_expiry(&key, None);
    }
    call.out.flag(has_expiry);
    Ok(())
}
