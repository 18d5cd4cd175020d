//! Ranges of sorted sets: by position, score and bytes. Each is a range of positions in the end.

use super::call::{Call, range_of};
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::keyspace::{Entry, Shard, Space};
use crate::number;
use crate::value::{Edit, Object, SortedValue};

use Handler::{Key, Whole};

pub(super) const SPECS: &[Spec] = &[
    row(
        "zrange",
        -4,
        "r",
        (1, 1, 1),
        Key(range),
        "Members by position, score or bytes",
    ),
    row(
        "zrevrange",
        -4,
        "r",
        (1, 1, 1),
        Key(reverse_range),
        "Members by position from the end",
    ),
    row(
        "zrangebyscore",
        -4,
        "r",
        (1, 1, 1),
        Key(by_score),
        "Members by score",
    ),
    row(
        "zrevrangebyscore",
        -4,
        "r",
        (1, 1, 1),
        Key(reverse_by_score),
        "Members by score, highest first",
    ),
    row(
        "zrangebylex",
        -4,
        "r",
        (1, 1, 1),
        Key(by_bytes),
        "Members by bytes",
    ),
    row(
        "zrevrangebylex",
        -4,
        "r",
        (1, 1, 1),
        Key(reverse_by_bytes),
        "Members by bytes, last first",
    ),
    row(
        "zrangestore",
        -5,
        "wm",
        (1, 2, 1),
        Whole(store),
        "Keeps a range under another key",
    ),
    row(
        "zcount",
        4,
        "rf",
        (1, 1, 1),
        Key(count),
        "How many members have scores in a range",
    ),
    row(
        "zlexcount",
        4,
        "rf",
        (1, 1, 1),
        Key(count_bytes),
        "How many members lie in a range of bytes",
    ),
    row(
        "zremrangebyrank",
        4,
        "w",
        (1, 1, 1),
        Key(remove_by_rank),
        "Removes members by position",
    ),
    row(
        "zremrangebyscore",
        4,
        "w",
        (1, 1, 1),
        Key(remove_by_score),
        "Removes members by score",
    ),
    row(
        "zremrangebylex",
        4,
        "w",
        (1, 1, 1),
        Key(remove_by_bytes),
        "Removes members by bytes",
    ),
];

/// What the ends of a range mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Bytes,
}

/// A range as it was asked for.
enum Bounds<'a> {
    Rank(i64, i64),
    Score((f64, bool), (f64, bool)),
    Bytes(ByteBound<'a>, ByteBound<'a>),
}

/// An end of a range of bytes.
#[derive(Clone, Copy)]
enum ByteBound<'a> {
    Lowest,
    Highest,
    Included(&'a [u8]),
    Excluded(&'a [u8]),
}

fn score_bound(text: &[u8]) -> Result<(f64, bool), Failure> {
    let (text, is_excluded) = match text {
        [b'(', rest @ ..] => (rest, true),
        _ => (text, false),
    };
    let value = number::parse_double(text);
    let value = value.ok_or_else(|| Failure::other("min or max is not a float"))?;
    Ok((value, is_excluded))
}

fn byte_bound(text: &[u8]) -> Result<ByteBound<'_>, Failure> {
    match text {
        b"-" => Ok(ByteBound::Lowest),
        b"+" => Ok(ByteBound::Highest),
        [b'[', rest @ ..] => Ok(ByteBound::Included(rest)),
        [b'(', rest @ ..] => Ok(ByteBound::Excluded(rest)),
        _ => Err(Failure::other("min or max not valid string range item")),
    }
}

