//! What is proven: an index answers every kind of query as a naive model does, after any sequence
//! of batches, and `verify` finds it sound. How: random entries over a small universe of values
//! (so that terms are shared, lists pass through all tiers, and keys meet), random puts, changes
//! and deletions, and after every batch all queries over the universe against the model, which
//! keeps plain values and knows nothing of terms. A failure prints the seed;
//! `JACKDAW_SEED=<seed> cargo test -p jackdaw-search --test model` replays it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use common::{Draw, Known, Model, Value, universe};
use jackdaw_base::number::Number;
use jackdaw_search::{
    Analyzer, Batch, Budget, Direction, EntryId, EntrySet, IndexReader, IndexWriter, Matches,
    MemoryStore, StoredTerm, Term, TermKind,
};
use jackdaw_sim::Rng;
use jackdaw_storage::MemoryPages;

type Reader<'t> = IndexReader<'t, MemoryPages>;

const FIELDS: [(&str, Analyzer); 3] = [
    ("Artist", Analyzer::LowercaseKeyword),
    ("Tags", Analyzer::LowercaseKeyword),
    ("exact(Artist)", Analyzer::Keyword),
];

fn seeds() -> Vec<u64> {
    match std::env::var("JACKDAW_SEED") {
        Ok(seed) => vec![seed.parse().expect("JACKDAW_SEED is a number")],
        Err(_) => vec![1, 2],
    }
}

#[test]
fn answers_are_those_of_the_model() {
    for seed in seeds() {
        println!("JACKDAW_SEED={seed}");
        let mut random = Rng::new(seed);
        let (mut store, mut writer, mut model) =
            (MemoryStore::new(), IndexWriter::new(), Model::default());
        for round in 0..6 {
            let batch = random_batch(&mut random, &mut model, round);
            writer.apply(&mut store, &batch, Some(round + 1)).unwrap();
            let reader = IndexReader::open(&store).unwrap().unwrap();
            assert_eq!(reader.indexed_up_to(), round + 1);
            check_everything(&reader, &model, &mut random, seed);
        }
        delete_all(&mut store, &mut writer, &mut model, &mut random, seed);
    }
}

/// Applies some random changes to the model and gives them as a batch.
fn random_batch(random: &mut Rng, model: &mut Model, round: u64) -> Batch {
    let mut batch = Batch::new();
    let slots = FIELDS.map(|(name, analyzer)| batch.field(name, analyzer).unwrap());
    let changes = [400, 3_500, 300, 30, 1, 700][usize::try_from(round).unwrap()];
    for _ in 0..changes {
        let entry = random.below(3_000) + if random.below(500) == 0 { 1 << 34 } else { 0 };
        if random.below(4) == 0 {
            batch.delete(EntryId(entry)).unwrap();
            model.entries.remove(&entry);
            continue;
        }
        let fields: Vec<Vec<&'static Known>> = FIELDS.iter().map(|_| random.values()).collect();
        let mut terms = batch.put(EntryId(entry)).unwrap();
        for (slot, values) in slots.iter().zip(&fields) {
            for value in values {
                match &value.value {
                    Value::Null => terms.null(*slot),
                    Value::Boolean(value) => terms.boolean(*slot, *value),
                    Value::Text(text) => terms.text(*slot, text),
                    Value::Number(number, text) => terms.number(*slot, *number, text),
                }
            }
        }
        model.entries.insert(entry, fields);
    }
    batch
}

fn delete_all(
    store: &mut MemoryStore,
    writer: &mut IndexWriter,
    model: &mut Model,
    random: &mut Rng,
    seed: u64,
) {
    let mut batch = Batch::new();
    for &entry in model.entries.keys() {
        batch.delete(EntryId(entry)).unwrap();
    }
    let applied = writer.apply(store, &batch, None).unwrap();
    assert_eq!(applied.removed, model.entries.len() as u64, "seed {seed}");
    model.entries.clear();
    let reader = IndexReader::open(store).unwrap().unwrap();
    assert_eq!(reader.indexed_up_to(), 6);
    check_everything(&reader, model, random, seed);
    for (name, root) in store.roots() {
        assert!(
            name == "index" || root.entry_count() == 0,
            "seed {seed}: tree {name}"
        );
    }
}

