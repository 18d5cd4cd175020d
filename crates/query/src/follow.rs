//! Queries that follow changes: one document after another, in the order of their etags.
//!
//! Called by `database::subscriptions` for each document that changed. Such a query has a
//! condition, a projection and includes; whatever needs the whole result (order, groups, pages)
//! is refused when it is bound.
//!
//! Threads: a [`Follower`] holds a script that is running and stays on its thread.

use std::collections::HashSet;

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::{DocumentBuf, Value};

use crate::bind::{BoundQuery, bind_followed};
use crate::error::QueryError;
use crate::evaluate::matches;
use crate::execute::ExecuteOptions;
use crate::filter_script::Filtered;
use crate::nearest::has_near;
use crate::project::{
    Projection, Shown, for_each_id, write_document, write_made_row, write_projection,
    write_series_row,
};
use crate::scripted::{Loaded, Scripted};
use crate::source::{Source, StoredDocument};
use crate::syntax::{self, Comparison, Expression, Query, SourceName};
use jackdaw_model::Scope;

/// Most ids that one follower includes.
const INCLUDED_MAX: usize = 100_000;
/// Methods of `include` that are about something beside documents: the caller reads them.
const BESIDE: [&str; 3] = ["counters", "timeseries", "cmpxchg"];

/// The query of a subscription with its meaning.
#[derive(Clone, Debug)]
pub struct FollowQuery {
    bound: BoundQuery,
    scope: Scope,
    is_about_revisions: bool,
}

impl FollowQuery {
    /// Reads the text of a subscription: `from Users as u where .. select ..`, or with
    /// `(Revisions = true)` behind the collection for pairs of a revision and the one before it,
    /// which conditions and projections see as `{Current, Previous}`.
    ///
    /// # Errors
    /// See [`QueryError`]; a clause that needs the whole result is
    /// [`QueryError::NotSupported`].
    pub fn parse(text: &str) -> Result<FollowQuery, QueryError> {
        let mut query = syntax::parse(text)?;
        refuse(&query)?;
        let is_about_revisions = match query.from.options.take() {
            None => false,
            Some(options) => revisions_option(&options)?,
        };
        query.include.retain(|item| !is_beside(item));
        let bound = bind_followed(&query)?;
        if matches!(
            bound.projection,
            Projection::Facets(_) | Projection::Suggestions(_)
        ) {
            let message = "Subscription cannot select facets or suggestions";
            return Err(QueryError::NotSupported(message.to_owned()));
        }
        if has_near(&bound.predicate) {
            return Err(QueryError::near_in_subscription());
        }
        for call in bound.scripts() {
            call.check()?;
        }
        let scope = bound.scope().ok_or_else(index_refused)?;
        Ok(FollowQuery {
            bound,
            scope,
            is_about_revisions,
        })
    }

    /// Which documents it is about.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether it is about revisions.
    pub fn is_about_revisions(&self) -> bool {
        self.is_about_revisions
    }
}

/// Whether an item of `include` is about something that is not a document.
fn is_beside(item: &Expression) -> bool {
    matches!(item, Expression::Call(call) if BESIDE.iter().any(|name| call.is(name)))
}

fn index_refused() -> QueryError {
    QueryError::NotSupported("Subscription must specify a collection, not an index".to_owned())
}

#[cold]
fn several_loaded() -> QueryError {
    QueryError::Operation(
        "The projection of a subscription must be one object: select { docs: ps } in place of a \
         list of loaded documents"
            .to_owned(),
    )
}

fn refuse(query: &Query) -> Result<(), QueryError> {
    if matches!(query.from.source, SourceName::Index(_)) {
        return Err(index_refused());
    }
    let distinct = query.select.as_ref().is_some_and(|select| select.distinct);
    let paging = &query.paging;
    let pages = paging.limit.is_some() || paging.offset.is_some() || paging.filter_limit.is_some();
    for (is_there, clause) in [
        (!query.group_by.is_empty(), "a group by"),
        (!query.order_by.is_empty(), "an order by"),
        (query.update.is_some(), "an update"),
        (distinct, "a select distinct"),
        (pages, "a limit"),
    ] {
        if is_there {
            return Err(QueryError::NotSupported(format!(
                "Subscription cannot specify {clause} clause"
            )));
        }
    }
    Ok(())
}

/// `(Revisions = true)` behind the collection.
fn revisions_option(options: &Expression) -> Result<bool, QueryError> {
    if let Expression::Compare {
        left,
        operator: Comparison::Equal,
        right,
    } = options
        && let (Expression::Path(path), Expression::Value(value)) = (&**left, &**right)
        && path
            .as_name()
            .is_some_and(|name| name.eq_ignore_ascii_case("Revisions"))
        && let syntax::Value::Bool(wanted) = value
    {
        return Ok(*wanted);
    }
    Err(QueryError::invalid(format!(
        "Only (Revisions = true) may stand behind the collection of a subscription, but found \
         ({options})"
    )))
}

