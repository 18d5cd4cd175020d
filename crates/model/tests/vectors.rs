//! Change vectors form a join semilattice: random triples merge and compare as that demands, and
//! texts are read and printed as they were recorded.
//!
//! `JACKDAW_VECTOR_TRIPLES` sets how many triples are tried, `JACKDAW_VECTOR_SEED` which.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use fastrand::Rng;
use jackdaw_model::{ChangeVector, DatabaseId, Entry, Etag, NodeTag, Relation, VectorError};

const TRIPLES: u64 = 20_000;

fn setting(name: &str, or: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(or, |text| text.parse().expect("a number"))
}

/// Few databases, nodes and etags, so that vectors meet; sometimes with an order of their own.
fn random(rng: &mut Rng) -> ChangeVector {
    let parts = |rng: &mut Rng| {
        let mut parts = Vec::new();
        for database in 0..4_u8 {
            if rng.bool() {
                let tag = ["A", "B", "TRXN", "MOVE"][rng.usize(..4)];
                let database = DatabaseId::new([database; 16]);
                parts.push(format!("{tag}:{}-{database}", rng.u64(..4)));
            }
        }
        rng.shuffle(&mut parts);
        parts.join(", ")
    };
    let mut text = parts(rng);
    if rng.u8(..4) == 0 {
        text = format!("{text}|{}", parts(rng));
    }
    text.parse().unwrap()
}

fn merged(one: &ChangeVector, other: &ChangeVector) -> ChangeVector {
    let mut merged = one.clone();
    merged.merge(other);
    merged
}

fn holds(one: &ChangeVector, other: &ChangeVector) -> bool {
    matches!(one.relation(other), Relation::Newer | Relation::Equal)
}

#[test]
fn merging_is_a_join_and_relations_are_a_partial_order() {
    let seed = setting("JACKDAW_VECTOR_SEED", fastrand::u64(..));
    println!("JACKDAW_VECTOR_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    for _ in 0..setting("JACKDAW_VECTOR_TRIPLES", TRIPLES) {
        let (a, b, c) = (random(&mut rng), random(&mut rng), random(&mut rng));
        let ab = merged(&a, &b);
        assert_eq!(ab, merged(&b, &a), "commutative: {a} and {b}");
        assert_eq!(ab.to_string(), merged(&b, &a).to_string(), "{a} and {b}");
        assert_eq!(
            merged(&ab, &c),
            merged(&a, &merged(&b, &c)),
            "associative: {a}, {b}, {c}"
        );
        assert_eq!(merged(&a, &a), a, "idempotent: {a}");
        assert_eq!(merged(&ab, &b), ab, "absorbs: {a} and {b}");
        assert!(
            holds(&ab, &a) && holds(&ab, &b),
            "an upper bound: {a} and {b}"
        );
        // The least upper bound: what holds both holds their merge.
        if holds(&c, &a) && holds(&c, &b) {
            assert!(holds(&c, &ab), "{c} holds {a} and {b}, not {ab}");
        }
        let mirrored = match a.relation(&b) {
            Relation::Newer => Relation::Older,
            Relation::Older => Relation::Newer,
            same => same,
        };
        assert_eq!(b.relation(&a), mirrored, "{a} and {b}");
        if holds(&a, &b) && holds(&b, &c) {
            assert!(holds(&a, &c), "transitive: {a}, {b}, {c}");
        }
        assert_eq!(
            a.to_string().parse::<ChangeVector>().unwrap().to_string(),
            a.to_string()
        );
    }
}

#[test]
fn recorded_texts_read_back_as_they_were() {
    let [one, two, three] = [1, 2, 3].map(|byte| DatabaseId::new([byte; 16]));
    for text in [
        String::new(),
        format!("A:12-{one}"),
        format!("B:70-{one}, C:90-{two}, A:48-{three}"),
        format!("MOVE:56-{one}, A:32-{two}|A:37-{three}"),
        format!("A:34-{two}|A:34-{two}, A:37-{three}"),
        format!("A:5-{one}, TRXN:9-{two}"),
        format!("|A:1-{one}"),
    ] {
        let vector: ChangeVector = text.parse().unwrap();
        assert_eq!(vector.to_string(), text);
    }
    let spaced: ChangeVector = format!(" A:1-{one},B:2-{two} ,").parse().unwrap();
    assert_eq!(spaced.to_string(), format!("A:1-{one}, B:2-{two}"));
    let max: ChangeVector = format!("A:{}-{one}", u64::MAX).parse().unwrap();
    assert_eq!(max.etag_of(&one), Some(Etag(u64::MAX)));
}

#[test]
fn other_texts_are_refused_with_the_part_that_is_wrong() {
    let one = DatabaseId::new([1; 16]);
    for (text, named) in [
        ("A".to_owned(), "`A`"),
        (format!("A:-{one}"), "`A:-"),
        (format!("A:+1-{one}"), "`A:+1-"),
        (format!("A:-1-{one}"), "`A:-1-"),
        (format!("a:1-{one}"), "`a:1-"),
        (format!("ABCDE:1-{one}"), "`ABCDE:1-"),
        (
            format!("A:18446744073709551616-{one}"),
            "`A:18446744073709551616-",
        ),
        ("A:1-short".to_owned(), "`short`"),
        (format!("A:1-{one}, B:2-{one}"), "twice"),
        (format!("A:1-{one}|A:1-{one}|A:1-{one}"), "A:1-"),
    ] {
        let error = text.parse::<ChangeVector>().unwrap_err().to_string();
        assert!(error.contains(named), "{text}: {error}");
    }
    let long: Vec<String> = (0..5000_u128)
        .map(|number| format!("A:1-{}", DatabaseId::new(number.to_le_bytes())))
        .collect();
    assert_eq!(
        long.join(",").parse::<ChangeVector>(),
        Err(VectorError::Long)
    );
}

#[test]
fn an_own_change_takes_the_last_place() {
    let [one, two, three] = [1, 2, 3].map(|byte| DatabaseId::new([byte; 16]));
    let node: NodeTag = "A".parse().unwrap();
    let mut vector: ChangeVector = format!("A:3-{one}, B:1-{two}, C:1-{three}")
        .parse()
        .unwrap();
    let before = vector.clone();
    vector.set(Entry::new(node, Etag(9), one.clone()));
    assert_eq!(
        vector.to_string(),
        format!("B:1-{two}, C:1-{three}, A:9-{one}")
    );
    assert_eq!(vector.relation(&before), Relation::Newer);
    let mut moved: ChangeVector = format!("MOVE:5-{one}|A:3-{two}").parse().unwrap();
    moved.set(Entry::new(node, Etag(9), one.clone()));
    assert_eq!(
        moved.to_string(),
        format!("MOVE:5-{one}, A:9-{one}|A:3-{two}, A:9-{one}")
    );
    assert_eq!(
        ChangeVector::of(Entry::new(node, Etag(4), one.clone())).etag_of(&one),
        Some(Etag(4))
    );
    assert!(ChangeVector::default().is_empty() && !moved.is_empty());
}
