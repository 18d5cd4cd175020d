//! How a query will be run: which documents are looked at, and how the index helps.
//!
//! [`plan`] chooses; `execute` obeys; `Display` shows the choice as a short tree.

use std::fmt;

use jackdaw_search::{Term, TermKind};
use jackdaw_storage::PageRead;

use crate::bind::BoundQuery;
use crate::error::QueryError;
use crate::fields::IndexField;
use crate::order::{OrderKey, OrderSource};
use crate::predicate::{Field, Predicate, Test};
use crate::project::Projection;
use crate::source::{IndexAccess, IndexRows, Source};
use crate::syntax::{Ordering, SourceName};
use jackdaw_model::Scope;

/// A chosen way to run a query.
#[derive(Clone, Debug)]
pub struct Plan<'q> {
    pub(crate) query: &'q BoundQuery,
    pub(crate) scope: Scope,
    pub(crate) access: Access,
    /// What matches are, when an index answers.
    pub(crate) rows: IndexRows,
    index_name: String,
    estimate: Option<u64>,
    /// Whether the index leaves changes out that it has not seen, for being too many.
    is_cut: bool,
    /// Whether it is the plan for groups that are there.
    is_over_groups: bool,
}

/// Where matches come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Access {
    /// There are none.
    Nothing,
    /// Documents of these folded ids, in their order, then the condition.
    Ids(Vec<Box<str>>),
    /// Documents whose folded id begins so, in the order of ids, then the condition.
    IdPrefix(Box<str>),
    /// Every document, oldest change first, then the condition.
    Scan,
    /// Entries of the index, then changes it has not seen.
    Index,
}

/// Chooses how to run `query` on `source`.
///
/// # Errors
/// - [`QueryError::IndexMissing`]: the named index is not the one `source` gives.
/// - [`QueryError::Argument`]: the named index lacks a field of the query.
/// - [`QueryError::Index`]: its statistics could not be read.
pub fn plan<'q, S: Source>(query: &'q BoundQuery, source: &S) -> Result<Plan<'q>, QueryError> {
    let index = source.index();
    let scope = match (query.scope(), &index) {
        (Some(scope), _) => scope,
        (None, Some(index)) => {
            check_fields(query, index)?;
            index.scope.clone()
        }
        (None, None) => {
            return Err(QueryError::IndexMissing(
                query.index_name().unwrap_or_default().into(),
            ));
        }
    };
    // An index that lacks a field, or is of other documents, cannot help.
    let is_named = query.index_name().is_some();
    let index = index.filter(|index| is_named || covers(query, &scope, index));
    let rows = index
        .as_ref()
        .map_or(IndexRows::Documents, |index| index.rows);
    let access = match &query.grouping {
        Some(_) => Access::Scan,
        // Entries that are no documents are found in their index alone.
        None if rows != IndexRows::Documents => match query.predicate {
            Predicate::Nothing => Access::Nothing,
            _ => Access::Index,
        },
        None => choose(query, index.as_ref()),
    };
    let index_name = match (&access, &index, &query.source) {
        _ if query.grouping.is_some() => {
            let grouping = query.grouping.as_ref();
            grouping.map_or(String::new(), |grouping| grouping.index_name.clone())
        }
        (Access::Index, Some(index), _) | (_, Some(index), SourceName::Index(_)) => {
            index.name.to_owned()
        }
        (_, _, SourceName::Collection(name) | SourceName::Index(name)) => {
            format!("collection/{name}")
        }
    };
    let estimate = match (&access, &index) {
        (Access::Index, Some(index)) => match index.reader {
            Some(reader) => estimate(reader, &query.predicate)?,
            None => None,
        },
        _ => None,
    };
    Ok(Plan {
        query,
        scope,
        access,
        rows,
        index_name,
        estimate,
        is_cut: index.is_some_and(|index| index.is_cut),
        is_over_groups: false,
    })
}

impl<'q> Plan<'q> {
    /// Name of what answers: an index, or `collection/` and the name in the query.
    pub fn index_name(&self) -> &str {
        &self.index_name
    }