fn check_everything(reader: &Reader<'_>, model: &Model, random: &mut Rng, seed: u64) {
    let random = RefCell::new(random);
    let report = reader.verify().unwrap();
    assert_eq!(report.damages, [], "seed {seed}");
    assert_eq!(report.entries, model.entries.len() as u64, "seed {seed}");
    assert_eq!(reader.entry_count(), report.entries, "seed {seed}");
    assert_eq!(
        numbers(&reader.all().unwrap()),
        model.entries.keys().copied().collect()
    );
    for (position, (name, analyzer)) in FIELDS.iter().enumerate() {
        let check = FieldCheck {
            reader,
            model,
            field: reader.field(name).unwrap(),
            position,
            random: &random,
            fold: *analyzer == Analyzer::LowercaseKeyword,
            context: format!("seed {seed}, field {name}"),
        };
        check.presence();
        check.equality();
        check.many_terms();
        check.text_conditions();
        check.ranges();
        check.term_walks();
        check.entry_terms();
    }
}

fn numbers(set: &EntrySet) -> BTreeSet<u64> {
    set.iter().map(|entry| entry.0).collect()
}

struct FieldCheck<'a, 't> {
    reader: &'a Reader<'t>,
    model: &'a Model,
    field: jackdaw_search::FieldId,
    position: usize,
    random: &'a RefCell<&'a mut Rng>,
    fold: bool,
    context: String,
}

impl FieldCheck<'_, '_> {
    /// Entries with a value of the field for which `condition` holds.
    fn expected(&self, condition: impl Fn(&Known) -> bool) -> BTreeSet<u64> {
        let holds =
            |fields: &[Vec<&Known>]| fields[self.position].iter().any(|known| condition(known));
        self.model
            .entries
            .iter()
            .filter(|(_, f)| holds(f))
            .map(|(&entry, _)| entry)
            .collect()
    }

    /// Entries with a text for which `condition` holds.
    fn expected_text(&self, condition: impl Fn(&str) -> bool) -> BTreeSet<u64> {
        self.expected(|value| value.text(self.fold).is_some_and(&condition))
    }

    fn expected_number(&self, condition: impl Fn(Number) -> bool) -> BTreeSet<u64> {
        self.expected(|value| value.value.number().is_some_and(&condition))
    }

