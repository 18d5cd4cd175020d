//! The methods of conditions: which are executed, and how the others are refused.

use jackdaw_base::number::Number;
use jackdaw_document::{DocumentBuf, Limits, Value as Json};
use jackdaw_search::{Analyzer, Expression as RegularExpression, FieldOptions, Relation};

use super::condition::Binder;
use crate::error::QueryError;
use crate::fields::{FieldKind, IndexField};
use crate::intersect::Intersection;
use crate::like::{Like, LikeOf, LikeOptions, has_like};
use crate::nearest::has_near;
use crate::parameters::Resolved;
use crate::predicate::{Field, Predicate, TermsTest, Test, Written};
use crate::syntax::{Argument, Call, Comparison, Expression, Join, Value};

/// A built-in method, by name without regard to case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Id,
    Exact,
    Exists,
    StartsWith,
    EndsWith,
    Search,
    Proximity,
    Lucene,
    Regex,
    Fuzzy,
    Boost,
    Spatial(Relation),
    Vector,
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

/// What Lucene calls all documents.
const EVERYTHING: &str = "*:*";

/// Methods that parse and have a meaning that this version does not execute.
const PLANNED: [&str; 2] = ["key", "hash"];

impl Method {
    pub(super) fn of(name: &str) -> Method {
        const KNOWN: [(&str, Method); 23] = [
            ("id", Method::Id),
            ("exact", Method::Exact),
            ("exists", Method::Exists),
            ("startsWith", Method::StartsWith),
            ("endsWith", Method::EndsWith),
            ("search", Method::Search),
            ("proximity", Method::Proximity),
            ("lucene", Method::Lucene),
            ("regex", Method::Regex),
            ("fuzzy", Method::Fuzzy),
            ("boost", Method::Boost),
            ("spatial.within", Method::Spatial(Relation::Within)),
            ("spatial.contains", Method::Spatial(Relation::Contains)),
            ("spatial.disjoint", Method::Spatial(Relation::Disjoint)),
            ("spatial.intersects", Method::Spatial(Relation::Intersects)),
            ("vector.search", Method::Vector),
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
            Method::Planned => QueryError::not_executed(&format!("{name}()"), ""),
            Method::Unknown => {
                QueryError::NotSupported(format!("Method '{name}' is not supported."))
            }
            _ => QueryError::invalid(format!(
                "Expected a field on the left of an operator, but got the method {name}()"
            )),
        }
    }
}

