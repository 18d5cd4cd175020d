//! The counted tree of the histories: what it should hold, random changes of every shape, and
//! whether its ranks are those of a plain map.
//!
//! Called by `model`. Values are long enough that some hundred entries take three levels of
//! changes: splits, merges and range deletes that cut both.

use std::collections::BTreeMap;

use jackdaw_sim::Rng;
use jackdaw_storage::{ReadTransaction, StorageError, WriteTransaction};

const NAME: &str = "ranked";
const KEYS: u64 = 400;
const VALUE_BYTES: usize = 900;
/// Entries of a sorted batch at most.
const BATCH_MAX: u64 = 60;
/// Ranks that are looked at in one comparison.
const PROBES: u64 = 8;

/// Keys and the byte that their values are filled with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranked {
    entries: BTreeMap<u64, u8>,
}

impl Ranked {
    /// Makes one random change of the tree and of this.
    pub(crate) fn change(
        &mut self,
        transaction: &mut WriteTransaction,
        rng: &mut Rng,
    ) -> Result<(), StorageError> {
        let (key, fill) = (rng.below(KEYS), rng.next_u64().to_le_bytes()[0]);
        let end = key + rng.below(BATCH_MAX);
        let mut tree = transaction.counted_tree_mut(NAME)?;
        match rng.below(10) {
            0 => {
                tree.delete_range(&key.to_be_bytes()[..]..&end.to_be_bytes()[..])?;
                self.entries.retain(|other, _| !(key..end).contains(other));
            }
            1 => {
                tree.delete_sorted((key..end).map(u64::to_be_bytes))?;
                self.entries.retain(|other, _| !(key..end).contains(other));
            }
            2..=4 => {
                let value = [fill; VALUE_BYTES];
                tree.put_sorted((key..end).map(|key| (key.to_be_bytes(), value)))?;
                self.entries.extend((key..end).map(|key| (key, fill)));
            }
            5 => {
                tree.delete(&key.to_be_bytes())?;
                self.entries.remove(&key);
            }
            _ => {
                tree.put(&key.to_be_bytes(), &[fill; VALUE_BYTES])?;
                self.entries.insert(key, fill);
            }
        }
        Ok(())
    }

    /// Compares content and ranks with what a snapshot holds.
    pub(crate) fn compare(&self, reader: &ReadTransaction) -> Result<(), String> {
        let told = |error: StorageError| error.to_string();
        let Some(tree) = reader.tree(NAME).map_err(told)? else {
            return match self.entries.is_empty() {
                true => Ok(()),
                false => Err("the counted tree is missing".to_owned()),
            };
        };
        let mut expected = self.entries.iter();
        for entry in tree.iter().map_err(told)? {
            let (key, value) = entry.map_err(told)?;
            let is_expected = expected.next().is_some_and(|(number, fill)| {
                key.to_vec() == number.to_be_bytes() && value == [*fill; VALUE_BYTES]
            });
            if !is_expected {
                return Err("the counted tree has another content".to_owned());
            }
        }
        if expected.next().is_some() {
            return Err("the counted tree has lost entries".to_owned());
        }
        for key in (0..PROBES).map(|n| n * KEYS / PROBES + 1) {
            let rank = self.entries.range(..key).count() as u64;
            if tree.rank(&key.to_be_bytes()).map_err(told)? != rank {
                return Err(format!("the rank of {key} is not {rank}"));
            }
            let found = tree.select(rank).map_err(told)?;
            let found = found.map(|(key, _)| key.to_vec());
            let entry = self.entries.range(key..).next();
            if found != entry.map(|(number, _)| number.to_be_bytes().to_vec()) {
                return Err(format!("the entry of rank {rank} is another one"));
            }
        }
        Ok(())
    }
}
