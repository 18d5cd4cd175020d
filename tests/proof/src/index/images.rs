//! Power fails at every moment of a script of batches, and each image holds an index equal to one
//! that is built from the rows of that moment.
//!
//! Called by the program and by the fast suite.

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_search::{IndexError, IndexReader, IndexWriter, MemoryStore};
use jackdaw_sim::{ImageBudget, Rng, SimVfs, Sweep, SweepReport};
use jackdaw_storage::{Environment, Options};

use super::content::{self, Content};
use super::rows::Rows;
use crate::disk;

const DIRECTORY: &str = "/index";
/// Batches of one script.
pub const BATCHES: u64 = 14;
/// Images of a moment that allows more than can all be tried.
pub const IMAGES_PER_MOMENT: u64 = 8;
/// Entries of the rows: some words are in enough of them for several chunks.
const ENTRIES: u64 = 400;

struct Script {
    seed: u64,
    vfs: Arc<SimVfs>,
    /// What an index built at once holds after each batch.
    contents: Vec<Content>,
    /// Operations of the disk before a batch was acknowledged; its place is its number less 1.
    acknowledged: Vec<u64>,
}

/// Runs the script of `seed` and checks images of all its moments.
///
/// # Errors
/// The first image that is not what it has to be.
pub fn run(seed: u64, batches: u64, images_per_moment: u64) -> Result<SweepReport, String> {
    let script = Script::run(seed, batches)?;
    let sweep = Sweep {
        budget: ImageBudget {
            exhaustive_max: images_per_moment,
            sample_count: images_per_moment,
            seed,
        },
        completed_min: 0,
    };
    let history = script.vfs.history();
    history
        .sweep(sweep, |image, completed| script.check(image, completed))
        .map_err(|failure| failure.to_string())
}

fn open(vfs: &Arc<SimVfs>, seed: u64) -> Result<Environment, String> {
    let disk = disk::of_seed(seed, Arc::clone(vfs) as Arc<dyn Vfs>);
    Environment::open(disk, Path::new(DIRECTORY), Options::small()).map_err(|e| e.to_string())
}

/// What an index holds that is built from these rows.
fn rebuilt(rows: &Rows, position: u64) -> Result<Content, IndexError> {
    let mut store = MemoryStore::new();
    IndexWriter::new().apply(&mut store, &rows.batch()?, Some(position))?;
    let reader = IndexReader::open(&store)?;
    Ok(content::read(reader.as_ref()).unwrap_or_default())
}

impl Script {
    fn run(seed: u64, batches: u64) -> Result<Script, String> {
        let vfs = SimVfs::new(seed);
        let mut rng = Rng::new(seed);
        let mut environment = open(&vfs, seed)?;
        let mut rows = Rows::default();
        let (mut contents, mut acknowledged) = (vec![Content::default()], Vec::new());
        for position in 1..=batches {
            let count = [300, 1, 20, 120][rng.below_usize(4)];
            let batch = rows.change(count, ENTRIES, &mut rng);
            let batch = batch.map_err(|error| error.to_string())?;
            contents.push(rebuilt(&rows, position).map_err(|error| error.to_string())?);
            environment
                .write(move |transaction| -> Result<(), IndexError> {
                    IndexWriter::new().apply(transaction, &batch, Some(position))?;
                    Ok(())
                })
                .map_err(|error| error.to_string())?;
            acknowledged.push(vfs.operation_count());
            match rng.below(5) {
                0 => environment.flush().map_err(|e| e.to_string())?,
                1 => {
                    drop(environment);
                    environment = open(&vfs, seed)?;
                }
                _ => {}
            }
        }
        drop(environment);
        Ok(Script {
            seed,
            vfs,
            contents,
            acknowledged,
        })
    }

    fn check(&self, image: &Arc<SimVfs>, completed: u64) -> Result<(), String> {
        let environment = open(image, self.seed)?;
        let snapshot = environment.read().map_err(|e| e.to_string())?;
        let reader = IndexReader::open(&snapshot).map_err(|e| e.to_string())?;
        let found = content::read(reader.as_ref())?;
        let oldest = self
            .acknowledged
            .partition_point(|operations| *operations <= completed);
        let at = usize::try_from(found.indexed_up_to).unwrap_or(usize::MAX);
        if !(oldest..=oldest + 1).contains(&at) {
            return Err(format!("batch {oldest} was acknowledged, {at} is the last"));
        }
        match self.contents.get(at) {
            Some(expected) if *expected == found => Ok(()),
            Some(_) => Err(format!(
                "the index is not that of its rows after batch {at}"
            )),
            None => Err(format!("batch {at} was never made")),
        }
    }
}
