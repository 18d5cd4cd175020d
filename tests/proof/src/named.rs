//! Named snapshots in the histories: which there should be and what each sees, and random taking
//! and dropping of them.
//!
//! Called by `model`, which compares what they see.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackdaw_sim::Rng;
use jackdaw_storage::{ReadTransaction, SnapshotError, StorageError, WriteTransaction};

use crate::model::State;

/// Snapshots at a time.
const SNAPSHOTS_MAX: usize = 3;

/// Snapshots by name, and those that are dropped in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    taken: BTreeMap<String, Arc<State>>,
    being_dropped: Vec<String>,
}

impl Named {
    /// Drops snapshots, whole or in part, and takes one. Gives the name of that, which sees what
    /// the transaction leaves: see [`Named::is_taken`].
    pub(crate) fn change(
        &mut self,
        transaction: &mut WriteTransaction,
        rng: &mut Rng,
    ) -> Result<Option<String>, StorageError> {
        if rng.chance(10) && !self.taken.is_empty() {
            let names: Vec<String> = self.taken.keys().cloned().collect();
            self.being_dropped.push(rng.pick(&names).clone());
        }
        if let Some(name) = self.being_dropped.pop() {
            self.taken.remove(&name);
            let images_max = *rng.pick(&[1, 8, usize::MAX]);
            let is_done = transaction
                .drop_snapshot(&name, images_max)
                .map_err(of_storage)?;
            if !is_done {
                self.being_dropped.insert(0, name);
            }
        }
        if !rng.chance(10) || self.taken.len() + self.being_dropped.len() >= SNAPSHOTS_MAX {
            return Ok(None);
        }
        let name = format!("{:016x}", rng.next_u64());
        transaction.create_snapshot(&name).map_err(of_storage)?;
        Ok(Some(name))
    }

    /// Notes what a new snapshot sees.
    pub(crate) fn is_taken(&mut self, name: String, seen: State) {
        self.taken.insert(name, Arc::new(seen));
    }

    /// Whether the list is the right one; see [`Named::seen`] for what they see.
    pub(crate) fn compare(&self, reader: &ReadTransaction) -> Result<(), String> {
        let listed = reader.snapshots().map_err(|error| error.to_string())?;
        let readable = listed.iter().filter(|listed| !listed.is_being_dropped);
        match readable.map(|listed| &listed.name).eq(self.taken.keys()) {
            true => Ok(()),
            false => Err(format!("other named snapshots: {listed:?}")),
        }
    }

    /// Each snapshot with what it should see.
    pub(crate) fn seen(&self) -> impl Iterator<Item = (&str, &State)> {
        let taken = self.taken.iter();
        taken.map(|(name, seen)| (name.as_str(), &**seen))
    }
}

fn of_storage(error: SnapshotError) -> StorageError {
    match error {
        SnapshotError::Storage(error) => error,
        other => panic!("the model expects this to work: {other}"),
    }
}
