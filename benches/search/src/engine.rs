//! What an engine has to do, whichever it is.

use std::path::Path;

use anyhow::Result;

use crate::queries::Query;
use crate::rows::Row;

/// What a query found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Rows given, or the count that was asked for.
    pub(crate) rows: u64,
}

/// An index of rows on disk. Opened empty.
pub(crate) trait Engine: Sized {
    /// Name in the output.
    const NAME: &'static str;

    fn create(directory: &Path) -> Result<Self>;

    /// Adds rows, replacing those of the same id if `is_update`.
    fn add(&mut self, rows: &[Row], is_update: bool) -> Result<()>;

    /// Makes what was added durable, and visible to the next query.
    fn commit(&mut self) -> Result<()>;

    /// Waits for work that goes on behind (merges, index workers).
    fn settle(&mut self) -> Result<()>;

    fn ask(&self, query: &Query) -> Result<Answer>;
}
