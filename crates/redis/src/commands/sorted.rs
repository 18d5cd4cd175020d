//! Sorted sets: members by score. Ranges are in `sorted_ranges`, set operations in `sorted_sets`.

use super::call::Call;
use super::{Handler, Spec, row};
use crate::blocking::{self, Wait};
use crate::failure::{Failure, Outcome, expect_room};
use crate::keyspace::{Shard, Space};
use crate::value::SortedValue;

use Handler::{Key, Whole};

pub(super) const SPECS: &[Spec] = &[
    row(
        "zadd",
        -4,
        "wmf",
        (1, 1, 1),
        Key(add),
        "Adds members or changes their scores",
    ),
    row(
        "zincrby",
        4,
        "wmf",
        (1, 1, 1),
        Key(increment),
        "Adds to a score",
    ),
    row("zrem", -3, "wf", (1, 1, 1), Key(remove), "Removes members"),
    row(
        "zcard",
        2,
        "rf",
        (1, 1, 1),
        Key(len),
        "How many members there are",
    ),
    row(
        "zscore",
        3,
        "rf",
        (1, 1, 1),
        Key(score),
        "The score of a member",
    ),
    row(
        "zmscore",
        -3,
        "rf",
        (1, 1, 1),
        Key(scores),
        "The scores of members",
    ),
    row(
        "zrank",
        -3,
        "rf",
        (1, 1, 1),
        Key(rank),
        "The position of a member",
    ),
    row(
        "zrevrank",
        -3,
        "rf",
        (1, 1, 1),
        Key(reverse_rank),
        "The position of a member from the end",
    ),
    row(
        "zrandmember",
        -2,
        "r",
        (1, 1, 1),
        Key(random),
        "Random members",
    ),
    row(
        "zpopmin",
        -2,
        "wf",
        (1, 1, 1),
        Key(pop_smallest),
        "Takes the members with the lowest scores out",
    ),
    row(
        "zpopmax",
        -2,
        "wf",
        (1, 1, 1),
        Key(pop_greatest),
        "Takes the members with the highest scores out",
    ),
    row(
        "zmpop",
        -4,
        "w",
        (0, 0, 0),
        Whole(pop_many),
        "Takes members from the first set that has some",
    ),
    row(
        "bzpopmin",
        -3,
        "wbf",
        (1, -2, 1),
        Whole(wait_smallest),
        "ZPOPMIN that waits",
    ),
    row(
        "bzpopmax",
        -3,
        "wbf",
        (1, -2, 1),
        Whole(wait_greatest),
        "ZPOPMAX that waits",
    ),
    row(
        "bzmpop",
        -5,
        "wb",
        (0, 0, 0),
        Whole(wait_many),
        "ZMPOP that waits",
    ),
];

#[derive(Clone, Copy, Default)]
struct AddOptions {
    only_new: bool,
    only_old: bool,
    only_greater: bool,
    only_less: bool,
    count_changed: bool,
    is_increment: bool,
}

#[derive(Default)]
struct Added {
    new: usize,
    changed: usize,
    score: Option<f64>,
}

fn add(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let mut options = AddOptions::default();
    let mut at = 2;
    while at < call.len() {
        match call.lower(at).as_str() {
            "nx" => options.only_new = true,
            "xx" => options.only_old = true,
            "gt" => options.only_greater = true,
            "lt" => options.only_less = true,
            "ch" => options.count_changed = true,
            "incr" => options.is_increment = true,
            _ => break,
        }
        at += 1;
    }
    let pairs = &call.args[at..];
    if pairs.is_empty() || pairs.len() % 2 == 1 {
        return Err(Failure::Syntax);
    }
    if options.only_new && options.only_old {
        return Err(Failure::other(
            "XX and NX options at the same time are not compatible",
        ));
    }
    if options.only_greater && (options.only_new || options.only_less)
        || options.only_less && options.only_new
    {
        return Err(Failure::other(
            "GT, LT, and/or NX options at the same time are not compatible",
        ));
    }
    if options.is_increment && pairs.len() > 2 {
        return Err(Failure::other(
            "INCR option supports a single increment-element pair",
        ));
    }
    add_pairs(call, shard, at, options)
}

