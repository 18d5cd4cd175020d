//! The methods of conditions: which are executed, and how the others are refused.

use super::condition::Binder;
use crate::error::QueryError;
use crate::evaluate::words;
use crate::fields::IndexField;
use crate::parameters::Resolved;
use crate::predicate::{Field, Predicate, SearchTerm, Test};
use crate::syntax::{Argument, Call, Join};

/// A built-in method, by name without regard to case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Id,
    Exact,
    Exists,
    StartsWith,
    EndsWith,
    Search,
    Intersect,
    CompareExchange,
    Now,
    /// `count` and `sum`.
    Aggregate,
    MoreLikeThis,
    /// Known, not executed.
    Planned,
    Unknown,
}

/// Methods that parse and have a meaning that this version does not execute.
const PLANNED: [&str; 12] = [
    "regex",
    "lucene",
    "fuzzy",
    "proximity",
    "boost",
    "spatial.within",
    "spatial.contains",
    "spatial.disjoint",
    "spatial.intersects",
    "vector.search",
    "key",
    "hash",
];

impl Method {
    pub(super) fn of(name: &str) -> Method {
        const KNOWN: [(&str, Method); 13] = [
            ("id", Method::Id),
            ("exact", Method::Exact),
            ("exists", Method::Exists),
            ("startsWith", Method::StartsWith),
            ("endsWith", Method::EndsWith),
            ("search", Method::Search),
            ("intersect", Method::Intersect),
            ("cmpxchg", Method::CompareExchange),
            ("now", Method::Now),
            ("today", Method::Now),
            ("count", Method::Aggregate),
            ("sum", Method::Aggregate),
            ("moreLikeThis", Method::MoreLikeThis),
        ];
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        match KNOWN.iter().find(|(known, _)| is(known)) {
            Some((_, method)) => *method,
            None if PLANNED.into_iter().any(is) => Method::Planned,
            None => Method::Unknown,
        }
    }

    /// Why a method cannot stand where a field must.
    pub(super) fn refused_in_where(self, name: &str) -> QueryError {
        match self {
            Method::Aggregate => {
                QueryError::invalid(format!("{name} may only be used in group by queries"))
            }
            Method::MoreLikeThis => {
                QueryError::invalid("Method moreLikeThis() cannot be used in dynamic queries")
            }
            Method::Planned => QueryError::not_executed(&format!("{name}()"), advice(name)),
            Method::Unknown => {
                QueryError::NotSupported(format!("Method '{name}' is not supported."))
            }
            _ => QueryError::invalid(format!(
                "Expected a field on the left of an operator, but got the method {name}()"
            )),
        }
    }
}

fn advice(name: &str) -> &'static str {
    match name.to_ascii_lowercase().as_str() {
        "boost" => "Remove it: without scores it would change nothing but the order.",
        "regex" | "lucene" | "fuzzy" => "startsWith() and endsWith() are.",
        _ => "",
    }
}

