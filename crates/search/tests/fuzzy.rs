//! What is proven: terms are similar when one less the edits for each character of the shorter
//! one is greater than the similarity, in the walk over an index as in the comparison of two
//! texts. How: words whose edits are counted by hand, then random words against the definition. A
//! failure prints the seed; `JACKDAW_SEED=<seed> cargo test -p jackdaw-search --test fuzzy`
//! replays it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use jackdaw_search::{
    Analyzer, Batch, Budget, EntryId, Fuzzy, IndexReader, IndexWriter, MemoryStore, TextQuery,
};
use jackdaw_sim::Rng;

/// The words that an index of them finds, in their order.
fn found(words: &[String], analyzer: Analyzer, fuzzy: Fuzzy) -> Vec<String> {
    let mut batch = Batch::new();
    let slot = batch.field("W", analyzer).unwrap();
    for (entry, word) in (0..).zip(words) {
        batch.put(EntryId(entry)).unwrap().text(slot, word);
    }
    let mut store = MemoryStore::new();
    IndexWriter::new().apply(&mut store, &batch, None).unwrap();
    let reader = IndexReader::open(&store).unwrap().unwrap();
    let field = reader.field("W").unwrap();
    let query = TextQuery::Fuzzy(fuzzy);
    let found = reader
        .text(field, &query, &mut Budget::unlimited())
        .unwrap();
    let entries = found.certain().iter();
    entries
        .map(|entry| words[usize::try_from(entry.0).unwrap()].clone())
        .collect()
}

fn check(words: &[&str], term: &str, similarity: f64, expected: &[&str]) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    for analyzer in [Analyzer::LowercaseKeyword, Analyzer::Standard] {
        let fuzzy = Fuzzy::new(term, similarity);
        assert_eq!(
            found(&words, analyzer, fuzzy),
            expected,
            "{term} {similarity} {analyzer:?}"
        );
    }
}

#[test]
fn edits_count_for_the_shorter_text() {
    let words = ["bash", "bsh", "ash", "dash", "bsah", "bsaf"];
    check(&words, "bsah", 0.5, &["bsh", "bsah", "bsaf"]);
    // An exchange of neighbors is two edits.
    check(&words, "bsah", 0.49, &["bash", "bsh", "bsah", "bsaf"]);
    check(&words, "bsah", 0.67, &["bsah", "bsaf"]);
    check(&words, "bsah", 0.75, &["bsah"]);
}

#[test]
fn a_similarity_that_is_reached_is_not_enough() {
    // Seven edits of ten characters; in double precision 1 - 0.7 is greater than 0.3.
    check(
        &["abcxxxxxxx", "abcdxxxxxx"],
        "abcdefghij",
        0.3,
        &["abcdxxxxxx"],
    );
    check(&["abcxx", "abcdx"], "abcde", 0.6, &["abcdx"]);
}

#[test]
fn short_and_empty_words_are_similar_to_themselves() {
    check(&["x", "y", "xy"], "x", 0.5, &["x"]);
    check(&["x", "y", "xy"], "x", 0.0, &["x"]);
    check(&["xy", "xz", "yz"], "xy", 0.0, &["xy", "xz"]);
    check(&["x", "xy"], "", 0.0, &[]);
    assert!(Fuzzy::new("", 0.5).matches("") && !Fuzzy::new("", 0.0).matches("a"));
}

#[test]
fn edits_have_no_greatest_number() {
    // Five edits of twelve characters, and one of sixty behind eighty that are the same.
    check(
        &["abcdefgvwxyz", "abcdefgvwx"],
        "abcdefghijkl",
        0.5,
        &["abcdefgvwxyz"],
    );
    let long = "ab".repeat(100);
    let other = format!("{}{}", "ab".repeat(60), "xy".repeat(40));
    check(&[&other], &long, 0.5, &[&other]);
    check(&[&other], &long, 0.6, &[]);
    check(&["abc", "abd", "xyz"], "abc", 2.0, &["abc", "abd"]);
    check(&["abc", "abd", "xyz"], "abc", 1e300, &["abc", "abd", "xyz"]);
}

#[test]
fn characters_count_not_bytes() {
    let words = [
        "\u{e4}\u{f6}\u{fc}\u{df}",
        "\u{e4}\u{f6}\u{fc}",
        "aou\u{df}",
    ];
    let expected = &words[..2];
    check(&words, "\u{e4}\u{f6}\u{fc}s", 0.6, expected);
}

#[test]
fn long_words_take_memory_by_their_length() {
    let word = "ab".repeat(20_000);
    let other = format!("x{}y", &word[1..]);
    assert!(Fuzzy::new(&word, 0.9).matches(&word));
    assert!(Fuzzy::new(&word, 0.999).matches(&other));
    assert!(!Fuzzy::new(&word, 0.5).matches(&word[..9_000]));
}

#[test]
fn an_index_finds_what_the_comparison_says() {
    let seed = match std::env::var("JACKDAW_SEED") {
        Ok(seed) => seed.parse().expect("JACKDAW_SEED is a number"),
        Err(_) => 7,
    };
    println!("JACKDAW_SEED={seed}");
    let mut random = Rng::new(seed);
    let word = |random: &mut Rng, most| {
        let letters = random.below(most);
        let letter = |random: &mut Rng| {
            ["a", "b", "c", "\u{e4}"][usize::try_from(random.below(4)).unwrap_or(0)]
        };
        (0..=letters).map(|_| letter(random)).collect::<String>()
    };
    for _ in 0..20 {
        let most = if random.below(3) == 0 { 90 } else { 9 };
        let words: Vec<String> = (0..100).map(|_| word(&mut random, most)).collect();
        let term = word(&mut random, most);
        let similarity = random.below(100) as f64 / 100.0;
        let fuzzy = Fuzzy::new(&term, similarity);
        let expected: Vec<String> = words.iter().filter(|w| fuzzy.matches(w)).cloned().collect();
        let found = found(&words, Analyzer::LowercaseKeyword, fuzzy);
        assert_eq!(found, expected, "seed {seed}: {term} {similarity}");
    }
}
