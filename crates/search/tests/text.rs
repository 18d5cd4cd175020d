//! What is proven: full text is found, counted and ranked as a naive model has it, after any
//! sequence of batches. How: random texts over few words, so that terms are shared and their
//! lists pass through several chunks; random puts, changes and deletions in two stores that
//! together are one collection; after every batch all occurrences, all kinds of conditions and
//! all scores against the model, which keeps the texts alone and computes BM25 over every one of
//! them. A failure prints the seed; `JACKDAW_SEED=<seed> cargo test -p jackdaw-search --test
//! text` replays it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::{BTreeMap, BTreeSet};

use jackdaw_search::{
    Analyzer, Batch, Budget, EntryId, EntrySet, Expression, FieldOptions, FieldTerms, Fuzzy,
    IndexReader, IndexWriter, MemoryStore, Scores, TextQuery, TextStatistics,
};
use jackdaw_sim::Rng;
use jackdaw_storage::MemoryPages;

type Model = BTreeMap<u64, Vec<String>>;
type Reader<'t> = IndexReader<'t, MemoryPages>;

const WORDS: [&str; 24] = [
    "rain",
    "rainy",
    "train",
    "river",
    "the",
    "moon",
    "Mo\u{f6}n",
    "one",
    "two",
    "three",
    "stone",
    "Pearl",
    "jam",
    "of",
    "a1",
    "12",
    "sand",
    "worm",
    "castle",
    "cast",
    "night",
    "knight",
    "x",
    "yellow",
];

fn options() -> FieldOptions {
    FieldOptions::new(Analyzer::Standard)
}

fn seeds() -> Vec<u64> {
    match std::env::var("JACKDAW_SEED") {
        Ok(seed) => vec![seed.parse().expect("JACKDAW_SEED is a number")],
        Err(_) => vec![1, 2],
    }
}

fn random_text(random: &mut Rng) -> String {
    let count = match random.below(20) {
        0 => 0,
        1 => random.below(200),
        _ => random.below(12),
    };
    let mut text = String::new();
    for _ in 0..count {
        // The square makes the first words frequent.
        let slot = random.below(24) * random.below(24) / 24;
        text.push_str(WORDS[usize::try_from(slot).unwrap()]);
        text.push_str([" ", ", ", "-"][usize::try_from(random.below(3)).unwrap()]);
    }
    text
}

fn random_batch(random: &mut Rng, model: &mut Model, changes: u64) -> Batch {
    let mut batch = Batch::new();
    let slot = batch.field("Text", options()).unwrap();
    for _ in 0..changes {
        let entry = random.below(700) + if random.below(50) == 0 { 1 << 33 } else { 0 };
        match random.below(5) {
            0 => {
                batch.delete(EntryId(entry)).unwrap();
                model.remove(&entry);
            }
            // The same text again: nothing may change.
            1 if model.contains_key(&entry) => {
                let mut terms = batch.put(EntryId(entry)).unwrap();
                model[&entry].iter().for_each(|text| terms.text(slot, text));
            }
            _ => {
                let values: Vec<String> =
                    (0..=random.below(2)).map(|_| random_text(random)).collect();
                let mut terms = batch.put(EntryId(entry)).unwrap();
                values.iter().for_each(|text| terms.text(slot, text));
                model.insert(entry, values);
            }
        }
    }
    batch
}

fn terms_of(values: &[String]) -> FieldTerms {
    let mut terms = FieldTerms::new(options());
    values.iter().for_each(|text| terms.add(text));
    terms
}

fn texts_of(model: &Model) -> BTreeMap<u64, FieldTerms> {
    model
        .iter()
        .map(|(entry, values)| (*entry, terms_of(values)))
        .collect()
}

