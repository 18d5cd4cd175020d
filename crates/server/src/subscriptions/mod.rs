//! Data subscriptions over TCP: clients take documents in batches and acknowledge them.
//!
//! `listener` accepts, `link` cuts the bytes of a connection into JSON objects, `session` is one
//! connection from its greeting to its end, `batch` writes what a batch holds, `desk` knows who
//! serves which subscription, `farewell` says why a connection ends.
//!
//! A connection reads nothing of the database while it waits for its client: a slow client holds
//! its own socket and at most one batch, never a snapshot or a writer.

mod batch;
mod desk;
mod farewell;
mod link;
mod listener;
mod session;

pub(crate) use batch::sample;
pub(crate) use desk::Desk;
pub(crate) use listener::serve;
