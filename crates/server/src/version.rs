//! Which versions the server claims: its own, and the one whose wire protocol it speaks.
//!
//! Clients decide by `Raven-Server-Version` which commands they may send, so it names the version
//! whose recorded behaviour the routes follow.

use hyper::header::{HeaderName, HeaderValue};

/// Version of the product.
pub(crate) const PRODUCT_VERSION: &str = env!("CARGO_PKG_VERSION");
/// `Server` header.
pub(crate) const PRODUCT_HEADER: HeaderValue =
    HeaderValue::from_static(concat!("Jackdaw/", env!("CARGO_PKG_VERSION")));
/// Name of the header that clients read.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("raven-server-version");
/// Version of the protocol, with build number.
pub(crate) const WIRE_VERSION: &str = "7.1.5.71028";
/// The same as a header value.
pub(crate) const WIRE_VERSION_HEADER: HeaderValue = HeaderValue::from_static("7.1.5.71028");
/// Version of the protocol without build number.
pub(crate) const WIRE_VERSION_SHORT: &str = "7.1.5";
/// First two parts of the version of the protocol.
pub(crate) const WIRE_VERSION_FAMILY: &str = "7.1";
/// Build number of the protocol.
pub(crate) const WIRE_BUILD: u32 = 71_028;
