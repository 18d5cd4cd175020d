//! Sorters of queries: the seam to whoever keeps them.
//!
//! `execute::custom` asks for them by name; the server finds them in records of databases.

use std::fmt::Debug;
use std::sync::Arc;

use jackdaw_script::sorter::Sorter;

use crate::error::QueryError;

/// Sorters by name, compiled.
pub trait Sorters: Debug + Sync {
    /// The sorter of this name, when there is one.
    ///
    /// # Errors
    /// It is there, and cannot be read or compiled.
    fn find(&self, name: &str) -> Result<Option<Arc<Sorter>>, QueryError>;
}
