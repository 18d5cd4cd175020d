//! Subscriptions: queries whose matching documents are handed out in batches, each until it is
//! acknowledged.
//!
//! `definition` is what a subscription is and its bytes, `change` creates, updates, acknowledges
//! and deletes in a transaction, `read` makes batches from a snapshot, `progress` knows which etags
//! are handed out to whom while connections are open.
//!
//! Invariants:
//! - The stored position is never behind an etag whose document was not acknowledged, or does not
//!   belong to the subscription: what a lost connection held is handed out again.
//! - It only grows, but for an update of the subscription that says otherwise.

mod change;
mod definition;
mod progress;
mod read;

pub use definition::{
    ArchivedDocuments, Subscription, SubscriptionDefinition, SubscriptionStart, SubscriptionUpdate,
};
pub use progress::{BatchRange, Progress};
pub use read::{BatchLimits, BatchRead, BatchSink, SubscriptionItem};
