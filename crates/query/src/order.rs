//! Order of results: sort values of documents, and how they compare.
//!
//! Called by `execute` (top-k and whole sorts). Documents with equal keys come in the order of
//! their numbers, so an order is total and paging through it is stable.
//!
//! Rules: null, a missing field, and (for numbers) text are no value and go to one end. Of many
//! values the smallest counts when ascending, the largest when descending.

use std::cmp::Ordering as Comparison;
use std::fmt;
use std::ops::ControlFlow;

use jackdaw_base::hash::xxh3_64;
use jackdaw_base::lowercase::lowercase;
use jackdaw_base::number::Number;
use jackdaw_base::time;
use jackdaw_document::Value;
use jackdaw_search::{Coordinate, Scores};

use crate::fields::{FieldPath, IndexField, Leaf, number_text, visit_values};
use crate::source::StoredDocument;
use crate::syntax::Ordering;
use jackdaw_model::DocumentNumber;

/// One key of an order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OrderKey {
    pub(crate) source: OrderSource,
    pub(crate) ordering: Ordering,
    pub(crate) descending: bool,
    /// Whether documents without a value come first.
    pub(crate) nulls_first: bool,
}

/// What a key orders by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OrderSource {
    Field(FieldPath),
    Id,
    /// A seed; without one each execution brings its own.
    Random(Option<u64>),
    /// How well the document matches, the best first.
    Score,
    /// How far its places are.
    Distance(Distance),
    /// What a sorter says, which is asked by `execute::custom` alone.
    Custom(Custom),
}

/// A field and the sorter that compares by it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Custom {
    pub(crate) field: FieldPath,
    /// Whether it is a field of a named index, rather than a path.
    pub(crate) is_named: bool,
    /// Name of the sorter.
    pub(crate) name: String,
}

/// The distance of places from a point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Distance {
    /// Where the places are.
    pub(crate) field: IndexField,
    pub(crate) from: Coordinate,
    /// What distances are measured in.
    pub(crate) measure: Measure,
    /// Distances are rounded up to multiples of this, in the unit of `measure`; 0 for not at all.
    pub(crate) round: f64,
    /// Which of the distances in [`Computed`] are these.
    pub(crate) slot: usize,
}

/// What is computed of all matches before they are ordered.
#[derive(Debug, Default)]
pub(crate) struct Computed {
    pub(crate) scores: Option<Scores>,
    /// For each key of distances: the nearest places of entries, by entry, ascending.
    pub(crate) distances: Vec<Vec<Nearest>>,
}

/// The place of an entry that is nearest to where a key of distances measures from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nearest {
    pub(crate) entry: u64,
    /// In the unit of the key.
    pub(crate) distance: f64,
    pub(crate) at: Coordinate,
}

/// Kilometers of a mile in distances that results show, as clients of the protocol know them.
const SHOWN_MILE_KM: f64 = 1.609_344_000_614_692_2;

/// What distances of a field of places are measured in, and circles around them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Kilometers along the sphere.
    #[default]
    Kilometers,
    /// Miles along the sphere.
    Miles,
    /// In a plane, in degrees.
    Plane,
}

impl Measure {
    pub(crate) fn between(self, a: Coordinate, b: Coordinate) -> f64 {
        match self {
            Measure::Kilometers => a.shown_distance_miles(b) * SHOWN_MILE_KM,
            Measure::Miles => a.shown_distance_miles(b),
            Measure::Plane => (a.latitude - b.latitude).hypot(a.longitude - b.longitude),
        }
    }
}

/// The nearest place of an entry, in a list by entry.
pub(crate) fn nearest_of(list: &[Nearest], number: DocumentNumber) -> Option<Nearest> {
    let at = list.binary_search_by_key(&number.0, |near| near.entry);
    at.ok().and_then(|at| list.get(at).copied())
}

impl Computed {
    /// The distance of a match, when it has a place.
    fn distance(&self, slot: usize, number: DocumentNumber) -> Option<f64> {
        let near = nearest_of(self.distances.get(slot)?, number)?;
        Some(near.distance)
    }
}

