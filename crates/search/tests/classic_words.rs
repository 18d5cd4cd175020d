//! What is proven: the standard analyzer divides text by the classic grammar, the Unicode analyzer
//! and n-grams by theirs, and a search finds what the index divided. How: tokens written by hand,
//! an index of a few texts, and hostile chains that must not take quadratic time.

use jackdaw_search::{
    Analyzer, Batch, Budget, EntryId, FieldOptions, IndexReader, IndexWriter, MemoryStore,
    TextQuery,
};

fn tokens(analyzer: Analyzer, text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    analyzer.tokens(text, 0, &mut |token, _| tokens.push(token.to_owned()));
    tokens
}

fn check(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(tokens(Analyzer::Standard, text), *expected, "{text:?}");
        // Words stand where their tokens come from, and divide alike alone.
        Analyzer::Standard.words(text, &mut |place, word| {
            let mut alone = Vec::new();
            Analyzer::Standard.words(&text[place], &mut |_, word| alone.push(word.into_owned()));
            assert_eq!(alone, [word.as_ref()], "{text:?}");
        });
    }
}

#[test]
fn numbers_of_parts_and_versions_are_one_word() {
    for one in [
        "foo-bar1",
        "2.0-3",
        "x86_64",
        "2024-01-01",
        "abc-123",
        "i386/amd64",
        "abc,1",
        "gir1.2-gtk-2.0",
        "3.14",
        "1,000.50",
        "the-a1",
        "no-1",
        "192.168.0.1",
        "\u{663}-\u{664}",
    ] {
        check(&[(one, &[one])]);
    }
    check(&[
        ("ABC-123", &["abc-123"]),
        ("abc-def-1", &["abc", "def-1"]),
        ("well-known", &["well", "known"]),
        ("foo_bar baz", &["foo", "bar", "baz"]),
        ("_a_1_", &["a_1"]),
        ("1.2-abc.com", &["1.2-abc", "com"]),
        ("1--2", &["1", "2"]),
        ("-1-", &["1"]),
        ("1.2.", &["1.2"]),
        ("12", &["12"]),
    ]);
}

#[test]
fn names_hosts_and_addresses_are_one_word() {
    check(&[
        ("x@y.com", &["x@y.com"]),
        ("a.b_c@d-e.com.", &["a.b_c@d-e.com"]),
        ("x@y.com@z.org", &["x@y.com", "z.org"]),
        ("AT&T", &["at&t"]),
        ("a@b", &["a@b"]),
        ("at&t2", &["at&t", "2"]),
        ("R&D&E", &["r&d", "e"]),
        ("wikipedia.org.", &["wikipedia.org"]),
        ("http://a.b/c?d=1", &["http", "a.b", "c", "d", "1"]),
        ("perl:foo", &["perl", "foo"]),
        ("x1@y", &["x1", "y"]),
        ("@x &y", &["x", "y"]),
    ]);
}

#[test]
fn apostrophes_and_acronyms_are_reduced() {
    check(&[
        ("perl's", &["perl"]),
        ("ABC'S", &["abc"]),
        ("O'Neil's", &["o'neil"]),
        ("aa'bb'cc's", &["aa'bb'cc"]),
        ("o'neil2", &["o'neil", "2"]),
        ("it''s", &["s"]),
        // What is left is a stop word.
        ("it's", &[]),
        ("quote\u{2019}s", &["quote", "s"]),
        ("U.S.A.", &["usa"]),
        ("U.S.A", &["u.s.a"]),
        ("a.b.", &["ab"]),
        ("A.B.C.d", &["a.b.c.d"]),
        ("U.S.-1", &["us", "1"]),
        ("ab.c.de", &["ab.c.de"]),
        ("x.", &["x"]),
        ("C++ c#", &["c", "c"]),
    ]);
}