    /// The plan for the groups of the query, once they are there.
    pub(crate) fn over_groups(&self) -> Plan<'q> {
        Plan {
            scope: Scope::All,
            access: match self.query.predicate {
                Predicate::Nothing => Access::Nothing,
                _ => Access::Scan,
            },
            is_over_groups: true,
            ..self.clone()
        }
    }

    /// Where matches come from, in words.
    pub(crate) fn access_text(&self) -> String {
        match &self.access {
            Access::Nothing => "nothing can match".to_owned(),
            Access::Ids(ids) => format!("read {} ids", ids.len()),
            Access::IdPrefix(prefix) => format!("read ids from '{prefix}'"),
            Access::Scan if self.is_over_groups => "look at every group".to_owned(),
            Access::Scan if self.query.grouping.is_some() => {
                "groups, of every document or kept".to_owned()
            }
            Access::Scan => "read every document".to_owned(),
            Access::Index => {
                let most = self
                    .estimate
                    .map_or_else(String::new, |most| format!(", at most {most} entries"));
                let changes = match (self.rows, self.is_cut) {
                    (IndexRows::Documents, false) => ", then evaluate changes it has not seen",
                    (IndexRows::Documents, true) => ", without the changes it has not seen",
                    // It is waited for instead.
                    (IndexRows::Entries { .. } | IndexRows::Results, _) => "",
                };
                format!("look up in the index{most}{changes}")
            }
        }
    }

    /// What writing rows is, in words.
    pub(crate) fn rows_text(&self) -> &'static str {
        match (self.is_over_groups, self.rows) {
            (true, _) => "write rows of groups",
            (false, IndexRows::Results) => "read results, write rows",
            (false, _) => "read documents, write rows",
        }
    }

    /// The order of the rows, in words.
    pub(crate) fn order_text(&self) -> String {
        let keys: Vec<String> = self.query.order.iter().map(ToString::to_string).collect();
        format!("order by {}", keys.join(", "))
    }

    /// Whether an index answers the conditions.
    pub fn uses_index(&self) -> bool {
        self.access == Access::Index
    }
}

/// Whether an automatic index is of the documents of a query and has the fields of it.
pub(crate) fn covers<P: PageRead + ?Sized>(
    query: &BoundQuery,
    scope: &Scope,
    index: &IndexAccess<'_, P>,
) -> bool {
    let is_same_scope = match (scope, index.scope) {
        (Scope::All, Scope::All) => true,
        (scope, Scope::Collection(name)) => *scope != Scope::All && scope.contains(name),
        (Scope::Collection(_), Scope::All) => false,
    };
    is_same_scope
        && query
            .index_fields()
            .iter()
            .all(|field| index.fields.contains(field))
}

/// A named index answers only for fields it has.
fn check_fields<P: PageRead + ?Sized>(
    query: &BoundQuery,
    index: &IndexAccess<'_, P>,
) -> Result<(), QueryError> {
    let is_known = |field: &&IndexField| match index.rows {
        IndexRows::Documents => index.fields.contains(field),
        _ => index.has_open_fields || index.fields.iter().any(|known| known.path == field.path),
    };
    match query.index_fields().iter().find(|field| !is_known(field)) {
        None => Ok(()),
        Some(field) => Err(QueryError::Argument(format!(
            "The field '{}' is not indexed in '{}', cannot query/sort on fields that are not \
             indexed",
            field.name(),
            index.name
        ))),
    }
}

fn choose<P: PageRead + ?Sized>(query: &BoundQuery, index: Option<&IndexAccess<'_, P>>) -> Access {
    let conjuncts: &[Predicate] = match &query.predicate {
        Predicate::Nothing => return Access::Nothing,
        Predicate::And(list) => list,
        single => std::slice::from_ref(single),
    };
    for conjunct in conjuncts {
        match conjunct {
            Predicate::Test(Field::Id, Test::Text(id)) => return Access::Ids(vec![id.clone()]),
            Predicate::Test(Field::Id, Test::OneOf(ids)) => {
                return Access::Ids(ids.texts().to_vec());
            }
            _ => {}
        }
    }
    let needs_index = !query.index_fields().is_empty();
    if needs_index && index.is_some() {
        return Access::Index;
    }
    for conjunct in conjuncts {
        if let Predicate::Test(Field::Id, Test::Prefix(prefix)) = conjunct {
            return Access::IdPrefix(prefix.clone());
        }
    }
    Access::Scan
}