/// Runs a query over documents that are given to it.
pub struct Follower<'q> {
    query: &'q FollowQuery,
    scripted: Scripted,
    filtered: Filtered,
    row: Vec<u8>,
    included: Vec<Box<str>>,
    known: HashSet<Box<str>>,
}

impl<'q> Follower<'q> {
    /// A follower that met no document yet.
    pub fn new(query: &'q FollowQuery) -> Follower<'q> {
        Follower {
            query,
            scripted: Scripted::default(),
            filtered: Filtered::default(),
            row: Vec::new(),
            included: Vec::new(),
            known: HashSet::new(),
        }
    }

    /// The row of a document as JSON; `None` when it does not pass the condition. Documents that
    /// scripts load come from `source`.
    ///
    /// # Errors
    /// See [`QueryError`]. [`QueryError::Script`] and [`QueryError::Operation`] are about this
    /// document alone.
    pub fn row<S: Source>(
        &mut self,
        document: &StoredDocument<'_>,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<Option<&[u8]>, QueryError> {
        let query = &self.query.bound;
        let passes = matches(&query.predicate, document)
            && self.filtered.passes(query, document, source, options)?;
        if !passes {
            return Ok(None);
        }
        self.row.clear();
        let made = self.scripted.make(query, document, source, options)?;
        match &query.projection {
            // Refused when the subscription was made.
            Projection::Nothing | Projection::Facets(_) | Projection::Suggestions(_) => {}
            Projection::Document => write_document(document, &mut self.row),
            Projection::Loaded(slot) => match made.loaded.get(*slot) {
                Some(Loaded::One(Some(loaded))) => write_document(loaded, &mut self.row),
                Some(Loaded::Many(_)) => return Err(several_loaded()),
                None | Some(Loaded::One(None)) => {
                    write_projection(&[], document, &made, None, Shown::default(), &mut self.row);
                }
            },
            Projection::Fields(outputs) => {
                write_projection(
                    outputs,
                    document,
                    &made,
                    None,
                    Shown::default(),
                    &mut self.row,
                );
            }
            Projection::Series => {
                write_series_row(document, &made, Shown::default(), &mut self.row)
            }
            Projection::Script => {
                let root = made.value.as_ref().map_or(Value::Null, DocumentBuf::root);
                let Value::Object(object) = root else {
                    return Err(QueryError::Operation(format!(
                        "The projection of a subscription must return an object, but got: {}",
                        root.to_json()
                    )));
                };
                write_made_row(object, document, Shown::default(), &mut self.row);
            }
        }
        self.note_includes(document);
        Ok(Some(&self.row))
    }

    fn note_includes(&mut self, document: &StoredDocument<'_>) {
        let (included, known) = (&mut self.included, &mut self.known);
        let mut note = |id: &str| {
            let id = lowercase(id);
            if id.is_empty() || included.len() >= INCLUDED_MAX || known.contains(id.as_ref()) {
                return;
            }
            known.insert(id.as_ref().into());
            included.push(id.as_ref().into());
        };
        self.scripted.included.drain(..).for_each(|id| note(&id));
        for path in &self.query.bound.include {
            for_each_id(document, path, &mut note);
        }
    }

    /// Lower-cased ids of the documents that the rows so far include, each once.
    pub fn included(&self) -> &[Box<str>] {
        &self.included
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        FollowQuery::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn clauses_that_need_the_whole_result_are_refused_by_name() {
        for (text, clause) in [
            ("from Cars group by F select count()", "a group by clause"),
            ("from Cars order by F", "an order by clause"),
            ("from Cars limit 3", "a limit clause"),
            ("from Cars select distinct F", "a select distinct clause"),
        ] {
            assert_eq!(
                refusal(text),
                format!("Subscription cannot specify {clause}")
            );
        }
        assert!(refusal("from index 'X'").contains("must specify a collection"));
        assert!(refusal("from Cars(Archived = 3)").contains("(Revisions = true)"));
    }

    #[test]
    fn revisions_are_asked_for_behind_the_collection() {
        let plain = FollowQuery::parse("from Users as u include counters(u, 'likes')").unwrap();
        assert!(!plain.is_about_revisions());
        assert_eq!(*plain.scope(), Scope::Collection("Users".to_owned()));
        let revisions = "from Users (Revisions = true) as r where r.Current.Age > 3";
        assert!(FollowQuery::parse(revisions).unwrap().is_about_revisions());
    }
}
