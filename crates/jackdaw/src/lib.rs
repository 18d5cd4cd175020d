//! An embedded transactional document database: typed documents, queries, a change feed.
//!
//! [`Database`] is the entry: [`Database::open`] opens a directory, [`Database::in_memory`] a
//! database for a test. Documents are values of any serde type, found by id ([`Database::get`]), by
//! query ([`Database::query`]) or as they change ([`Database::changes`]). [`storage`] is the engine
//! below, without documents.
//!
//! ```
//! use jackdaw::Database;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Album {
//!     title: String,
//!     year: u16,
//! }
//!
//! let db = Database::in_memory()?;                      // or Database::open("music")?
//! db.put("albums/1", &Album { title: "Hejira".to_owned(), year: 1976 })?;
//! for album in db.query::<Album>("from Albums where year > $year").bind("year", 1970).rows()? {
//!     println!("{} ({})", album.title, album.year);
//! }
//! # Ok::<(), jackdaw::Error>(())
//! ```
//!
//! # Values
//!
//! Values go into the stored form and back without JSON text in between, in the shapes that
//! `serde_json` has: variants are named from outside, bytes are arrays of numbers, `None` is null,
//! keys of maps are text. Integers of up to 128 bits and all finite numbers keep their value; one
//! that is not finite is refused. A whole number reads as an integer however it is written (`2.0`).
//! Strings may be borrowed from a [`Document`] or a [`Snapshot`].
//!
//! # Threads
//!
//! A [`Database`] is shared by all threads. It has three threads of its own, and one for each
//! index. Nothing is asynchronous: an async program calls it from a thread that may block.
//!
//! Why the interface is as it is: docs/decisions/0047-facade.md.
#![forbid(unsafe_code)]

mod attachments;
mod batch;
mod changes;
mod collection;
mod counters;
mod database;
mod document;
mod error;
mod form;
mod indexes;
mod names;
mod options;
mod query;
mod snapshot;
mod time_series;

pub mod storage;

pub use attachments::{Attachment, Attachments};
pub use batch::{Batch, Stored};
pub use changes::{Change, Changes, Tombstone};
pub use collection::Collection;
pub use counters::Counters;
pub use database::Database;
pub use document::Document;
pub use error::{Cause, Error, Result};
pub use form::ValueError;
pub use indexes::{Field, Index, IndexState, Indexes};
pub use names::{Position, Version};
pub use options::Options;
pub use query::{Query, Rows};
pub use snapshot::{NamedSnapshot, Snapshot, Snapshots};
pub use time_series::{Entry, TimeSeries};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
