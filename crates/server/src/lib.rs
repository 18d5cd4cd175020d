//! HTTP, routing, Studio assets: the only crate that knows a protocol.

pub mod router;
