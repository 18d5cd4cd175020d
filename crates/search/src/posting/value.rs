//! Value of a term in the tree `terms`: its posting list, or where the list is.
//!
//! Called by the writer's walk over terms and by readers. Bytes: docs/format.md, section
//! "Inverted index".
//!
//! Three tiers, told apart by two bits of the first byte:
//! - inline: one or two entries right there. Most terms of most fields are unique.
//! - small: one chunk, up to [`SMALL_BYTES_MAX`].
//! - large: the count and the number of a list in the tree `postings`.
//!
//! Invariants:
//! - The count is always in the value: a query planner never reads a list to learn its length.
//! - A list grows into the large tier above [`SMALL_BYTES_MAX`] and comes back below
//!   [`DEMOTE_ENTRIES`], far enough apart that it does not swing between the two.
//!
//! Threads: pure functions over borrowed bytes.

use jackdaw_base::varint;

use super::chunk::{Chunk, Encoder, Malformed};

/// Most bytes of a small list. A leaf of 8 KiB still holds several such terms, and a list that
/// large has some 700 entries, which is when a change of one entry in place begins to pay.
pub(crate) const SMALL_BYTES_MAX: usize = 1_500;

/// A large list with fewer entries than this becomes small again: at the widest, they fill a
/// third of what a small list may have.
pub(crate) const DEMOTE_ENTRIES: u64 = 128;

/// Tiers, in the two low bits of the first byte. 3 is reserved, the other bits are zero.
const KIND_INLINE: u8 = 0;
const KIND_SMALL: u8 = 1;
const KIND_LARGE: u8 = 2;

/// Number of a large list. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListNumber(pub(crate) u64);

/// A term's value, decoded as far as needed to know its count.
#[derive(Clone, Copy)]
pub(crate) enum TermValue<'a> {
    /// One or two entries.
    Inline { entries: [u64; 2], count: usize },
    /// Up to a chunk of entries.
    Small(Chunk<'a>),
    /// More than that.
    Large { count: u64, list: ListNumber },
}

impl<'a> TermValue<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<TermValue<'a>, Malformed> {
        let (&kind, mut rest) = bytes
            .split_first()
            .ok_or(Malformed("a term has no value"))?;
        let short = Malformed("the value of a term ends early");
        let first = varint::take(&mut rest).ok_or(short)?;
        match kind {
            KIND_INLINE => parse_inline(first, rest),
            KIND_SMALL => Ok(TermValue::Small(Chunk::open(first, rest)?)),
            KIND_LARGE => {
                let list = ListNumber(varint::take(&mut rest).ok_or(short)?);
                Ok(TermValue::Large { count: first, list })
            }
            _ => Err(Malformed("a posting list is of a later kind")),
        }
    }

    /// Number of entries.
    pub(crate) fn count(&self) -> u64 {
        match self {
            TermValue::Inline { count, .. } => *count as u64,
            TermValue::Small(chunk) => chunk.count() as u64,
            TermValue::Large { count, .. } => *count,
        }
    }
}

fn parse_inline<'a>(first: u64, mut rest: &[u8]) -> Result<TermValue<'a>, Malformed> {
    if rest.is_empty() {
        return Ok(TermValue::Inline {
            entries: [first, 0],
            count: 1,
        });
    }
    let second = varint::take(&mut rest)
        .and_then(|gap| first.checked_add(gap)?.checked_add(1))
        .ok_or(Malformed("the second entry of a term is out of range"))?;
    Ok(TermValue::Inline {
        entries: [first, second],
        count: 2,
    })
}

/// Writes a large tier's value.
pub(crate) fn write_large(count: u64, list: ListNumber, out: &mut Vec<u8>) {
    out.push(KIND_LARGE);
    varint::encode(count, out);
    varint::encode(list.0, out);
}

/// Writes ascending entries as the inline or the small tier, or tells that they need the large
/// one (`out` is then as before).
///
/// # Panics
/// When there are no entries: a term without entries is deleted instead.
pub(crate) fn try_write(entries: &[u64], encoder: &mut Encoder, out: &mut Vec<u8>) -> bool {
    if let [first, rest @ ..] = entries
        && rest.len() < 2
    {
        out.push(KIND_INLINE);
        varint::encode(*first, out);
        if let Some(second) = rest.first() {
            varint::encode(second - first - 1, out);
        }
        return true;
    }
    // Two bytes of header for every 128 entries are the least a list takes.
    if entries.len() > super::chunk::CHUNK_ENTRIES_MAX {
        return false;
    }
    encoder.encode(entries);
    if encoder.blocks_fitting(0, SMALL_BYTES_MAX) < encoder.blocks() {
        return false;
    }
    out.push(KIND_SMALL);
    varint::encode(entries[0], out);
    encoder.write_chunk(0..encoder.blocks(), out);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(entries: &[u64]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        try_write(entries, &mut Encoder::default(), &mut out).then_some(out)
    }

    fn entries_of(bytes: &[u8]) -> Vec<u64> {
        match TermValue::parse(bytes).unwrap() {
            TermValue::Inline { entries, count } => entries[..count].to_vec(),
            TermValue::Small(chunk) => {
                let mut out = Vec::new();
                chunk.decode_all(&mut out).unwrap();
                out
            }
            TermValue::Large { .. } => panic!("try_write never writes this"),
        }
    }

    #[test]
    fn unique_terms_cost_their_number_and_one_byte() {
        assert_eq!(written(&[5]).unwrap(), [KIND_INLINE, 5]);
        assert_eq!(written(&[5, 6]).unwrap(), [KIND_INLINE, 5, 0]);
    }

    #[test]
    fn lists_come_back_with_their_counts() {
        for len in [1, 2, 3, 127, 128, 129, 700] {
            let entries: Vec<u64> = (0..len).map(|i| 1_000_000 + i * i % 7 + i * 37).collect();
            let bytes = written(&entries).unwrap();
            assert_eq!(entries_of(&bytes), entries);
            assert_eq!(TermValue::parse(&bytes).unwrap().count(), len);
        }
    }

    #[test]
    fn long_lists_and_wide_lists_are_large() {
        let runs: Vec<u64> = (0..1_024).collect();
        assert!(written(&runs).is_some());
        let longer: Vec<u64> = (0..1_025).collect();
        assert!(written(&longer).is_none());
        let wide: Vec<u64> = (0..1_000)
            .map(|i| i * 1_000_003 % (1 << 40) + (i << 31))
            .collect();
        assert!(written(&wide).is_none());
        assert!(written(&[1, 2, 3, 1 << 33]).is_none());
    }

    #[test]
    fn demoted_lists_fit_the_small_tier() {
        let widest: Vec<u64> = (0..DEMOTE_ENTRIES).map(|i| i << 24).collect();
        assert!(written(&widest).unwrap().len() < SMALL_BYTES_MAX / 2);
    }

    #[test]
    fn a_large_value_holds_count_and_list() {
        let mut out = Vec::new();
        write_large(1_000_000, ListNumber(77), &mut out);
        let value = TermValue::parse(&out).unwrap();
        assert_eq!(value.count(), 1_000_000);
        assert!(matches!(
            value,
            TermValue::Large {
                list: ListNumber(77),
                ..
            }
        ));
    }

    #[test]
    fn damaged_values_are_refused() {
        for bytes in [
            &[][..],
            &[0],
            &[1, 5],
            &[2, 5],
            &[3, 5, 5],
            &[4, 5],
            &[1, 5, 0, 0],
        ] {
            assert!(TermValue::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
