//! Power fails at every moment of a script, and whatever mixture of unsynced sectors, lengths and
//! names the disk may hold then is opened and compared with the model.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{ImageBudget, Rng, SimVfs, Sweep, SweepReport};
use jackdaw_storage::{Environment, Options};

use crate::disk;
use crate::model::{State, change, check_sound, compare_all};

const DIRECTORY: &str = "/db";
/// Transactions of one script: enough for several journal files, flushes and reopenings.
pub const TRANSACTIONS: u64 = 200;
/// Images of a moment that allows more than can all be tried.
pub const IMAGES_PER_MOMENT: u64 = 96;

struct Script {
    seed: u64,
    vfs: Arc<SimVfs>,
    states: BTreeMap<u64, State>,
    /// Operations of the disk before a transaction was acknowledged, and its number.
    acknowledged: Vec<(u64, u64)>,
}

fn open(vfs: &Arc<SimVfs>, seed: u64) -> Result<Environment, String> {
    let disk = disk::of_seed(seed, Arc::clone(vfs) as Arc<dyn Vfs>);
    Environment::open(disk, Path::new(DIRECTORY), Options::small()).map_err(|e| e.to_string())
}

/// Runs the script of `seed` and checks images of all its moments.
///
/// # Errors
/// The first image that is not what it has to be.
pub fn run(seed: u64, transactions: u64, images_per_moment: u64) -> Result<SweepReport, String> {
    let script = Script::run(seed, transactions)?;
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

impl Script {
    fn run(seed: u64, transactions: u64) -> Result<Script, String> {
        let vfs = SimVfs::new(seed);
        let mut rng = Rng::new(seed);
        let mut environment = open(&vfs, seed)?;
        let mut state = State::default();
        let mut states = BTreeMap::from([(0, state.clone())]);
        let mut acknowledged = Vec::new();
        for _ in 0..transactions {
            let mut transaction = environment.begin_write().map_err(|e| e.to_string())?;
            let number = transaction.id().0;
            change(&mut transaction, &mut state, &mut rng).map_err(|e| e.to_string())?;
            states.insert(number, state.clone());
            transaction.commit().map_err(|e| e.to_string())?;
            acknowledged.push((vfs.operation_count(), number));
            match rng.below(10) {
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
            states,
            acknowledged,
        })
    }

    fn check(&self, image: &Arc<SimVfs>, completed: u64) -> Result<(), String> {
        let environment = open(image, self.seed)?;
        let reader = environment.read().map_err(|e| e.to_string())?;
        let found = reader.id().0;
        let count = self
            .acknowledged
            .partition_point(|(operations, _)| *operations <= completed);
        let oldest = count
            .checked_sub(1)
            .map_or(0, |last| self.acknowledged[last].1);
        if !(oldest..=oldest + 1).contains(&found) {
            return Err(format!(
                "transaction {oldest} was acknowledged, {found} is the last"
            ));
        }
        let state = self.states.get(&found).ok_or("an unknown transaction")?;
        compare_all(&environment, state)?;
        drop(reader);
        check_sound(&environment)
    }
}
