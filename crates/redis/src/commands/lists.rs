//! Lists, and waiting for their elements.

use super::call::Call;
use super::{Handler, Spec, row};
use crate::blocking::{self, Wait};
use crate::failure::{Failure, Outcome, expect_room};
use crate::keyspace::{Key as KeyOf, Shard, Space};
use crate::value::{Bytes, ListValue};

use Handler::{Key, Whole};

pub(super) const SPECS: &[Spec] = &[
    row(
        "lpush",
        -3,
        "wmf",
        (1, 1, 1),
        Key(push_front),
        "Puts elements in front",
    ),
    row(
        "rpush",
        -3,
        "wmf",
        (1, 1, 1),
        Key(push_back),
        "Puts elements behind",
    ),
    row(
        "lpushx",
        -3,
        "wmf",
        (1, 1, 1),
        Key(push_front_old),
        "The same when the list is there",
    ),
    row(
        "rpushx",
        -3,
        "wmf",
        (1, 1, 1),
        Key(push_back_old),
        "The same when the list is there",
    ),
    row(
        "lpop",
        -2,
        "wf",
        (1, 1, 1),
        Key(pop_front),
        "Takes elements from the front",
    ),
    row(
        "rpop",
        -2,
        "wf",
        (1, 1, 1),
        Key(pop_back),
        "Takes elements from the back",
    ),
    row(
        "llen",
        2,
        "rf",
        (1, 1, 1),
        Key(len),
        "How many elements there are",
    ),
    row(
        "lindex",
        3,
        "r",
        (1, 1, 1),
        Key(index),
        "An element by position",
    ),
    row("lset", 4, "wm", (1, 1, 1), Key(set), "Replaces an element"),
    row(
        "linsert",
        5,
        "wm",
        (1, 1, 1),
        Key(insert),
        "Puts an element beside another",
    ),
    row(
        "lrange",
        4,
        "r",
        (1, 1, 1),
        Key(range),
        "Elements by position",
    ),
    row(
        "ltrim",
        4,
        "w",
        (1, 1, 1),
        Key(trim),
        "Keeps a range of elements",
    ),
    row(
        "lrem",
        4,
        "w",
        (1, 1, 1),
        Key(remove),
        "Removes elements by value",
    ),
    row(
        "lpos",
        -3,
        "r",
        (1, 1, 1),
        Key(positions),
        "Where a value stands",
    ),
    row(
        "rpoplpush",
        3,
        "wm",
        (1, 2, 1),
        Whole(pop_push),
        "Moves the last element to the front of a list",
    ),
    row(
        "lmove",
        5,
        "wm",
        (1, 2, 1),
        Whole(move_element),
        "Moves an element between lists",
    ),
    row(
        "lmpop",
        -4,
        "w",
        (0, 0, 0),
        Whole(pop_many),
        "Takes elements from the first list that has some",
    ),
    row(
        "blpop",
        -3,
        "wb",
        (1, -2, 1),
        Whole(wait_front),
        "LPOP that waits",
    ),
    row(
        "brpop",
        -3,
        "wb",
        (1, -2, 1),
        Whole(wait_back),
        "RPOP that waits",
    ),
    row(
        "brpoplpush",
        4,
        "wmb",
        (1, 2, 1),
        Whole(wait_pop_push),
        "RPOPLPUSH that waits",
    ),
    row(
        "blmove",
        6,
        "wmb",
        (1, 2, 1),
        Whole(wait_move),
        "LMOVE that waits",
    ),
    row(
        "blmpop",
        -5,
        "wb",
        (0, 0, 0),
        Whole(wait_many),
        "LMPOP that waits",
    ),
];

fn push(call: &mut Call<'_>, shard: &mut Shard, at_front: bool, create: bool) -> Outcome {
    let items = &call.args[2..];
    let len = shard.edit(
        &call.key(),
        call.now,
        create,
        |list: &mut ListValue, edit| {
            items
                .iter()
                .for_each(|item| list.push(item, at_front, edit));
            Ok(list.len())
        },
    )?;
    call.out.count(len.unwrap_or(0));
    Ok(())
}

fn push_front(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    push(call, shard, true, true)
}

fn push_back(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    push(call, shard, false, true)
}

fn push_front_old(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    push(call, shard, true, false)
}

fn push_back_old(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    push(call, shard, false, false)
}

fn pop(call: &mut Call<'_>, shard: &mut Shard, from_front: bool) -> Outcome {
    let count = match call.len() {
        2 => None,
        3 => {
            let count = call.integer(2).ok().and_then(|c| usize::try_from(c).ok());
            let invalid = || Failure::other("value is out of range, must be positive");
            Some(count.ok_or_else(invalid)?)
        }
        _ => return Err(call.wrong_count()),
    };
    let mut room = call.out.room();
    let popped = shard.edit(
        &call.key(),
        call.now,
        false,
        |list: &mut ListValue, edit| {
            let wanted = count.unwrap_or(1);
            let popped = list.pop_many(from_front, wanted, |len| room.take(len), edit);
            expect_room(wanted, list.len(), popped)
        },
    )?;
    match (popped, count) {
        (None, None) => call.out.null(),
        (None, Some(_)) => call.out.null_array(),
        (Some(popped), None) => match popped.first() {
            Some(item) => call.out.bulk(item),
            None => call.out.null(),
        },
        (Some(popped), Some(_)) => {
            call.out.array(popped.len());
            popped.iter().for_each(|item| call.out.bulk(item));
        }
    }
    Ok(())
}

