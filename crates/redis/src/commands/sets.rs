//! Sets: members without order.

use super::call::Call;
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome, expect_room};
use crate::keyspace::{Entry, Shard, Space};
use crate::value::{Edit, Object, SetValue};

use Handler::{Key, Whole};

pub(super) const SPECS: &[Spec] = &[
    row("sadd", -3, "wmf", (1, 1, 1), Key(add), "Adds members"),
    row("srem", -3, "wf", (1, 1, 1), Key(remove), "Removes members"),
    row("smembers", 2, "r", (1, 1, 1), Key(members), "All members"),
    row(
        "sismember",
        3,
        "rf",
        (1, 1, 1),
        Key(contains),
        "Whether a member is there",
    ),
    row(
        "smismember",
        -3,
        "rf",
        (1, 1, 1),
        Key(contains_many),
        "Whether members are there",
    ),
    row(
        "scard",
        2,
        "rf",
        (1, 1, 1),
        Key(len),
        "How many members there are",
    ),
    row(
        "spop",
        -2,
        "wf",
        (1, 1, 1),
        Key(pop),
        "Takes random members out",
    ),
    row(
        "srandmember",
        -2,
        "r",
        (1, 1, 1),
        Key(random),
        "Random members",
    ),
    row(
        "smove",
        4,
        "wf",
        (1, 2, 1),
        Whole(move_member),
        "Moves a member into another set",
    ),
    row(
        "sinter",
        -2,
        "r",
        (1, -1, 1),
        Whole(intersect),
        "Members that all sets have",
    ),
    row(
        "sunion",
        -2,
        "r",
        (1, -1, 1),
        Whole(unite),
        "Members that any set has",
    ),
    row(
        "sdiff",
        -2,
        "r",
        (1, -1, 1),
        Whole(subtract),
        "Members of the first set that no other has",
    ),
    row(
        "sinterstore",
        -3,
        "wm",
        (1, -1, 1),
        Whole(store_intersection),
        "Keeps the intersection",
    ),
    row(
        "sunionstore",
        -3,
        "wm",
        (1, -1, 1),
        Whole(store_union),
        "Keeps the union",
    ),
    row(
        "sdiffstore",
        -3,
        "wm",
        (1, -1, 1),
        Whole(store_difference),
        "Keeps the difference",
    ),
    row(
        "sintercard",
        -3,
        "r",
        (0, 0, 0),
        Whole(count_intersection),
        "How many members all sets have",
    ),
];

fn add(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let members = &call.args[2..];
    let added = shard.edit(&call.key(), call.now, true, |set: &mut SetValue, edit| {
        Ok(members
            .iter()
            .filter(|member| set.add(member, edit))
            .count())
    })?;
    call.out.count(added.unwrap_or(0));
    Ok(())
}

fn remove(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let members = &call.args[2..];
    let removed = shard.edit(&call.key(), call.now, false, |set: &mut SetValue, edit| {
        Ok(members
            .iter()
            .filter(|member| set.remove(member, edit))
            .count())
    })?;
    call.out.count(removed.unwrap_or(0));
    Ok(())
}

fn members(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let set = shard.collection::<SetValue>(&call.key(), call.now)?;
    call.out.set(set.map_or(0, SetValue::len));
    for member in set.into_iter().flat_map(SetValue::iter) {
        call.out.bulk(member);
    }
    Ok(())
}

fn contains(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let set = shard.collection::<SetValue>(&call.key(), call.now)?;
    call.out
        .flag(set.is_some_and(|set| set.contains(call.args[2])));
    Ok(())
}

fn contains_many(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let set = shard.collection::<SetValue>(&call.key(), call.now)?;
    call.out.array(call.len() - 2);
    for member in &call.args[2..] {
        call.out.flag(set.is_some_and(|set| set.contains(member)));
    }
    Ok(())
}

fn len(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let set = shard.collection::<SetValue>(&call.key(), call.now)?;
    call.out.count(set.map_or(0, SetValue::len));
    Ok(())
}

fn pop(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    let count = match call.len() {
        2 => None,
        3 => {
            let count = call.integer(2).ok().and_then(|c| usize::try_from(c).ok());
            let invalid = || Failure::other("value is out of range, must be positive");
            Some(count.ok_or_else(invalid)?)
        }
        _ => return Err(Failure::Syntax),
    };
    let mut room = call.out.room();
    let popped = shard.edit(&key, call.now, false, |set: &mut SetValue, edit| {
        let count = count.unwrap_or(1).min(set.len());
        let mut popped = Vec::new();
        for _ in 0..count {
            let position = fastrand::usize(0..set.len());
            let member = set.at(position).unwrap_or_default().to_vec();
            if !room.take(member.len()) {
                break;
            }
            set.remove(&member, edit);
            popped.push(member);
        }
        expect_room(count, set.len(), popped)
    })?;
    match (popped, count) {
        (None, None) => call.out.null(),
        (Some(popped), None) => match popped.first() {
            Some(member) => call.out.bulk(member),
            None => call.out.null(),
        },
        (popped, Some(_)) => {
            let popped = popped.unwrap_or_default();
            call.out.set(popped.len());
            popped.iter().for_each(|member| call.out.bulk(member));
        }
    }
    Ok(())
}