fn queries() -> Vec<TextQuery> {
    let search = |text: &str, all| TextQuery::search(text, all, options()).unwrap();
    let lucene = |text: &str| TextQuery::lucene(text, options()).unwrap();
    vec![
        search("rain", false),
        search("rain moon x yellow", false),
        search("one one three", false),
        lucene("rain^3 (moon OR castle jam)^0.5"),
        search("rain moon the", true),
        search("\"rain moon\"", false),
        search("\"rain the moon\" two", true),
        search("rai*", false),
        search("*ain night", false),
        search("*a?n*", false),
        search("*ai*", false),
        search("*a*n* r*i*n", false),
        search("*", false),
        search("none", false),
        TextQuery::near("rain river", 3, options()).unwrap(),
        TextQuery::near("river rain one", 6, options()).unwrap(),
        TextQuery::Expression(Expression::compile("^k?night$").unwrap()),
        TextQuery::Fuzzy(Fuzzy::new("casle", 0.6)),
        lucene("kastle~1"),
        lucene("moan~2 rain~1"),
        lucene("trian~1"),
        lucene("+rain (moon OR knight)^3 -river"),
        lucene("stone^0.5 [a TO jam]"),
        lucene("(rain AND moon) OR (train AND river)"),
        lucene("NOT rain"),
    ]
}

#[test]
fn texts_are_found_and_ranked_as_the_model_has_it() {
    for seed in seeds() {
        println!("JACKDAW_SEED={seed}");
        let mut random = Rng::new(seed);
        let (mut store, mut writer, mut model) =
            (MemoryStore::new(), IndexWriter::new(), Model::new());
        for changes in [300, 700, 200, 1] {
            let batch = random_batch(&mut random, &mut model, changes);
            writer.apply(&mut store, &batch, None).unwrap();
            let reader = IndexReader::open(&store).unwrap().unwrap();
            assert_eq!(reader.verify().unwrap().damages, [], "seed {seed}");
            check_occurrences(&reader, &model, seed);
            check_queries(&reader, &model, seed);
            check_scores(&reader, &model, &mut random, seed);
            check_ranks(&reader, &model, &mut random, seed);
        }
        let mut batch = Batch::new();
        model
            .keys()
            .for_each(|entry| batch.delete(EntryId(*entry)).unwrap());
        writer.apply(&mut store, &batch, None).unwrap();
        let reader = IndexReader::open(&store).unwrap().unwrap();
        assert_eq!(reader.verify().unwrap().damages, [], "seed {seed}");
        for (name, root) in store.roots() {
            assert!(
                name == "index" || root.entry_count() == 0,
                "seed {seed}: tree {name}"
            );
        }
    }
}

fn check_occurrences(reader: &Reader<'_>, model: &Model, seed: u64) {
    let field = reader.field("Text").unwrap();
    let mut expected: BTreeMap<String, BTreeMap<u64, Vec<u32>>> = BTreeMap::new();
    for (entry, values) in model {
        for (term, position) in terms_of(values).iter() {
            let lists = expected.entry(term.to_owned()).or_default();
            lists.entry(*entry).or_default().push(position);
        }
    }
    for (term, lists) in &expected {
        let mut walk = reader.occurrences(field, term);
        let mut positions = Vec::new();
        for (entry, expected) in lists {
            let found = walk.next_occurrence().unwrap().unwrap();
            assert_eq!(found.entry(), EntryId(*entry), "seed {seed}, {term}");
            assert_eq!(
                found.frequency() as usize,
                expected.len(),
                "seed {seed}, {term}"
            );
            found.positions(&mut positions).unwrap();
            assert_eq!(&positions, expected, "seed {seed}, {term} in {entry}");
        }
        assert!(
            walk.next_occurrence().unwrap().is_none(),
            "seed {seed}, {term}"
        );
        let mut walk = reader.occurrences(field, term);
        for target in (0..700).step_by(61).chain([1 << 33, 1 << 40]) {
            let found = walk.seek(EntryId(target)).unwrap();
            let found = found.map(|found| found.entry().0);
            let next = lists.range(target..).next().map(|(entry, _)| *entry);
            assert_eq!(found, next, "seed {seed}, {term} from {target}");
            if found.is_none() {
                break;
            }
            // The walk is behind what it gave.
            if found.is_some_and(|found| found >= target + 61) {
                walk = reader.occurrences(field, term);
            }
        }
    }
    assert_eq!(reader.field_info(field).term_count(), expected.len() as u64);
}

