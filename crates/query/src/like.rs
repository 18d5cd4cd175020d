//! More like this: documents that share telling terms with one that is given.
//!
//! Bound by `bind::method` as [`Predicate::Like`]; [`expand`] puts the terms in its place, once the
//! document and the index can be read and before the query is planned.

use std::collections::BTreeMap;

use jackdaw_document::{DocumentBuf, Value};
use jackdaw_search::{Budget, EntrySet, FieldTerms, Term};

use crate::bind::BoundQuery;
use crate::error::QueryError;
use crate::execute::{ExecuteOptions, IndexSets};
use crate::fields::{FieldKind, FieldPath, IndexField, terms_of};
use crate::intersect::{self, has_intersection};
use crate::nearest::{has_near, resolve};
use crate::predicate::{Field, Predicate, TermsTest, Test, Written};
use crate::source::Source;

/// Most documents that conditions of `moreLikeThis` may pick.
const DOCUMENTS_MAX: u64 = 16;

/// `moreLikeThis(document or condition [, options])`.
#[derive(Clone, Debug)]
pub struct Like {
    pub(crate) of: LikeOf,
    pub(crate) options: LikeOptions,
}

/// Two are equal when they are the same words of a query; nobody asks.
impl PartialEq for Like {
    fn eq(&self, _other: &Like) -> bool {
        false
    }
}

/// What is given.
#[derive(Clone, Debug)]
pub(crate) enum LikeOf {
    /// Documents of the index.
    Matches(Box<Predicate>),
    /// A document that is not stored.
    Document(DocumentBuf),
}

/// Which terms tell.
#[derive(Clone, Debug)]
pub(crate) struct LikeOptions {
    minimum_term_frequency: u64,
    maximum_query_terms: usize,
    maximum_tokens: usize,
    minimum_word_length: usize,
    maximum_word_length: usize,
    minimum_document_frequency: u64,
    maximum_document_frequency: u64,
    maximum_percentage: u64,
    boosts: bool,
    boost_factor: f64,
    stop_words: Option<String>,
    fields: Vec<String>,
}

impl LikeOptions {
    /// Reads options from an object, whatever the case of its names. They change what they name:
    /// where nothing is said every term counts.
    pub(crate) fn read(options: Option<Value<'_>>) -> Result<LikeOptions, QueryError> {
        let object = options.and_then(|options| options.as_object());
        let mut read = LikeOptions {
            minimum_term_frequency: 1,
            maximum_query_terms: 25,
            maximum_tokens: 5_000,
            minimum_word_length: 0,
            maximum_word_length: 0,
            minimum_document_frequency: 1,
            maximum_document_frequency: u64::MAX,
            maximum_percentage: 100,
            boosts: false,
            boost_factor: 1.0,
            stop_words: None,
            fields: Vec::new(),
        };
        for (name, value) in object.iter().flat_map(|object| object.iter()) {
            if matches!(value, Value::Null) {
                continue;
            }
            let wrong = || {
                QueryError::invalid(format!(
                    "{name} of moreLikeThis() options cannot be {}",
                    value.to_json()
                ))
            };
            let count = || {
                let count = value.as_i64().and_then(|count| u64::try_from(count).ok());
                count.ok_or_else(wrong)
            };
            let size = || count().map(|count| usize::try_from(count).unwrap_or(usize::MAX));
            match name.to_ascii_lowercase().as_str() {
                "minimumtermfrequency" => read.minimum_term_frequency = count()?,
                "maximumqueryterms" => read.maximum_query_terms = size()?,
                "maximumnumberoftokensparsed" => read.maximum_tokens = size()?,
                "minimumwordlength" => read.minimum_word_length = size()?,
                "maximumwordlength" => read.maximum_word_length = size()?,
                "minimumdocumentfrequency" => read.minimum_document_frequency = count()?,
                "maximumdocumentfrequency" => read.maximum_document_frequency = count()?,
                "maximumdocumentfrequencypercentage" => read.maximum_percentage = count()?,
                "boost" => read.boosts = value.as_bool().ok_or_else(wrong)?,
                "boostfactor" => {
                    let factor = crate::fields::to_number(value).map(|number| number.to_f64());
                    read.boost_factor = factor.filter(|factor| *factor >= 0.0).ok_or_else(wrong)?;
                }
                "stopwordsdocumentid" => {
                    read.stop_words = Some(value.as_str().ok_or_else(wrong)?.to_owned());
                }
                "fields" => {
                    let names = value.as_array().ok_or_else(wrong)?;
                    let names = names.iter().filter_map(|name| name.as_str());
                    read.fields = names.map(str::to_owned).collect();
                }
                _ => {}
            }
        }
        Ok(read)
    }
}