/// A document in the text of a parameter.
fn read_json(text: &str) -> Result<DocumentBuf, QueryError> {
    DocumentBuf::from_json(text.as_bytes(), &Limits::default())
        .map_err(|error| QueryError::invalid(format!("A document of moreLikeThis(): {error}")))
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
            Method::Exists => self.exists(call),
            Method::StartsWith => self.affix(call, Test::Prefix),
            Method::EndsWith => self.affix(call, Test::Suffix),
            Method::Search => self.search(call),
            Method::Proximity => self.proximity(call),
            Method::Lucene => self.lucene(call),
            Method::Regex => self.regex(call),
            Method::Fuzzy => self.fuzzy(call),
            Method::Boost => self.boost(call),
            Method::MoreLikeThis if self.is_named => self.more_like_this(call),
            Method::Spatial(relation) => self.spatial(call, relation),
            Method::Vector => self.vector_search(call),
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
                // A whole point in time: its value has one text.
                let is_whole = text.ends_with(['Z', 'z']) || text.contains('+');
                let text = match &field {
                    Field::Values(field) if is_whole => field.kind.text(&text),
                    _ => text.as_ref().into(),
                };
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
        let parts = (0..call.arguments.len()).map(|at| self.condition_argument(call, at));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        if !self.is_named {
            // One entry stands for one document, so meeting in it and in its document are the same.
            return Ok(parts
                .into_iter()
                .fold(Predicate::Everything, Predicate::and));
        }
        if parts.iter().any(|part| has_like(part) || has_near(part)) {
            return Err(QueryError::not_executed(
                "intersect() of moreLikeThis() or vector.search()",
                "",
            ));
        }
        Ok(Predicate::Intersection(Box::new(Intersection::new(parts))))
    }

    /// The field of a condition on terms, and the options it has as far as they are known.
    fn terms_field(
        &self,
        call: &'q Call,
        kind: FieldKind,
    ) -> Result<(IndexField, FieldOptions), QueryError> {
        let Field::Values(field) = self.field_argument(call, 0)? else {
            return Err(QueryError::not_executed(
                &format!("{}(id(), ...)", call.name),
                "startsWith(id(), ...) and id() in (...) are.",
            ));
        };
        // A named index says itself what its fields are.
        let field = match (&field.kind, self.is_named) {
            (FieldKind::Named(_), _) => field,
            (_, true) => IndexField::plain(field.path),
            (_, false) => IndexField { kind, ..field },
        };
        let options = match (&field.kind, self.is_named) {
            (FieldKind::Named(options), _) => *options,
            (_, true) => FieldOptions::new(Analyzer::Standard),
            (_, false) => field.options(),
        };
        Ok((field, options))
    }

    fn terms(
        &self,
        call: &Call,
        field: IndexField,
        written: Written,
        options: FieldOptions,
    ) -> Result<Predicate, QueryError> {
        let test = TermsTest::new(written, options)
            .map_err(|error| QueryError::invalid(format!("{error}, in: {call}")))?;
        Ok(Predicate::Test(
            Field::Values(field),
            Test::Terms(Box::new(test)),
        ))
    }

    pub(super) fn check_arguments(
        &self,
        call: &Call,
        least: usize,
        most: usize,
    ) -> Result<(), QueryError> {
        match (least..=most).contains(&call.arguments.len()) {
            true => Ok(()),
            false => Err(QueryError::invalid(format!(
                "Method {}() expects {} arguments, but got {}: {call}",
                call.name,
                if least == most {
                    least.to_string()
                } else {
                    format!("{least} to {most}")
                },
                call.arguments.len()
            ))),
        }
    }

    /// A text given as an argument; `None` when it is null.
    pub(super) fn text_argument(
        &self,
        call: &'q Call,
        position: usize,
    ) -> Result<Option<String>, QueryError> {
        match self.value_argument(call, position)? {
            Resolved::Text(text) => Ok(Some(text.into_owned())),
            Resolved::Null => Ok(None),
            value => Err(QueryError::invalid(format!(
                "Method {}() expects a string as argument {}, but got the {}: {}",
                call.name,
                position + 1,
                value.type_name(),
                value.shown()
            ))),
        }
    }

    /// A number that is not negative, given as an argument.
    pub(super) fn number_argument(
        &self,
        call: &'q Call,
        position: usize,
    ) -> Result<f64, QueryError> {
        let value = self.value_argument(call, position)?;
        let number = match &value {
            Resolved::Number(Number::Long(long)) => Some(*long as f64),
            Resolved::Number(Number::Double(double)) => Some(*double),
            Resolved::Text(text) => text.parse().ok(),
            _ => None,
        };
        number
            .filter(|number| *number >= 0.0 && number.is_finite())
            .ok_or_else(|| {
                QueryError::invalid(format!(
                    "Method {}() expects a number from 0 on as argument {}, but got the {}: {}",
                    call.name,
                    position + 1,
                    value.type_name(),
                    value.shown()
                ))
            })
    }

    /// `search(field, terms [, and | or])`.
    fn search(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        self.check_arguments(call, 2, 3)?;
        let (field, options) = self.terms_field(call, FieldKind::Search)?;
        let all = match call.arguments.get(2) {
            None => false,
            Some(Argument::Join(join)) => *join == Join::And,
            Some(_) => {
                return Err(QueryError::invalid(
                    "The third argument of search() is the word and or the word or",
                ));
            }
        };
        let Some(text) = self.search_text(call)? else {
            return Ok(Predicate::Nothing);
        };
        if text.trim().is_empty() {
            return Ok(Predicate::Nothing);
        }
        let written = Written::Search { text, all };
        self.terms(call, field, written, options)
    }

    /// The text of a search; the texts of an array are put together.
    fn search_text(&self, call: &'q Call) -> Result<Option<Box<str>>, QueryError> {
        Ok(match self.value_argument(call, 1)? {
            Resolved::Text(text) => Some(text.into_owned().into()),
            Resolved::Array(array) => {
                let texts = array.iter().filter_map(|value| value.as_str());
                Some(texts.collect::<Vec<&str>>().join(" ").into())
            }
            Resolved::Null => None,
            value => Some(value.shown().into()),
        })
    }

    /// `proximity(search(field, terms), slop)`.
    fn proximity(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        self.check_arguments(call, 2, 2)?;
        let Some(Argument::Expression(Expression::Call(search))) = call.arguments.first() else {
            return Err(QueryError::invalid(format!(
                "The first argument of proximity() is a search: proximity(search(F, 'a b'), 2), \
                 but got: {call}"
            )));
        };
        if Method::of(&search.name) != Method::Search {
            return Err(QueryError::invalid(format!(
                "The first argument of proximity() is a search, but got: {search}"
            )));
        }
        let (field, options) = self.terms_field(search, FieldKind::Search)?;
        let Some(text) = self.search_text(search)? else {
            return Ok(Predicate::Nothing);
        };
        let slop = self.number_argument(call, 1)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and bounded"
        )]
        let slop = slop.min(1e6) as u32;
        self.terms(call, field, Written::Near { text, slop }, options)
    }

    /// `exists(field)`.
    fn exists(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        Ok(match self.field_argument(call, 0)? {
            Field::Id => Predicate::Everything,
            field => Predicate::Test(field, Test::Exists),
        })
    }

    /// `lucene(field, text)`: about the words of the field, unless it is exact. What has the field
    /// at all is meant by `*:*`, words or not.
    fn lucene(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        self.check_arguments(call, 2, 3)?;
        let kind = if self.exact {
            FieldKind::Exact
        } else {
            FieldKind::Search
        };
        let text = self.text_argument(call, 1)?;
        if text
            .as_deref()
            .is_some_and(|text| text.trim() == EVERYTHING)
        {
            return self.exists(call);
        }
        let (field, options) = self.terms_field(call, kind)?;
        match text {
            Some(text) => self.terms(call, field, Written::Lucene(text.into()), options),
            None => Ok(Predicate::Nothing),
        }
    }

    /// `regex(field, expression)`.
    fn regex(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        self.check_arguments(call, 2, 2)?;
        let kind = if self.exact {
            FieldKind::Exact
        } else {
            FieldKind::Plain
        };
        let (field, options) = self.terms_field(call, kind)?;
        let Some(text) = self.text_argument(call, 1)? else {
            return Ok(Predicate::Nothing);
        };
        let expression = RegularExpression::compile(&text)
            .map_err(|error| QueryError::invalid(format!("{error}, in: {call}")))?;
        self.terms(call, field, Written::Regex(expression), options)
    }

    /// `fuzzy(field = text, similarity)`.
    fn fuzzy(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        self.check_arguments(call, 2, 2)?;
        let Some(Argument::Expression(Expression::Compare {
            left,
            operator: Comparison::Equal,
            right,
        })) = call.arguments.first()
        else {
            return Err(QueryError::invalid(format!(
                "The first argument of fuzzy() is an equality: fuzzy(Name = 'x', 0.5), but got: \
                 {call}"
            )));
        };
        let Field::Values(field) = self.field(left)? else {
            return Err(QueryError::not_executed("fuzzy(id() = ...)", ""));
        };
        let text = match self.right_side(right)? {
            Resolved::Text(text) => text.into_owned(),
            Resolved::Null => return Ok(Predicate::Nothing),
            value => value.shown(),
        };
        let similarity = self.number_argument(call, 1)?;
        if similarity > 1.0 {
            return Err(QueryError::invalid(format!(
                "The similarity of fuzzy() lies between 0 and 1, but got: {call}"
            )));
        }
        let options = field.options();
        // All of the text is one edit of nothing: a similarity of 1 is equality.
        let similarity = if similarity == 1.0 {
            0.999_999
        } else {
            similarity
        };
        let text = text.into();
        let written = Written::Fuzzy { text, similarity };
        self.terms(call, field, written, options)
    }

    /// `moreLikeThis(condition or document [, options])`.
    fn more_like_this(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        self.check_arguments(call, 1, 2)?;
        let of = match call.arguments.first() {
            Some(Argument::Expression(Expression::Value(Value::Bool(_)))) | None => {
                return Err(QueryError::invalid(format!(
                    "moreLikeThis() takes a condition that picks a document, or a document, but \
                     got: {call}"
                )));
            }
            Some(Argument::Expression(Expression::Value(value))) => {
                let text = match self.parameters.resolve(value)? {
                    Resolved::Text(text) => text.into_owned(),
                    Resolved::Object(object) => Json::Object(object).to_json(),
                    other => {
                        return Err(QueryError::invalid(format!(
                            "moreLikeThis() takes a document as an object or as JSON, but got: {}",
                            other.shown()
                        )));
                    }
                };
                LikeOf::Document(read_json(&text)?)
            }
            _ => LikeOf::Matches(Box::new(self.condition_argument(call, 0)?)),
        };
        let options = match call.arguments.len() {
            1 => LikeOptions::read(None)?,
            _ => match self.value_argument(call, 1)? {
                Resolved::Object(object) => LikeOptions::read(Some(Json::Object(object)))?,
                Resolved::Text(text) => LikeOptions::read(Some(read_json(&text)?.root()))?,
                Resolved::Null => LikeOptions::read(None)?,
                other => {
                    return Err(QueryError::invalid(format!(
                        "The options of moreLikeThis() are an object, but got: {}",
                        other.shown()
                    )));
                }
            },
        };
        Ok(Predicate::Like(Box::new(Like { of, options })))
    }

    /// `boost(condition, factor)`.
    fn boost(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        self.check_arguments(call, 2, 2)?;
        let condition = self.condition_argument(call, 0)?;
        let factor = self.number_argument(call, 1)?;
        Ok(match condition {
            Predicate::Nothing => Predicate::Nothing,
            condition => Predicate::Boost(Box::new(condition), factor),
        })
    }
}
