//! A result held in memory, for callers that do not stream.

use jackdaw_document::Value;

use super::RowSink;
use crate::error::BoxError;
use crate::source::StoredDocument;

/// A sink that keeps the rows in memory, separated by commas.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    /// The rows.
    pub rows: Vec<u8>,
    /// The included documents as fields of an object, without its braces.
    pub includes: Vec<u8>,
}

impl RowSink for RowBuffer {
    fn row(&mut self, _document: &StoredDocument<'_>, json: &[u8]) -> Result<(), BoxError> {
        if !self.rows.is_empty() {
            self.rows.push(b',');
        }
        self.rows.extend_from_slice(json);
        Ok(())
    }

    fn include(&mut self, id: &str, json: &[u8]) -> Result<(), BoxError> {
        if !self.includes.is_empty() {
            self.includes.push(b',');
        }
        Value::String(id).write_json(&mut self.includes);
        self.includes.push(b':');
        self.includes.extend_from_slice(json);
        Ok(())
    }
}
