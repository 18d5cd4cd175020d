//! Bulk import: a stream of large batches, of which some are always on their way.
//!
//! While the journal writes batch N, the writer thread carries out N+1 and the caller prepares
//! N+2. A batch is one operation: it is stored whole, together with the caller's progress marker,
//! or not at all.
//!
//! Invariants:
//! - Batches become durable in the order in which they were given; after one that failed none is
//!   carried out, so a marker never claims what is not there.
//! - Storing the same documents again gives the same content: an import may go on from its marker
//!   after any end of the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use crate::chain::Chain;
use crate::database::Database;
use crate::error::WriteError;
use crate::prepared::Prepared;
use crate::store::trees::MARKERS;
use crate::store::{Applied, LeftOut, apply};

/// Batches that may be on their way; a caller with one more waits.
const IN_FLIGHT_MAX: usize = 4;

/// After so many bytes of documents the database lets go of pages that were read on the way: an
/// import passes over the whole file once and shall not fill the memory with it.
const RELEASE_BYTES: usize = 64 << 20;

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportTotals {
    /// Batches that are durable.
    pub batches: u64,
    /// Documents stored by them.
    pub documents: u64,
}

type Outcome = Result<(Prepared, Applied), WriteError>;

impl Database {
    /// Keeps bytes under a name, as an [`Importer`] does with its batches, and waits until they are
    /// durable. [`Snapshot::progress_marker`](crate::Snapshot::progress_marker) reads them.
    ///
    /// # Errors
    /// See [`WriteError`]; the bytes that were there stay.
    pub fn put_progress_marker(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        let (name, bytes) = (name.to_owned(), bytes.to_owned());
        self.run(move |transaction, _| {
            transaction
                .tree_mut(MARKERS)?
                .put(name.as_bytes(), &bytes)?;
            Ok(((), Applied::default()))
        })
    }
}

/// Takes batches for one database. Dropping it lets what is on its way go on unseen; call
/// [`Importer::finish`] to know.
pub struct Importer {
    database: Arc<Database>,
    sender: mpsc::Sender<Outcome>,
    receiver: mpsc::Receiver<Outcome>,
    in_flight: usize,
    spare: Vec<Prepared>,
    chain: Chain,
    failure: Option<WriteError>,
    totals: ImportTotals,
    left_out: Vec<LeftOut>,
    /// Documents that batches left out so far, in the order in which they were carried out.
    left_out_count: Arc<AtomicU64>,
    unreleased_bytes: usize,
}

impl Importer {
    /// An importer into `database`.
    #[must_use]
    pub fn new(database: Arc<Database>) -> Importer {
        let (sender, receiver) = mpsc::channel();
        Importer {
            database,
            sender,
            receiver,
            in_flight: 0,
            spare: Vec::new(),
            chain: Chain::default(),
            failure: None,
            totals: ImportTotals::default(),
            left_out: Vec::new(),
            left_out_count: Arc::default(),
            unreleased_bytes: 0,
        }
    }

    /// An empty batch, with the memory of one that is through.
    pub fn prepared(&mut self) -> Prepared {
        self.spare.pop().unwrap_or_default()
    }

    /// Hands a batch over, with the bytes to keep under a name as of this batch.
    ///
    /// # Errors
    /// As [`Importer::write_counting`].
    pub fn write(
        &mut self,
        batch: Prepared,
        marker: Option<(&str, &[u8])>,
    ) -> Result<(), WriteError> {
        let marker = marker.map(|(name, bytes)| {
            let bytes = bytes.to_owned();
            (name, move |_| bytes)
        });
        self.write_counting(batch, marker)
    }

    /// [`Importer::write`] with a marker that is made of the number of documents that this
    /// importer's batches left out, up to and with this one. Waits while four
    /// batches are on their way. Several thousand documents or a few MiB make a good batch: ids in
    /// no order change about one page each, so larger batches change fewer pages per document.
    ///
    /// # Errors
    /// What became of an earlier batch: nothing after that one was stored, this one included.
    pub fn write_counting(
        &mut self,
        batch: Prepared,
        marker: Option<(&str, impl FnOnce(u64) -> Vec<u8> + Send + 'static)>,
    ) -> Result<(), WriteError> {
        while self.in_flight >= IN_FLIGHT_MAX {
            self.receive();
        }
        self.check()?;
        batch.check_len()?;
        let marker = marker.map(|(name, bytes)| (name.to_owned(), bytes));
        let counted = Arc::clone(&self.left_out_count);
        let (chain, noting) = (self.chain.clone(), self.chain.clone());
        let sender = self.sender.clone();
        self.in_flight += 1;
        self.database.submit_operation(
            move |transaction, core| {
                let applied = chain.carry_out(|| {
                    let applied = apply(transaction, core, &batch, false)?;
                    let count = applied.left_out.len() as u64;
                    let count = counted.fetch_add(count, Ordering::Relaxed) + count;
                    if let Some((name, bytes)) = marker {
                        transaction
                            .tree_mut(MARKERS)?
                            .put(name.as_bytes(), &bytes(count))?;
                    }
                    Ok(applied)
                })?;
                Ok((batch, applied))
            },
            move |outcome| {
                noting.note(&outcome);
                let _ = sender.send(outcome);
            },
        );
        Ok(())
    }

    /// Documents that batches left out and that were not returned before. Those of batches on
    /// their way are missing; see [`Importer::flush`].
    pub fn take_left_out(&mut self) -> Vec<LeftOut> {
        std::mem::take(&mut self.left_out)
    }

    /// Waits until everything handed over is durable.
    ///
    /// # Errors
    /// What became of the first batch that failed; those before it are stored.
    pub fn flush(&mut self) -> Result<ImportTotals, WriteError> {
        while self.in_flight > 0 {
            self.receive();
        }
        self.check()?;
        Ok(self.totals)
    }

    /// [`Importer::flush`], and no more.
    ///
    /// # Errors
    /// As [`Importer::flush`].
    pub fn finish(mut self) -> Result<ImportTotals, WriteError> {
        self.flush()
    }

    /// Takes one answer in.
    fn receive(&mut self) {
        let lost = || Err(WriteError::Panicked("an answer was lost".to_owned()));
        self.in_flight -= 1;
        match self.receiver.recv().unwrap_or_else(|_| lost()) {
            Ok((mut batch, applied)) => {
                self.left_out.extend(applied.left_out);
                self.totals.batches += 1;
                self.totals.documents += applied.puts;
                self.unreleased_bytes += batch.len_bytes();
                if self.unreleased_bytes > RELEASE_BYTES {
                    self.unreleased_bytes = 0;
                    self.database.release_resident();
                }
                // Callers that make batches of their own take none back.
                if self.spare.len() < IN_FLIGHT_MAX {
                    batch.clear();
                    self.spare.push(batch);
                }
            }
            Err(error) => match self.failure {
                // Answers need not come in the order of batches: the cause may come later.
                None | Some(WriteError::EarlierBatch) => self.failure = Some(error),
                Some(_) => {}
            },
        }
    }

    /// The cause of the first failure, waited for if only what followed from it is known.
    fn check(&mut self) -> Result<(), WriteError> {
        while self.in_flight > 0 && matches!(self.failure, Some(WriteError::EarlierBatch)) {
            self.receive();
        }
        self.failure.clone().map_or(Ok(()), Err)
    }
}