impl<'a> Bounds<'a> {
    fn read(call: &Call<'a>, low: usize, high: usize, by: By) -> Result<Bounds<'a>, Failure> {
        Ok(match by {
            By::Rank => Bounds::Rank(call.integer(low)?, call.integer(high)?),
            By::Score => Bounds::Score(score_bound(call.args[low])?, score_bound(call.args[high])?),
            By::Bytes => Bounds::Bytes(byte_bound(call.args[low])?, byte_bound(call.args[high])?),
        })
    }

    /// The positions inside: start, and end which is not part of it.
    fn positions(&self, set: &SortedValue, is_reverse: bool) -> (usize, usize) {
        let order = set.order();
        let len = set.len();
        let (start, end) = match *self {
            Bounds::Rank(start, stop) => {
                let (start, end) = range_of(start, stop, len);
                match is_reverse {
                    true => (len - end, len - start),
                    false => (start, end),
                }
            }
            Bounds::Score((low, low_out), (high, high_out)) => (
                order.count_before(|score, _| score < low || low_out && score <= low),
                order.count_before(|score, _| score < high || !high_out && score <= high),
            ),
            Bounds::Bytes(low, high) => {
                let is_below = |bound: ByteBound<'_>, member: &[u8], is_low: bool| match bound {
                    ByteBound::Lowest => false,
                    ByteBound::Highest => true,
                    ByteBound::Included(b) if is_low => member < b,
                    ByteBound::Excluded(b) if is_low => member <= b,
                    ByteBound::Included(b) => member <= b,
                    ByteBound::Excluded(b) => member < b,
                };
                (
                    order.count_before(|_, member| is_below(low, member, true)),
                    order.count_before(|_, member| is_below(high, member, false)),
                )
            }
        };
        (start, end.max(start))
    }
}

/// A range with its options.
struct Query<'a> {
    bounds: Bounds<'a>,
    is_reverse: bool,
    with_scores: bool,
    skip: usize,
    limit: usize,
}

impl Query<'_> {
    /// Members in the order of the reply.
    fn run<'s>(&self, set: &'s SortedValue) -> Box<dyn Iterator<Item = (f64, &'s [u8])> + 's> {
        let (start, end) = self.bounds.positions(set, self.is_reverse);
        let count = (end - start).saturating_sub(self.skip).min(self.limit);
        if count == 0 {
            return Box::new(std::iter::empty());
        }
        match self.is_reverse {
            false => {
                let entries = set.order().from(start + self.skip, count);
                Box::new(entries.map(|(score, member)| (score, member.as_ref())))
            }
            true => {
                let entries = set.order().back_from(end - 1 - self.skip, count);
                Box::new(entries.map(|(score, member)| (score, member.as_ref())))
            }
        }
    }
}

/// What a command is before its options are read.
struct Preset {
    by: Option<By>,
    is_reverse: bool,
    /// The key stands here, the bounds behind it.
    key_at: usize,
}

