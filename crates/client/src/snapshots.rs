//! Snapshots of a database by name: taking, listing, dropping.
//!
//! `Query::at_snapshot` asks one.

use serde::Deserialize;
use ureq::http::Method;

use crate::database::DatabaseClient;
use crate::error::ClientError;
use crate::transport::{Call, encode};

/// A snapshot as the server lists it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct SnapshotInfo {
    /// Its name.
    pub name: String,
    /// When it was taken, as text in UTC.
    pub taken: String,
    /// Bytes on disk that would be free without it.
    pub kept_bytes: u64,
    /// It can no longer be read; dropping it again completes that.
    pub is_being_dropped: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listing {
    results: Vec<SnapshotInfo>,
}

impl DatabaseClient {
    /// All snapshots, by name.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>, ClientError> {
        let path = format!("{}/jackdaw/snapshots", self.base);
        let body = self.transport.call(Method::GET, &path, &Call::default())?;
        let listing: Listing = self.transport.read(&path, &body.unwrap_or_default())?;
        Ok(listing.results)
    }

    /// Keeps the documents as they are now under `name`, until that is dropped.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when there is one of this name.
    pub fn take_snapshot(&self, name: &str) -> Result<(), ClientError> {
        self.change_snapshot(Method::PUT, name)
    }

    /// Drops the snapshot `name`.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when there is none.
    pub fn drop_snapshot(&self, name: &str) -> Result<(), ClientError> {
        self.change_snapshot(Method::DELETE, name)
    }

    fn change_snapshot(&self, method: Method, name: &str) -> Result<(), ClientError> {
        let path = format!("{}/jackdaw/snapshots?name={}", self.base, encode(name));
        let changed = self.transport.call(method, &path, &Call::default());
        changed.map(|_| ())
    }
}
