//! Streams against a map of vectors: the same operations give the same bytes, and no page leaks.
//!
//! Random tests print their seed; `TREE_SEED=n cargo test -p jackdaw-storage` replays one.

use std::collections::BTreeMap;
use std::io::Read;

use super::*;
use crate::error::StorageError;
use crate::page::MemoryPages;
use crate::tree::tests::Random;
use crate::tree::{Tree, TreeRoot, TreeState};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

struct Fixture {
    pages: MemoryPages,
    state: TreeState,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture {
            pages: MemoryPages::new(),
            state: TreeState::new(TreeRoot::empty()),
        }
    }

    fn streams(&self) -> Streams<'_, MemoryPages> {
        Streams::new(&self.pages, self.state.root)
    }

    fn streams_mut(&mut self) -> StreamsMut<'_, MemoryPages> {
        StreamsMut::new(&mut self.pages, &mut self.state)
    }

    fn append(&mut self, name: &[u8], bytes: &[u8]) -> u64 {
        let mut streams = self.streams_mut();
        streams.open(name).unwrap().append(bytes).unwrap()
    }

    fn assert_equals(&self, model: &Model) {
        let tree = Tree::new(&self.pages, self.state.root).verify().unwrap();
        assert_eq!(self.pages.page_count(), tree.pages(), "a page leaked");
        let report = self.streams().verify().unwrap();
        let bytes: usize = model.values().map(Vec::len).sum();
        assert_eq!(
            (report.streams, report.bytes),
            (model.len() as u64, bytes as u64)
        );
        let found = self.streams().iter().unwrap().map(|entry| {
            let (name, stream) = entry.unwrap();
            let mut bytes = Vec::new();
            stream.reader().read_to_end(&mut bytes).unwrap();
            assert_eq!(stream.len(), bytes.len() as u64);
            (name, bytes)
        });
        assert!(found.eq(model.clone()));
    }
}

/// Pieces around the lengths at which something changes.
fn piece(random: &mut Random) -> Vec<u8> {
    let lengths = [
        0,
        1,
        100,
        3_900,
        8_192,
        100_000,
        STREAM_CHUNK_BYTES,
        600_000,
    ];
    let len = lengths[random.below(lengths.len())];
    let byte = random.next().to_le_bytes()[0];
    (0..len + random.below(3))
        .map(|at| byte ^ at.to_le_bytes()[0])
        .collect()
}

fn check_reads(fixture: &Fixture, name: &[u8], model: &Model, random: &mut Random) {
    let stream = fixture.streams().get(name).unwrap();
    assert_eq!(stream.is_some(), model.contains_key(name));
    let (Some(stream), Some(expected)) = (stream, model.get(name)) else {
        return;
    };
    let start = random.below(expected.len() + 2);
    let mut buffer = vec![0; random.below(400_000)];
    let count = stream.read_at(start as u64, &mut buffer).unwrap();
    let rest = expected.get(start..).unwrap_or_default();
    assert_eq!(&buffer[..count], &rest[..rest.len().min(buffer.len())]);
}

#[test]
fn streams_behave_like_vectors() {
    let mut random = Random::announced(31);
    let mut fixture = Fixture::new();
    let mut model = Model::new();
    for step in 0..400 {
        let name = format!("name-{}", random.below(6)).into_bytes();
        let other = format!("name-{}", random.below(6)).into_bytes();
        match random.below(10) {
            0 => {
                let was_there = model.remove(&name).is_some();
                assert_eq!(fixture.streams_mut().delete(&name).unwrap(), was_there);
            }
            1 => {
                let moved = model.remove(&name);
                let renamed = fixture.streams_mut().rename(&name, &other).unwrap();
                assert_eq!(renamed, moved.is_some());
                moved.into_iter().for_each(|bytes| {
                    model.insert(other.clone(), bytes);
                });
            }
            _ => {
                let bytes = piece(&mut random);
                let expected = model.entry(name.clone()).or_default();
                expected.extend_from_slice(&bytes);
                assert_eq!(fixture.append(&name, &bytes), expected.len() as u64);
            }
        }
        check_reads(&fixture, &name, &model, &mut random);
        if step % 50 == 0 {
            fixture.assert_equals(&model);
        }
    }
    fixture.assert_equals(&model);
    for name in model.keys() {
        assert!(fixture.streams_mut().delete(name).unwrap());
    }
    fixture.assert_equals(&Model::new());
    assert_eq!(
        fixture.state.root.entry_count(),
        1,
        "only the counter is left"
    );
}

#[test]
fn chunks_are_full_but_for_the_last() {
    let mut fixture = Fixture::new();
    let bytes: Vec<u8> = (0..STREAM_CHUNK_BYTES * 2 + 7)
        .map(|at| at.to_le_bytes()[1])
        .collect();
    for piece in bytes.chunks(77_777) {
        fixture.append(b"a", piece);
    }
    let stream = fixture.streams().get(b"a").unwrap().unwrap();
    let chunks: Vec<&[u8]> = stream.chunks().map(|chunk| chunk.unwrap()).collect();
    let lengths: Vec<usize> = chunks.iter().map(|chunk| chunk.len()).collect();
    assert_eq!(lengths, [STREAM_CHUNK_BYTES, STREAM_CHUNK_BYTES, 7]);
    assert_eq!(chunks.concat(), bytes);
    // 32 pages a full chunk, none half empty.
    assert_eq!(fixture.pages.page_count(), 64 + 1);
}

#[test]
fn names_have_a_limit_and_empty_streams_exist() {
    let mut fixture = Fixture::new();
    let longest = vec![b'n'; STREAM_NAME_BYTES_MAX];
    assert_eq!(fixture.append(&longest, b""), 0);
    assert!(fixture.streams().get(&longest).unwrap().unwrap().is_empty());
    let too_long = vec![b'n'; STREAM_NAME_BYTES_MAX + 1];
    assert!(matches!(
        fixture.streams_mut().open(&too_long).map(|_| ()),
        Err(StorageError::KeyTooLong { .. })
    ));
    assert!(!fixture.streams_mut().rename(b"missing", b"x").unwrap());
}

#[test]
fn missing_chunks_are_damage() {
    let mut fixture = Fixture::new();
    fixture.append(b"a", &vec![1; STREAM_CHUNK_BYTES + 1]);
    let mut tree = crate::tree::TreeMut::new(&mut fixture.pages, &mut fixture.state);
    assert!(tree.delete(&chunk_key(1, 0)).unwrap());
    let stream = fixture.streams().get(b"a").unwrap().unwrap();
    assert!(matches!(stream.piece_at(0), Err(StorageError::Corrupt(_))));
    assert_eq!(stream.chunks().count(), 1, "an error ends the walk");
    assert!(fixture.streams().verify().is_err());
}

#[test]
fn layout_is_that_of_the_format_page() {
    jackdaw_sim::assert_layout!(
        "storage::stream::StreamHead",
        StreamHead {
            version,
            reserved,
            chunk_bytes,
            number,
            len_bytes,
            reserved_word
        }
    );
}