fn query<'a>(call: &Call<'a>, preset: &Preset) -> Result<Query<'a>, Failure> {
    let mut by = preset.by;
    let mut is_reverse = preset.is_reverse;
    let (mut with_scores, mut limit) = (false, None);
    let is_zrange = preset.by.is_none();
    let is_store = preset.key_at == 2;
    let mut position = preset.key_at + 3;
    while position < call.len() {
        match call.lower(position).as_str() {
            "byscore" if is_zrange => by = Some(By::Score),
            "bylex" if is_zrange => by = Some(By::Bytes),
            "rev" if is_zrange => is_reverse = true,
            "withscores" if !is_store => with_scores = true,
            "limit" if position + 2 < call.len() => {
                limit = Some((call.integer(position + 1)?, call.integer(position + 2)?));
                position += 2;
            }
            _ => return Err(Failure::Syntax),
        }
        position += 1;
    }
    let by = by.unwrap_or(By::Rank);
    if limit.is_some() && by == By::Rank {
        return Err(Failure::other(
            "syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    if with_scores && by == By::Bytes {
        return Err(Failure::other(
            "syntax error, WITHSCORES not supported in combination with BYLEX",
        ));
    }
    let (mut low, mut high) = (preset.key_at + 1, preset.key_at + 2);
    if is_reverse && by != By::Rank {
        std::mem::swap(&mut low, &mut high);
    }
    let (skip, limit) = match limit {
        None => (0, usize::MAX),
        Some((skip, _)) if skip < 0 => (0, 0),
        Some((skip, limit)) => (
            usize::try_from(skip).unwrap_or(usize::MAX),
            usize::try_from(limit).unwrap_or(usize::MAX),
        ),
    };
    Ok(Query {
        bounds: Bounds::read(call, low, high, by)?,
        is_reverse,
        with_scores,
        skip,
        limit,
    })
}

fn show(call: &mut Call<'_>, shard: &mut Shard, by: Option<By>, is_reverse: bool) -> Outcome {
    let preset = Preset {
        by,
        is_reverse,
        key_at: 1,
    };
    let query = query(call, &preset)?;
    let Some(set) = shard.collection::<SortedValue>(&call.key(), call.now)? else {
        call.out.array(0);
        return Ok(());
    };
    let start = call.out.open_array();
    let is_nested = query.with_scores && call.out.is_resp3;
    let mut count = 0;
    for (score, member) in query.run(set) {
        if is_nested {
            call.out.array(2);
        }
        call.out.bulk(member);
        count += 1;
        if query.with_scores {
            call.out.double(score);
            count += usize::from(!is_nested);
        }
    }
    call.out.patch(start, count);
    Ok(())
}

fn range(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    show(call, shard, None, false)
}

fn reverse_range(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    show(call, shard, Some(By::Rank), true)
}

fn by_score(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    show(call, shard, Some(By::Score), false)
}

fn reverse_by_score(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    show(call, shard, Some(By::Score), true)
}

fn by_bytes(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    show(call, shard, Some(By::Bytes), false)
}

fn reverse_by_bytes(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    show(call, shard, Some(By::Bytes), true)
}

fn store(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let preset = Preset {
        by: None,
        is_reverse: false,
        key_at: 2,
    };
    let query = query(call, &preset)?;
    let (shard, key) = call.shard_in(space, 2);
    let mut result = SortedValue::default();
    if let Some(set) = shard.collection::<SortedValue>(&key, call.now)? {
        for (score, member) in query.run(set) {
            result.set(member, score, &mut Edit::default());
        }
    }
    keep(call, space, 1, result);
    Ok(())
}

/// Puts a result under the key at a position, and answers with its length.
pub(super) fn keep(call: &mut Call<'_>, space: &mut Space, position: usize, result: SortedValue) {
    let len = result.len();
    let (shard, key) = call.shard_in(space, position);
    if len == 0 {
        shard.remove(&key);
    } else {
        shard.put(
            &key,
            Entry::object(key.bytes, Object::Sorted(result), None, 0),
        );
    }
    call.out.count(len);
}

fn count_in(call: &mut Call<'_>, shard: &mut Shard, by: By) -> Outcome {
    let bounds = Bounds::read(call, 2, 3, by)?;
    let set = shard.collection::<SortedValue>(&call.key(), call.now)?;
    let (start, end) = set.map_or((0, 0), |set| bounds.positions(set, false));
    call.out.count(end - start);
    Ok(())
}

fn count(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    count_in(call, shard, By::Score)
}

fn count_bytes(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    count_in(call, shard, By::Bytes)
}

fn remove_in(call: &mut Call<'_>, shard: &mut Shard, by: By) -> Outcome {
    let bounds = Bounds::read(call, 2, 3, by)?;
    let removed = shard.edit(
        &call.key(),
        call.now,
        false,
        |set: &mut SortedValue, edit| {
            let (start, end) = bounds.positions(set, false);
            let members = set.order().from(start, end - start);
            let members: Vec<_> = members.map(|(_, member)| member.clone()).collect();
            for member in &members {
                set.remove(member, edit);
            }
            Ok(members.len())
        },
    )?;
    call.out.count(removed.unwrap_or(0));
    Ok(())
}

fn remove_by_rank(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    remove_in(call, shard, By::Rank)
}

fn remove_by_score(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    remove_in(call, shard, By::Score)
}

fn remove_by_bytes(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    remove_in(call, shard, By::Bytes)
}
