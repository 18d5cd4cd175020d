//! The storage engine's surface: transactions, snapshots, walks and errors.

use jackdaw::{Error, storage};

use crate::common::Directory;

#[test]
fn trees_are_there_after_reopening() {
    let directory = Directory::new();
    let trees = storage::open(directory.path()).unwrap();
    trees
        .write(|change| change.tree("a")?.put(b"k", b"v"))
        .unwrap();
    drop(trees);
    let trees = storage::open(directory.path()).unwrap();
    let snapshot = trees.read().unwrap();
    assert_eq!(
        snapshot.tree("a").unwrap().get(b"k").unwrap(),
        Some(&b"v"[..])
    );
    assert!(snapshot.tree("b").unwrap().is_empty());
    assert!(snapshot.tree("b").unwrap().iter().unwrap().next().is_none());
}

#[test]
fn a_change_that_fails_leaves_nothing() {
    let trees = storage::in_memory().unwrap();
    let refused = trees.write(|change| {
        change.tree("a")?.put(b"k", b"v")?;
        Err::<(), _>(Error::invalid("no"))
    });
    assert!(matches!(refused, Err(Error::Invalid(ref cause)) if cause.to_string() == "no"));
    let refused = trees.write_here(|change| {
        change.tree("a")?.put(b"k", b"v")?;
        Err::<(), _>(Error::invalid("no"))
    });
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let panicked = trees.write(|change| -> jackdaw::Result<()> {
        change.tree("a")?.put(b"k", b"v")?;
        panic!("a mistake of the program");
    });
    assert!(matches!(panicked, Err(Error::Internal(_))), "{panicked:?}");
    assert!(trees.read().unwrap().tree("a").unwrap().is_empty());
}

#[test]
fn walks_follow_their_bounds_from_both_ends() {
    let trees = storage::in_memory().unwrap();
    let keys: Vec<[u8; 2]> = (0..500_u16).map(u16::to_be_bytes).collect();
    trees
        .write_here(|change| {
            let mut tree = change.tree("a")?;
            for key in &keys {
                tree.put(key, key)?;
            }
            assert!(tree.delete(&keys[3])?);
            assert!(!tree.delete(&keys[3])?);
            Ok(())
        })
        .unwrap();
    let snapshot = trees.read().unwrap();
    let tree = snapshot.tree("a").unwrap();
    let read = |entries: storage::Entries<'_>| {
        let key = |entry: jackdaw::Result<(Vec<u8>, &[u8])>| {
            let (key, value) = entry.unwrap();
            assert_eq!(key, value);
            u16::from_be_bytes(key.try_into().unwrap())
        };
        entries.map(key).collect::<Vec<_>>()
    };
    assert_eq!(tree.len(), 499);
    assert_eq!(
        read(tree.range(&keys[2][..]..&keys[6][..]).unwrap()),
        [2, 4, 5]
    );
    assert_eq!(read(tree.range(&keys[497][..]..).unwrap()), [497, 498, 499]);
    assert!(read(tree.range(&keys[6][..]..&keys[2][..]).unwrap()).is_empty());
    assert_eq!(read(tree.prefix(&[1]).unwrap()).len(), 500 - 256);
    let last = tree.iter().unwrap().next_back().unwrap().unwrap();
    assert_eq!(last.0, keys[499]);
}

#[test]
fn limits_of_keys_are_errors_of_the_caller() {
    let trees = storage::in_memory().unwrap();
    let long = trees.write(|change| change.tree("a")?.put(&[7; 1_025], b""));
    assert!(matches!(long, Err(Error::Invalid(_))), "{long:?}");
    trees
        .write(|change| change.tree("a")?.put(&[7; 1_024], &[0; 100_000]))
        .unwrap();
    trees
        .write(|change| change.tree("a")?.put(b"", b""))
        .unwrap();
    assert_eq!(
        trees.read().unwrap().tree("a").unwrap().get(b"").unwrap(),
        Some(&b""[..])
    );
}

#[test]
fn a_transaction_reads_what_it_wrote() {
    let trees = storage::in_memory().unwrap();
    trees
        .write(|change| {
            change.tree("a")?.put(b"k", b"1")?;
            assert_eq!(change.read("a")?.get(b"k")?, Some(&b"1"[..]));
            assert!(change.read("b")?.is_empty());
            assert!(change.drop_tree("a")?);
            assert!(change.read("a")?.is_empty());
            Ok(())
        })
        .unwrap();
    trees.flush().unwrap();
    assert!(trees.read().unwrap().tree("a").unwrap().is_empty());
}
