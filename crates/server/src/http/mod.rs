//! HTTP/1.1 with keep-alive: connections, bodies in, bodies out, and the path of one request.
//!
//! Called by `running`; calls `router` for the route and `routes` for the answer. Framing is
//! hyper's; everything about databases is `routes`'.

mod body;
mod chunks;
mod dispatch;
mod listener;
mod reply;

pub(crate) use chunks::{ChunkWriter, ClientGone};
pub(crate) use dispatch::{Call, Handler, Outcome, Pending};
pub(crate) use listener::serve;
pub(crate) use reply::{BrokenStream, Reply};
