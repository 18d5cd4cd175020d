//! What is proven: the bytes of an index are those docs/format.md describes, and stay so. How: a
//! few entries that bring every kind of record about, and all entries of all trees as text.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use jackdaw_base::number::Number;
use jackdaw_search::{Analyzer, Batch, EntryId, IndexRead, IndexWriter, MemoryStore, Place};

fn dump(store: &MemoryStore, tree: &str) -> String {
    let mut out = String::new();
    for entry in store.tree(tree).unwrap().unwrap().iter().unwrap() {
        let (key, value) = entry.unwrap();
        for (position, byte) in key.to_vec().iter().enumerate() {
            write!(out, "{}{byte:02x}", if position == 0 { "" } else { " " }).unwrap();
        }
        for (position, byte) in value.iter().take(48).enumerate() {
            let separator = ["", "\n    "][usize::from(position.is_multiple_of(24))];
            write!(out, "{separator} {byte:02x}").unwrap();
        }
        let rest = value.len().saturating_sub(48);
        if rest > 0 {
            write!(out, "\n     and {rest} more").unwrap();
        }
        out.push('\n');
    }
    out
}

fn check(store: &MemoryStore, tree: &str, expected: &Expect) {
    expected.assert_eq(&dump(store, tree));
}

#[test]
fn bytes_are_the_documented_ones() {
    let (mut store, mut writer, mut batch) = (MemoryStore::new(), IndexWriter::new(), Batch::new());
    let name = batch.field("Name", Analyzer::LowercaseKeyword).unwrap();
    let exact = batch.field("exact(Name)", Analyzer::Keyword).unwrap();
    for entry in 3..6 {
        let mut terms = batch.put(EntryId(entry)).unwrap();
        terms.text(name, "Ab");
        if entry == 4 {
            terms.text(exact, "Ab");
            terms.null(name);
            terms.number(name, Number::Long(i64::MAX), "1");
        }
    }
    writer.apply(&mut store, &batch, Some(258)).unwrap();
    check(
        &store,
        "index",
        &expect![[r#"
            00
                 02 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 06 00 00 00 00 00 00 00
                 00 00 00 00 00 00 00 00 02 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00
            01 00 00
                 00 01 00 00 04 00 00 00 00 00 00 00 4e 61 6d 65
            01 00 01
                 00 02 00 00 01 00 00 00 00 00 00 00 65 78 61 63 74 28 4e 61 6d 65 29
        "#]],
    );
    check(
        &store,
        "terms",
        &expect![[r#"
            00 00 01
                 01 03 00 03 00 00
            00 00 08
                 00 04
            00 00 10 31
                 00 04
            00 00 10 61 62
                 01 03 00 03 00 00
            00 00 20 c3 df ff ff ff ff ff ff 03 ff
                 00 04
            00 01 01
                 00 04
            00 01 10 41 62
                 00 04
            ff ff 01
                 01 03 00 03 00 00
        "#]],
    );
    check(
        &store,
        "forward",
        &expect![[r#"
            00 00 00 00 00 00 00 03
                 00 00 03 10 61 62
            00 00 00 00 00 00 00 04
                 00 00 01 08 00 02 10 31 00 03 10 61 62 00 0b 20 c3 df ff ff ff ff ff ff
                 03 ff 01 03 10 41 62
            00 00 00 00 00 00 00 05
                 00 00 03 10 61 62
        "#]],
    );
}

#[test]
fn large_lists_are_chunks_by_their_first_entry() {
    let (mut store, mut writer, mut batch) = (MemoryStore::new(), IndexWriter::new(), Batch::new());
    for entry in 0..1_200 {
        batch.put(EntryId(entry * 300)).unwrap();
    }
    writer.apply(&mut store, &batch, None).unwrap();
    check(
        &store,
        "terms",
        &expect![[r#"
            ff ff 01
                 02 b0 09 00
        "#]],
    );
    check(
        &store,
        "postings",
        &expect![[r#"
            00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
                 00 80 08 00 96 00 00 00 2c 01 00 00 c2 01 00 00 58 02 00 00 ee 02 00 00
                 84 03 00 00 1a 04 00 09 00 09 00 09 00 09 00 09 00 09 00 09 00 09 00 00
                 and 1151 more
            00 00 00 00 00 00 00 00 00 00 00 00 00 04 b0 00
                 00 b0 01 00 96 00 00 09 00 40 00 00 56 ae 5c 2b 57 ae 5c 2b 57 ae 5c 2b
                 57 ae 5c b9 72 e5 ca b9 72 e5 ca b9 72 e5 ca b9 72 e5 ca 95 2b 57 ae 95
                 and 201 more
        "#]],
    );
}

#[test]
fn full_text_keeps_where_and_how_long() {
    let (mut store, mut writer, mut batch) = (MemoryStore::new(), IndexWriter::new(), Batch::new());
    let text = batch.field("T", Analyzer::Standard).unwrap();
    let mut terms = batch.put(EntryId(1_025)).unwrap();
    terms.text(text, "ab the ab cd");
    terms.text(text, "ab");
    batch.put(EntryId(1_030)).unwrap().text(text, "ab");
    writer.apply(&mut store, &batch, None).unwrap();
    for (tree, expected) in [
        (
            "index",
            expect![[r#"
                00
                     02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 07 04 00 00 00 00 00 00
                     00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
                01 00 00
                     00 03 01 00 02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 05 00 00 00
                     00 00 00 00 54
            "#]],
        ),
        (
            "terms",
            expect![[r#"
            00 00 01
                 00 81 08 04
            00 00 10 61 62
                 00 81 08 04
            00 00 10 63 64
                 00 81 08
            ff ff 01
                 00 81 08 04
        "#]],
        ),
        (
            "forward",
            expect![[r#"
            00 00 00 00 00 00 04 01
                 00 00 0a 02 05 a3 3f 2a 56 5e 30 d7 3d 00 03 10 61 62 00 03 10 63 64
            00 00 00 00 00 00 04 06
                 00 00 0a 02 02 87 10 27 77 0a ed 54 6a 00 03 10 61 62
        "#]],
        ),
        (
            "occurrences",
            expect![[r#"
                00 00 10 61 62 00 00 00 00 00 00 00 04 01
                     00 02 03 05 04 01 02 00 02 66 00
                00 00 10 63 64 00 00 00 00 00 00 00 04 01
                     00 01 01 05 03
            "#]],
        ),
        (
            "norms",
            expect![[r#"
            00 00 00 00 00 00 00 00 00 01
                 01 00 05 00 00 00 00 02
        "#]],
        ),
    ] {
        check(&store, tree, &expected);
    }
}

#[test]
fn places_are_terms_along_a_curve() {
    let (mut store, mut writer, mut batch) = (MemoryStore::new(), IndexWriter::new(), Batch::new());
    let field = batch.field("P", Analyzer::LowercaseKeyword).unwrap();
    let mut terms = batch.put(EntryId(1)).unwrap();
    terms.place(field, &Place::point(0.0, 0.0).unwrap());
    terms.place(field, &Place::point(-90.0, 90.0).unwrap());
    terms.place(field, &Place::parse("LINESTRING (0 0, 1 1)").unwrap());
    writer.apply(&mut store, &batch, None).unwrap();
    check(
        &store,
        "terms",
        &expect![[r#"
        00 00 01
             00 01
        00 00 30 a0 00 00 00 00 00 00 00
             00 01
        00 00 30 c0 00 00 00 00 00 00 00
             00 01
        00 00 31 4c 49 4e 45 53 54 52 49 4e 47 20 28 30 20 30 2c 20 31 20 31 29
             00 01
        ff ff 01
             00 01
    "#]],
    );
}
