//! The storage engine alone: a directory of named, ordered trees of bytes, with transactions.
//!
//! ```
//! use jackdaw::storage;
//!
//! # let directory = std::env::temp_dir().join(format!("jackdaw-doc-{}", std::process::id()));
//! let trees = storage::open(&directory)?;
//! trees.write(|transaction| {
//!     transaction.tree("albums")?.put(b"1971", b"Blue")?;
//!     transaction.tree("albums")?.put(b"1976", b"Hejira")
//! })?;                                                  // durable
//!
//! let snapshot = trees.read()?;
//! let albums = snapshot.tree("albums")?;
//! assert_eq!(albums.get(b"1971")?, Some(&b"Blue"[..])); // borrowed from the snapshot
//! for entry in albums.range(&b"1970"[..]..&b"1975"[..])? {
//!     let (year, title) = entry?;
//!     println!("{} {}", String::from_utf8_lossy(&year), String::from_utf8_lossy(title));
//! }
//! # drop((snapshot, trees));
//! # std::fs::remove_dir_all(directory).expect("it was made above");
//! # Ok::<(), jackdaw::Error>(())
//! ```
//!
//! Keys have up to 1,024 bytes and are ordered byte by byte, values up to 200 MiB. One writer at a
//! time changes trees; readers never wait for it, nor it for them.

mod environment;
mod read;
mod write;

pub use environment::{Options, Trees, in_memory, open};
pub use read::{Entries, Snapshot, Tree};
pub use write::{Transaction, TreeMut};