fn check_queries(reader: &Reader<'_>, model: &Model, seed: u64) {
    let field = reader.field("Text").unwrap();
    let texts = texts_of(model);
    for query in queries() {
        let mut budget = Budget::unlimited();
        let found = reader.text(field, &query, &mut budget).unwrap();
        assert!(found.is_exact());
        let found: BTreeSet<u64> = found.certain().iter().map(|entry| entry.0).collect();
        let expected: BTreeSet<u64> = texts
            .iter()
            .filter(|(_, terms)| query.matches(terms))
            .map(|(entry, _)| *entry)
            .collect();
        assert_eq!(found, expected, "seed {seed}: {query:?}");
    }
}

/// Scores over the index less some entries, and an index in memory that has these in their place.
fn check_scores(reader: &Reader<'_>, model: &Model, random: &mut Rng, seed: u64) {
    let field = reader.field("Text").unwrap();
    let mut model = model.clone();
    let (mut moved, mut batch) = (Vec::new(), Batch::new());
    let slot = batch.field("Text", options()).unwrap();
    for (entry, values) in &mut model {
        if random.below(10) == 0 {
            *values = vec![random_text(random)];
            moved.push(EntryId(*entry));
            let mut terms = batch.put(EntryId(*entry)).unwrap();
            values.iter().for_each(|text| terms.text(slot, text));
        }
    }
    let mut store = MemoryStore::new();
    IndexWriter::new().apply(&mut store, &batch, None).unwrap();
    let changed = IndexReader::open(&store).unwrap().unwrap();
    let changed_field = changed.field("Text").unwrap();
    let moved = EntrySet::from_ascending(moved);
    let texts = texts_of(&model);
    let collection = Collection::new(&texts);
    for query in queries() {
        let mut statistics = TextStatistics::default();
        let none = EntrySet::new();
        reader
            .add_statistics(field, &query, &moved, &mut statistics)
            .unwrap();
        changed
            .add_statistics(changed_field, &query, &none, &mut statistics)
            .unwrap();
        let all = EntrySet::from_ascending(model.keys().map(|entry| EntryId(*entry)));
        let mut scores = Scores::new(&all);
        let mut budget = Budget::unlimited();
        let kept = all.and_not(&moved);
        for (reader, field, within) in [(reader, field, &kept), (&changed, changed_field, &moved)] {
            reader
                .add_scores(
                    field,
                    &query,
                    &statistics,
                    within,
                    1.0,
                    &mut budget,
                    &mut scores,
                )
                .unwrap();
        }
        let expected = exhaustive(&query, &texts, &collection);
        for (entry, expected) in &expected {
            let found = scores.get(EntryId(*entry));
            assert!(
                (found - expected).abs() < 1e-9,
                "seed {seed}: {query:?}, entry {entry}"
            );
        }
        let ranked = |score: &dyn Fn(u64) -> f64| {
            let mut ranked: Vec<u64> = model.keys().copied().collect();
            ranked.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
            ranked
        };
        let found = ranked(&|entry| (scores.get(EntryId(entry)) * 1e9).round());
        let expected = ranked(&|entry| (expected[&entry] * 1e9).round());
        assert_eq!(found, expected, "seed {seed}: {query:?}");
    }
}

/// The best in one walk are the first of all by their scores.
fn check_ranks(reader: &Reader<'_>, model: &Model, random: &mut Rng, seed: u64) {
    let field = reader.field("Text").unwrap();
    let excluded = model.keys().filter(|_| random.below(10) == 0);
    let excluded = EntrySet::from_ascending(excluded.map(|entry| EntryId(*entry)));
    let mut ranked_queries = 0;
    for query in queries() {
        let mut statistics = TextStatistics::default();
        let none = EntrySet::new();
        reader
            .add_statistics(field, &query, &none, &mut statistics)
            .unwrap();
        let budget = &mut Budget::unlimited();
        let found = reader.text(field, &query, budget).unwrap();
        let found = found.certain().and_not(&excluded);
        let mut scores = Scores::new(&found);
        reader
            .add_scores(field, &query, &statistics, &found, 2.0, budget, &mut scores)
            .unwrap();
        let mut all: Vec<(EntryId, f64)> = found
            .iter()
            .map(|entry| (entry, scores.get(entry)))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for wanted in [0, 1, 7, 70, 5_000] {
            let first = &all[..wanted.min(all.len())];
            assert_eq!(scores.best(wanted), first, "seed {seed}: {query:?}");
            let ranked = reader
                .rank(field, &query, &statistics, &excluded, (wanted, 2.0), budget)
                .unwrap();
            assert_eq!(ranked.is_some(), reader.ranks(field, &query));
            if let Some(ranked) = ranked {
                ranked_queries += 1;
                assert_eq!(ranked.best, first, "seed {seed}: {query:?}");
                assert_eq!(ranked.total, found.len(), "seed {seed}: {query:?}");
            }
        }
    }
    assert!(ranked_queries > 15, "most of these are on words");
}