impl BoundQuery {
    /// Puts the terms of `moreLikeThis` in its place, and what searches for vectors and
    /// intersections find; any other query stays as it is.
    ///
    /// # Errors
    /// Reading failed, what is given is not there, or vectors are of other dimensions.
    pub fn expand<S: Source>(
        mut self,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<BoundQuery, QueryError> {
        if has_like(&self.predicate) {
            self.predicate = expand(self.predicate, source, options)?;
        }
        if has_near(&self.predicate) {
            self.predicate = resolve(&self, source, options)?;
        }
        if has_intersection(&self.predicate) {
            self.predicate = intersect::resolve(self.predicate, source, options)?;
        }
        Ok(self)
    }
}

/// Whether a condition has a `moreLikeThis` in it.
pub(crate) fn has_like(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Like(_) => true,
        Predicate::And(list) | Predicate::Or(list) => list.iter().any(has_like),
        Predicate::Not(inner) | Predicate::Boost(inner, _) => has_like(inner),
        _ => false,
    }
}

fn expand<S: Source>(
    predicate: Predicate,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<Predicate, QueryError> {
    let all = |list: Vec<Predicate>| -> Result<Vec<Predicate>, QueryError> {
        list.into_iter()
            .map(|part| expand(part, source, options))
            .collect()
    };
    Ok(match predicate {
        Predicate::Like(like) => options.measured(
            || "choose the terms of moreLikeThis()".into(),
            "",
            |_| None,
            || like.terms(source, options),
        )?,
        Predicate::And(list) => all(list)?
            .into_iter()
            .fold(Predicate::Everything, Predicate::and),
        Predicate::Or(list) => all(list)?
            .into_iter()
            .fold(Predicate::Nothing, Predicate::or),
        Predicate::Not(inner) => expand(*inner, source, options)?.negated(),
        Predicate::Boost(inner, factor) => {
            Predicate::Boost(Box::new(expand(*inner, source, options)?), factor)
        }
        other => other,
    })
}

impl Like {
    /// Any of the telling terms, and not what was given.
    fn terms<S: Source>(
        &self,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<Predicate, QueryError> {
        let Some(index) = source.index() else {
            return Ok(Predicate::Nothing);
        };
        let Some(reader) = index.reader else {
            return Ok(Predicate::Nothing);
        };
        let wanted = |field: &&IndexField| {
            let names = &self.options.fields;
            names.is_empty() || names.iter().any(|name| *name == field.path.as_str())
        };
        let fields: Vec<&IndexField> = index.fields.iter().filter(wanted).collect();
        let stop_words = self.stop_words(source)?;
        let mut weighted: Vec<(f64, &IndexField, String)> = Vec::new();
        let given = self.given(reader, source, options)?;
        for field in fields {
            let Some(id) = reader.field(&field.name()) else {
                continue;
            };
            let mut frequencies: BTreeMap<String, u64> = BTreeMap::new();
            for terms in self.terms_of(field, &given, source)? {
                for (term, _) in terms.iter().take(self.options.maximum_tokens) {
                    let length = term.chars().count();
                    let most = self.options.maximum_word_length;
                    let is_sized =
                        length >= self.options.minimum_word_length && (most == 0 || length <= most);
                    if is_sized && !stop_words.iter().any(|word| word == term) {
                        *frequencies.entry(term.to_owned()).or_default() += 1;
                    }
                }
            }
            for (term, frequency) in frequencies {
                let documents = reader.count(id, Term::Text(&term))?;
                let most = (reader.entry_count() * self.options.maximum_percentage / 100)
                    .min(self.options.maximum_document_frequency);
                if frequency >= self.options.minimum_term_frequency
                    && documents >= self.options.minimum_document_frequency
                    && documents <= most
                {
                    let idf = jackdaw_search::idf(reader.entry_count(), documents);
                    weighted.push((frequency as f64 * idf, field, term));
                }
            }
        }
        weighted.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        weighted.truncate(self.options.maximum_query_terms);
        let best = weighted.first().map_or(1.0, |(weight, _, _)| *weight);
        let any = weighted.into_iter().map(|(weight, field, term)| {
            let written = Written::Like(term.into());
            let test = TermsTest::new(written, field.options());
            let test = test.map_err(|error| QueryError::invalid(error.to_string()))?;
            let predicate =
                Predicate::Test(Field::Values(field.clone()), Test::Terms(Box::new(test)));
            Ok(match self.options.boosts && best > 0.0 {
                true => {
                    let factor = self.options.boost_factor * weight / best;
                    Predicate::Boost(Box::new(predicate), factor)
                }
                false => predicate,
            })
        });
        let any = any.collect::<Result<Vec<_>, QueryError>>()?;
        let any = any.into_iter().fold(Predicate::Nothing, Predicate::or);
        Ok(match &self.of {
            LikeOf::Matches(given) => any.and(given.as_ref().clone().negated()),
            LikeOf::Document(_) => any,
        })
    }

    /// The entries given; none for a document that is not stored.
    fn given<S: Source>(
        &self,
        reader: &jackdaw_search::IndexReader<'_, S::Pages>,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<EntrySet, QueryError> {
        let LikeOf::Matches(predicate) = &self.of else {
            return Ok(EntrySet::new());
        };
        let mut sets = IndexSets {
            reader,
            source,
            options,
            budget: Budget::unlimited(),
        };
        let found = sets.find(predicate)?.possible();
        match found.len() {
            0 => Err(QueryError::Operation(
                "Document is not in the index: moreLikeThis() needs one that the index has"
                    .to_owned(),
            )),
            1..=DOCUMENTS_MAX => Ok(found),
            count => Err(QueryError::invalid(format!(
                "The condition of moreLikeThis() picks {count} documents, but may pick \
                 {DOCUMENTS_MAX}: name one by its id"
            ))),
        }
    }

    fn terms_of<S: Source>(
        &self,
        field: &IndexField,
        given: &EntrySet,
        source: &S,
    ) -> Result<Vec<FieldTerms>, QueryError> {
        if let LikeOf::Document(document) = &self.of {
            let mut terms = FieldTerms::new(field.options());
            add_texts(document.root(), &mut terms);
            return Ok(vec![terms]);
        }
        let mut all = Vec::new();
        for entry in given {
            let found = source.document(entry.into()).map_err(QueryError::Source)?;
            all.extend(found.map(|document| terms_of(&document, field)));
        }
        Ok(all)
    }

    /// The words of the document of stop words.
    fn stop_words<S: Source>(&self, source: &S) -> Result<Vec<String>, QueryError> {
        let Some(id) = &self.options.stop_words else {
            return Ok(Vec::new());
        };
        let found = source.document_by_id(id).map_err(QueryError::Source)?;
        let missing =
            || QueryError::Operation(format!("Stop words document '{id}' could not be found"));
        let document = found.ok_or_else(missing)?;
        let words = IndexField {
            path: FieldPath::parse("StopWords"),
            kind: FieldKind::Plain,
        };
        let terms = terms_of(&document, &words);
        Ok(terms.iter().map(|(word, _)| word.to_owned()).collect())
    }
}

/// All texts of a document that is not stored, whatever its members are called: it was not mapped,
/// so each field may be about any of them. Documents are nested no deeper than their limit.
fn add_texts(value: Value<'_>, terms: &mut FieldTerms) {
    match value {
        Value::String(text) => terms.add(text),
        Value::Array(array) => array.iter().for_each(|value| add_texts(value, terms)),
        Value::Object(object) => object.iter().for_each(|(_, value)| add_texts(value, terms)),
        _ => {}
    }
}