fn add_pairs(call: &mut Call<'_>, shard: &mut Shard, at: usize, options: AddOptions) -> Outcome {
    let mut scores = Vec::with_capacity((call.len() - at) / 2);
    for position in (at..call.len()).step_by(2) {
        scores.push(call.double(position)?);
    }
    let members = call.args[at + 1..].iter().step_by(2);
    let create = !options.only_old;
    let added = shard.edit(
        &call.key(),
        call.now,
        create,
        |set: &mut SortedValue, edit| {
            let mut added = Added::default();
            for (&given, member) in scores.iter().zip(members) {
                let old = set.score(member);
                let is_refused =
                    options.only_new && old.is_some() || options.only_old && old.is_none();
                if is_refused {
                    continue;
                }
                let score = match old {
                    Some(old) if options.is_increment => old + given,
                    _ => given,
                };
                if score.is_nan() {
                    return Err(Failure::other("resulting score is not a number (NaN)"));
                }
                let is_refused = old.is_some_and(|old| {
                    options.only_greater && score <= old || options.only_less && score >= old
                });
                if is_refused {
                    continue;
                }
                set.set(member, score, edit);
                added.new += usize::from(old.is_none());
                added.changed += usize::from(old != Some(score));
                added.score = Some(score);
            }
            Ok(added)
        },
    )?;
    let added = added.unwrap_or_default();
    match added.score {
        Some(score) if options.is_increment => call.out.double(score),
        None if options.is_increment => call.out.null(),
        _ if options.count_changed => call.out.count(added.changed),
        _ => call.out.count(added.new),
    }
    Ok(())
}

fn increment(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let options = AddOptions {
        is_increment: true,
        ..AddOptions::default()
    };
    add_pairs(call, shard, 2, options)
}

fn remove(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let members = &call.args[2..];
    let removed = shard.edit(
        &call.key(),
        call.now,
        false,
        |set: &mut SortedValue, edit| {
            let members = members.iter();
            Ok(members
                .filter(|member| set.remove(member, edit).is_some())
                .count())
        },
    )?;
    call.out.count(removed.unwrap_or(0));
    Ok(())
}

fn len(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let set = shard.collection::<SortedValue>(&call.key(), call.now)?;
    call.out.count(set.map_or(0, SortedValue::len));
    Ok(())
}

fn score(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let set = shard.collection::<SortedValue>(&call.key(), call.now)?;
    match set.and_then(|set| set.score(call.args[2])) {
        Some(score) => call.out.double(score),
        None => call.out.null(),
    }
    Ok(())
}

fn scores(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let set = shard.collection::<SortedValue>(&call.key(), call.now)?;
    call.out.array(call.len() - 2);
    for member in &call.args[2..] {
        match set.and_then(|set| set.score(member)) {
            Some(score) => call.out.double(score),
            None => call.out.null(),
        }
    }
    Ok(())
}

fn show_rank(call: &mut Call<'_>, shard: &mut Shard, is_reverse: bool) -> Outcome {
    let with_score = match call.len() {
        3 => false,
        4 if call.is(3, "WITHSCORE") => true,
        _ => return Err(Failure::Syntax),
    };
    let member = call.args[2];
    let set = shard.collection::<SortedValue>(&call.key(), call.now)?;
    let found = set.and_then(|set| Some((set.rank(member)?, set.score(member)?, set.len())));
    match found {
        Some((rank, score, len)) => {
            if with_score {
                call.out.array(2);
            }
            call.out
                .count(if is_reverse { len - 1 - rank } else { rank });
            if with_score {
                call.out.double(score);
            }
        }
        None if with_score => call.out.null_array(),
        None => call.out.null(),
    }
    Ok(())
}

