//! Named snapshots: states of an environment that stay readable, however much is written after.
//!
//! Taking one stores a name and the root of the catalog: nothing is copied. From then on a writer
//! keeps what it is about to lose: before a page is changed for the first time since the newest
//! snapshot, its old image goes to a page of its own; a page that is freed is left where it is. A
//! tree, [`NAMED_TREE`], leads from each such page to its image, so keeping is part of the
//! transaction that made it necessary, and recovery, backups and checks know nothing special.
//!
//! `record` is what the tree holds, `keep` what writers do, `change` takes and drops snapshots,
//! `past` reads them. Bytes: docs/format.md, "Tree of named snapshots". Why so:
//! docs/decisions/0029-named-snapshots.md.
//!
//! Invariants:
//! - A page is as a snapshot saw it in the image with the least number of a snapshot that is not
//!   less than its own; without one it was not changed since.
//! - A page of an image is in no other tree and not free.

mod change;
mod keep;
mod past;
mod record;

pub use change::SnapshotError;
pub(super) use keep::{Keeping, NOT_KEPT};
pub(super) use past::Past;
pub(crate) use record::Image;
pub(super) use record::NAMED_TREE;
pub use record::NamedSnapshot;
