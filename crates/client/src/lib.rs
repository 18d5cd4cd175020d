//! A small blocking Rust client, used by the command line, examples and tests.
//!
//! [`Client`] talks to one server, [`DatabaseClient`] to one of its databases. Documents go in and
//! out as JSON text or as any type serde knows. One connection is kept open and reused per thread
//! of use; both types are cheap to clone and safe to share. For a secured server
//! [`ConnectOptions`] say whom to trust, and who comes.

#![forbid(unsafe_code)]

mod batch;
mod connect;
mod database;
mod error;
mod exchange;
mod imports;
mod query;
mod server;
mod snapshots;
mod token;
mod transport;

pub use batch::Batch;
pub use connect::{ConnectError, ConnectOptions};
pub use database::{DatabaseClient, Stored};
pub use error::{ClientError, TlsProblem};
pub use exchange::{ExchangeValue, Exchanged};
pub use query::{Query, QueryReply};
pub use server::{BackupReport, Client};
pub use snapshots::SnapshotInfo;