impl fmt::Display for OrderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            OrderSource::Field(path) => write!(f, "{path}")?,
            OrderSource::Id => f.write_str("id()")?,
            OrderSource::Random(_) => f.write_str("random()")?,
            OrderSource::Score => f.write_str("score()")?,
            OrderSource::Distance(distance) => write!(f, "distance of {}", distance.field.name())?,
            OrderSource::Custom(own) => write!(f, "custom({}, '{}')", own.field, own.name)?,
        }
        if self.descending {
            f.write_str(" desc")?;
        }
        Ok(())
    }
}

/// The value of one document for one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SortValue {
    None,
    Text(Box<str>),
    Number(Number),
    Rank(u64),
}

impl OrderKey {
    /// The best first.
    pub(crate) fn score() -> OrderKey {
        OrderKey {
            source: OrderSource::Score,
            ordering: Ordering::Double,
            descending: false,
            nulls_first: false,
        }
    }

    /// Whether it is the score alone, the best first.
    pub(crate) fn is_best_first(&self) -> bool {
        self.source == OrderSource::Score && !self.descending
    }

    /// The field an index can order by.
    pub(crate) fn index_field(&self) -> Option<IndexField> {
        match &self.source {
            OrderSource::Field(path) | OrderSource::Custom(Custom { field: path, .. }) => {
                Some(IndexField::plain(path.clone()))
            }
            OrderSource::Distance(distance) => Some(distance.field.clone()),
            OrderSource::Id | OrderSource::Random(_) | OrderSource::Score => None,
        }
    }

    /// The value of `document` for a field or its id.
    pub(crate) fn value(
        &self,
        document: &StoredDocument<'_>,
        seed: u64,
        computed: &Computed,
    ) -> SortValue {
        match &self.source {
            OrderSource::Id => SortValue::Text(lowercase(document.id).into()),
            OrderSource::Random(_) | OrderSource::Score | OrderSource::Distance(_) => {
                self.rank(document.number, seed, computed)
            }
            OrderSource::Field(path) | OrderSource::Custom(Custom { field: path, .. }) => {
                let mut best = SortValue::None;
                let _ = visit_values(document, path, &mut |leaf| {
                    self.keep_best(leaf, &mut best);
                    ControlFlow::Continue(())
                });
                best
            }
        }
    }

    /// The value of a document for `random` and `score`, which need no document.
    pub(crate) fn rank(&self, number: DocumentNumber, seed: u64, computed: &Computed) -> SortValue {
        match &self.source {
            OrderSource::Random(own) => SortValue::Rank(random_rank(own.unwrap_or(seed), number)),
            OrderSource::Score => {
                let scores = computed.scores.as_ref();
                let score = scores.map_or(0.0, |scores| scores.get(number.into()));
                // The bits of numbers that are not negative order as the numbers do.
                SortValue::Rank(u64::MAX - score.max(0.0).to_bits())
            }
            OrderSource::Distance(Distance { slot, round, .. }) => {
                match computed.distance(*slot, number) {
                    Some(distance) if *round > 0.0 => {
                        SortValue::Rank(((distance / round).ceil() * round).to_bits())
                    }
                    Some(distance) => SortValue::Rank(distance.to_bits()),
                    None => SortValue::None,
                }
            }
            OrderSource::Field(_) | OrderSource::Id | OrderSource::Custom(_) => SortValue::None,
        }
    }

    fn keep_best(&self, leaf: Leaf<'_>, best: &mut SortValue) {
        let value = match self.ordering {
            Ordering::Long | Ordering::Double => match leaf {
                Leaf::Number(number, _) => SortValue::Number(number),
                _ => return,
            },
            Ordering::String | Ordering::AlphaNumeric => match leaf {
                Leaf::Null => return,
                Leaf::Text(text) => SortValue::Text(lowercase(&time::canonical(text)).into()),
                Leaf::Bool(value) => SortValue::Text(value.to_string().into()),
                Leaf::Number(_, value) => SortValue::Text(lowercase(&number_text(value)).into()),
                Leaf::Object(object) => {
                    SortValue::Text(lowercase(&Value::Object(object).to_json()).into())
                }
            },
        };
        let is_better = match best {
            SortValue::None => true,
            _ => self.compare(&value, best) == Comparison::Less,
        };
        if is_better {
            *best = value;
        }
    }

