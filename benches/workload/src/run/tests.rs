//! Runs every workload on a map in memory: that each reports what it did, and that an engine which
//! loses writes is found out.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use super::*;
use crate::settings::Durability;
use crate::touch;

#[derive(Default)]
struct MapEngine {
    entries: Mutex<BTreeMap<Key, &'static [u8]>>,
    transactions: AtomicU64,
    loses_deletes: bool,
}

impl Engine for MapEngine {
    fn name(&self) -> &'static str {
        "map"
    }

    fn put(&self, batch: Batch) -> Result<(), Error> {
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.entries.lock().unwrap().extend(batch.items());
        Ok(())
    }

    fn delete(&self, batch: Batch) -> Result<(), Error> {
        if !self.loses_deletes {
            let mut entries = self.entries.lock().unwrap();
            entries.retain(|key, _| !batch.keys().any(|deleted| deleted == *key));
        }
        Ok(())
    }

    fn get_all(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<u64, Error> {
        keys.map(|key| self.get(&key)).sum()
    }

    fn get(&self, key: &Key) -> Result<u64, Error> {
        let entries = self.entries.lock().unwrap();
        Ok(touch(entries.get(key).ok_or("a key is missing")?))
    }

    fn scan(&self) -> Result<(u64, u64), Error> {
        let entries = self.entries.lock().unwrap();
        Ok((
            entries.len() as u64,
            entries.values().map(|value| touch(value)).sum(),
        ))
    }

    fn settle(&self) -> Result<(), Error> {
        Ok(())
    }
}

fn settings(workload: Workload, items: u64) -> Settings {
    Settings {
        workload,
        items: Some(items),
        per_transaction: 100,
        directory: env!("CARGO_MANIFEST_DIR").into(),
        durability: Durability::Full,
    }
}

/// Runs a workload; gives `(mode, ops)` of each measurement and the number of transactions.
fn measured(workload: Workload, items: u64) -> (Vec<(&'static str, u64)>, u64) {
    let engine = MapEngine::default();
    let mut seen = Vec::new();
    let mut report = |m: Measurement| seen.push((m.mode, m.ops));
    run(&engine, &settings(workload, items), &mut report).unwrap();
    (seen, engine.transactions.into_inner())
}

#[test]
fn writes_come_in_transactions_of_the_asked_size() {
    assert_eq!(measured(Workload::Seq, 250), (vec![("durable", 250)], 3));
    assert_eq!(measured(Workload::Random, 250), (vec![("durable", 250)], 3));
    assert_eq!(
        measured(Workload::OneTransaction, 250),
        (vec![("durable", 250)], 1)
    );
    assert_eq!(measured(Workload::Small, 25), (vec![("durable", 25)], 25));
    assert_eq!(
        measured(Workload::Small16, 100),
        (vec![("durable", 100)], 100)
    );
    assert_eq!(measured(Workload::Large, 3), (vec![("durable", 3)], 3));
}

#[test]
fn reads_find_what_was_loaded() {
    let modes = vec![
        ("one-snapshot", 1_000),
        ("transaction-each", 1_000),
        ("two-threads", 1_000),
    ];
    assert_eq!(measured(Workload::Read, 1_000).0, modes);
    assert_eq!(measured(Workload::Scan, 1_000).0, [("warm", 1_000)]);
    assert_eq!(measured(Workload::Delete, 1_000).0, [("durable", 500)]);
}

#[test]
fn an_engine_that_keeps_deleted_items_is_found_out() {
    let engine = MapEngine {
        loses_deletes: true,
        ..MapEngine::default()
    };
    let error = run(&engine, &settings(Workload::Delete, 100), &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "50 items should be left, 100 are there");
}
