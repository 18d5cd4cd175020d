//! HTTP/1.1 with keep-alive: connections, bodies in, bodies out, and the path of one request.
//!
//! Called by `running`; calls `router` for the route and `routes` for the answer. Framing is
//! hyper's; everything about databases is `routes`'.

mod addresses;
mod admission;
mod body;
mod body_memory;
mod chunks;
mod dispatch;
mod encoding;
mod events;
mod feed;
mod framing;
mod heads;
mod in_place;
mod listener;
mod pages;
mod piece_memory;
mod quick;
mod relay;
mod reply;
mod stall;
mod tls;

pub(crate) use addresses::{Addresses, subscriber};
pub(crate) use admission::Admission;
pub(crate) use body::{Pace, crowded, stalled, unpack_part};
pub(crate) use body_memory::{BodyMemory, BodyPlace};
pub(crate) use chunks::{ChunkWriter, Cut, Sink, placed, written};
pub(crate) use dispatch::{
    Call, Handler, Outcome, Pending, Quick, answer_inner, overloaded, panicked,
};
pub(crate) use feed::Feed;
pub(crate) use in_place::WritesInPlace;
pub(crate) use listener::serve;
pub(crate) use pages::{ATTACHMENT_POLICY, STUDIO_POLICY};
pub(crate) use piece_memory::PieceMemory;
pub(crate) use quick::QuickReads;
pub(crate) use relay::Relay;
pub(crate) use reply::{BrokenStream, Reply};
pub(crate) use tls::{Tls, check_server_identity};
