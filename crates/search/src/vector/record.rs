//! What is stored of vectors and their graphs: keys and records of three trees.
//!
//! Called by `edit`, `writer`, `nearest` and `check`. Bytes: docs/format.md, section "Inverted
//! index".
//!
//! Invariants:
//! - The number of a vector within its field is never used twice.
//!
//! Threads: pure functions over borrowed bytes.

use jackdaw_storage::{PageRead, Tree};

use super::value::{HASH_BYTES, VectorHash};
use crate::catalog::{Catalog, Field, FieldId};
use crate::error::IndexError;
use crate::posting::Malformed;
use crate::store::IndexRead;
use crate::term::class;

/// Bytes of vectors by number.
pub(super) const VECTORS_TREE: &str = "vectors";
/// Links of vectors by number, and the head of each graph.
pub(super) const LINKS_TREE: &str = "vector_links";
/// Numbers of vectors by hash.
pub(super) const NUMBERS_TREE: &str = "vector_numbers";

/// Bytes of a number in links and in [`NUMBERS_TREE`].
const NUMBER_BYTES: usize = 5;

/// Greatest number: it has to fit in its bytes.
pub(super) const NUMBER_MAX: u64 = (1 << (8 * NUMBER_BYTES)) - 1;

/// Highest level: more would need more vectors than numbers.
pub(super) const LEVEL_MAX: u8 = 40;

const FORMAT: u8 = 0;
const HEAD_BYTES: usize = 40;

/// Key of a vector, and of its links.
pub(super) fn vector_key(field: FieldId, number: u64) -> [u8; 10] {
    let mut key = [0; 10];
    key[..2].copy_from_slice(&field.to_bytes());
    key[2..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Field and number of a key; `None` for the key of a head.
pub(super) fn parse_vector_key(key: &[u8]) -> Result<Option<(FieldId, u64)>, Malformed> {
    match key {
        [_, _] => Ok(None),
        [high, low, number @ ..] => {
            let number = <[u8; 8]>::try_from(number).map(u64::from_be_bytes);
            let wrong = Malformed("the key of a vector has a wrong length");
            let field = FieldId::from_bytes([*high, *low]);
            number
                .map(|number| Some((field, number)))
                .map_err(|_| wrong)
        }
        _ => Err(Malformed("the key of a vector has a wrong length")),
    }
}

/// Key of the number of a vector.
pub(super) fn hash_key(field: FieldId, hash: &VectorHash) -> [u8; 2 + HASH_BYTES] {
    let mut key = [0; 2 + HASH_BYTES];
    key[..2].copy_from_slice(&field.to_bytes());
    key[2..].copy_from_slice(hash);
    key
}

/// Key of the posting list of a vector.
pub(super) fn term_key(field: FieldId, hash: &VectorHash) -> [u8; 3 + HASH_BYTES] {
    let mut key = [0; 3 + HASH_BYTES];
    key[..2].copy_from_slice(&field.to_bytes());
    key[2] = class::VECTOR;
    key[3..].copy_from_slice(hash);
    key
}

/// A number as links have it.
pub(super) fn number_bytes(number: u64) -> [u8; NUMBER_BYTES] {
    let [a, b, c, d, e, ..] = number.to_le_bytes();
    [a, b, c, d, e]
}

/// Reads a number.
pub(super) fn parse_number(bytes: &[u8]) -> Result<u64, Malformed> {
    match bytes {
        [a, b, c, d, e] => Ok(u64::from_le_bytes([*a, *b, *c, *d, *e, 0, 0, 0])),
        _ => Err(Malformed("the number of a vector has a wrong length")),
    }
}

/// Hash and bytes of a vector.
pub(super) fn parse_vector(record: &[u8]) -> Result<(&VectorHash, &[u8]), Malformed> {
    let short = Malformed("the record of a vector is too short");
    record.split_first_chunk().ok_or(short)
}

/// What is known of the graph of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GraphHead {
    /// Highest level.
    pub(super) top: u8,
    /// Dimensions of all vectors; 0 when there are none and none are asked for.
    pub(super) dimensions: u16,
    /// Number of vectors.
    pub(super) count: u64,
    /// Number of the next one.
    pub(super) next: u64,
    /// Where walks begin; one that reaches the highest level.
    pub(super) entry: u64,
    /// A hash over all changes: graphs of equal states are equal.
    pub(super) state: u64,
}

impl GraphHead {
    pub(super) fn decode(record: &[u8]) -> Result<GraphHead, Malformed> {
        let wrong = Malformed("the head of a graph of vectors is malformed");
        let ([FORMAT, top, a, b, 0, 0, 0, 0], numbers) = record.split_first_chunk().ok_or(wrong)?
        else {
            return Err(wrong);
        };
        let ([count, next, entry, state], []) = numbers.as_chunks::<8>() else {
            return Err(wrong);
        };
        let head = GraphHead {
            top: *top,
            dimensions: u16::from_le_bytes([*a, *b]),
            count: u64::from_le_bytes(*count),
            next: u64::from_le_bytes(*next),
            entry: u64::from_le_bytes(*entry),
            state: u64::from_le_bytes(*state),
        };
        let is_sound = head.top <= LEVEL_MAX && head.count <= head.next && head.next <= NUMBER_MAX;
        is_sound.then_some(head).ok_or(wrong)
    }

    pub(super) fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut record = [0; HEAD_BYTES];
        record[0] = FORMAT;
        record[1] = self.top;
        record[2..4].copy_from_slice(&self.dimensions.to_le_bytes());
        let numbers = [self.count, self.next, self.entry, self.state];
        for (place, number) in record[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        record
    }
}

/// Links of a vector as they are stored.
#[derive(Clone, Copy)]
pub(super) struct Links<'a> {
    /// Its highest level.
    pub(super) level: u8,
    lists: &'a [u8],
}