fn random(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let count = match call.len() {
        2 => None,
        3 => Some(call.integer(2)?),
        _ => return Err(Failure::Syntax),
    };
    let set = shard.collection::<SetValue>(&call.key(), call.now)?;
    let Some(count) = count else {
        match set.and_then(|set| set.at(fastrand::usize(0..set.len()))) {
            Some(member) => call.out.bulk(member),
            None => call.out.null(),
        }
        return Ok(());
    };
    let chosen = super::sample(count, set.map_or(0, SetValue::len), false)?;
    call.out.array(chosen.len());
    for member in chosen.iter().filter_map(|&position| set?.at(position)) {
        call.out.bulk(member);
    }
    Ok(())
}

fn move_member(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let member = call.args[3];
    let (shard, to) = call.shard_in(space, 2);
    shard.collection::<SetValue>(&to, call.now)?;
    let (shard, from) = call.shard_in(space, 1);
    let Some(set) = shard.collection::<SetValue>(&from, call.now)? else {
        call.out.flag(false);
        return Ok(());
    };
    if !set.contains(member) {
        call.out.flag(false);
        return Ok(());
    }
    if call.args[1] != call.args[2] {
        shard.edit(&from, call.now, false, |set: &mut SetValue, edit| {
            Ok(set.remove(member, edit))
        })?;
        let (shard, to) = call.shard_in(space, 2);
        shard.edit(&to, call.now, true, |set: &mut SetValue, edit| {
            Ok(set.add(member, edit))
        })?;
    }
    call.out.flag(true);
    Ok(())
}

/// How several sets become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Intersection,
    Union,
    Difference,
}

/// The sets of keys; a key that is not there is an empty one.
fn load(
    call: &Call<'_>,
    space: &mut Space,
    positions: std::ops::Range<usize>,
) -> Result<Vec<SetValue>, Failure> {
    let mut sets = Vec::new();
    for position in positions {
        let (shard, key) = call.shard_in(space, position);
        let set = shard.collection::<SetValue>(&key, call.now)?;
        sets.push(set.cloned().unwrap_or_default());
    }
    Ok(sets)
}

fn compute(mut sets: Vec<SetValue>, operation: Operation, limit: usize) -> SetValue {
    let mut edit = Edit::default();
    let mut result = SetValue::default();
    match operation {
        Operation::Union => {
            for set in &sets {
                for member in set.iter() {
                    result.add(member, &mut edit);
                }
            }
        }
        Operation::Intersection => {
            sets.sort_by_key(SetValue::len);
            let (smallest, others) = sets.split_first().expect("commands have a key");
            for member in smallest.iter() {
                if result.len() == limit {
                    break;
                }
                if others.iter().all(|set| set.contains(member)) {
                    result.add(member, &mut edit);
                }
            }
        }
        Operation::Difference => {
            let (first, others) = sets.split_first().expect("commands have a key");
            for member in first.iter() {
                if !others.iter().any(|set| set.contains(member)) {
                    result.add(member, &mut edit);
                }
            }
        }
    }
    result
}

fn show(call: &mut Call<'_>, space: &mut Space, operation: Operation) -> Outcome {
    let sets = load(call, space, 1..call.len())?;
    let result = compute(sets, operation, usize::MAX);
    call.out.set(result.len());
    result.iter().for_each(|member| call.out.bulk(member));
    Ok(())
}

fn store(call: &mut Call<'_>, space: &mut Space, operation: Operation) -> Outcome {
    let sets = load(call, space, 2..call.len())?;
    let result = compute(sets, operation, usize::MAX);
    let len = result.len();
    let (shard, key) = call.shard_in(space, 1);
    if len == 0 {
        shard.remove(&key);
    } else {
        shard.put(&key, Entry::object(key.bytes, Object::Set(result), None, 0));
    }
    call.out.count(len);
    Ok(())
}

fn intersect(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    show(call, space, Operation::Intersection)
}

fn unite(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    show(call, space, Operation::Union)
}

fn subtract(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    show(call, space, Operation::Difference)
}

fn store_intersection(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    store(call, space, Operation::Intersection)
}

fn store_union(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    store(call, space, Operation::Union)
}

fn store_difference(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    store(call, space, Operation::Difference)
}

fn count_intersection(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let keys = super::key_count(call, 1)?;
    let limit = super::cardinality_limit(call, 2 + keys)?;
    let sets = load(call, space, 2..2 + keys)?;
    call.out
        .count(compute(sets, Operation::Intersection, limit).len());
    Ok(())
}
