//! RQL: text to syntax tree to plan to execution.
//!
//! The steps, each usable alone: [`syntax::parse`] reads the text; [`bind`] gives it meaning with
//! its [`Parameters`]; [`plan`] chooses between ids, an index and a scan on a [`Source`];
//! [`execute`] gives the rows to a [`RowSink`]. [`matches()`] is the meaning of a condition on one
//! document, which every way of execution reproduces.
//!
//! The crate knows no database: documents and index come through [`Source`], and it has no clock,
//! so time limits come as a flag that somebody raises.

#![forbid(unsafe_code)]

mod bind;
mod costs;
mod error;
mod evaluate;
mod exchange;
mod execute;
mod explain;
mod facet_counts;
mod facets;
mod fields;
mod filter;
mod filter_script;
mod follow;
mod groups;
mod highlight;
mod instants;
mod intersect;
mod lengths;
mod like;
mod memory;
mod nearest;
mod order;
mod parameters;
mod plan;
mod predicate;
mod project;
mod script_series;
mod scripted;
mod series;
mod sorters;
mod source;
mod suggest;
pub mod syntax;
#[cfg(test)]
mod test_source;
mod vectors;

pub use bind::{BoundQuery, IndexRequirement, IndexSchema, bind, bind_over};
pub use costs::{Costs, Reads, Step};
pub use error::{BoxError, QueryError};
pub use evaluate::matches;
pub use exchange::resolve_exchange;
pub use execute::{ExecuteOptions, Outcome, RowBuffer, RowSink, execute};
pub use explain::Explanation;
pub use fields::{FieldKind, FieldPath, IndexField, Leaf, add_terms, add_vectors, visit_values};
pub use follow::{FollowQuery, Follower};
pub use groups::{GroupsAccess, KeptGroups};
pub use highlight::Highlightings;
pub use instants::with_canonical_times;
pub use intersect::Intersection;
pub use memory::{QueryMemory, bound_memory};
pub use nearest::NearTest;
pub use order::Measure;
pub use parameters::Parameters;
pub use plan::{Plan, plan};
pub use predicate::{Field, OneOf, PlaceTest, Predicate, TermsTest, Test, Written};
pub use project::{ProjectionBehavior, write_document};
pub use script_series::{
    SCRIPT_SERIES_ENTRIES_MAX, push_script_entry, script_series_name, script_series_range,
    script_series_stats, script_series_time, too_many_entries,
};
pub use series::{Period, parse_time};
pub use sorters::Sorters;
pub use source::{
    ColumnAccess, IndexAccess, IndexRows, Numbers, SeriesEntry, SeriesExtent, ShownVector, Source,
    StoredDocument,
};
pub use vectors::Embedding;
