//! Random changes of an index in memory, and random questions whose answers are known.
//!
//! Called by the program and by the fast suite.

use std::ops::Bound;
use std::sync::Arc;

use jackdaw_base::number::Number;
use jackdaw_search::{
    Budget, Column, Columns, Direction, EntryId, EntrySet, FieldId, IndexError, IndexReader,
    IndexWriter, MemoryStore, Scores, Term, TermKind, TextQuery, TextStatistics,
};
use jackdaw_sim::Rng;
use jackdaw_storage::MemoryPages;

use super::rows::{
    NUMBER, Row, Rows, TAG, TEXT, WORDS, random_number, random_tag, random_word, text_options,
};

/// Batches of one seed.
const BATCHES: u64 = 12;
/// Entries of the rows: frequent words have dozens of chunks.
const ENTRIES: u64 = 4_000;
/// Questions after each batch.
const QUESTIONS: u64 = 250;
/// Scores are added up in another order than here.
const TOLERANCE: f64 = 1e-9;

/// What one seed did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuestionsReport {
    /// Rows put and deleted.
    pub changes: u64,
    /// Questions answered.
    pub questions: u64,
}

type Reader<'t> = IndexReader<'t, MemoryPages>;

/// Runs the changes and questions of `seed`: so many batches at most.
///
/// # Errors
/// The first answer that is wrong.
pub fn run(seed: u64, batches_max: u64) -> Result<QuestionsReport, String> {
    let mut rng = Rng::new(seed);
    let (mut store, mut writer) = (MemoryStore::new(), IndexWriter::new());
    let mut rows = Rows::default();
    let mut report = QuestionsReport::default();
    for batch in 0..batches_max.min(BATCHES) {
        let count = match batch {
            0 => ENTRIES,
            _ => [1, 30, 300, 1_500][rng.below_usize(4)],
        };
        report.changes += count;
        let changed = rows.change(count, ENTRIES, &mut rng);
        let change = changed.and_then(|batch| writer.apply(&mut store, &batch, None));
        change.map_err(|error| error.to_string())?;
        let reader = IndexReader::open(&store).map_err(|error| error.to_string())?;
        let reader = reader.ok_or("there is no index")?;
        let found = reader.verify().map_err(|error| error.to_string())?;
        if let Some(damage) = found.damages.first() {
            return Err(damage.to_string());
        }
        let columns = Columns::new(1 << 30);
        let asked = Asked {
            reader: &reader,
            rows: &rows,
            columns: &columns,
        };
        for _ in 0..QUESTIONS {
            let question = Question::random(&rows, &mut rng);
            report.questions += 1;
            match asked.check(&question) {
                Ok(None) => {}
                Ok(Some(what)) => return Err(format!("batch {batch}, {question:?}: {what}")),
                Err(error) => return Err(format!("batch {batch}, {question:?}: {error}")),
            }
        }
    }
    Ok(report)
}

/// One question.
#[derive(Clone, Debug)]
enum Question {
    Tag(String),
    TagPrefix(String),
    TagPart(String),
    Range(i64, i64),
    /// The first so many of a range, by number.
    Ordered(i64, i64, usize, Direction),
    Words(Words, usize),
}

