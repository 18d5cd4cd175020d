//! Reading: one consistent view of all documents of a database.
//!
//! `view` is the snapshot, `row` a document in it, `beside` what belongs to it,
//! `revisions` earlier states, `prefix` the listing by ids, `names` the
//! collections by number, `sizes` how much they hold.

mod attachments;
mod beside;
mod names;
mod prefix;
mod revisions;
mod row;
mod series;
mod sizes;
mod view;

pub(crate) use names::CollectionNames;
pub use prefix::PrefixQuery;
pub use row::DocumentRow;
pub use series::{SeriesEntry, SeriesInfo};
pub use sizes::{CollectionSizes, Held};
pub use view::{CollectionInfo, Snapshot};