/// About how many entries match: exact for single terms, an upper bound for `in` and `and`,
/// `None` where only reading would tell.
pub(crate) fn estimate<P: PageRead + ?Sized>(
    reader: &jackdaw_search::IndexReader<'_, P>,
    predicate: &Predicate,
) -> Result<Option<u64>, QueryError> {
    Ok(match predicate {
        Predicate::Everything => Some(reader.entry_count()),
        Predicate::Nothing => Some(0),
        Predicate::Test(Field::Values(field), test) => {
            let Some(id) = reader.field(&field.name()) else {
                return Ok(Some(0));
            };
            match test {
                Test::Null => Some(reader.count(id, Term::Null)?),
                Test::Text(text) => Some(reader.count(id, Term::Text(text))?),
                Test::Number(number) => Some(reader.count(id, Term::Number(*number))?),
                Test::Exists => Some(reader.exists_count(id)?),
                _ => None,
            }
        }
        Predicate::And(list) => {
            let mut least: Option<u64> = None;
            for predicate in list {
                if let Some(count) = estimate(reader, predicate)? {
                    least = Some(least.map_or(count, |least| least.min(count)));
                }
            }
            least
        }
        Predicate::Boost(inner, _) => estimate(reader, inner)?,
        Predicate::Like(_) => Some(0),
        Predicate::Near(test) => Some(test.set().len()),
        Predicate::Intersection(intersection) => Some(intersection.set().len()),
        Predicate::Test(Field::Id, _) | Predicate::Not(_) | Predicate::Or(_) => None,
    })
}

/// The field and the terms whose walk is the order of `key`, when there is one.
pub(crate) fn walk_of(key: &OrderKey) -> Option<(IndexField, TermKind)> {
    let OrderSource::Field(path) = &key.source else {
        return None;
    };
    let kind = match key.ordering {
        Ordering::String => TermKind::Text,
        Ordering::Long | Ordering::Double => TermKind::Number,
        Ordering::AlphaNumeric => return None,
    };
    Some((IndexField::plain(path.clone()), kind))
}

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.query;
        writeln!(f, "{}", self.index_name)?;
        writeln!(f, "  {}", self.access_text())?;
        if !matches!(query.predicate, Predicate::Everything | Predicate::Nothing) {
            print_tree(f, &query.predicate, 2)?;
        }
        if query.filter.is_some() {
            f.write_str("  filter each match")?;
            match query.filter_limit {
                Some(limit) => writeln!(f, ", at most {limit}")?,
                None => writeln!(f)?,
            }
        }
        if !query.order.is_empty() {
            writeln!(f, "  {}", self.order_text())?;
        }
        match (&query.projection, query.distinct) {
            (Projection::Nothing, _) => f.write_str("  no rows"),
            (Projection::Document, false) => f.write_str("  rows: documents"),
            (Projection::Document, true) => f.write_str("  rows: different documents"),
            (Projection::Loaded(_), _) => f.write_str("  rows: loaded documents"),
            (Projection::Script, _) => f.write_str("  rows: made by a script"),
            (Projection::Series, _) => f.write_str("  rows: time series"),
            (Projection::Facets(_), _) => f.write_str("  count the values of facets"),
            (Projection::Suggestions(_), _) => f.write_str("  compare the terms of a field"),
            (Projection::Fields(fields), distinct) => {
                let different = if distinct { "different " } else { "" };
                write!(f, "  rows: {different}")?;
                for (position, field) in fields.iter().enumerate() {
                    let join = if position == 0 { "" } else { ", " };
                    write!(f, "{join}{}", field.name)?;
                }
                Ok(())
            }
        }?;
        match (query.page_skip(), query.page_take()) {
            (0, u64::MAX) => Ok(()),
            (skip, u64::MAX) => write!(f, ", after {skip}"),
            (0, take) => write!(f, ", {take} of them"),
            (skip, take) => write!(f, ", {take} of them after {skip}"),
        }
    }
}

fn print_tree(f: &mut fmt::Formatter<'_>, predicate: &Predicate, depth: usize) -> fmt::Result {
    let indent = depth * 2;
    match predicate {
        Predicate::And(list) | Predicate::Or(list) => {
            let word = if matches!(predicate, Predicate::And(_)) {
                "and"
            } else {
                "or"
            };
            writeln!(f, "{:indent$}{word}", "")?;
            list.iter()
                .try_for_each(|predicate| print_tree(f, predicate, depth + 1))
        }
        Predicate::Not(inner) => {
            writeln!(f, "{:indent$}not", "")?;
            print_tree(f, inner, depth + 1)
        }
        leaf => writeln!(f, "{:indent$}{leaf}", ""),
    }
}