/// A condition on words.
#[derive(Clone, Debug)]
enum Words {
    Any(Vec<&'static str>),
    All(Vec<&'static str>),
    Phrase(Vec<&'static str>),
    Prefix(&'static str),
}

impl Question {
    fn random(rows: &Rows, rng: &mut Rng) -> Question {
        let wanted = *rng.pick(&[1, 3, 10, 10, 200, 10_000]);
        let words = |rng: &mut Rng, most| -> Vec<&'static str> {
            (0..=rng.below(most)).map(|_| random_word(rng)).collect()
        };
        match rng.below(16) {
            0 => Question::Tag(random_tag(rng)),
            1 => Question::TagPrefix(random_tag(rng)[..5].to_owned()),
            2 => Question::TagPart(rng.below(30).to_string()),
            3 => Question::Range(random_number(rng), random_number(rng)),
            4 | 5 => {
                let direction = *rng.pick(&[Direction::Ascending, Direction::Descending]);
                Question::Ordered(random_number(rng), random_number(rng), wanted, direction)
            }
            6..=9 => Question::Words(Words::Any(words(rng, 5)), wanted),
            10..=12 => Question::Words(Words::All(words(rng, 3)), wanted),
            13 | 14 => Question::Words(Words::Phrase(phrase(rows, rng)), wanted),
            _ => Question::Words(Words::Prefix(&random_word(rng)[..2]), wanted),
        }
    }
}

/// Two or three words that mostly stand beside each other somewhere.
fn phrase(rows: &Rows, rng: &mut Rng) -> Vec<&'static str> {
    let len = 2 + rng.below_usize(2);
    let found = rows.rows.range(rng.below(ENTRIES)..);
    let mut found = found.filter(|(_, row)| row.words.len() > len);
    match found.next() {
        Some((_, row)) if !rng.chance(4) => {
            let at = rng.below_usize(row.words.len() - len);
            row.words[at..at + len].to_vec()
        }
        _ => (0..len).map(|_| *rng.pick(&WORDS)).collect(),
    }
}

impl Words {
    fn query(&self) -> Result<TextQuery, String> {
        let (text, all) = match self {
            Words::Any(words) => (words.join(" "), false),
            Words::All(words) => (words.join(" "), true),
            Words::Phrase(words) => (format!("\"{}\"", words.join(" ")), false),
            Words::Prefix(prefix) => (format!("{prefix}*"), false),
        };
        TextQuery::search(&text, all, text_options()).map_err(|error| error.to_string())
    }

    fn holds(&self, row: &Row) -> bool {
        let has = |word: &&str| row.frequency(word) > 0;
        match self {
            Words::Any(words) => words.iter().any(has),
            Words::All(words) => words.iter().all(has),
            Words::Phrase(words) => row.phrase_count(words) > 0,
            Words::Prefix(prefix) => row.words.iter().any(|word| word.starts_with(prefix)),
        }
    }

    /// What scores are the sum of.
    fn parts(&self) -> Vec<Vec<&'static str>> {
        match self {
            Words::Any(words) | Words::All(words) => words.iter().map(|word| vec![*word]).collect(),
            Words::Phrase(words) => vec![words.clone()],
            Words::Prefix(_) => Vec::new(),
        }
    }
}

struct Asked<'a, 't> {
    reader: &'a Reader<'t>,
    rows: &'a Rows,
    columns: &'a Columns,
}

/// What is wrong with an answer, if anything.
type Verdict = Result<Option<String>, IndexError>;

fn same(found: &EntrySet, expected: &[u64]) -> Option<String> {
    let found: Vec<u64> = found.iter().map(|entry| entry.0).collect();
    let is_same = found == expected;
    (!is_same).then(|| format!("{} entries instead of {}", found.len(), expected.len()))
}

impl Asked<'_, '_> {
    fn field(&self, name: &str) -> FieldId {
        self.reader
            .field(name)
            .expect("the first batch declares all fields")
    }

    fn check(&self, question: &Question) -> Verdict {
        let budget = &mut Budget::unlimited();
        let tagged = |condition: &dyn Fn(&str) -> bool| {
            self.rows
                .entries(|row| row.tag.as_deref().is_some_and(condition))
        };
        match question {
            Question::Tag(tag) => {
                let found = self.reader.term(self.field(TAG), Term::Text(tag))?;
                let count = self.reader.count(self.field(TAG), Term::Text(tag))?;
                let expected = tagged(&|known| known == tag);
                if count != expected.len() as u64 {
                    return Ok(Some(format!("a count of {count}")));
                }
                Ok(same(found.certain(), &expected))
            }
            Question::TagPrefix(prefix) => {
                let found = self.reader.prefix(self.field(TAG), prefix, budget)?;
                let expected = tagged(&|known| known.starts_with(prefix));
                Ok(same(found.certain(), &expected))
            }
            Question::TagPart(part) => {
                let found = self.reader.contains(self.field(TAG), part, budget)?;
                let expected = tagged(&|known| known.contains(part));
                Ok(same(found.certain(), &expected))
            }
            Question::Range(low, high) => {
                let (found, expected) = (self.range(*low, *high)?, self.numbered(*low, *high));
                if let Some(what) = same(&found, &expected) {
                    return Ok(Some(what));
                }
                self.check_range_of_column(*low, *high, &expected)
            }
            Question::Ordered(low, high, wanted, direction) => {
                self.check_order(*low, *high, *wanted, *direction)
            }
            Question::Words(words, wanted) => match words.query() {
                Ok(query) => self.check_words(words, &query, *wanted),
                Err(error) => Ok(Some(error)),
            },
        }
    }

    fn range(&self, low: i64, high: i64) -> Result<EntrySet, IndexError> {
        let (low, high) = (Number::Long(low), Number::Long(high));
        let (low, high) = (Bound::Included(low), Bound::Excluded(high));
        let budget = &mut Budget::unlimited();
        let found = self
            .reader
            .number_range(self.field(NUMBER), low, high, budget)?;
        Ok(found.certain().clone())
    }

    fn numbered(&self, low: i64, high: i64) -> Vec<u64> {
        let is_within = |number: i64| low <= number && number < high;
        self.rows.entries(|row| row.number.is_some_and(is_within))
    }

