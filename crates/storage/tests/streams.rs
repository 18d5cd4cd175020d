//! Streams in an environment: written over several transactions, read from snapshots, whole after
//! power loss at any operation of the disk.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{ImageBudget, Rng, SimVfs, Sweep};
use jackdaw_storage::{
    CheckLevel, Environment, Options, ReadTransaction, STREAM_CHUNK_BYTES, StorageError,
    WriteError, WriteTransaction,
};

const TREE: &str = "attachments";

/// Name of a stream to its length and a byte that it repeats.
type State = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(vfs: &Arc<SimVfs>) -> Result<Environment, String> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    let opened = Environment::open(vfs, Path::new("/db"), Options::small());
    opened.map_err(|error| error.to_string())
}

fn content(reader: &ReadTransaction) -> Result<State, StorageError> {
    let Some(streams) = reader.streams(TREE)? else {
        return Ok(State::new());
    };
    streams.verify()?;
    let mut state = State::new();
    for entry in streams.iter()? {
        let (name, stream) = entry?;
        let chunks: Result<Vec<&[u8]>, StorageError> = stream.chunks().collect();
        state.insert(name, chunks?.concat());
    }
    Ok(state)
}

#[test]
fn stream_grows_over_transactions_and_gets_its_name_last() {
    let vfs = SimVfs::new(1);
    let environment = open(&vfs).unwrap();
    let mut expected = Vec::new();
    for round in 0..8_u8 {
        let piece = vec![round; 100_000];
        expected.extend_from_slice(&piece);
        let append = move |transaction: &mut WriteTransaction| {
            let mut streams = transaction.streams_mut(TREE)?;
            streams.open(b"upload")?.append(&piece)
        };
        assert_eq!(environment.write(append).unwrap(), expected.len() as u64);
    }
    let before = environment.read().unwrap();
    let rename = |transaction: &mut WriteTransaction| {
        transaction.streams_mut(TREE)?.rename(b"upload", b"hash")
    };
    assert!(environment.write(rename).unwrap());
    environment.flush().unwrap();
    drop(environment);
    assert_eq!(
        content(&before).unwrap(),
        State::from([(b"upload".to_vec(), expected.clone())])
    );
    drop(before);
    let environment = open(&vfs).unwrap();
    let state = content(&environment.read().unwrap()).unwrap();
    assert_eq!(state, State::from([(b"hash".to_vec(), expected)]));
    let remove =
        |transaction: &mut WriteTransaction| transaction.streams_mut(TREE)?.delete(b"hash");
    assert!(environment.write(remove).unwrap());
    let report = environment.check(CheckLevel::Full).unwrap();
    assert_eq!(report.damages, []);
    assert!(
        report.free_pages > 100,
        "{} pages came back",
        report.free_pages
    );
}

#[test]
fn refused_append_leaves_the_stream_as_it_was() {
    let environment = open(&SimVfs::new(2)).unwrap();
    let append = |transaction: &mut WriteTransaction, byte: u8| {
        let mut streams = transaction.streams_mut(TREE)?;
        streams
            .open(b"a")?
            .append(&vec![byte; STREAM_CHUNK_BYTES + 9])
    };
    environment
        .write(move |transaction| append(transaction, 1))
        .unwrap();
    let refused = environment.write(move |transaction| {
        append(transaction, 2)?;
        Err::<(), StorageError>(StorageError::Full)
    });
    assert!(matches!(
        refused,
        Err(WriteError::Operation(StorageError::Full))
    ));
    let state = content(&environment.read().unwrap()).unwrap();
    assert_eq!(state[b"a".as_slice()], vec![1; STREAM_CHUNK_BYTES + 9]);
}

/// Changes streams in one transaction, and the model with them.
fn change(transaction: &mut WriteTransaction, state: &mut State, rng: &mut Rng) {
    let mut streams = transaction.streams_mut(TREE).unwrap();
    for _ in 0..=rng.below(3) {
        let name = format!("s{}", rng.below(4)).into_bytes();
        let other = format!("s{}", rng.below(4)).into_bytes();
        match rng.below(8) {
            0 => {
                streams.delete(&name).unwrap();
                state.remove(&name);
            }
            1 => {
                streams.rename(&name, &other).unwrap();
                if let Some(bytes) = state.remove(&name) {
                    state.insert(other, bytes);
                }
            }
            _ => {
                let byte = u8::try_from(rng.below(256)).unwrap();
                let piece = vec![byte; *rng.pick(&[10, 5_000, 60_000, STREAM_CHUNK_BYTES])];
                streams.open(&name).unwrap().append(&piece).unwrap();
                state.entry(name).or_default().extend_from_slice(&piece);
            }
        }
    }
    // Every transaction changes something, so that each gets a number.
    let stamp = rng.next_u64().to_le_bytes();
    transaction
        .tree_mut("stamp")
        .unwrap()
        .put(b"stamp", &stamp)
        .unwrap();
}

#[test]
fn every_acknowledged_append_survives_power_loss() {
    let vfs = SimVfs::new(3);
    let mut rng = Rng::new(3);
    let environment = open(&vfs).unwrap();
    let mut state = State::new();
    let mut states = vec![state.clone()];
    let mut acknowledged = vec![0];
    for round in 0..14 {
        let mut transaction = environment.begin_write().unwrap();
        change(&mut transaction, &mut state, &mut rng);
        states.push(state.clone());
        transaction.commit().unwrap();
        acknowledged.push(vfs.operation_count());
        if round % 4 == 3 {
            environment.flush().unwrap();
        }
    }
    drop(environment);
    let budget = ImageBudget {
        exhaustive_max: 3,
        sample_count: 3,
        seed: 3,
    };
    let sweep = Sweep {
        budget,
        completed_min: acknowledged[1],
    };
    let check = |image: &Arc<SimVfs>, completed: u64| {
        let environment = open(image)?;
        let reader = environment.read().map_err(|error| error.to_string())?;
        let found = usize::try_from(reader.id().0).unwrap();
        let oldest = acknowledged.partition_point(|count| *count <= completed) - 1;
        if found != oldest && found != oldest + 1 {
            return Err(format!(
                "transaction {found} is there, {oldest} was acknowledged"
            ));
        }
        let state = content(&reader).map_err(|error| error.to_string())?;
        if states[found] != state {
            return Err(format!("the streams are not those of transaction {found}"));
        }
        let report = environment.check(CheckLevel::Full);
        match report.map_err(|error| error.to_string())?.damages.first() {
            None => Ok(()),
            Some(damage) => Err(damage.to_string()),
        }
    };
    let report = vfs.history().sweep(sweep, check);
    let report = report.unwrap_or_else(|failure| panic!("seed 3: {failure}"));
    assert!(report.image_count > 100, "{} images", report.image_count);
}
