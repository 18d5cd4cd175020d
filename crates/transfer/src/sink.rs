//! Where the documents of an import go.

use crate::chunk::Skipped;
use crate::marker::Marker;
use crate::parse::DocumentBatch;
use crate::stop::Stop;

/// Whether the indexes that an import promised have all of its documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// They have.
    Ready,
    /// They are still catching up; queries wait for them, or report that they are stale.
    Behind,
}

/// A database that takes documents: opened in this process, or behind a server.
pub trait Sink {
    /// Why the database took no more.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The form in which parse threads make documents ready for it.
    type Batch: DocumentBatch;

    /// An empty batch maker, for use on other threads.
    fn batch_maker(&self) -> fn() -> Self::Batch;

    /// The marker kept under this name; `None` when no import of this name was begun.
    ///
    /// # Errors
    /// When the database cannot be asked.
    fn marker(&mut self, name: &str) -> Result<Option<Marker>, Self::Error>;

    /// Called before the first batch.
    ///
    /// # Errors
    /// When the database cannot be made ready.
    fn begin(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Called after the last batch, when everything is durable. Ends early when a stop is
    /// requested.
    ///
    /// # Errors
    /// When the indexes that the import promised cannot be made.
    fn finish(&mut self, _stop: &Stop) -> Result<Readiness, Self::Error> {
        Ok(Readiness::Ready)
    }

    /// Stores the documents and the marker, all or nothing, behind everything given before. May
    /// return before they are durable. The marker is stored without the documents that the
    /// database left out since this sink was made ([`Marker::without`]).
    ///
    /// # Errors
    /// This batch or an earlier one is not stored, and none behind it is.
    fn write(&mut self, batch: Self::Batch, name: &str, marker: &Marker)
    -> Result<(), Self::Error>;

    /// Documents that the database left out, where all else of their batches is stored, and that
    /// were not returned before; complete after [`Sink::flush`].
    fn take_left_out(&mut self) -> Vec<Skipped> {
        Vec::new()
    }

    /// Waits until everything given is durable.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn flush(&mut self) -> Result<(), Self::Error>;
}
