//! `jackdaw bench storage`: the shared workloads on the storage engine.
//!
//! The same program, data and output measure other engines in `benches/compare`.

use anyhow::Context;
use jackdaw_io::RealVfs;
use jackdaw_storage::{Environment, Options, StorageError};
use jackdaw_workload::{Batch, Durability, Engine, Error, Key, Measurement, Settings, touch};

use crate::output::numbers::{bytes, count};
use crate::output::say::say;
use crate::output::table::{Align, Table};

/// The one tree of the workloads.
const TREE: &str = "entries";

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StorageArguments {
    #[command(flatten)]
    settings: Settings,
    /// One line of JSON per measurement instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs a workload in a new or empty directory.
pub(crate) fn run(arguments: &StorageArguments) -> anyhow::Result<()> {
    let settings = &arguments.settings;
    let directory = &settings.directory;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let is_empty = std::fs::read_dir(directory)
        .with_context(|| format!("cannot read {}", directory.display()))?
        .next()
        .is_none();
    anyhow::ensure!(
        is_empty,
        "{} is not empty: name a new directory on the disk to be measured",
        directory.display()
    );
    if cfg!(debug_assertions) {
        eprintln!("jackdaw: built without optimization, so these numbers mean nothing");
    }
    let engine = StorageEngine::open(settings)?;
    let mut measurements = Vec::new();
    let mut report = |measurement: Measurement| {
        if arguments.json {
            say!("{}", measurement.to_json());
        }
        measurements.push(measurement);
    };
    jackdaw_workload::run(&engine, settings, &mut report)
        .map_err(|error| anyhow::anyhow!(error))
        .with_context(|| format!("the workload failed in {}", directory.display()))?;
    if !arguments.json {
        say!("{}", table(&measurements).trim_end());
    }
    Ok(())
}

fn table(measurements: &[Measurement]) -> String {
    let columns = [
        ("Workload", Align::Left),
        ("Mode", Align::Left),
        ("Operations", Align::Right),
        ("Per second", Align::Right),
        ("Median us", Align::Right),
        ("99% us", Align::Right),
        ("Data", Align::Right),
        ("Written", Align::Right),
        ("On disk", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for found in measurements {
        let micros =
            |per_mille| format!("{:.1}", found.latencies.at(per_mille).as_secs_f64() * 1e6);
        table.row([
            found.workload,
            found.mode,
            &count(found.ops),
            &count(crate::output::numbers::per_second(found.ops, found.time)),
            &micros(500),
            &micros(990),
            &bytes(found.logical_bytes),
            &bytes(found.write_bytes),
            &bytes(found.file_bytes),
        ]);
    }
    table.render(None)
}

/// The storage engine behind the seam of the workloads.
struct StorageEngine {
    environment: Environment,
}

impl StorageEngine {
    fn open(settings: &Settings) -> anyhow::Result<Self> {
        let durability = match settings.durability {
            Durability::Full => jackdaw_io::Durability::Data,
            Durability::None => jackdaw_io::Durability::None,
        };
        let options = Options {
            durability,
            ..Options::default()
        };
        let environment = Environment::open(RealVfs::new(), &settings.directory, options)?;
        // The tree exists before anything is timed.
        environment.write(|transaction| transaction.tree_mut(TREE).map(|_| ()))?;
        Ok(Self { environment })
    }

    fn with_tree<T>(
        &self,
        read: impl FnOnce(
            &jackdaw_storage::Tree<'_, jackdaw_storage::ReadTransaction>,
        ) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let transaction = self.environment.read()?;
        let tree = transaction.tree(TREE)?.ok_or("the tree is missing")?;
        read(&tree)
    }
}

impl Engine for StorageEngine {
    fn name(&self) -> &'static str {
        "jackdaw"
    }

    fn put(&self, batch: Batch) -> Result<(), Error> {
        Ok(self.environment.write(move |transaction| {
            let mut tree = transaction.tree_mut(TREE)?;
            for (key, value) in batch.items() {
                tree.put(&key, value)?;
            }
            Ok::<_, StorageError>(())
        })?)
    }

    fn delete(&self, batch: Batch) -> Result<(), Error> {
        Ok(self.environment.write(move |transaction| {
            let mut tree = transaction.tree_mut(TREE)?;
            for key in batch.keys() {
                tree.delete(&key)?;
            }
            Ok::<_, StorageError>(())
        })?)
    }

    fn get_all(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<u64, Error> {
        self.with_tree(|tree| {
            let mut sum = 0_u64;
            for key in keys {
                let value = tree.get(&key)?.ok_or("a key is missing")?;
                sum = sum.wrapping_add(touch(value));
            }
            Ok(sum)
        })
    }

    fn get(&self, key: &Key) -> Result<u64, Error> {
        self.with_tree(|tree| Ok(touch(tree.get(key)?.ok_or("a key is missing")?)))
    }

    fn scan(&self) -> Result<(u64, u64), Error> {
        self.with_tree(|tree| {
            let (mut entries, mut sum) = (0, 0_u64);
            let mut cursor = tree.cursor();
            let mut more = cursor.seek_first()?;
            while more {
                let value = cursor.value()?.ok_or("an entry is missing")?;
                entries += 1;
                sum = sum.wrapping_add(touch(value));
                more = cursor.next()?;
            }
            Ok((entries, sum))
        })
    }

    fn settle(&self) -> Result<(), Error> {
        self.environment.wait_for_queued()?;
        Ok(self.environment.flush()?)
    }
}
