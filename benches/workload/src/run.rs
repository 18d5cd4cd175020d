//! Runs a workload on an engine: loads what it needs, warms up, measures.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::data::{self, Batch, ITEM_KEY_BYTES, Key, Order};
use crate::engine::{Engine, Error};
use crate::measure::{self, Latencies, Measurement, Started};
use crate::settings::{Settings, Workload};

const VALUE_BYTES: usize = 128;
const LARGE_VALUE_BYTES: usize = 1 << 20;
const CLIENTS: u64 = 16;
const READERS: u64 = 2;
/// Items in a transaction while loading what a read or delete is measured on.
const LOAD_BATCH: u64 = 10_000;
/// One read in so many is timed on its own: reading the clock costs a twentieth of a read.
const READ_SAMPLE: u64 = 64;

/// Runs one workload and hands every measurement to `report` as it ends.
///
/// # Errors
/// The first error of the engine, or one that says how its answers are wrong.
pub fn run(
    engine: &dyn Engine,
    settings: &Settings,
    report: &mut dyn FnMut(Measurement),
) -> Result<(), Error> {
    let run = Run {
        engine,
        settings,
        items: settings.item_count(),
    };
    match settings.workload {
        Workload::Seq => report(run.writes(Order::Sequential, settings.per_transaction)?),
        Workload::Random => report(run.writes(Order::Random, settings.per_transaction)?),
        Workload::OneTransaction => report(run.writes(Order::Sequential, run.items)?),
        Workload::Small => report(run.writes(Order::Random, 1)?),
        Workload::Small16 => report(run.writes_of_clients()?),
        Workload::Large => report(run.large_writes()?),
        Workload::Read => {
            run.load()?;
            report(run.reads_in_one_snapshot()?);
            report(run.reads_in_transactions()?);
            report(run.reads_of_threads()?);
        }
        Workload::Scan => {
            run.load()?;
            report(run.scan()?);
        }
        Workload::Delete => {
            run.load()?;
            report(run.deletes()?);
        }
    }
    Ok(())
}

struct Run<'a> {
    engine: &'a dyn Engine,
    settings: &'a Settings,
    items: u64,
}

