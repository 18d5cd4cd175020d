//! Rows as plain values, and what conditions on them mean: no terms, no lists, no bounds.
//!
//! Called by `questions` and `images`. Scores are computed row by row, over all of them.

use std::collections::BTreeMap;

use jackdaw_base::number::Number;
use jackdaw_search::{Analyzer, Batch, EntryId, FieldOptions, IndexError};
use jackdaw_sim::Rng;

pub(super) const TEXT: &str = "Text";
pub(super) const TAG: &str = "Tag";
pub(super) const NUMBER: &str = "Number";

/// Words of texts, the first ones frequent. None is one that full text leaves out.
pub(super) const WORDS: [&str; 40] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grain", "heron", "inlet", "jetty",
    "knoll", "larch", "maple", "north", "otter", "plain", "quarz", "river", "stone", "thorn",
    "umber", "vapor", "wheat", "xenon", "yield", "zebra", "amble", "brook", "cloud", "drift",
    "elder", "flint", "grove", "hazel", "ivory", "juniper", "kestrel", "lichen", "meadow",
    "nettle",
];

const TAGS: u64 = 60;
const NUMBERS: u64 = 500;
/// Longest text but one in twenty, and of these.
const WORDS_MAX: u64 = 14;
const WORDS_MAX_LONG: u64 = 150;

pub(super) fn text_options() -> FieldOptions {
    FieldOptions::new(Analyzer::Standard)
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) words: Vec<&'static str>,
    pub(super) tag: Option<String>,
    pub(super) number: Option<i64>,
}

impl Row {
    fn random(rng: &mut Rng) -> Row {
        let most = match rng.chance(20) {
            true => WORDS_MAX_LONG,
            false => WORDS_MAX,
        };
        let count = rng.below(most + 1);
        Row {
            words: (0..count).map(|_| random_word(rng)).collect(),
            tag: (!rng.chance(8)).then(|| random_tag(rng)),
            number: (!rng.chance(8)).then(|| random_number(rng)),
        }
    }

    /// The same with one word more, or one less.
    fn edited(&self, rng: &mut Rng) -> Row {
        let mut row = self.clone();
        if rng.chance(2) || row.words.is_empty() {
            let at = rng.below_usize(row.words.len() + 1);
            row.words.insert(at, random_word(rng));
        } else {
            row.words.remove(rng.below_usize(row.words.len()));
        }
        row
    }

    pub(super) fn frequency(&self, word: &str) -> u32 {
        let found = self.words.iter().filter(|known| **known == word);
        u32::try_from(found.count()).unwrap_or(u32::MAX)
    }

    /// How often these words follow each other.
    pub(super) fn phrase_count(&self, phrase: &[&str]) -> u32 {
        let found = self.words.windows(phrase.len());
        u32::try_from(found.filter(|words| *words == phrase).count()).unwrap_or(u32::MAX)
    }
}

pub(super) fn random_word(rng: &mut Rng) -> &'static str {
    // The product makes the first words frequent.
    let most = WORDS.len() as u64;
    let at = rng.below(most) * rng.below(most) / most;
    WORDS[usize::try_from(at).unwrap_or(0)]
}

pub(super) fn random_tag(rng: &mut Rng) -> String {
    let tag = rng.below(TAGS) * rng.below(TAGS) / TAGS;
    format!("tag {}", tag * tag)
}

pub(super) fn random_number(rng: &mut Rng) -> i64 {
    i64::try_from(rng.below(NUMBERS)).unwrap_or(0)
}

/// All rows, by entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: BTreeMap<u64, Row>,
}

