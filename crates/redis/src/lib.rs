//! A Redis server: RESP2 and RESP3 over keys in memory, durable through the storage engine when a
//! directory is given.
//!
//! [`RedisServer::start`] opens the directory, reads everything back, binds the address and starts
//! the event loops; [`RedisServer::stop`] ends them. Open `net/connection.rs` first, then
//! `commands/run.rs`, then `keyspace/mod.rs`. User's page: docs/redis.md.

#![forbid(unsafe_code)]

mod blocking;
mod channels;
mod clients;
mod commands;
mod durable;
mod failure;
mod glob;
mod keyspace;
mod net;
mod number;
mod resp;
mod server;
mod session;
mod settings;
mod shared;
mod slow;
mod value;

pub use keyspace::EvictionPolicy;
pub use resp::{ParserLimits, ProtocolError, RequestParser};
pub use server::{RedisServer, StartError};
pub use settings::{DEFAULT_PORT, RedisConfig, parse_bytes};
