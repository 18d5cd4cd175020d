//! Single bits of strings, and strings combined bit by bit.

use super::call::{Call, range_of};
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::keyspace::{Shard, Space};

use Handler::{Key, Whole};

pub(super) const SPECS: &[Spec] = &[
    row(
        "setbit",
        4,
        "wm",
        (1, 1, 1),
        Key(set_bit),
        "Sets a bit, gives the one before",
    ),
    row("getbit", 3, "rf", (1, 1, 1), Key(get_bit), "A bit"),
    row(
        "bitcount",
        -2,
        "r",
        (1, 1, 1),
        Key(count),
        "How many bits are set",
    ),
    row(
        "bitpos",
        -3,
        "r",
        (1, 1, 1),
        Key(position),
        "The first bit that is set or clear",
    ),
    row(
        "bitop",
        -4,
        "wm",
        (2, -1, 1),
        Whole(combine),
        "AND, OR, XOR or NOT of strings",
    ),
];

/// Where a bit lies: its byte, and its place there.
fn place(call: &Call<'_>, position: usize) -> Result<(usize, u8), Failure> {
    let invalid = || Failure::other("bit offset is not an integer or out of range");
    let offset = call.integer(position).map_err(|_| invalid())?;
    let byte = usize::try_from(offset >> 3).map_err(|_| invalid())?;
    if offset < 0 || call.check_length(byte + 1).is_err() {
        return Err(invalid());
    }
    Ok((byte, 7 - (offset & 7) as u8))
}

fn set_bit(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (byte, shift) = place(call, 2)?;
    call.check_growth(byte + 1)?;
    let value = match call.args[3] {
        b"0" => 0,
        b"1" => 1,
        _ => return Err(Failure::other("bit is not an integer or out of range")),
    };
    let key = call.key();
    shard.text(&key, call.now)?;
    let old = shard.edit_text(&key, call.now, |text| {
        if text.len() <= byte {
            text.resize(byte + 1, 0);
        }
        let old = text[byte] >> shift & 1;
        text[byte] = text[byte] & !(1 << shift) | value << shift;
        old
    })?;
    call.out.integer(i64::from(old));
    Ok(())
}

fn get_bit(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let (byte, shift) = place(call, 2)?;
    let text = shard.text(&call.key(), call.now)?.unwrap_or_default();
    let bit = text.get(byte).map_or(0, |byte| byte >> shift & 1);
    call.out.integer(i64::from(bit));
    Ok(())
}

/// The range of bits that arguments name, in bytes or bits: start, and end which is not part of it.
fn bit_range(call: &Call<'_>, position: usize, len: usize) -> Result<(usize, usize), Failure> {
    let in_bits = match call.args.get(position + 2) {
        None => false,
        Some(_) if call.is(position + 2, "BIT") => true,
        Some(_) if call.is(position + 2, "BYTE") => false,
        Some(_) => return Err(Failure::Syntax),
    };
    let (start, stop) = (call.integer(position)?, call.integer(position + 1)?);
    let unit = if in_bits { 1 } else { 8 };
    let (start, end) = range_of(start, stop, len * 8 / unit);
    Ok((start * unit, end * unit))
}

fn count(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let key = call.key();
    if !matches!(call.len(), 2 | 4 | 5) {
        return Err(Failure::Syntax);
    }
    let text = shard.text(&key, call.now)?.unwrap_or_default();
    let (start, end) = match call.len() {
        2 => (0, text.len() * 8),
        _ => bit_range(call, 2, text.len())?,
    };
    let (first, last) = (start.div_ceil(8), end / 8);
    let total = if first > last {
        bits_between(text, start, end)
    } else {
        let whole: usize = text[first..last]
            .iter()
            .map(|b| b.count_ones() as usize)
            .sum();
        whole + bits_between(text, start, first * 8) + bits_between(text, last * 8, end)
    };
    call.out.count(total);
    Ok(())
}

fn bit_at(text: &[u8], bit: usize) -> bool {
    text[bit / 8] >> (7 - bit % 8) & 1 == 1
}

fn bits_between(text: &[u8], start: usize, end: usize) -> usize {
    (start..end).filter(|&bit| bit_at(text, bit)).count()
}

fn position(call: &mut Call<'_>, shard: &mut Shard) -> Outcome {
    let wanted = match call.args[2] {
        b"0" => false,
        b"1" => true,
        _ => return Err(Failure::other("The bit argument must be 1 or 0.")),
    };
    if call.len() > 6 {
        return Err(Failure::Syntax);
    }
    let key = call.key();
    let Some(text) = shard.text(&key, call.now)? else {
        call.out.integer(if wanted { -1 } else { 0 });
        return Ok(());
    };
    let has_end = call.len() >= 5;
    let (start, end) = match call.len() {
        3 => (0, text.len() * 8),
        4 => {
            let (start, end) = range_of(call.integer(3)?, -1, text.len());
            (start * 8, end * 8)
        }
        _ => bit_range(call, 3, text.len())?,
    };
    let skip = if wanted { 0 } else { 0xFF };
    let mut bit = start;
    let mut found = None;
    while bit < end {
        if bit.is_multiple_of(8) && end - bit >= 8 && text[bit / 8] == skip {
            bit += 8;
            continue;
        }
        if bit_at(text, bit) == wanted {
            found = Some(bit);
            break;
        }
        bit += 1;
    }
    match found {
        Some(bit) => call.out.count(bit),
        // Behind a string without a stated end there are zeros.
        None if !wanted && !has_end && end > start => call.out.count(text.len() * 8),
        None => call.out.integer(-1),
    }
    Ok(())
}

fn combine(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let operation: fn(u8, u8) -> u8 = match call.lower(1).as_str() {
        "and" => |a, b| a & b,
        "or" => |a, b| a | b,
        "xor" => |a, b| a ^ b,
        "not" if call.len() != 4 => {
            return Err(Failure::other(
                "BITOP NOT must be called with a single source key.",
            ));
        }
        "not" => |_, b| !b,
        _ => return Err(Failure::Syntax),
    };
    let mut texts = Vec::new();
    for position in 3..call.len() {
        let (shard, key) = call.shard_in(space, position);
        texts.push(shard.text(&key, call.now)?.unwrap_or_default().to_vec());
    }
    let len = texts.iter().map(Vec::len).max().unwrap_or(0);
    let mut result = vec![0; len];
    for (number, text) in texts.iter().enumerate() {
        for (at, byte) in result.iter_mut().enumerate() {
            let other = text.get(at).copied().unwrap_or(0);
            let is_first = number == 0 && texts.len() > 1;
            *byte = if is_first {
                other
            } else {
                operation(*byte, other)
            };
        }
    }
    if texts.len() == 1 && !call.is(1, "NOT") {
        result.clone_from(&texts[0]);
    }
    let (shard, key) = call.shard_in(space, 2);
    if result.is_empty() {
        shard.remove(&key);
    } else {
        shard.set_text(&key, &result, None, call.now);
    }
    call.out.count(len);
    Ok(())
}