    fn pick<'v, T>(&self, values: &'v [T]) -> &'v T {
        self.random.borrow_mut().pick(values)
    }

    fn fold(&self, text: &str) -> String {
        common::fold(text, self.fold)
    }

    /// The answer must be exact unless long texts are in play, and right in any case.
    fn same(&self, matches: &Matches, expected: &BTreeSet<u64>, what: &str, may_doubt: bool) {
        let context = format!("{}: {what}", self.context);
        assert!(may_doubt || matches.is_exact(), "{context} is not exact");
        let (certain, possible) = (numbers(matches.certain()), numbers(&matches.possible()));
        assert!(certain.is_subset(expected), "{context}: too much");
        assert!(expected.is_subset(&possible), "{context}: too little");
        if matches.is_exact() {
            assert_eq!(&certain, expected, "{context}");
        }
    }

    fn presence(&self) {
        let exists = self.expected(|_| true);
        assert_eq!(
            numbers(&self.reader.exists(self.field).unwrap()),
            exists,
            "{}",
            self.context
        );
        assert_eq!(
            self.reader.exists_count(self.field).unwrap(),
            exists.len() as u64
        );
        let nulls = self.expected(|value| value.value.is_null());
        assert_eq!(
            numbers(&self.reader.null(self.field).unwrap()),
            nulls,
            "{}",
            self.context
        );
        let missing: BTreeSet<u64> = self
            .model
            .entries
            .keys()
            .copied()
            .filter(|entry| !exists.contains(entry))
            .collect();
        assert_eq!(
            numbers(&self.reader.missing(self.field).unwrap()),
            missing,
            "{}",
            self.context
        );
    }

    fn equality(&self) {
        let few: EntrySet =
            EntrySet::from_ascending(self.model.entries.keys().step_by(97).map(|&e| EntryId(e)));
        for _ in 0..30 {
            let known = self.pick(universe());
            let value = &known.value;
            let text = known.text(self.fold).unwrap_or_default();
            let (term, expected) = match value {
                Value::Null => (Term::Null, self.expected(|v| v.value.is_null())),
                Value::Number(number, _) => (
                    Term::Number(*number),
                    self.expected_number(|n| n == *number),
                ),
                Value::Boolean(value) => (Term::Boolean(*value), self.expected_text(|t| t == text)),
                Value::Text(raw) => (Term::Text(raw), self.expected_text(|t| t == text)),
            };
            let may_doubt = value.is_long();
            let matches = self.reader.term(self.field, term).unwrap();
            self.same(&matches, &expected, &format!("= {value:?}"), may_doubt);
            let count = self.reader.count(self.field, term).unwrap();
            assert_eq!(count, matches.possible().len());
            let within = self.reader.term_within(self.field, term, &few).unwrap();
            assert_eq!(
                within.possible(),
                matches.possible().and(&few),
                "{}",
                self.context
            );
            let walked: Vec<EntryId> = self
                .reader
                .postings(self.field, term)
                .unwrap()
                .map(|entry| entry.unwrap())
                .collect();
            assert!(matches.possible().iter().eq(walked), "{}", self.context);
        }
    }

    fn many_terms(&self) {
        let texts = ["Pearl Jam", "\u{c4}RGER", "true", "12.5", "no such text"];
        let folded = texts.map(|text| self.fold(text));
        let any = self
            .reader
            .any_of(self.field, texts.map(Term::Text))
            .unwrap();
        let expected = self.expected_text(|text| folded.iter().any(|folded| folded == text));
        self.same(&any, &expected, "in", false);
        let none = self.reader.any_of(self.field, []).unwrap();
        self.same(&none, &BTreeSet::new(), "in ()", false);
        let pair = ["Pearl Jam", "true"];
        let all = self
            .reader
            .all_of(self.field, pair.map(Term::Text))
            .unwrap();
        let each = pair.map(|text| self.expected_text(|t| t == self.fold(text)));
        let expected = each[0].intersection(&each[1]).copied().collect();
        self.same(&all, &expected, "all in", false);
        let complement = self.reader.complement(&any).unwrap();
        assert_eq!(
            complement.certain().len() + any.certain().len(),
            self.reader.entry_count(),
            "{}",
            self.context
        );
    }

    fn text_conditions(&self) {
        let long = common::long_text("a");
        for part in [
            "",
            "pea",
            "PEARL ",
            "jam",
            "\u{c4}r",
            "1",
            "e",
            "xyz",
            &long,
            &long[..504],
        ] {
            let folded = self.fold(part);
            let mut budget = Budget::unlimited();
            let what = format!("{:.10}", part);
            let prefix = self.reader.prefix(self.field, part, &mut budget).unwrap();
            let expected = self.expected_text(|text| text.starts_with(&folded));
            self.same(
                &prefix,
                &expected,
                &format!("startsWith {what}"),
                part.len() > 504,
            );
            let suffix = self.reader.suffix(self.field, part, &mut budget).unwrap();
            let expected = self.expected_text(|text| text.ends_with(&folded));
            self.same(&suffix, &expected, &format!("endsWith {what}"), true);
            let contains = self.reader.contains(self.field, part, &mut budget).unwrap();
            let expected = self.expected_text(|text| text.contains(&folded));
            self.same(&contains, &expected, &format!("contains {what}"), true);
            assert!(budget.visited() <= 3 * self.reader.field_info(self.field).term_count());
        }
    }

    fn ranges(&self) {
        let long = common::long_text("b");
        let texts = [
            "",
            "Pearl",
            "pearl jam",
            "12",
            "zz",
            "\u{e4}",
            &long,
            &long[..504],
        ];
        for _ in 0..8 {
            let (low, high) = (*self.pick(&texts), *self.pick(&texts));
            self.text_range(low, high);
        }
        let values: Vec<Number> = universe().iter().filter_map(|v| v.value.number()).collect();
        for _ in 0..10 {
            let (low, high) = (*self.pick(&values), *self.pick(&values));
            let mut budget = Budget::unlimited();
            let (excluded, included) = (Bound::Excluded(low), Bound::Included(high));
            let matches = self
                .reader
                .number_range(self.field, excluded, included, &mut budget)
                .unwrap();
            let expected = self.expected_number(|n| low < n && n <= high);
            self.same(
                &matches,
                &expected,
                &format!("{low:?} < n <= {high:?}"),
                false,
            );
            let (included, unbounded) = (Bound::Included(low), Bound::Unbounded);
            let matches = self
                .reader
                .number_range(self.field, included, unbounded, &mut budget)
                .unwrap();
            let expected = self.expected_number(|n| low <= n);
            self.same(&matches, &expected, &format!("{low:?} <= n"), false);
        }
    }

    fn text_range(&self, low: &str, high: &str) {
        let (folded_low, folded_high) = (self.fold(low), self.fold(high));
        let may_doubt = low.len() > 504 || high.len() > 504;
        let what = format!("{low:.10} to {high:.10}");
        let mut budget = Budget::unlimited();
        let (field, reader) = (self.field, self.reader);
        let (included, excluded) = (Bound::Included(low), Bound::Excluded(high));
        let matches = reader
            .text_range(field, included, excluded, &mut budget)
            .unwrap();
        let expected = self.expected_text(|t| *folded_low <= *t && *t < *folded_high);
        self.same(&matches, &expected, &what, may_doubt);
        let (excluded, included) = (Bound::Excluded(low), Bound::Included(high));
        let matches = reader
            .text_range(field, excluded, included, &mut budget)
            .unwrap();
        let expected = self.expected_text(|t| *folded_low < *t && *t <= *folded_high);
        self.same(&matches, &expected, &what, may_doubt);
        let matches = reader
            .text_range(field, excluded, Bound::Unbounded, &mut budget)
            .unwrap();
        let expected = self.expected_text(|t| *folded_low < *t);
        self.same(&matches, &expected, &what, may_doubt);
    }

    fn term_walks(&self) {
        // Long texts differ behind what is kept of them, so count them by what is kept.
        let mut texts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        let mut values: BTreeMap<Number, u64> = BTreeMap::new();
        for fields in self.model.entries.values() {
            let distinct: BTreeSet<&str> = fields[self.position]
                .iter()
                .filter_map(|v| v.text(self.fold))
                .collect();
            for text in distinct {
                let kept = text.as_bytes()[..text.len().min(504)].to_vec();
                *texts.entry(kept).or_default() += 1;
            }
            let distinct: BTreeSet<Number> = fields[self.position]
                .iter()
                .filter_map(|v| v.value.number())
                .collect();
            for number in distinct {
                *values.entry(number).or_default() += 1;
            }
        }
        let walked = self.walk(TermKind::Text, Direction::Ascending);
        let mut found: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for (term, count) in &walked {
            let Walked::Text(bytes) = term else {
                panic!("{}: {term:?}", self.context)
            };
            *found.entry(bytes.clone()).or_default() += count;
        }
        assert_eq!(found, texts, "{}", self.context);
        assert!(walked.is_sorted_by_key(|(term, _)| match term {
            Walked::Text(bytes) => bytes.clone(),
            _ => panic!("{}: {term:?}", self.context),
        }));
        let numbers = self.walk(TermKind::Number, Direction::Ascending);
        let expected: Vec<(Walked, u64)> = values
            .into_iter()
            .map(|(number, count)| (Walked::Number(number), count))
            .collect();
        assert_eq!(numbers, expected, "{}", self.context);
        let mut all = self.walk(TermKind::All, Direction::Descending);
        assert_eq!(
            all.len() as u64,
            self.reader.field_info(self.field).term_count()
        );
        all.reverse();
        let nulls = all.iter().filter(|(term, _)| *term == Walked::Null).count();
        assert_eq!(all[nulls..], [walked, numbers].concat(), "{}", self.context);
    }

    fn walk(&self, kind: TermKind, direction: Direction) -> Vec<(Walked, u64)> {
        let mut walk = self.reader.terms(self.field, kind, direction).unwrap();
        let mut out = Vec::new();
        while let Some(term) = walk.next_term().unwrap() {
            let walked = match term.term().unwrap() {
                StoredTerm::Null => Walked::Null,
                StoredTerm::Text(text) => Walked::Text(text.as_bytes().to_vec()),
                StoredTerm::Number(number) => Walked::Number(number),
                StoredTerm::Point(_) | StoredTerm::Shape(_) | StoredTerm::Vector(_) => {
                    panic!("the model has no places and no vectors")
                }
            };
            assert_eq!(term.postings().unwrap().count() as u64, term.count());
            out.push((walked, term.count()));
        }
        out
    }

    fn entry_terms(&self) {
        for (&entry, fields) in self.model.entries.iter().step_by(53) {
            let mut terms = self.reader.entry_terms(EntryId(entry)).unwrap().unwrap();
            let mut texts = BTreeSet::new();
            while let Some(term) = terms.next_of(self.field).unwrap() {
                if let StoredTerm::Text(text) = term {
                    texts.insert(text.as_bytes().to_vec());
                }
            }
            let expected: BTreeSet<Vec<u8>> = fields[self.position]
                .iter()
                .filter_map(|value| value.text(self.fold))
                .map(|text| text.as_bytes()[..text.len().min(504)].to_vec())
                .collect();
            assert_eq!(texts, expected, "{}, entry {entry}", self.context);
        }
        assert!(
            self.reader
                .entry_terms(EntryId(2_999_999))
                .unwrap()
                .is_none()
        );
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Walked {
    Null,
    Text(Vec<u8>),
    Number(Number),
}