/// BM25 over all texts, one by one.
fn exhaustive(
    query: &TextQuery,
    texts: &BTreeMap<u64, FieldTerms>,
    collection: &Collection,
) -> BTreeMap<u64, f64> {
    let score = |terms: &FieldTerms| match query.matches(terms) {
        true => collection.score(query, terms),
        false => 0.0,
    };
    texts
        .iter()
        .map(|(entry, terms)| (*entry, score(terms)))
        .collect()
}

struct Collection {
    count: f64,
    average: f64,
    frequencies: BTreeMap<String, f64>,
}

/// The length as one byte keeps it: exact up to 40, then three bits behind the leading one.
fn rounded(length: usize) -> f64 {
    let float = |value: usize| {
        let bits = usize::BITS - value.leading_zeros();
        if bits < 4 {
            value
        } else {
            value >> (bits - 4) << (bits - 4)
        }
    };
    (if length < 24 {
        length
    } else {
        24 + float(length - 24)
    }) as f64
}

impl Collection {
    fn new(texts: &BTreeMap<u64, FieldTerms>) -> Collection {
        let with_text: Vec<&FieldTerms> = texts.values().filter(|t| !t.is_empty()).collect();
        let total: f64 = with_text.iter().map(|terms| rounded(terms.len())).sum();
        let mut frequencies: BTreeMap<String, f64> = BTreeMap::new();
        for terms in &with_text {
            let distinct: BTreeSet<&str> = terms.iter().map(|(term, _)| term).collect();
            for term in distinct {
                *frequencies.entry(term.to_owned()).or_default() += 1.0;
            }
        }
        Collection {
            count: with_text.len() as f64,
            average: total / with_text.len() as f64,
            frequencies,
        }
    }

    fn idf(&self, term: &str) -> f64 {
        let frequency = self.frequencies.get(term).copied().unwrap_or(0.0);
        (1.0 + (self.count - frequency + 0.5) / (frequency + 0.5)).ln()
    }

    fn weight(&self, frequency: f64, terms: &FieldTerms) -> f64 {
        let relative = rounded(terms.len()) / self.average;
        frequency / (frequency + 1.2 * (0.25 + 0.75 * relative))
    }

    fn score(&self, query: &TextQuery, terms: &FieldTerms) -> f64 {
        match query {
            TextQuery::Term(term) => {
                let frequency = terms.iter().filter(|(found, _)| *found == &**term).count();
                match frequency {
                    0 => 0.0,
                    frequency => self.idf(term) * self.weight(frequency as f64, terms),
                }
            }
            TextQuery::Phrase(phrase) => {
                let positions: Vec<Vec<u32>> = phrase
                    .terms
                    .iter()
                    .map(|(term, _)| {
                        let found = terms.iter().filter(|(found, _)| *found == &**term);
                        found.map(|(_, position)| position).collect()
                    })
                    .collect();
                let idf: f64 = phrase.terms.iter().map(|(term, _)| self.idf(term)).sum();
                match phrase.count(&positions) {
                    0 => 0.0,
                    count => idf * self.weight(f64::from(count), terms),
                }
            }
            TextQuery::Bool { must, should, .. } => {
                let passing = must
                    .iter()
                    .chain(should)
                    .filter(|query| query.matches(terms));
                passing.map(|query| self.score(query, terms)).sum()
            }
            TextQuery::Boost(inner, factor) => factor * self.score(inner, terms),
            _ => 1.0,
        }
    }
}
