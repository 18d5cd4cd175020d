//! Suggestions: terms of an index that are like what somebody wrote.
//!
//! Bound by `bind::facet`, run by `execute` instead of rows. Every term of the field is compared,
//! so nothing has to be prepared for it; terms of documents that the index has not seen are
//! missing. Only terms that share a run of characters with what was written are suggested, as
//! Lucene's spell checker has it: the runs are longer in longer words.

use jackdaw_document::Value;
use jackdaw_search::{Analyzer, Direction, IndexReader, StoredTerm, TermKind, edits_between};
use jackdaw_storage::PageRead;

use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::fields::IndexField;

/// Looks at the interrupt flag once in so many terms.
const CHECK_TERMS: u64 = 1024;

/// One `suggest(...)`.
#[derive(Clone, Debug)]
pub(crate) struct Suggest {
    pub(crate) name: String,
    pub(crate) field: IndexField,
    pub(crate) terms: Vec<String>,
    pub(crate) options: SuggestOptions,
}

/// How suggestions are chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuggestOptions {
    page_size: usize,
    accuracy: f64,
    distance: Distance,
    by_popularity: bool,
}

/// How likeness is measured, between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distance {
    /// One less the edits for each character of the longer text.
    Levenshtein,
    /// Shared characters near each other, more with a common beginning.
    JaroWinkler,
    /// Shared pairs of characters.
    NGram,
}

impl Distance {
    fn likeness(self, a: &str, b: &str, accuracy: f64) -> f64 {
        match self {
            Distance::Levenshtein => {
                let longest = a.chars().count().max(b.chars().count());
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "between 0 and the length of a term"
                )]
                let most = ((1.0 - accuracy) * longest as f64) as u32;
                let edits = edits_between(a, b, most);
                edits.map_or(0.0, |edits| 1.0 - f64::from(edits) / longest.max(1) as f64)
            }
            Distance::JaroWinkler => jaro_winkler(a, b),
            Distance::NGram => shared_pairs(a, b),
        }
    }
}

impl Suggest {
    /// The most similar terms, the most similar first.
    pub(crate) fn run<P: PageRead + ?Sized>(
        &self,
        reader: &IndexReader<'_, P>,
        options: &ExecuteOptions<'_>,
    ) -> Result<Vec<String>, QueryError> {
        let Some(field) = reader.field(&self.field.name()) else {
            return Ok(Vec::new());
        };
        let analyzer = reader.field_info(field).analyzer();
        let wanted: Vec<String> = self
            .terms
            .iter()
            .map(|term| wanted_term(analyzer, term))
            .collect();
        let mut found: Vec<(f64, u64, String)> = Vec::new();
        let mut walk = reader.terms(field, TermKind::Text, Direction::Ascending)?;
        let mut visited = 0_u64;
        while let Some(term) = walk.next_term()? {
            visited += 1;
            if visited.is_multiple_of(CHECK_TERMS) {
                options.check()?;
            }
            let StoredTerm::Text(text) = term.term()? else {
                continue;
            };
            let text = text.to_text();
            let likeness = wanted
                .iter()
                .filter(|wanted| **wanted != *text && shares_run(wanted, &text))
                .map(|wanted| {
                    self.options
                        .distance
                        .likeness(wanted, &text, self.options.accuracy)
                });
            let best = likeness.fold(0.0, f64::max);
            if best > 0.0 && best >= self.options.accuracy && !wanted.iter().any(|w| *w == *text) {
                found.push((best, term.count(), text.into_owned()));
            }
        }
        found.sort_by(|a, b| {
            let by_likeness = b.0.total_cmp(&a.0);
            let by_count = b.1.cmp(&a.1);
            let order = match self.options.by_popularity {
                true => by_count.then(by_likeness),
                false => by_likeness.then(by_count),
            };
            order.then_with(|| a.2.cmp(&b.2))
        });
        found.truncate(self.options.page_size);
        Ok(found.into_iter().map(|(_, _, text)| text).collect())
    }
}

/// What `term` is in an index. Words are reduced as the field reduces them (`perl's` is `perl`);
/// several stay one text.
fn wanted_term(analyzer: Analyzer, term: &str) -> String {
    let mut tokens: Vec<String> = Vec::new();
    if analyzer != Analyzer::NGram {
        analyzer.tokens(term, 0, &mut |token, _| tokens.push(token.to_owned()));
    }
    match tokens.len() {
        1 => tokens.swap_remove(0),
        _ => analyzer.fold(term).into_owned(),
    }
}

