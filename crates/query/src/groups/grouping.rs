//! What a `group by` clause asks for, and its groups.

use std::sync::Arc;

use jackdaw_document::DocumentBuf;

use super::tally::Tally;
use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::fields::FieldPath;
use crate::source::Source;
use crate::syntax::PathPart;
use jackdaw_model::{Etag, Scope};

/// Field of a group that holds its number of entries.
pub(crate) const COUNT: &str = "Count";
/// Field of a group that holds all its keys, when there are several.
pub(crate) const KEY: &str = "Key";

/// Groups as documents.
pub(crate) type Rows = Arc<[Arc<DocumentBuf>]>;

/// What a `group by` clause asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grouping {
    pub(crate) keys: Vec<FieldPath>,
    /// For each key, whether it is the content of an array, not its elements.
    pub(crate) contents: Vec<bool>,
    pub(crate) sums: Vec<FieldPath>,
    /// Field of each sum.
    pub(crate) sum_names: Vec<String>,
    /// The name that an index of this would have.
    pub(crate) index_name: String,
}

impl Grouping {
    /// The groups of `scope`. Those that are kept may be of a later moment than `source`, unless
    /// other documents are read beside them.
    pub(crate) fn groups<S: Source>(
        &self,
        scope: &Scope,
        source: &S,
        reads_documents: bool,
        options: &ExecuteOptions<'_>,
    ) -> Result<Rows, QueryError> {
        let found = |rows: &Rows| Some(rows.len() as u64);
        let read = |what: &str| {
            let read = || self.read(scope, source, options);
            options.measured(|| what.into(), "groups", found, read)
        };
        let Some(access) = source.kept_groups() else {
            return read("read and group");
        };
        let slot = access.kept.slot(scope, self);
        if slot.has_no_place_for(source.count(scope).map_err(QueryError::Source)?) {
            return read("read and group, without memory to keep that");
        }
        let mut lease = slot.lease(options)?;
        let rows = match lease.rows_at(access.up_to, reads_documents) {
            Some(rows) => options.measured(
                || "take groups that are kept".into(),
                "groups",
                found,
                || Ok::<_, QueryError>(rows),
            )?,
            None if lease.is_newer_than(access.up_to) => {
                drop(lease);
                return read("read and group, as of an earlier moment");
            }
            None => {
                let after = lease.up_to(access.kept.forgotten_up_to());
                options.measured(
                    || match after {
                        Etag(0) => "read and group".into(),
                        _ => "bring kept groups up to date".into(),
                    },
                    "groups",
                    found,
                    || lease.update(self, scope, source, access.up_to, options),
                )?
            }
        };
        drop(lease);
        access.kept.trim();
        Ok(rows)
    }

    /// The groups of `scope`, made of every document.
    fn read<S: Source>(
        &self,
        scope: &Scope,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<Rows, QueryError> {
        let mut tally = Tally::new(self, 0);
        tally.update(self, scope, source, Etag(0), options)?;
        tally.rows(self)
    }

    /// The path to the array whose elements are grouped, when there is one.
    pub(super) fn fanned_prefix(&self) -> Option<&[PathPart]> {
        let mut keys = self.keys.iter().zip(&self.contents);
        let fanned = keys.find(|(key, is_content)| !**is_content && each_of(key).is_some());
        let (key, _) = fanned?;
        each_of(key).map(|at| &key.parts()[..at])
    }
}

/// Position of the first `[]`.
pub(super) fn each_of(path: &FieldPath) -> Option<usize> {
    path.parts().iter().position(|part| *part == PathPart::Each)
}