    fn column(&self) -> Result<Option<Arc<Column>>, IndexError> {
        let key = (self.field(NUMBER), TermKind::Number);
        let mut column = None;
        let dear = self.reader.entry_count();
        // A column is made when it is asked for again.
        for _ in 0..3 {
            let budget = &mut Budget::unlimited();
            column = self.columns.column(self.reader, 1, key, dear, budget)?;
        }
        Ok(column)
    }

    fn check_range_of_column(&self, low: i64, high: i64, expected: &[u64]) -> Verdict {
        let Some(column) = self.column()? else {
            return Ok(Some("no column".to_owned()));
        };
        let (low, high) = (Number::Long(low), Number::Long(high));
        let (low, high) = (Bound::Included(low), Bound::Excluded(high));
        let (reader, field) = (self.reader, self.field(NUMBER));
        let count = reader.number_count_by(&column, field, low, high)?;
        if count != Some(expected.len() as u64) {
            return Ok(Some(format!("a count by column of {count:?}")));
        }
        match reader.number_range_by(&column, field, low, high)? {
            Some(found) => Ok(same(&found, expected)),
            // A walk is shorter.
            None if expected.len() * 16 < self.rows.rows.len() => Ok(None),
            None => Ok(Some("a column that is not used".to_owned())),
        }
    }

    fn check_order(&self, low: i64, high: i64, wanted: usize, direction: Direction) -> Verdict {
        let set = self.range(low, high)?;
        let Some(column) = self.column()? else {
            return Ok(Some("no column".to_owned()));
        };
        let found = column.first_of(&set, wanted, direction, false);
        let mut expected = self.numbered(low, high);
        let number = |entry: &u64| self.rows.rows[entry].number;
        match direction {
            Direction::Ascending => expected.sort_by_key(number),
            Direction::Descending => expected.sort_by_key(|entry| std::cmp::Reverse(number(entry))),
        }
        expected.truncate(wanted);
        let is_same = found.iter().map(|entry| entry.0).eq(expected);
        Ok((!is_same).then(|| "another order".to_owned()))
    }

    fn check_words(&self, words: &Words, query: &TextQuery, wanted: usize) -> Verdict {
        let (reader, field) = (self.reader, self.field(TEXT));
        let budget = &mut Budget::unlimited();
        let found = reader.text(field, query, budget)?;
        let expected = self.rows.entries(|row| words.holds(row));
        if let Some(what) = same(found.certain(), &expected) {
            return Ok(Some(what));
        }
        let (mut statistics, none) = (TextStatistics::default(), EntrySet::new());
        reader.add_statistics(field, query, &none, &mut statistics)?;
        let how = (wanted, 1.0);
        let Some(ranked) = reader.rank(field, query, &statistics, &none, how, budget)? else {
            let is_prefix = matches!(words, Words::Prefix(_));
            return Ok((!is_prefix).then(|| "not ranked".to_owned()));
        };
        let count = reader.count_text(field, query)?;
        if count.is_some_and(|count| count != ranked.total) {
            return Ok(Some(format!("a count of {count:?}")));
        }
        if ranked.total != expected.len() as u64 {
            return Ok(Some(format!("a total of {}", ranked.total)));
        }
        // Everything scored by the index: the same numbers, bit by bit.
        let mut scores = Scores::new(found.certain());
        let within = found.certain();
        reader.add_scores(field, query, &statistics, within, 1.0, budget, &mut scores)?;
        if scores.best(wanted) != ranked.best {
            return Ok(Some("other rows than when all are scored".to_owned()));
        }
        let exhaustive = self.rows.scores(&words.parts(), |row| words.holds(row));
        Ok(differs(&ranked.best, &exhaustive))
    }
}

/// How the best differ from those of all scores.
fn differs(
    best: &[(EntryId, f64)],
    exhaustive: &std::collections::BTreeMap<u64, f64>,
) -> Option<String> {
    let mut expected: Vec<f64> = exhaustive.values().copied().collect();
    expected.sort_by(|a, b| b.total_cmp(a));
    for ((entry, score), expected) in best.iter().zip(expected) {
        let own = exhaustive.get(&entry.0).copied().unwrap_or(f64::NAN);
        let is_right = (score - own).abs() < TOLERANCE && (score - expected).abs() < TOLERANCE;
        if !is_right {
            return Some(format!(
                "entry {} has {score}, {own} by its row, {expected} is due",
                entry.0
            ));
        }
    }
    let is_in_order =
        |a: &(EntryId, f64), b: &(EntryId, f64)| a.1 > b.1 || (a.1 == b.1 && a.0 < b.0);
    (!best.is_sorted_by(is_in_order)).then(|| "the best are out of order".to_owned())
}
