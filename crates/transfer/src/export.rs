//! Documents as NDJSON: a line is a document with `@metadata` reduced to what belongs to it: id,
//! collection, and what users put there.
//!
//! Called by `jackdaw export`. Two databases with the same content give the same bytes, and the
//! same hash whatever the order.

use std::io::Write;

use jackdaw_base::hash::xxh3_64;
use jackdaw_database::{DocumentRow, PrefixQuery, ReadError, Snapshot};
use jackdaw_document::{Document, Object, write_document};

use crate::parse::OWN_METADATA;

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The output took no more.
    #[error("cannot write: {0}")]
    Write(#[from] std::io::Error),
    /// A document cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Documents written.
    pub documents: u64,
    /// Bytes written.
    pub len_bytes: u64,
    /// Sum of the hashes of all lines: ids, collections, metadata and contents, whatever the
    /// order.
    pub hash: u64,
    /// What could not be read, when that is left out.
    pub damage: Option<Damage>,
}

/// What could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// How many documents.
    pub documents: u64,
    /// The first reason.
    pub first: String,
}

impl Totals {
    fn skip(&mut self, error: &ReadError) {
        let damage = self.damage.get_or_insert_with(|| Damage {
            documents: 0,
            first: error.to_string(),
        });
        damage.documents += 1;
    }
}

/// Writes lines and adds them up.
#[derive(Debug)]
pub struct ExportWriter<W> {
    out: W,
    line: Vec<u8>,
    total: Totals,
}

impl<W: Write> ExportWriter<W> {
    /// A writer of documents to `out`, which should be buffered.
    #[must_use]
    pub fn new(out: W) -> Self {
        Self {
            out,
            line: Vec::new(),
            total: Totals::default(),
        }
    }

    /// Writes all documents of a snapshot in the order of their ids.
    ///
    /// # Errors
    /// The first document that cannot be read or written ends the export.
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> Result<(), ExportError> {
        for row in snapshot.by_prefix(&PrefixQuery::default())? {
            self.row(&row?)?;
        }
        Ok(())
    }

    /// Writes all documents of a damaged snapshot that can be read, in the order in which they
    /// were first stored; the others are counted in [`Totals::damage`].
    ///
    /// # Errors
    /// Only those of the output.
    pub fn readable(&mut self, snapshot: &Snapshot) -> Result<(), ExportError> {
        for row in snapshot.readable() {
            match row {
                Ok(row) => self.row(&row)?,
                Err(error) => self.total.skip(&error),
            }
        }
        Ok(())
    }

    fn row(&mut self, row: &DocumentRow<'_>) -> std::io::Result<()> {
        self.document(row.id(), row.collection(), row.metadata(), row.body())
    }

    /// Writes a document; of `metadata`, what the database makes itself is left out.
    ///
    /// # Errors
    /// Those of the output.
    pub fn document(
        &mut self,
        id: &str,
        collection: &str,
        metadata: Option<Document<'_>>,
        body: Document<'_>,
    ) -> std::io::Result<()> {
        self.line.clear();
        write_document(body.root(), &mut self.line, |out| {
            out.string("@id", id);
            out.string("@collection", collection);
            let fields = metadata.and_then(|metadata| metadata.root().as_object());
            for (name, value) in fields.iter().flat_map(Object::iter) {
                if !OWN_METADATA.contains(&name) {
                    out.value(name, value);
                }
            }
        });
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.total.documents += 1;
        self.total.len_bytes += self.line.len() as u64;
        self.total.hash = self.total.hash.wrapping_add(xxh3_64(&self.line, 0));
        Ok(())
    }

    /// Hands over what is buffered.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> std::io::Result<(W, Totals)> {
        self.out.flush()?;
        Ok((self.out, self.total))
    }
}
