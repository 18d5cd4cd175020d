//! The seam between the workloads and an engine.

use crate::data::{Batch, Key};

/// Whatever an engine answers when it fails; the run ends with it.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The verbs of the workloads. Opened by its adapter with the durability of the settings.
pub trait Engine: Sync {
    /// Name in the output.
    fn name(&self) -> &'static str;
    /// Writes a batch in one transaction; durable when it returns, if the settings say so.
    ///
    /// # Errors
    /// Those of the engine.
    fn put(&self, batch: Batch) -> Result<(), Error>;
    /// Deletes the keys of a batch in one transaction; durable likewise.
    ///
    /// # Errors
    /// Those of the engine.
    fn delete(&self, batch: Batch) -> Result<(), Error>;
    /// Reads keys in one read transaction; gives the sum of [`touch`](crate::touch) of the values.
    ///
    /// # Errors
    /// Those of the engine, and a key that is missing.
    fn get_all(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<u64, Error>;
    /// Reads one key in a read transaction of its own; gives `touch` of the value.
    ///
    /// # Errors
    /// As `get_all`.
    fn get(&self, key: &Key) -> Result<u64, Error>;
    /// Reads everything in key order; gives the number of entries and the sum of `touch`.
    ///
    /// # Errors
    /// Those of the engine.
    fn scan(&self) -> Result<(u64, u64), Error>;
    /// Brings the files to their resting state: before reads are measured, and before the bytes
    /// written are counted.
    ///
    /// # Errors
    /// Those of the engine.
    fn settle(&self) -> Result<(), Error>;
}
