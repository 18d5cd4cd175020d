//! Routing: from a method and the bytes of a path to one route, without touching the heap.
//!
//! Called once per request by `http::dispatch`; `jackdaw bench router` measures it. The route
//! table is data (see `routes::table`); this module knows neither handlers nor HTTP.
//!
//! Invariants:
//! - Matching allocates nothing: captures are ranges in a fixed array, checked by a test with a
//!   counting allocator.
//! - Literals match without regard to ASCII case; a literal wins over `*`, and `*` over `$`,
//!   whatever the order of the routes.
//!
//! Threads: a built [`Router`] is immutable and shared.

mod trie;
mod verb;

pub use trie::{Captures, Match, NoRoute, Route, Router, RouterError};
pub use verb::{Verb, Verbs};
