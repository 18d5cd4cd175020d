//! What is proven: an index in an environment is whole after power loss: it holds exactly the
//! batches up to the position stored with it, whatever of the unsynced writes survived, and it
//! passes its check. A snapshot keeps its answers while batches go on. How: random batches on the
//! simulated disk, crashes at random moments with random mixtures of what was not synced, and a
//! model of every batch.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_search::{
    Analyzer, Batch, Budget, EntryId, FieldOptions, IndexError, IndexReader, IndexWriter,
    NearestOptions, StoredTerm, Term, Vector, VectorOptions, VectorStorage,
};
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::{Environment, Options, ReadTransaction};

const BATCHES: u64 = 12;

/// Entries and the number in their only text, after each batch.
type Content = BTreeSet<(u64, u64)>;

fn open(vfs: &Arc<SimVfs>, options: Options) -> Environment {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new("/index"), options).unwrap()
}

/// The vector of entries with this number.
fn vector_of(number: u64) -> Vector {
    let floats = [number, number % 7, number % 31, 1];
    let floats = floats.map(|float| f32::from(u16::try_from(float).unwrap()));
    Vector::from_floats(&floats, VectorStorage::F32).unwrap()
}

/// A batch that puts and deletes some entries, and what the content is afterwards.
fn next_batch(random: &mut Rng, content: &mut Content) -> Batch {
    let mut batch = Batch::new();
    let field = batch.field("Text", Analyzer::LowercaseKeyword).unwrap();
    let options = FieldOptions::of_vectors(VectorOptions::default());
    let vectors = batch.field("Vector", options).unwrap();
    for _ in 0..60 + random.below(120) {
        let entry = random.below(900);
        content.retain(|&(other, _)| other != entry);
        if random.below(4) == 0 {
            batch.delete(EntryId(entry)).unwrap();
        } else {
            let number = if random.below(2) == 0 {
                7
            } else {
                random.below(1_000)
            };
            let mut terms = batch.put(EntryId(entry)).unwrap();
            terms.text(field, &format!("Text {number}"));
            terms.vector(vectors, &vector_of(number));
            content.insert((entry, number));
        }
    }
    batch
}

fn apply(environment: &Environment, batch: Batch, position: u64) {
    environment
        .write(move |transaction| -> Result<(), IndexError> {
            IndexWriter::new()
                .apply(transaction, &batch, Some(position))
                .map(|_| ())
        })
        .unwrap();
}

/// What the index of a snapshot says: its position and content, read through terms and through
/// forward records, which must agree.
fn content_of(snapshot: &ReadTransaction) -> (u64, Content) {
    let Some(reader) = IndexReader::open(snapshot).unwrap() else {
        return (0, Content::new());
    };
    assert_eq!(reader.verify().unwrap().damages, []);
    let field = reader.field("Text").unwrap();
    let mut content = Content::new();
    for entry in &reader.all().unwrap() {
        let mut terms = reader.entry_terms(entry).unwrap().unwrap();
        let Some(StoredTerm::Text(text)) = terms.next_of(field).unwrap() else {
            panic!("entry {entry} has no text");
        };
        content.insert((entry.0, text.to_text()["text ".len()..].parse().unwrap()));
    }
    let sevens = reader.term(field, Term::Text("TEXT 7")).unwrap();
    let expected: Vec<EntryId> = content
        .iter()
        .filter(|(_, number)| *number == 7)
        .map(|&(entry, _)| EntryId(entry))
        .collect();
    assert!(sevens.certain().iter().eq(expected.iter().copied()));
    let vectors = reader.field("Vector").unwrap();
    let options = NearestOptions {
        count: 1,
        minimum: 0.99999,
        is_exact: false,
        within: None,
    };
    let target = vector_of(7);
    let near = reader.nearest(vectors, &target, &options, &mut Budget::unlimited());
    let near = near.unwrap().into_iter().map(|near| near.entry);
    assert!(near.eq(expected));
    (reader.indexed_up_to(), content)
}

#[test]
fn power_loss_leaves_a_prefix_of_the_batches() {
    for (seed, options) in [(1, Options::small()), (2, Options::rebuildable())] {
        println!("seed {seed}");
        let mut random = Rng::new(seed);
        let vfs = SimVfs::new(seed);
        let environment = open(&vfs, options);
        let mut contents = vec![Content::new()];
        for position in 1..=BATCHES {
            let mut content = contents.last().unwrap().clone();
            let batch = next_batch(&mut random, &mut content);
            contents.push(content);
            apply(&environment, batch, position);
            if position % 3 != 0 {
                continue;
            }
            for choice in [
                CrashChoice::LoseAll,
                CrashChoice::KeepAll,
                CrashChoice::Random(position),
            ] {
                let crashed = open(&vfs.crash(choice), options);
                let (found, content) = content_of(&crashed.read().unwrap());
                let found_at = usize::try_from(found).unwrap();
                assert_eq!(content, contents[found_at], "seed {seed}, {choice:?}");
                let is_durable = seed == 1;
                assert!(!is_durable || found == position, "seed {seed}, {choice:?}");
            }
        }
    }
}

#[test]
fn a_snapshot_keeps_its_answers() {
    let vfs = SimVfs::new(3);
    let environment = open(&vfs, Options::small());
    let mut random = Rng::new(3);
    let mut content = Content::new();
    let mut kept = Vec::new();
    for position in 1..=BATCHES {
        let batch = next_batch(&mut random, &mut content);
        apply(&environment, batch, position);
        kept.push((environment.read().unwrap(), position, content.clone()));
    }
    for (snapshot, position, content) in kept {
        assert_eq!(content_of(&snapshot), (position, content));
    }
}

#[test]
fn a_failed_batch_leaves_nothing() {
    let environment = open(&SimVfs::new(4), Options::small());
    let mut content = Content::new();
    let mut random = Rng::new(4);
    apply(&environment, next_batch(&mut random, &mut content), 1);
    let mut unwanted = next_batch(&mut random, &mut Content::new());
    unwanted.field("Other", Analyzer::Keyword).unwrap();
    let outcome = environment.write(move |transaction| {
        IndexWriter::new().apply(transaction, &unwanted, Some(2))?;
        let reader = IndexReader::open(transaction)?.unwrap();
        assert_eq!(reader.indexed_up_to(), 2, "a writer sees its own changes");
        Err::<(), IndexError>(IndexError::Interrupted)
    });
    assert!(outcome.is_err());
    let snapshot = environment.read().unwrap();
    assert_eq!(content_of(&snapshot), (1, content));
    assert_eq!(
        IndexReader::open(&snapshot)
            .unwrap()
            .unwrap()
            .field("Other"),
        None
    );
}
