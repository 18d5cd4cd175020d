//! A sink that stores nothing, for measuring and for looking at a file before it is imported.

use std::convert::Infallible;

use crate::marker::Marker;
use crate::parse::{DocumentBatch, NewDocument};
use crate::sink::Sink;
use crate::skip::SkipReason;

/// Counts documents.
#[derive(Debug, Default)]
pub struct CountBatch {
    documents: usize,
}

impl DocumentBatch for CountBatch {
    fn put(&mut self, _document: NewDocument<'_>) -> Result<(), SkipReason> {
        self.documents += 1;
        Ok(())
    }

    fn document_count(&self) -> usize {
        self.documents
    }
}

/// See the file head.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckSink;

impl Sink for CheckSink {
    type Error = Infallible;
    type Batch = CountBatch;

    fn batch_maker(&self) -> fn() -> CountBatch {
        CountBatch::default
    }

    fn marker(&mut self, _name: &str) -> Result<Option<Marker>, Infallible> {
        Ok(None)
    }

    fn write(&mut self, _: CountBatch, _: &str, _: &Marker) -> Result<(), Infallible> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
