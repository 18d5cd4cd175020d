//! Where the documents of an import go.

use super::marker::Marker;
use super::parse::NewDocument;

/// A database that takes documents: opened in this process, or behind a server.
pub trait Sink {
    /// The marker kept under this name; `None` when no import of this name was begun.
    ///
    /// # Errors
    /// When the database cannot be asked.
    fn marker(&mut self, name: &str) -> anyhow::Result<Option<Marker>>;

    /// Stores the documents and the marker, all or nothing; durable when it returns.
    ///
    /// # Errors
    /// Nothing of this batch is stored, or after a broken connection all or nothing.
    fn write(
        &mut self,
        documents: Vec<NewDocument>,
        name: &str,
        marker: &Marker,
    ) -> anyhow::Result<()>;
}
