//! What is proven: the bytes of an index are those docs/format.md describes, and stay so. How: a
//! few entries that bring every kind of record about, and all entries of all trees as text.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use jackdaw_base::number::Number;
use jackdaw_search::{
    Analyzer, Batch, EntryId, FieldOptions, IndexRead, IndexWriter, MemoryStore, Place, Vector,
    VectorOptions, VectorStorage,
};

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
                 05 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 06 00 00 00 00 00 00 00
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
                     05 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 07 04 00 00 00 00 00 00
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
                 00 00 0a 02 05 5e 45 fd 42 8f 1f c8 4b 00 03 10 61 62 00 03 10 63 64
            00 00 00 00 00 00 04 06
                 00 00 0a 02 02 87 10 27 77 0a ed 54 6a 00 03 10 61 62
        "#]],
        ),
        (
            "occurrences",
            expect![[r#"
                00 00 10 61 62 00 00 00 00 00 00 00 04 01
                     00 02 03 05 04 01 02 00 01 66 00
                00 00 10 63 64 00 00 00 00 00 00 00 04 01
                     00 01 01 05 02
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

#[test]
fn vectors_are_kept_once_and_linked() {
    let (mut store, mut writer, mut batch) = (MemoryStore::new(), IndexWriter::new(), Batch::new());
    for (name, storage) in [
        ("F", VectorStorage::F32),
        ("I", VectorStorage::I8),
        ("B", VectorStorage::I1),
    ] {
        let options = VectorOptions {
            storage,
            ..VectorOptions::default()
        };
        batch
            .field(name, FieldOptions::of_vectors(options))
            .unwrap();
    }
    let floats: [&[f32]; 2] = [&[3.0, -4.0], &[0.0, 2.0]];
    for (entry, first) in (1..).zip([0, 1, 0]) {
        let slots = ["F", "I", "B"].map(|name| {
            let storage = match name {
                "F" => VectorStorage::F32,
                "I" => VectorStorage::I8,
                _ => VectorStorage::I1,
            };
            let options = VectorOptions {
                storage,
                ..VectorOptions::default()
            };
            let slot = batch
                .field(name, FieldOptions::of_vectors(options))
                .unwrap();
            (slot, Vector::from_floats(floats[first], storage).unwrap())
        });
        let mut terms = batch.put(EntryId(entry)).unwrap();
        slots
            .iter()
            .for_each(|(slot, vector)| terms.vector(*slot, vector));
    }
    writer.apply(&mut store, &batch, None).unwrap();
    check(
        &store,
        "index",
        &expect![[r#"
            00
                 05 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00
                 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
            01 00 00
                 00 01 02 00 02 00 00 00 00 00 00 00 01 00 00 00 0c 00 10 00 46
            01 00 01
                 00 01 02 00 02 00 00 00 00 00 00 00 02 00 00 00 0c 00 10 00 49
            01 00 02
                 00 01 02 00 02 00 00 00 00 00 00 00 03 00 00 00 0c 00 10 00 42
        "#]],
    );
    check(
        &store,
        "terms",
        &expect![[r#"
        00 00 01
             01 01 00 03 00 00
        00 00 40 eb 05 5c c5 2e de 8e bf 61 cd d8 0d 8b ea 92 8e
             00 02
        00 00 40 ee 96 bc 7c 88 67 08 00 f3 6a 97 43 17 6e 68 e0
             00 01 01
        00 01 01
             01 01 00 03 00 00
        00 01 40 75 51 c2 00 38 02 af 08 e1 7d 7c 45 e3 0a 78 b0
             00 01 01
        00 01 40 a5 04 2f 50 73 f1 14 0c 58 40 56 74 33 15 6f ba
             00 02
        00 02 01
             01 01 00 03 00 00
        00 02 40 05 26 4b 39 5b af 64 4c 05 a8 87 e3 a9 82 27 4e
             00 02
        00 02 40 6b 14 8c 08 72 50 09 41 9e 16 24 44 57 2f e0 c5
             00 01 01
        ff ff 01
             01 01 00 03 00 00
    "#]],
    );
    check(
        &store,
        "vectors",
        &expect![[r#"
        00 00 00 00 00 00 00 00 00 00
             eb 05 5c c5 2e de 8e bf 61 cd d8 0d 8b ea 92 8e 00 00 00 00 00 00 80 3f
        00 00 00 00 00 00 00 00 00 01
             ee 96 bc 7c 88 67 08 00 f3 6a 97 43 17 6e 68 e0 9a 99 19 3f cd cc 4c bf
        00 01 00 00 00 00 00 00 00 00
             75 51 c2 00 38 02 af 08 e1 7d 7c 45 e3 0a 78 b0 5f 81 8f 9b ce 3b
        00 01 00 00 00 00 00 00 00 01
             a5 04 2f 50 73 f1 14 0c 58 40 56 74 33 15 6f ba 00 7f 04 02 01 3c
        00 02 00 00 00 00 00 00 00 00
             05 26 4b 39 5b af 64 4c 05 a8 87 e3 a9 82 27 4e c0
        00 02 00 00 00 00 00 00 00 01
             6b 14 8c 08 72 50 09 41 9e 16 24 44 57 2f e0 c5 80
    "#]],
    );
    check(
        &store,
        "vector_links",
        &expect![[r#"
        00 00
             00 00 02 00 00 00 00 00 02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00
             00 00 00 00 00 00 00 00 a4 5f 05 86 46 ad 44 cf
        00 00 00 00 00 00 00 00 00 00
             00 01 00 01 00 00 00 00
        00 00 00 00 00 00 00 00 00 01
             00 01 00 00 00 00 00 00
        00 01
             00 00 02 00 00 00 00 00 02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00
             00 00 00 00 00 00 00 00 84 bd a6 99 9c 00 42 21
        00 01 00 00 00 00 00 00 00 00
             00 01 00 01 00 00 00 00
        00 01 00 00 00 00 00 00 00 01
             00 01 00 00 00 00 00 00
        00 02
             00 00 02 00 00 00 00 00 02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00
             00 00 00 00 00 00 00 00 c3 85 b9 40 ca de e5 8b
        00 02 00 00 00 00 00 00 00 00
             00 01 00 01 00 00 00 00
        00 02 00 00 00 00 00 00 00 01
             00 01 00 00 00 00 00 00
    "#]],
    );
    check(
        &store,
        "vector_numbers",
        &expect![[r#"
        00 00 eb 05 5c c5 2e de 8e bf 61 cd d8 0d 8b ea 92 8e
             00 00 00 00 00
        00 00 ee 96 bc 7c 88 67 08 00 f3 6a 97 43 17 6e 68 e0
             01 00 00 00 00
        00 01 75 51 c2 00 38 02 af 08 e1 7d 7c 45 e3 0a 78 b0
             00 00 00 00 00
        00 01 a5 04 2f 50 73 f1 14 0c 58 40 56 74 33 15 6f ba
             01 00 00 00 00
        00 02 05 26 4b 39 5b af 64 4c 05 a8 87 e3 a9 82 27 4e
             00 00 00 00 00
        00 02 6b 14 8c 08 72 50 09 41 9e 16 24 44 57 2f e0 c5
             01 00 00 00 00
    "#]],
    );
}
