//! HTTP, routing, Studio assets: the only crate that knows a protocol.
//!
//! [`Server::start`] serves a set of databases over HTTP/1.1 in the wire protocol that the official
//! RavenDB clients speak, with Jackdaw's own routes under `/jackdaw/` and Studio under `/studio/`.
//! The layers, from the socket inwards: `http` (connections, bodies), [`router`] (paths),
//! `auth` (who may), `routes` (one file per resource), `wire` (shapes of errors and parameters).

#![forbid(unsafe_code)]
mod auth;
mod config;
mod http;
mod live;
mod log_control;
mod maintenance;
mod rates;
pub mod router;
mod routes;
mod running;
mod sample;
mod scrub;
mod shared;
mod signals;
mod staggered;
mod subscriptions;
mod traffic;
mod version;
mod wire;

pub use auth::{
    AuditError, CLIENT_DAYS, Grant, Issued, Registry, SecurityDirectory, SecurityError, Settings,
    StoredCertificate, StoredKey, VerifiedAudit, verify_audit,
};
pub use config::{Compression, DEFAULT_LISTEN, ServerConfig};
pub use log_control::LogControl;
pub use running::{Running, Server, StartError};