impl Rows {
    /// Makes so many random changes, to entries below `entries`; gives them as a batch.
    pub(super) fn change(
        &mut self,
        count: u64,
        entries: u64,
        rng: &mut Rng,
    ) -> Result<Batch, IndexError> {
        let mut batch = Batch::new();
        declare(&mut batch)?;
        for _ in 0..count {
            let entry = rng.below(entries);
            let row = match (rng.below(10), self.rows.get(&entry)) {
                (0 | 1, _) => {
                    self.rows.remove(&entry);
                    batch.delete(EntryId(entry))?;
                    continue;
                }
                (2..=5, Some(row)) => row.edited(rng),
                _ => Row::random(rng),
            };
            put(&mut batch, entry, &row)?;
            self.rows.insert(entry, row);
        }
        Ok(batch)
    }

    /// All rows as one batch.
    pub(super) fn batch(&self) -> Result<Batch, IndexError> {
        let mut batch = Batch::new();
        declare(&mut batch)?;
        for (entry, row) in &self.rows {
            put(&mut batch, *entry, row)?;
        }
        Ok(batch)
    }

    /// The entries of the rows for which `condition` holds.
    pub(super) fn entries(&self, condition: impl Fn(&Row) -> bool) -> Vec<u64> {
        let found = self.rows.iter().filter(|(_, row)| condition(row));
        found.map(|(entry, _)| *entry).collect()
    }

    /// The scores that words have in all rows that `passes`, by the formula of BM25. Each part is a
    /// word, or a phrase.
    pub(super) fn scores(
        &self,
        parts: &[Vec<&str>],
        passes: impl Fn(&Row) -> bool,
    ) -> BTreeMap<u64, f64> {
        let texts: Vec<f64> = self
            .rows
            .values()
            .filter(|row| !row.words.is_empty())
            .map(|row| rounded(row.words.len()))
            .collect();
        let average = texts.iter().sum::<f64>() / texts.len().max(1) as f64;
        let idf = |word: &str| {
            let with = self.rows.values().filter(|row| row.frequency(word) > 0);
            let with = with.count() as f64;
            (1.0 + (texts.len() as f64 - with + 0.5) / (with + 0.5)).ln()
        };
        let weights: Vec<f64> = parts
            .iter()
            .map(|part| part.iter().map(|word| idf(word)).sum())
            .collect();
        let score = |row: &Row| {
            let slowness = 1.2 * (0.25 + 0.75 * rounded(row.words.len()) / average);
            let parts = parts.iter().zip(&weights);
            let shares = parts.map(|(part, weight)| {
                let frequency = f64::from(row.phrase_count(part));
                weight * frequency / (frequency + slowness)
            });
            shares.sum()
        };
        let passing = self.rows.iter().filter(|(_, row)| passes(row));
        passing.map(|(entry, row)| (*entry, score(row))).collect()
    }
}

/// The length of a text as scores see it: four significant bits of what is above 24.
fn rounded(length: usize) -> f64 {
    let rest = length.saturating_sub(24);
    let bits = usize::BITS - rest.leading_zeros();
    let dropped = bits.saturating_sub(4);
    (length.min(24) + (rest >> dropped << dropped)) as f64
}

fn declare(batch: &mut Batch) -> Result<(), IndexError> {
    batch.field(TEXT, text_options())?;
    batch.field(TAG, Analyzer::LowercaseKeyword)?;
    batch.field(NUMBER, Analyzer::LowercaseKeyword)?;
    Ok(())
}

fn put(batch: &mut Batch, entry: u64, row: &Row) -> Result<(), IndexError> {
    let text = batch.field(TEXT, text_options())?;
    let tag = batch.field(TAG, Analyzer::LowercaseKeyword)?;
    let number = batch.field(NUMBER, Analyzer::LowercaseKeyword)?;
    let mut terms = batch.put(EntryId(entry))?;
    if !row.words.is_empty() {
        terms.text(text, &row.words.join(" "));
    }
    match &row.tag {
        Some(value) => terms.text(tag, value),
        None => terms.null(tag),
    }
    if let Some(value) = row.number {
        terms.number(number, Number::Long(value), &value.to_string());
    }
    Ok(())
}
