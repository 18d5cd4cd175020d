//! Reading: one consistent view of all documents of a database.
//!
//! `view` is the snapshot, `row` a document in it, `prefix` the listing by ids, `names` the
//! collections by number.

mod names;
mod prefix;
mod row;
mod view;

pub(crate) use names::CollectionNames;
pub use prefix::PrefixQuery;
pub use row::DocumentRow;
pub use view::{CollectionInfo, Snapshot};