    /// Which of two values comes first in the result.
    pub(crate) fn compare(&self, a: &SortValue, b: &SortValue) -> Comparison {
        let of_nulls = if self.nulls_first {
            Comparison::Less
        } else {
            Comparison::Greater
        };
        let ascending = match (a, b) {
            (SortValue::None, SortValue::None) => return Comparison::Equal,
            (SortValue::None, _) => return of_nulls,
            (_, SortValue::None) => return of_nulls.reverse(),
            (SortValue::Text(a), SortValue::Text(b)) => match self.ordering {
                Ordering::AlphaNumeric => compare_alphanumeric(a, b),
                _ => a.cmp(b),
            },
            (SortValue::Number(a), SortValue::Number(b)) => a.cmp(b),
            (SortValue::Rank(a), SortValue::Rank(b)) => a.cmp(b),
            // One key gives values of one kind.
            _ => Comparison::Equal,
        };
        if self.descending {
            ascending.reverse()
        } else {
            ascending
        }
    }
}

/// Order of two rows by all keys, then by number.
pub(crate) fn compare_rows(
    keys: &[OrderKey],
    a: (&[SortValue], DocumentNumber),
    b: (&[SortValue], DocumentNumber),
) -> Comparison {
    let values = a.0.iter().zip(b.0);
    keys.iter()
        .zip(values)
        .map(|(key, (a, b))| key.compare(a, b))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| a.1.cmp(&b.1))
}

/// Place of a document in the random order of a seed.
pub(crate) fn random_rank(seed: u64, number: DocumentNumber) -> u64 {
    xxh3_64(&number.0.to_le_bytes(), seed)
}

/// Texts in which runs of digits compare as numbers: `a9` before `a10`. Digits come before
/// everything else, a minus too, which is no part of a number here, so `-1` comes before `-2` and
/// after `10`. A text without characters is no number either. Zeros in front count for nothing.
fn compare_alphanumeric(a: &str, b: &str) -> Comparison {
    if a.is_empty() || b.is_empty() {
        let begins_with_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let digits_first = |text: &str| (!begins_with_digit(text), !text.is_empty());
        return digits_first(a).cmp(&digits_first(b));
    }
    let (mut rest_a, mut rest_b) = (a, b);
    loop {
        let (Some(first_a), Some(first_b)) = (rest_a.chars().next(), rest_b.chars().next()) else {
            return rest_a.len().cmp(&rest_b.len());
        };
        if first_a.is_ascii_digit() && first_b.is_ascii_digit() {
            let (run_a, run_b) = (digit_run(rest_a), digit_run(rest_b));
            let (value_a, value_b) = (run_a.trim_start_matches('0'), run_b.trim_start_matches('0'));
            let order = value_a
                .len()
                .cmp(&value_b.len())
                .then_with(|| value_a.cmp(value_b));
            if order.is_ne() {
                return order;
            }
            (rest_a, rest_b) = (&rest_a[run_a.len()..], &rest_b[run_b.len()..]);
        } else {
            if first_a != first_b {
                let digits_first = |letter: char| (!letter.is_ascii_digit(), letter);
                return digits_first(first_a).cmp(&digits_first(first_b));
            }
            let len = first_a.len_utf8();
            (rest_a, rest_b) = (&rest_a[len..], &rest_b[len..]);
        }
    }
}

fn digit_run(text: &str) -> &str {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    &text[..len]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_compare_as_numbers() {
        let expected = [
            "0",
            "1",
            "1-2",
            "1-10",
            "1.5",
            "1.10",
            "1e3",
            "2",
            "10",
            "",
            " -1",
            "+1",
            "+2",
            "-",
            "-0",
            "-1",
            "-1.5",
            "-1.10",
            "-2",
            "-10",
            "--1",
            "-.5",
            "-a",
            ".5",
            "_1",
            "a",
            "a9",
            "a9.5",
            "a9a",
            "a09b",
            "a10",
            "a99999999999999999999",
            "a -1",
            "a -2",
            "a-1",
            "a-2",
            "a-10",
            "b",
            "x-1y",
            "x-1z",
            "\u{e9}1",
        ];
        let mut texts = expected;
        texts.reverse();
        texts.sort_by(|a, b| compare_alphanumeric(a, b));
        assert_eq!(texts, expected);
        for equal in [["1", "01"], ["-01", "-1"], ["a001b", "a1b"]] {
            assert_eq!(compare_alphanumeric(equal[0], equal[1]), Comparison::Equal);
        }
    }
}