/// Reads options from an object, whatever the case of its names.
pub(crate) fn read_suggest_options(options: Value<'_>) -> Result<SuggestOptions, QueryError> {
    let mut read = SuggestOptions {
        page_size: 15,
        accuracy: 0.5,
        distance: Distance::Levenshtein,
        by_popularity: false,
    };
    let Some(object) = options.as_object() else {
        return Ok(read);
    };
    for (name, value) in object.iter() {
        if matches!(value, Value::Null) {
            continue;
        }
        let wrong = || {
            QueryError::invalid(format!(
                "{name} of suggestion options cannot be {}",
                value.to_json()
            ))
        };
        match name.to_ascii_lowercase().as_str() {
            "pagesize" => {
                let count = value.as_i64().and_then(|count| usize::try_from(count).ok());
                read.page_size = count.ok_or_else(wrong)?;
            }
            "accuracy" => {
                let accuracy = crate::fields::to_number(value).map(|number| number.to_f64());
                let accuracy = accuracy.filter(|accuracy| (0.0..=1.0).contains(accuracy));
                read.accuracy = accuracy.ok_or_else(wrong)?;
            }
            "distance" => {
                read.distance = match value.as_str().ok_or_else(wrong)? {
                    "None" | "Default" | "Levenshtein" => Distance::Levenshtein,
                    "JaroWinkler" => Distance::JaroWinkler,
                    "NGram" => Distance::NGram,
                    _ => return Err(wrong()),
                };
            }
            "sortmode" => {
                read.by_popularity = match value.as_str().ok_or_else(wrong)? {
                    "None" => false,
                    "Popularity" => true,
                    _ => return Err(wrong()),
                };
            }
            _ => {}
        }
    }
    Ok(read)
}

/// Whether two words have a run of characters in common, of a length that both have runs of.
fn shares_run(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (lengths, others) = (run_lengths(a.len()), run_lengths(b.len()));
    let mut lengths = lengths.filter(|length| others.contains(length));
    lengths.any(|length| {
        a.windows(length)
            .any(|run| b.windows(length).any(|other| other == run))
    })
}

/// Lengths of the runs that words of so many characters are compared by.
fn run_lengths(chars: usize) -> std::ops::RangeInclusive<usize> {
    match chars {
        0..=4 => 1..=2,
        5 => 2..=3,
        _ => 3..=4,
    }
}

fn jaro_winkler(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    let mut taken = vec![false; b.len()];
    let mut shared_a = Vec::new();
    for (at, c) in a.iter().enumerate() {
        let near = at.saturating_sub(reach)..(at + reach + 1).min(b.len());
        if let Some(other) = near
            .into_iter()
            .find(|other| !taken[*other] && b[*other] == *c)
        {
            taken[other] = true;
            shared_a.push(*c);
        }
    }
    let shared_b = b.iter().zip(&taken).filter(|(_, taken)| **taken);
    let moved = shared_a.iter().zip(shared_b).filter(|(a, (b, _))| a != b);
    let moved = moved.count() as f64 / 2.0;
    let shared = shared_a.len() as f64;
    if shared == 0.0 {
        return 0.0;
    }
    let jaro =
        (shared / a.len() as f64 + shared / b.len() as f64 + (shared - moved) / shared) / 3.0;
    let beginning = a.iter().zip(&b).take(4).take_while(|(a, b)| a == b).count();
    jaro + beginning as f64 * 0.1 * (1.0 - jaro)
}

/// Twice the shared pairs of characters over all of them.
fn shared_pairs(a: &str, b: &str) -> f64 {
    let pairs =
        |text: &str| -> Vec<(char, char)> { text.chars().zip(text.chars().skip(1)).collect() };
    let (a, mut b) = (pairs(a), pairs(b));
    let all = a.len() + b.len();
    let mut shared = 0;
    for pair in a {
        if let Some(at) = b.iter().position(|other| *other == pair) {
            b.swap_remove(at);
            shared += 1;
        }
    }
    match all {
        0 => 0.0,
        all => 2.0 * f64::from(shared) / all as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_share_a_run_are_candidates() {
        for (a, b, shares) in [
            ("oern", "oren", true),
            ("oern", "john steinbeck", false),
            ("johne", "jack", false),
            ("johne", "johnson", true),
            ("davi", "jack", true),
            ("gama", "gamma", true),
            ("", "a", false),
        ] {
            assert_eq!(shares_run(a, b), shares, "{a} {b}");
        }
    }

    #[test]
    fn likeness_is_between_nothing_and_all() {
        for (distance, a, b, expected) in [
            (Distance::Levenshtein, "owen", "oren", 0.75),
            (Distance::Levenshtein, "gama", "gamma", 0.8),
            (Distance::Levenshtein, "abc", "xyz", 0.0),
            (Distance::JaroWinkler, "martha", "marhta", 0.961),
            (Distance::JaroWinkler, "abc", "xyz", 0.0),
            (Distance::NGram, "night", "nacht", 0.25),
        ] {
            let found = distance.likeness(a, b, 0.5);
            assert!(
                (found - expected).abs() < 0.001,
                "{distance:?} {a} {b}: {found}"
            );
        }
    }
}