fn rank(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    show_rank(call, shard, false)
}

fn reverse_rank(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    show_rank(call, shard, true)
}

fn random(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let with_scores = match call.len() {
        2 | 3 => false,
        4 if call.is(3, "WITHSCORES") => true,
        _ => return Err(Failure::Syntax),
    };
    let count = if call.len() > 2 {
        Some(call.integer(2)?)
    } else {
        None
    };
    let set = shard.collection::<SortedValue>(&call.key(), call.now)?;
    let Some(count) = count else {
        match set.and_then(|set| set.at(fastrand::usize(0..set.len()))) {
            Some((member, _)) => call.out.bulk(member),
            None => call.out.null(),
        }
        return Ok(());
    };
    let chosen = super::sample(count, set.map_or(0, SortedValue::len), with_scores)?;
    let is_nested = with_scores && call.out.is_resp3;
    let width = if with_scores && !is_nested { 2 } else { 1 };
    call.out.array(chosen.len() * width);
    for (member, score) in chosen.iter().filter_map(|&position| set?.at(position)) {
        if is_nested {
            call.out.array(2);
        }
        call.out.bulk(member);
        if with_scores {
            call.out.double(score);
        }
    }
    Ok(())
}

fn pop(call: &mut Call<'_>, shard: &mut Shard, smallest: bool) -> Outcome {
    let count = match call.len() {
        2 => None,
        3 => {
            let count = call.integer(2)?;
            let invalid = || Failure::other("value is out of range, must be positive");
            Some(usize::try_from(count).map_err(|_| invalid())?)
        }
        _ => return Err(call.wrong_count()),
    };
    let mut room = call.out.room();
    let popped = shard.edit(
        &call.key(),
        call.now,
        false,
        |set: &mut SortedValue, edit| {
            let wanted = count.unwrap_or(1);
            let popped = set.pop_many(smallest, wanted, |len| room.take(len), edit);
            expect_room(wanted, set.len(), popped)
        },
    )?;
    let popped = popped.unwrap_or_default();
    let is_nested = call.out.is_resp3 && count.is_some();
    call.out.array(popped.len() * if is_nested { 1 } else { 2 });
    for (member, score) in popped {
        if is_nested {
            call.out.array(2);
        }
        call.out.bulk(&member);
        call.out.double(score);
    }
    Ok(())
}

fn pop_smallest(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    pop(call, shard, true)
}

fn pop_greatest(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    pop(call, shard, false)
}

/// The keys, the end and the count of ZMPOP, whose number of keys stands at `position`.
fn many(call: &Call<'_>, position: usize) -> Result<(std::ops::Range<usize>, Wait), Failure> {
    let keys = super::key_count(call, position)?;
    let after = position + 1 + keys;
    let smallest = match call.lower(after).as_str() {
        "min" => true,
        "max" => false,
        _ => return Err(Failure::Syntax),
    };
    let count = match call.len() - after - 1 {
        0 => 1,
        2 if call.is(after + 1, "COUNT") => super::positive_count(call, after + 2)?,
        _ => return Err(Failure::Syntax),
    };
    Ok((position + 1..after, Wait::SortedPopMany { smallest, count }))
}

fn pop_many(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let (keys, wait) = many(call, 1)?;
    if !blocking::try_now(call, space, keys, &wait)? {
        call.out.null_array();
    }
    Ok(())
}

fn wait_smallest(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let last = call.len() - 1;
    let wait = Wait::SortedPop { smallest: true };
    blocking::try_or_wait(call, space, 1..last, wait, last)
}

fn wait_greatest(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let last = call.len() - 1;
    let wait = Wait::SortedPop { smallest: false };
    blocking::try_or_wait(call, space, 1..last, wait, last)
}

fn wait_many(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let (keys, wait) = many(call, 2)?;
    blocking::try_or_wait(call, space, keys, wait, 1)
}
