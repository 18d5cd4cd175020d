//! Event loops: each owns connections, and nobody else touches those.
//!
//! A loop reads what came, runs the commands in place, gathers the replies and writes them once.
//! What others have for a connection (a message, the end of a wait) comes through its inbox.

mod connection;
mod event_loop;
mod inbox;
mod listener;
mod web;

pub(crate) use event_loop::EventLoop;
pub(crate) use inbox::{Address, Inbox, Message};
