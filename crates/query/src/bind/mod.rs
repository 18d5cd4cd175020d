//! From syntax to meaning: a [`BoundQuery`] has typed values, paths without alias, and nothing
//! that is not executed.
//!
//! [`bind`] refuses what has no meaning, in the words clients of the protocol know, and what this
//! version does not execute, naming the clause.

mod computed;
mod condition;
mod facet;
mod filter;
mod group;
mod include;
mod method;
mod order;
mod query;
mod select;
mod series;
mod spatial;
mod vector;
mod when;

#[cfg(test)]
mod tests;

pub(crate) use facet::{FacetItem, setup_facets};
pub(crate) use query::bind_followed;
pub use query::{BoundQuery, IndexRequirement, IndexSchema, bind, bind_over};