impl Run<'_> {
    fn writes(&self, order: Order, per_transaction: u64) -> Result<Measurement, Error> {
        self.put_batches(order, per_transaction, VALUE_BYTES)
    }

    fn large_writes(&self) -> Result<Measurement, Error> {
        self.put_batches(Order::Sequential, 1, LARGE_VALUE_BYTES)
    }

    fn put_batches(
        &self,
        order: Order,
        per_transaction: u64,
        value_bytes: usize,
    ) -> Result<Measurement, Error> {
        let mut latencies = Latencies::default();
        let started = Started::now(&self.settings.directory);
        for (start, count) in batches(self.items, per_transaction) {
            let batch = Batch::new(order, start, count, value_bytes);
            let at = Instant::now();
            self.engine.put(batch)?;
            latencies.push(at.elapsed());
        }
        self.measurement(started, self.items, value_bytes, latencies, None)
    }

    fn writes_of_clients(&self) -> Result<Measurement, Error> {
        let next = AtomicU64::new(0);
        let client = || -> Result<Latencies, Error> {
            let mut latencies = Latencies::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.items {
                    return Ok(latencies);
                }
                let at = Instant::now();
                self.engine
                    .put(Batch::new(Order::Random, number, 1, VALUE_BYTES))?;
                latencies.push(at.elapsed());
            }
        };
        let started = Started::now(&self.settings.directory);
        let mut latencies = Latencies::default();
        std::thread::scope(|scope| -> Result<(), Error> {
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
            for client in clients {
                latencies.append(client.join().map_err(|_| "a client panicked")??);
            }
            Ok(())
        })?;
        self.measurement(started, self.items, VALUE_BYTES, latencies, None)
    }

    /// Fills the engine for a workload that reads or deletes, and lets it come to rest.
    fn load(&self) -> Result<(), Error> {
        for (start, count) in batches(self.items, LOAD_BATCH) {
            self.engine
                .put(Batch::new(Order::Random, start, count, VALUE_BYTES))?;
        }
        self.engine.settle()?;
        let (entries, _) = self.engine.scan()?; // also the warm-up
        if entries != self.items {
            return Err(format!("{} items were written, {entries} are there", self.items).into());
        }
        Ok(())
    }

    fn reads_in_one_snapshot(&self) -> Result<Measurement, Error> {
        let mut keys = TimedKeys::new(0..self.items, self.items);
        let started = Started::now(&self.settings.directory);
        self.engine.get_all(&mut keys)?;
        self.measurement(
            started,
            self.items,
            VALUE_BYTES,
            keys.latencies,
            Some("one-snapshot"),
        )
    }

    fn reads_in_transactions(&self) -> Result<Measurement, Error> {
        let started = Started::now(&self.settings.directory);
        let latencies = self.read_each(0..self.items)?;
        let mode = Some("transaction-each");
        self.measurement(started, self.items, VALUE_BYTES, latencies, mode)
    }

    /// The same reads, divided between threads.
    fn reads_of_threads(&self) -> Result<Measurement, Error> {
        let started = Started::now(&self.settings.directory);
        let mut latencies = Latencies::default();
        std::thread::scope(|scope| -> Result<(), Error> {
            let parts = batches(self.items, self.items.div_ceil(READERS).max(1));
            let readers: Vec<_> = parts
                .map(|(start, count)| scope.spawn(move || self.read_each(start..start + count)))
                .collect();
            for reader in readers {
                latencies.append(reader.join().map_err(|_| "a reader panicked")??);
            }
            Ok(())
        })?;
        let mode = Some("two-threads");
        self.measurement(started, self.items, VALUE_BYTES, latencies, mode)
    }

    /// Reads keys of these positions, each in a transaction of its own.
    fn read_each(&self, positions: Range<u64>) -> Result<Latencies, Error> {
        let mut keys = TimedKeys::new(positions, self.items);
        let mut sum = 0_u64;
        for key in &mut keys {
            sum = sum.wrapping_add(self.engine.get(&key)?);
        }
        std::hint::black_box(sum);
        Ok(keys.latencies)
    }

    fn scan(&self) -> Result<Measurement, Error> {
        let started = Started::now(&self.settings.directory);
        self.engine.scan()?;
        self.measurement(
            started,
            self.items,
            VALUE_BYTES,
            Latencies::default(),
            Some("warm"),
        )
    }

    fn deletes(&self) -> Result<Measurement, Error> {
        let count_all = (self.items / 2).max(1);
        let mut latencies = Latencies::default();
        let started = Started::now(&self.settings.directory);
        for (start, count) in batches(count_all, self.settings.per_transaction) {
            let batch = Batch::shuffled(Order::Random, self.items, start, count);
            let at = Instant::now();
            self.engine.delete(batch)?;
            latencies.push(at.elapsed());
        }
        let measurement = self.measurement(started, count_all, VALUE_BYTES, latencies, None)?;
        let (entries, _) = self.engine.scan()?;
        if entries != self.items - count_all {
            let wanted = self.items - count_all;
            return Err(format!("{wanted} items should be left, {entries} are there").into());
        }
        Ok(measurement)
    }

    fn measurement(
        &self,
        started: Started,
        ops: u64,
        value_bytes: usize,
        latencies: Latencies,
        mode: Option<&'static str>,
    ) -> Result<Measurement, Error> {
        let time = started.elapsed();
        // What is still in memory belongs to the price of the work, not to its time.
        self.engine.settle()?;
        let device = started.device(&self.settings.directory);
        Ok(Measurement {
            engine: self.engine.name(),
            workload: self.settings.workload.name(),
            mode: mode.unwrap_or(self.settings.durability.name()),
            ops,
            time,
            latencies,
            logical_bytes: ops * (ITEM_KEY_BYTES + value_bytes) as u64,
            write_bytes: device.write_bytes,
            flushes: device.flushes,
            file_bytes: measure::disk_bytes(&self.settings.directory)?,
            peak_rss_kib: measure::peak_rss_kib(),
        })
    }
}

/// `items` in pieces of at most `per_batch`: start and count of each.
fn batches(items: u64, per_batch: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..items.div_ceil(per_batch)).map(move |piece| {
        let start = piece * per_batch;
        (start, per_batch.min(items - start))
    })
}

/// Random keys out of those written; measures how long the reader takes between some of them.
struct TimedKeys {
    positions: Range<u64>,
    items: u64,
    sample: Option<Instant>,
    latencies: Latencies,
}

impl TimedKeys {
    /// The keys of these positions of the sequence, out of so many items.
    fn new(positions: Range<u64>, items: u64) -> TimedKeys {
        TimedKeys {
            positions,
            items,
            sample: None,
            latencies: Latencies::default(),
        }
    }
}

impl Iterator for TimedKeys {
    type Item = Key;

    fn next(&mut self) -> Option<Key> {
        if let Some(sample) = self.sample.take() {
            self.latencies.push(sample.elapsed());
        }
        let position = self.positions.next()?;
        // Drawn with repetition, from a sequence apart from the one that made the keys.
        let number = data::mix(position ^ (0x7a3d << 40)) % self.items;
        if (position + 1).is_multiple_of(READ_SAMPLE) {
            self.sample = Some(Instant::now());
        }
        Some(data::key(Order::Random, number))
    }
}

#[cfg(test)]
mod tests;
