//! Sorters of queries: the seam to whoever keeps them.
//!
//! They are asked for by name once for a query, by [`BoundQuery::find_sorters`]; `execute::custom`
//! orders by what was found.

use std::fmt::Debug;
use std::sync::Arc;

use jackdaw_script::sorter::Sorter;

use crate::bind::BoundQuery;
use crate::error::QueryError;

/// Sorters by name, compiled.
pub trait Sorters: Debug + Sync {
    /// The sorter of this name, when there is one.
    ///
    /// # Errors
    /// It is there, and cannot be read or compiled.
    fn find(&self, name: &str) -> Result<Option<Arc<Sorter>>, QueryError>;
}

impl BoundQuery {
    /// The sorters it orders by, one for each clause that names one, in their order.
    ///
    /// # Errors
    /// One is missing, or cannot be read or compiled.
    pub fn find_sorters(
        &self,
        known: Option<&dyn Sorters>,
    ) -> Result<Vec<Arc<Sorter>>, QueryError> {
        let found = self.sorters().map(|name| {
            let sorter = known.map(|known| known.find(name)).transpose()?.flatten();
            sorter.ok_or_else(|| QueryError::SorterMissing(name.to_owned()))
        });
        found.collect()
    }
}
