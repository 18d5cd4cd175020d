//! The trees of a database and the one way to change them.
//!
//! `trees` names them, `state` and `collections` are what is kept beside documents, `apply`
//! carries out prepared changes, `patch` and `patch_series` scripts, `beside` keeps what a document
//! has beside its body (`attachments`, `counters`, `series`), `rollup` and `retention` carry out
//! policies of series, `series_due` keeps what these ask for, `revisions` keeps earlier states,
//! `exchange` is compare-exchange, `identities` counts for `prefix|` ids.
//!
//! Invariants (each transaction leaves them true):
//! - Every document has one entry in `documents`, `document_ids`, `document_etags` and in the
//!   etags of its collection; a collection's count is the number of its documents.
//! - Etags and numbers only grow; each change takes the next etag.

mod apply;
mod attachments;
mod beside;
mod collections;
mod counters;
mod due;
mod exchange;
mod identities;
mod patch;
mod patch_series;
mod retention;
mod revisions;
mod rollup;
mod series;
mod series_due;
mod state;
pub(crate) mod trees;

pub use apply::LeftOut;
pub(crate) use apply::{Applied, Put, Writer, apply, apply_outputs};
pub(crate) use attachments::AttachmentRecord;
pub(crate) use collections::CollectionRecord;
pub(crate) use counters::{CounterRecord, count_owners, counter_key, kept_owners};
pub(crate) use due::{carry_out as carry_out_due, first as first_due, first_exchange};
pub(crate) use exchange::{
    ClusterWide, ExchangeRecord, apply_cluster_wide, change_exchange, enter_exchange_dates,
    expire_exchange, guard_key, has_exchange_dates, last_exchange_index,
};
pub(crate) use identities::{identity_values, next_identity, set_identity};
pub(crate) use revisions::{
    configuration_key, decode_configuration, key_etag, revision_key, store_configuration,
};
pub(crate) use rollup::carry_out as carry_out_series;
pub(crate) use series::{SeriesRecord, decode_entry as decode_series_entry, entry_key, key_time};
pub(crate) use series_due::{
    SERIES_POLICIES, has_due as has_due_series, store_policies as store_series_policies,
};
pub(crate) use state::State;
