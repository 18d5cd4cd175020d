//! Where the documents of an import go.

use super::chunk::Skipped;
use super::marker::Marker;
use super::parse::DocumentBatch;
use super::stop::Stop;

/// A database that takes documents: opened in this process, or behind a server.
pub trait Sink {
    /// The form in which parse threads make documents ready for it.
    type Batch: DocumentBatch;

    /// An empty batch maker, for use on other threads.
    fn batch_maker(&self) -> fn() -> Self::Batch;

    /// The marker kept under this name; `None` when no import of this name was begun.
    ///
    /// # Errors
    /// When the database cannot be asked.
    fn marker(&mut self, name: &str) -> anyhow::Result<Option<Marker>>;

    /// Called before the first batch.
    ///
    /// # Errors
    /// When the database cannot be made ready.
    fn begin(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// Called after the last batch, when everything is durable. Ends early when a stop is asked.
    ///
    /// # Errors
    /// When what the import promised beside the documents is not there.
    fn finish(&mut self, _stop: &Stop) -> anyhow::Result<()> {
        Ok(())
    }

    /// Stores the documents and the marker, all or nothing, behind everything given before. May
    /// return before they are durable. The marker is stored without the documents that the
    /// database left out since this sink was made ([`Marker::without`]).
    ///
    /// # Errors
    /// This batch or an earlier one is not stored, and none behind it is.
    fn write(&mut self, batch: Self::Batch, name: &str, marker: &Marker) -> anyhow::Result<()>;

    /// Documents that the database left out, where all else of their batches is stored, and that
    /// were not returned before; complete after [`Sink::flush`].
    fn take_left_out(&mut self) -> Vec<Skipped> {
        Vec::new()
    }

    /// Waits until everything given is durable.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn flush(&mut self) -> anyhow::Result<()>;
}