fn pop_front(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    pop(call, shard, true)
}

fn pop_back(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    pop(call, shard, false)
}

fn len(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let list = shard.collection::<ListValue>(&call.key(), call.now)?;
    call.out.count(list.map_or(0, ListValue::len));
    Ok(())
}

/// A position counted from the end when negative; `None` outside.
fn place(index: i64, len: usize) -> Option<usize> {
    let index = match index < 0 {
        true => index.checked_add(i64::try_from(len).ok()?)?,
        false => index,
    };
    usize::try_from(index).ok().filter(|&index| index < len)
}

fn index(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let index = call.integer(2)?;
    let list = shard.collection::<ListValue>(&call.key(), call.now)?;
    match list.and_then(|list| list.get(place(index, list.len())?)) {
        Some(item) => call.out.bulk(item),
        None => call.out.null(),
    }
    Ok(())
}

fn set(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let item = call.args[3];
    let position = call.integer(2);
    let done = shard.edit(
        &call.key(),
        call.now,
        false,
        |list: &mut ListValue, edit| {
            let index = place(position?, list.len()).ok_or(Failure::IndexRange)?;
            list.replace(index, item, edit);
            Ok(())
        },
    )?;
    done.ok_or(Failure::NoSuchKey)?;
    call.out.ok();
    Ok(())
}

fn insert(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let is_after = match call.lower(2).as_str() {
        "before" => false,
        "after" => true,
        _ => return Err(Failure::Syntax),
    };
    let (pivot, item) = (call.args[3], call.args[4]);
    let len = shard.edit(
        &call.key(),
        call.now,
        false,
        |list: &mut ListValue, edit| {
            let Some(found) = list.iter().position(|other| other == pivot) else {
                return Ok(-1);
            };
            list.insert(found + usize::from(is_after), item, edit);
            Ok(i64::try_from(list.len()).unwrap_or(i64::MAX))
        },
    )?;
    call.out.integer(len.unwrap_or(0));
    Ok(())
}

fn range(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let list = shard.collection::<ListValue>(&call.key(), call.now)?;
    let len = list.map_or(0, ListValue::len);
    let (start, end) = super::call::range_of(start, stop, len);
    call.out.array(end - start);
    if let Some(list) = list {
        for item in list.iter().skip(start).take(end - start) {
            call.out.bulk(item);
        }
    }
    Ok(())
}

fn trim(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    shard.edit(
        &call.key(),
        call.now,
        false,
        |list: &mut ListValue, edit| {
            let (start, end) = super::call::range_of(start, stop, list.len());
            list.trim(start, end, edit);
            Ok(())
        },
    )?;
    call.out.ok();
    Ok(())
}

fn remove(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (count, item) = (call.integer(2)?, call.args[3]);
    let limit = match count {
        0 => usize::MAX,
        count => usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX),
    };
    let removed = shard.edit(
        &call.key(),
        call.now,
        false,
        |list: &mut ListValue, edit| Ok(list.remove(item, limit, count >= 0, edit)),
    )?;
    call.out.count(removed.unwrap_or(0));
    Ok(())
}

fn positions(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (mut rank, mut count, mut compared_max) = (1, None, usize::MAX);
    let mut position = 3;
    while position < call.len() {
        if position + 1 == call.len() {
            return Err(Failure::Syntax);
        }
        let value = call.integer(position + 1)?;
        let not_negative = |what: &str| {
            let text = format!("{what} can't be negative");
            usize::try_from(value).map_err(|_| Failure::other(text))
        };
        match call.lower(position).as_str() {
            "rank" if value == 0 => {
                return Err(Failure::other(
                    "RANK can't be zero: use 1 to start from the first match, 2 from the second \
                     ... or use negative to start from the end of the list",
                ));
            }
            "rank" if value == i64::MIN => {
                return Err(Failure::other(
                    "value is out of range, value must between -9223372036854775807 and \
                     9223372036854775807",
                ));
            }
            "rank" => rank = value,
            "count" => count = Some(not_negative("COUNT")?),
            "maxlen" => match not_negative("MAXLEN")? {
                0 => compared_max = usize::MAX,
                max => compared_max = max,
            },
            _ => return Err(Failure::Syntax),
        }
        position += 2;
    }
    let item = call.args[2];
    let list = shard.collection::<ListValue>(&call.key(), call.now)?;
    let skip = usize::try_from(rank.unsigned_abs() - 1).unwrap_or(usize::MAX);
    let wanted = match count {
        None => 1,
        Some(0) => usize::MAX,
        Some(count) => count,
    };
    let mut found = Vec::new();
    if let Some(list) = list {
        let items = list.iter().enumerate();
        let is_match = |(index, other): (usize, &[u8])| (other == item).then_some(index);
        if rank > 0 {
            let matched = items.take(compared_max).filter_map(is_match);
            found.extend(matched.skip(skip).take(wanted));
        } else {
            let matched = items.rev().take(compared_max).filter_map(is_match);
            found.extend(matched.skip(skip).take(wanted));
        }
    }
    match (count, found.first()) {
        (None, Some(&index)) => call.out.count(index),
        (None, None) => call.out.null(),
        (Some(_), _) => {
            call.out.array(found.len());
            found.iter().for_each(|&index| call.out.count(index));
        }
    }
    Ok(())
}