#[test]
fn other_scripts_are_divided_by_kind() {
    check(&[
        (
            "\u{30ab}\u{30bf}\u{30ca}",
            &["\u{30ab}", "\u{30bf}", "\u{30ca}"],
        ),
        ("\u{6f22}\u{5b57}x", &["\u{6f22}", "\u{5b57}", "x"]),
        ("\u{20000}\u{20001}", &["\u{20000}", "\u{20001}"]),
        ("\u{d55c}\u{ad6d}\u{c5b4}", &["\u{d55c}\u{ad6d}\u{c5b4}"]),
        (
            "\u{e20}\u{e32}\u{e29}\u{e32}\u{e35}\u{e48}",
            &["\u{e20}\u{e32}\u{e29}\u{e32}\u{e35}\u{e48}"],
        ),
        ("soft\u{ad}hyphen", &["soft", "hyphen"]),
        ("cafe\u{301}", &["cafe"]),
        ("caf\u{e9}", &["caf\u{e9}"]),
        ("\u{dc}ber-7", &["\u{fc}ber-7"]),
        ("\u{24b6}b \u{2167} \u{b2} \u{1f600}", &["b"]),
        ("", &[]),
        (" \u{0} ", &[]),
    ]);
}

#[test]
fn the_unicode_analyzer_keeps_its_words() {
    let unicode = |text| tokens(Analyzer::Unicode, text);
    assert_eq!(
        unicode("perl's ABC-123 x@y.com"),
        ["perl's", "abc", "123", "x", "y.com"]
    );
    assert_eq!(unicode("the a_b"), ["b"]);
}

#[test]
fn n_grams_are_of_the_same_words() {
    assert_eq!(tokens(Analyzer::NGram, "Z's"), ["z"]);
    assert_eq!(tokens(Analyzer::NGram, "x-1"), ["x-", "x-1", "-1"]);
    assert_eq!(tokens(Analyzer::NGram, "x@y"), ["x@", "x@y", "@y"]);
}

#[test]
fn searches_divide_as_the_index_does() {
    let texts = [
        "SKU ABC-123",
        "ABC 123",
        "Perl's core",
        "version 2.0-3",
        "mail x@y.com.",
        "the U.S.A. and AT&T",
    ];
    let options = FieldOptions::new(Analyzer::Standard);
    let mut batch = Batch::new();
    let slot = batch.field("T", options).unwrap();
    for (entry, text) in (0..).zip(texts) {
        batch.put(EntryId(entry)).unwrap().text(slot, text);
    }
    let mut store = MemoryStore::new();
    IndexWriter::new().apply(&mut store, &batch, None).unwrap();
    let reader = IndexReader::open(&store).unwrap().unwrap();
    let field = reader.field("T").unwrap();
    for (search, expected) in [
        ("ABC-123", &[0][..]),
        ("abc-12*", &[0]),
        ("\"abc 123\"", &[1]),
        ("abc", &[1]),
        ("perl", &[2]),
        ("perl's", &[2]),
        ("2.0-3", &[3]),
        ("2.0", &[]),
        ("X@Y.COM", &[4]),
        ("usa", &[5]),
        ("u.s.a.", &[5]),
        ("\"u.s.a. at&t\"", &[5]),
    ] {
        let query = TextQuery::search(search, false, options).unwrap();
        let found = reader
            .text(field, &query, &mut Budget::unlimited())
            .unwrap();
        let found: Vec<u64> = found.certain().iter().map(|entry| entry.0).collect();
        assert_eq!(found, expected, "{search}");
    }
}

#[test]
fn chains_are_looked_at_once() {
    // Quadratic time would be minutes.
    for part in [
        "a_",
        "a-",
        "a.",
        "1-a-",
        "a1_b_",
        "a'",
        "a&",
        "a@",
        "a@b_",
        "\u{e01}\u{e31}_",
    ] {
        let text = part.repeat(200_000);
        let mut words = 0;
        Analyzer::Standard.words(&text, &mut |_, _| words += 1);
        assert!(words > 0, "{part}");
    }
}
