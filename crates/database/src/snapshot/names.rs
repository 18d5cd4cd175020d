//! Names of collections by their numbers, kept between snapshots.
//!
//! Invariants:
//! - Collections are never removed or renamed, so a list is right for every snapshot with as many.
//! - Only committed collections come in: lists are read from snapshots alone.

use std::sync::{Arc, Mutex, PoisonError};

use jackdaw_storage::{PageRead, Tree};

use crate::error::ReadError;
use crate::record::CollectionNumber;
use crate::store::CollectionRecord;

/// Names by number.
#[derive(Debug, Default)]
pub(crate) struct CollectionNames(Vec<Box<str>>);

impl CollectionNames {
    pub(crate) fn get(&self, number: CollectionNumber) -> Option<&str> {
        self.0.get(number.0 as usize).map(|name| &**name)
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The names in `collections`, from `known` when that has them already.
    pub(crate) fn load<P: PageRead + ?Sized>(
        collections: &Tree<'_, P>,
        known: &Mutex<Arc<CollectionNames>>,
    ) -> Result<Arc<CollectionNames>, ReadError> {
        let cached = Arc::clone(&known.lock().unwrap_or_else(PoisonError::into_inner));
        if cached.0.len() as u64 >= collections.len() {
            return Ok(cached);
        }
        let mut names = Vec::new();
        for entry in collections.iter()? {
            names.push(CollectionRecord::decode(entry?.1)?.name);
        }
        let names = Arc::new(CollectionNames(names));
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0.len() < names.0.len() {
            *known = Arc::clone(&names);
        }
        Ok(names)
    }
}