impl<'q, 'p: 'q> Binder<'q, 'p> {
    /// A call that stands as a condition.
    pub(super) fn method(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        match Method::of(&call.name) {
            Method::Exact => {
                let inner = Binder {
                    exact: true,
                    ..*self
                };
                inner.condition_argument(call, 0)
            }
            Method::Exists => Ok(match self.field_argument(call, 0)? {
                Field::Id => Predicate::Everything,
                field => Predicate::Test(field, Test::Exists),
            }),
            Method::StartsWith => self.affix(call, Test::Prefix),
            Method::EndsWith => self.affix(call, Test::Suffix),
            Method::Search => self.search(call),
            Method::Intersect => self.intersect(call),
            Method::Id => Err(QueryError::invalid(
                "Expected operator after 'id()', but found nothing. Write: id() = 'orders/1'",
            )),
            Method::CompareExchange => Err(QueryError::invalid(
                "cmpxchg() gives a value: write F = cmpxchg('key')",
            )),
            method => Err(method.refused_in_where(&call.name)),
        }
    }

    fn condition_argument(&self, call: &'q Call, position: usize) -> Result<Predicate, QueryError> {
        match call.arguments.get(position) {
            Some(Argument::Expression(expression)) => self.predicate(expression),
            _ => Err(QueryError::invalid(format!(
                "Expected a condition as argument {} of {}()",
                position + 1,
                call.name
            ))),
        }
    }

    /// `startsWith(field, text)` and `endsWith(field, text)`.
    fn affix(&self, call: &'q Call, test: fn(Box<str>) -> Test) -> Result<Predicate, QueryError> {
        let field = self.field_argument(call, 0)?;
        match self.value_argument(call, 1)? {
            Resolved::Text(text) => {
                let text = field.fold(&text);
                Ok(Predicate::Test(field, test(text)))
            }
            Resolved::Null => Ok(Predicate::Nothing),
            value => Err(QueryError::invalid(format!(
                "Method {}() expects a string as its second argument, but got the {}: {}",
                call.name,
                value.type_name(),
                value.shown()
            ))),
        }
    }

    fn intersect(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        if call.arguments.len() < 2 {
            return Err(QueryError::invalid(
                "The valid intersect query must have multiple intersect clauses.",
            ));
        }
        // One entry stands for one document, so meeting in it and meeting in its id are the same.
        (0..call.arguments.len()).try_fold(Predicate::Everything, |all, position| {
            Ok(all.and(self.condition_argument(call, position)?))
        })
    }

    /// `search(field, terms [, and | or])`.
    fn search(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        let field = match self.field_argument(call, 0)? {
            Field::Id => return Err(QueryError::not_executed("search(id(), ...)", "")),
            Field::Values(field) => Field::Values(IndexField::plain(field.path)),
        };
        let all = match call.arguments.get(2) {
            None => false,
            Some(Argument::Join(join)) => *join == Join::And,
            Some(_) => {
                return Err(QueryError::invalid(
                    "The third argument of search() is the word and or the word or",
                ));
            }
        };
        let texts = match self.value_argument(call, 1)? {
            Resolved::Text(text) => vec![text.into_owned()],
            Resolved::Array(array) => array
                .iter()
                .filter_map(|value| value.as_str().map(str::to_owned))
                .collect(),
            Resolved::Null => return Ok(Predicate::Nothing),
            value => vec![value.shown()],
        };
        let mut terms = Vec::new();
        for piece in texts.iter().flat_map(|text| text.split_whitespace()) {
            push_search_terms(piece, &mut terms)?;
        }
        if terms.is_empty() {
            return Ok(Predicate::Nothing);
        }
        let tests = terms
            .into_iter()
            .map(|term| Predicate::Test(field.clone(), Test::Word(term)));
        Ok(match all {
            true => tests.fold(Predicate::Everything, Predicate::and),
            false => tests.fold(Predicate::Nothing, Predicate::or),
        })
    }
}

/// The terms of one blank-separated piece: stars at its ends are wildcards, punctuation separates.
fn push_search_terms(piece: &str, terms: &mut Vec<SearchTerm>) -> Result<(), QueryError> {
    if piece.contains('"') {
        return Err(QueryError::not_executed(
            "A phrase in search()",
            "search(F, 'one two', and) finds documents with both words.",
        ));
    }
    let core = piece.trim_matches('*');
    if core.contains('*') {
        return Err(QueryError::not_executed(
            "A wildcard inside a word of search()",
            "Wildcards may stand at the ends of a word.",
        ));
    }
    let (star_before, star_after) = (piece.starts_with('*'), piece.ends_with('*'));
    let words: Vec<Box<str>> = words(core)
        .map(|word| jackdaw_base::lowercase::lowercase(word).into())
        .collect();
    let last = words.len().saturating_sub(1);
    for (position, word) in words.into_iter().enumerate() {
        terms.push(
            match (star_before && position == 0, star_after && position == last) {
                (false, false) => SearchTerm::Word(word),
                (false, true) => SearchTerm::Prefix(word),
                (true, false) => SearchTerm::Suffix(word),
                (true, true) => SearchTerm::Inside(word),
            },
        );
    }
    Ok(())
}
