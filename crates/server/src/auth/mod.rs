//! Who may do what: clearances, access to databases, and the one function that decides.
//!
//! `routes::table` says what each route needs, `http::dispatch` asks [`decide`] before a handler
//! runs, and handlers that list databases ask the principal for each.

mod principal;

pub(crate) use principal::{Access, Clearance, Needs, Principal, Refusal, Unknown, decide};
