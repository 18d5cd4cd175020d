//! How far an import came: kept with the database, next to its documents.

use serde_json::value::RawValue;
use ureq::http::Method;

use crate::database::DatabaseClient;
use crate::error::ClientError;
use crate::transport::{Call, encode};

impl DatabaseClient {
    /// The progress kept under a name, as JSON text; `None` when there is none.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn import_progress(&self, name: &str) -> Result<Option<String>, ClientError> {
        let path = self.progress_path(name);
        let Some(body) = self.transport.call(Method::GET, &path, &Call::default())? else {
            return Ok(None);
        };
        let text: Box<RawValue> = self.transport.read(&path, &body)?;
        Ok(Some(text.get().to_owned()))
    }

    /// Keeps the progress of an import under a name; durable when this returns. `json` has the
    /// numbers `Entries`, `Documents` and `Skipped`, and `Finished`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn put_import_progress(&self, name: &str, json: &[u8]) -> Result<(), ClientError> {
        let call = Call {
            body: Some(json),
            ..Call::default()
        };
        self.transport
            .call(Method::PUT, &self.progress_path(name), &call)
            .map(|_| ())
    }

    fn progress_path(&self, name: &str) -> String {
        format!("{}/jackdaw/imports?name={}", self.base, encode(name))
    }
}
