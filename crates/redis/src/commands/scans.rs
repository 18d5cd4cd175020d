//! Walks in steps over what a key holds, and the options that all walks share.

use super::call::Call;
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::glob;
use crate::keyspace::Shard;
use crate::number::format_double;
use crate::value::{HashValue, SetValue, SortedValue};

use Handler::Key;

pub(super) const SPECS: &[Spec] = &[
    row(
        "hscan",
        -3,
        "r",
        (1, 1, 1),
        Key(hash),
        "Walks over the fields of a hash in steps",
    ),
    row(
        "sscan",
        -3,
        "r",
        (1, 1, 1),
        Key(set),
        "Walks over the members of a set in steps",
    ),
    row(
        "zscan",
        -3,
        "r",
        (1, 1, 1),
        Key(sorted),
        "Walks over a sorted set in steps",
    ),
];

/// Elements of one step when nothing else is asked for.
const COUNT: usize = 10;

/// MATCH, COUNT and TYPE.
pub(super) struct ScanOptions<'a> {
    pattern: Option<&'a [u8]>,
    pub(super) count: usize,
    pub(super) type_name: Option<String>,
    without_values: bool,
}

impl<'a> ScanOptions<'a> {
    pub(super) fn read(
        call: &Call<'a>,
        from: usize,
        is_key_scan: bool,
    ) -> Result<ScanOptions<'a>, Failure> {
        let mut options = ScanOptions {
            pattern: None,
            count: COUNT,
            type_name: None,
            without_values: false,
        };
        let mut position = from;
        while position < call.len() {
            if call.is(position, "NOVALUES") && call.is(0, "HSCAN") {
                options.without_values = true;
                position += 1;
                continue;
            }
            if position + 1 == call.len() {
                return Err(Failure::Syntax);
            }
            if call.is(position, "MATCH") {
                options.pattern = Some(call.args[position + 1]);
            } else if call.is(position, "COUNT") {
                let count = call.integer(position + 1)?;
                let count = usize::try_from(count).ok().filter(|&count| count > 0);
                options.count = count.ok_or(Failure::Syntax)?;
            } else if call.is(position, "TYPE") && is_key_scan {
                options.type_name = Some(call.lower(position + 1));
            } else {
                return Err(Failure::Syntax);
            }
            position += 2;
        }
        Ok(options)
    }

    pub(super) fn accepts(&self, text: &[u8]) -> bool {
        self.pattern.is_none_or(|p| glob::matches(p, text))
    }
}

/// The cursor that an argument holds.
pub(super) fn cursor(call: &Call<'_>, position: usize) -> Result<u64, Failure> {
    let text = std::str::from_utf8(call.args[position]).ok();
    let cursor = text.and_then(|text| text.parse().ok());
    cursor.ok_or_else(|| Failure::other("invalid cursor"))
}

/// The positions of a step, from the end of the sequence down, and the next cursor. A removal moves
/// the last element into the gap, so going down misses none that stays.
fn step(cursor: u64, count: usize, len: usize) -> (std::ops::Range<usize>, u64) {
    let end = match cursor {
        0 => len,
        cursor => jackdaw_base::width::to_usize(cursor).min(len),
    };
    let start = end.saturating_sub(count);
    (start..end, start as u64)
}

/// Writes the reply of a step whose elements `each` writes; it gives how many.
fn reply(call: &mut Call<'_>, next: u64, each: impl FnOnce(&mut Call<'_>) -> usize) {
    call.out.array(2);
    call.out.text(&next.to_string());
    let start = call.out.open_array();
    let count = each(call);
    call.out.patch(start, count);
}

fn hash(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let cursor = cursor(call, 2)?;
    let options = ScanOptions::read(call, 3, false)?;
    let value = shard.collection::<HashValue>(&call.key(), call.now)?;
    let (range, next) = step(cursor, options.count, value.map_or(0, HashValue::len));
    reply(call, next, |call| {
        let mut count = 0;
        for (field, text) in range.rev().filter_map(|position| value?.at(position)) {
            if options.accepts(field) {
                call.out.bulk(field);
                count += 1;
                if !options.without_values {
                    call.out.bulk(text);
                    count += 1;
                }
            }
        }
        count
    });
    Ok(())
}

fn set(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let cursor = cursor(call, 2)?;
    let options = ScanOptions::read(call, 3, false)?;
    let value = shard.collection::<SetValue>(&call.key(), call.now)?;
    let (range, next) = step(cursor, options.count, value.map_or(0, SetValue::len));
    reply(call, next, |call| {
        let members = range.rev().filter_map(|position| value?.at(position));
        let mut count = 0;
        for member in members.filter(|member| options.accepts(member)) {
            call.out.bulk(member);
            count += 1;
        }
        count
    });
    Ok(())
}

fn sorted(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let cursor = cursor(call, 2)?;
    let options = ScanOptions::read(call, 3, false)?;
    let value = shard.collection::<SortedValue>(&call.key(), call.now)?;
    let (range, next) = step(cursor, options.count, value.map_or(0, SortedValue::len));
    reply(call, next, |call| {
        let mut count = 0;
        for (member, score) in range.rev().filter_map(|position| value?.at(position)) {
            if options.accepts(member) {
                call.out.bulk(member);
                call.out.text(&format_double(score));
                count += 2;
            }
        }
        count
    });
    Ok(())
}