/// LEFT or RIGHT: whether it is the front.
fn side(call: &Call<'_>, position: usize) -> Result<bool, Failure> {
    match call.lower(position).as_str() {
        "left" => Ok(true),
        "right" => Ok(false),
        _ => Err(Failure::Syntax),
    }
}

/// Moves an element from one list to another; `None` when the first is empty.
pub(crate) fn transfer(
    space: &mut Space,
    now: u64,
    from: &KeyOf<'_>,
    to: &KeyOf<'_>,
    sides: (bool, bool),
) -> Result<Option<Bytes>, Failure> {
    let is_there = space.shard(from.hash).collection::<ListValue>(from, now)?;
    if is_there.is_none() {
        return Ok(None);
    }
    space.shard(to.hash).collection::<ListValue>(to, now)?;
    let shard = space.shard(from.hash);
    if from.bytes == to.bytes && from.database == to.database {
        // In one step: a list of one element must not vanish on the way.
        return Ok(shard
            .edit(from, now, false, |list: &mut ListValue, edit| {
                let item = list.pop(sides.0, edit);
                if let Some(item) = &item {
                    list.push(item, sides.1, edit);
                }
                Ok(item)
            })?
            .flatten());
    }
    let item = shard.edit(from, now, false, |list: &mut ListValue, edit| {
        Ok(list.pop(sides.0, edit))
    })?;
    let Some(item) = item.flatten() else {
        return Ok(None);
    };
    let shard = space.shard(to.hash);
    shard.edit(to, now, true, |list: &mut ListValue, edit| {
        list.push(&item, sides.1, edit);
        Ok(())
    })?;
    Ok(Some(item))
}

fn transfer_now(call: &mut Call<'_>, space: &mut Space, sides: (bool, bool)) -> Outcome {
    let (from, to) = (call.key_in(space, 1), call.key_in(space, 2));
    match transfer(space, call.now, &from, &to, sides)? {
        Some(item) => call.out.bulk(&item),
        None => call.out.null(),
    }
    Ok(())
}

fn pop_push(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    transfer_now(call, space, (false, true))
}

fn move_element(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let sides = (side(call, 3)?, side(call, 4)?);
    transfer_now(call, space, sides)
}

/// The keys, the side and the count of LMPOP, whose number of keys stands at `position`.
fn many(call: &Call<'_>, position: usize) -> Result<(std::ops::Range<usize>, Wait), Failure> {
    let keys = super::key_count(call, position)?;
    let after = position + 1 + keys;
    if after >= call.len() {
        return Err(Failure::Syntax);
    }
    let from_front = side(call, after)?;
    let count = match call.len() - after - 1 {
        0 => 1,
        2 if call.is(after + 1, "COUNT") => super::positive_count(call, after + 2)?,
        _ => return Err(Failure::Syntax),
    };
    let wait = Wait::ListPopMany { from_front, count };
    Ok((position + 1..after, wait))
}

fn pop_many(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let (keys, wait) = many(call, 1)?;
    if !blocking::try_now(call, space, keys, &wait)? {
        call.out.null_array();
    }
    Ok(())
}

fn wait_front(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let last = call.len() - 1;
    let wait = Wait::ListPop { from_front: true };
    blocking::try_or_wait(call, space, 1..last, wait, last)
}

fn wait_back(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let last = call.len() - 1;
    let wait = Wait::ListPop { from_front: false };
    blocking::try_or_wait(call, space, 1..last, wait, last)
}

fn wait_pop_push(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let wait = Wait::ListMove {
        to: call.args[2].into(),
        sides: (false, true),
    };
    blocking::try_or_wait(call, space, 1..2, wait, 3)
}

fn wait_move(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let wait = Wait::ListMove {
        to: call.args[2].into(),
        sides: (side(call, 3)?, side(call, 4)?),
    };
    blocking::try_or_wait(call, space, 1..2, wait, 5)
}

fn wait_many(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let (keys, wait) = many(call, 2)?;
    blocking::try_or_wait(call, space, keys, wait, 1)
}
