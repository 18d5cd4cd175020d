//! Batches that were just read, for other feeds that wait for the same changes.
//!
//! A change is news to thousands of feeds at a time: the first reads it, the others find it here.
//!
//! Invariant: what is found tells all that there was when the caller was signalled.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use jackdaw_database::Etag;

use super::batch::Batch;

/// Batches that are kept: the last ones of so many databases and queries.
const KEPT_MAX: usize = 16;
/// Larger ones are not kept.
const KEPT_BYTES_MAX: usize = 128 << 10;

/// What a batch is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    /// Id of the database.
    pub(super) database: &'a str,
    pub(super) query: &'a str,
    pub(super) after: Etag,
}

struct Kept {
    database: String,
    query: String,
    after: Etag,
    batch: Arc<Batch>,
}

impl Kept {
    fn asked(&self) -> Asked<'_> {
        Asked {
            database: &self.database,
            query: &self.query,
            after: self.after,
        }
    }
}

/// See the file head.
#[derive(Default)]
pub(crate) struct RecentBatches(Mutex<VecDeque<Kept>>);

impl RecentBatches {
    /// The batch, when it was read after the change `signalled`.
    pub(super) fn find(&self, asked: Asked<'_>, signalled: Etag) -> Option<Arc<Batch>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fresh = kept.iter().filter(|kept| kept.batch.read_to >= signalled);
        let found = fresh.find(|kept| kept.asked() == asked)?;
        Some(found.batch.clone())
    }

    /// Keeps a batch in place of older ones.
    pub(super) fn keep(&self, asked: Asked<'_>, batch: &Arc<Batch>) {
        if batch.pieces.iter().map(Bytes::len).sum::<usize>() > KEPT_BYTES_MAX {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_as_new = |kept: &Kept| kept.batch.read_to >= batch.read_to;
        if kept
            .iter()
            .any(|kept| kept.asked() == asked && is_as_new(kept))
        {
            return;
        }
        kept.retain(|kept| kept.asked() != asked);
        kept.truncate(KEPT_MAX - 1);
        kept.push_front(Kept {
            database: asked.database.to_owned(),
            query: asked.query.to_owned(),
            after: asked.after,
            batch: batch.clone(),
        });
    }

    /// Keeps nothing more of a database, by its id.
    pub(crate) fn forget(&self, database: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.database != database);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(len_bytes: usize, read_to: u64) -> Arc<Batch> {
        Arc::new(Batch {
            pieces: vec![Bytes::from(vec![b'x'; len_bytes])],
            position: Etag(read_to),
            read_to: Etag(read_to),
            is_last: true,
        })
    }

    #[test]
    fn batches_are_found_until_they_are_old_and_by_those_who_ask_for_the_same() {
        let recent = RecentBatches::default();
        let asked = Asked {
            database: "d",
            query: "from Albums",
            after: Etag(7),
        };
        recent.keep(asked, &batch(1, 9));
        let found = |asked, signalled| recent.find(asked, Etag(signalled)).map(|one| one.read_to);
        assert_eq!(found(asked, 9), Some(Etag(9)));
        assert_eq!(found(asked, 10), None);
        for other in [
            Asked {
                database: "e",
                ..asked
            },
            Asked { query: "", ..asked },
            Asked {
                after: Etag(8),
                ..asked
            },
        ] {
            assert_eq!(found(other, 9), None);
        }
        recent.keep(asked, &batch(1, 11));
        recent.keep(asked, &batch(1, 10));
        assert_eq!(found(asked, 10), Some(Etag(11)));
        // What is large is not kept, and of the rest so many.
        recent.keep(asked, &batch(KEPT_BYTES_MAX + 1, 12));
        assert_eq!(found(asked, 10), Some(Etag(11)));
        for after in 100..100 + KEPT_MAX as u64 {
            let after = Etag(after);
            recent.keep(Asked { after, ..asked }, &batch(1, 200));
        }
        assert_eq!(found(asked, 0), None);
        assert_eq!(recent.0.lock().unwrap().len(), KEPT_MAX);
        recent.forget("d");
        assert_eq!(recent.0.lock().unwrap().len(), 0);
    }
}