impl<'a> Links<'a> {
    pub(super) fn parse(record: &'a [u8]) -> Result<Links<'a>, Malformed> {
        let wrong = Malformed("the links of a vector are malformed");
        let (&level, lists) = record.split_first().ok_or(wrong)?;
        let links = Links { level, lists };
        let mut rest = lists;
        for _ in 0..=level {
            (_, rest) = take_list(rest)?;
        }
        (rest.is_empty() && level <= LEVEL_MAX)
            .then_some(links)
            .ok_or(wrong)
    }

    /// Numbers linked at a level, ascending; none above its own.
    pub(super) fn at(&self, level: u8) -> impl Iterator<Item = u64> + use<'a> {
        let mut rest = self.lists;
        let mut found: &[[u8; NUMBER_BYTES]] = &[];
        for at in 0..=level {
            // `parse` has seen every list up to `self.level`.
            match take_list(rest) {
                Ok((list, behind)) if at <= self.level => (found, rest) = (list, behind),
                _ => found = &[],
            }
        }
        found
            .iter()
            .map(|[a, b, c, d, e]| u64::from_le_bytes([*a, *b, *c, *d, *e, 0, 0, 0]))
    }
}

type List<'a> = &'a [[u8; NUMBER_BYTES]];

fn take_list(bytes: &[u8]) -> Result<(List<'_>, &[u8]), Malformed> {
    let wrong = Malformed("the links of a vector end within a list");
    let (count, rest) = bytes.split_first_chunk::<2>().ok_or(wrong)?;
    let len_bytes = usize::from(u16::from_le_bytes(*count)) * NUMBER_BYTES;
    let (list, rest) = rest.split_at_checked(len_bytes).ok_or(wrong)?;
    Ok((list.as_chunks().0, rest))
}

/// Replaces `out` by the record of links, one ascending list for each level from the lowest.
pub(super) fn encode_links(levels: &[Vec<u64>], out: &mut Vec<u8>) {
    out.clear();
    out.push(u8::try_from(levels.len() - 1).unwrap_or(LEVEL_MAX));
    for list in levels {
        let count = u16::try_from(list.len()).expect("links are bounded by edges");
        out.extend_from_slice(&count.to_le_bytes());
        for number in list {
            out.extend_from_slice(&number_bytes(*number));
        }
    }
}

/// The trees of vectors of one snapshot; none are looked for when no field has vectors.
pub(crate) struct VectorTrees<'t, P: PageRead + ?Sized> {
    pub(super) vectors: Option<Tree<'t, P>>,
    pub(super) links: Option<Tree<'t, P>>,
    pub(super) numbers: Option<Tree<'t, P>>,
}

impl<'t, P: PageRead + ?Sized> VectorTrees<'t, P> {
    pub(crate) fn open<S>(store: &'t S, catalog: &Catalog) -> Result<VectorTrees<'t, P>, IndexError>
    where
        S: IndexRead<Pages = P> + ?Sized,
    {
        let has_vectors = |field: &Field| field.options().vector.is_some();
        let find = |name: &str| match catalog.fields().iter().any(has_vectors) {
            true => store.tree(name),
            false => Ok(None),
        };
        Ok(VectorTrees {
            vectors: find(VECTORS_TREE)?,
            links: find(LINKS_TREE)?,
            numbers: find(NUMBERS_TREE)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_come_back_and_cut_ones_are_refused() {
        let levels = [vec![1, 2, NUMBER_MAX], vec![], vec![7]];
        let mut record = Vec::new();
        encode_links(&levels, &mut record);
        let links = Links::parse(&record).unwrap();
        assert_eq!(links.level, 2);
        for (level, list) in (0..).zip(&levels) {
            assert_eq!(links.at(level).collect::<Vec<u64>>(), *list);
        }
        assert_eq!(links.at(3).count(), 0);
        for end in 0..record.len() {
            assert!(Links::parse(&record[..end]).is_err(), "cut at {end}");
        }
        record.push(0);
        assert!(Links::parse(&record).is_err());
    }

    #[test]
    fn heads_come_back() {
        let head = GraphHead {
            top: 3,
            dimensions: 128,
            count: 5,
            next: 9,
            entry: 4,
            state: u64::MAX,
        };
        assert_eq!(GraphHead::decode(&head.encode()), Ok(head));
        assert!(GraphHead::decode(&head.encode()[1..]).is_err());
        assert!(GraphHead::decode(&GraphHead { next: 4, ..head }.encode()).is_err());
    }
}
