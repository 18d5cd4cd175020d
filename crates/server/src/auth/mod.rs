//! Who may do what: certificates, API keys and tokens, clearances, and the one function that
//! decides.
//!
//! `routes::table` says what each route needs; `http::dispatch` asks the [`Gate`] who comes and
//! [`decide`] whether they may, before a handler runs; handlers that list databases ask the
//! principal for each. [`SecurityDirectory`] is the part that the command line uses, too.

mod attempts;
mod audit;
mod certificate;
mod directory;
mod gate;
mod guard;
mod key;
mod principal;
mod registry;
mod tokens;

use base64::Engine as _;

pub(crate) use attempts::Attempts;
pub use audit::{AuditError, VerifiedAudit, verify_audit};
pub(crate) use audit::{Entry, Objects};
pub use certificate::Issued;
pub(crate) use certificate::{Facts, fingerprint};
pub(crate) use directory::grant_from_json;
pub use directory::{CLIENT_DAYS, SecurityDirectory, SecurityError, Settings};
pub(crate) use gate::{Caller, Exchanged, Gate, Lease, Secured};
pub(crate) use guard::{Guard, Sent, check_origin};
pub use key::StoredKey;
pub(crate) use principal::{Access, Clearance, Needs, Principal, Refusal, Unknown, decide};
pub use registry::{Grant, Registry, StoredCertificate};
pub(crate) use tokens::Granted;

/// Base64 of the usual alphabet.
pub(crate) fn base64_of(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// The bytes of base64 of the usual alphabet; `None` when it is none.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}
