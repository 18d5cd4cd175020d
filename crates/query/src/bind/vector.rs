//! Binds searches for vectors: fields, vectors to be near to, how near and how many.
//!
//! Called by `method`. `vector.search(field, vector [, minimum similarity [, candidates]])`; in a
//! named index a field is one of its definition, else a path, or `embedding.f32_i8(path)` and its
//! like.

use jackdaw_document::Value as Json;
use jackdaw_search::VECTOR_CANDIDATES_MAX;

use super::condition::Binder;
use crate::error::QueryError;
use crate::fields::{FieldKind, FieldPath, IndexField};
use crate::nearest::{NearTest, Target};
use crate::parameters::Resolved;
use crate::predicate::Predicate;
use crate::syntax::{Argument, Call, Expression, Path, Value};
use crate::vectors::{Embedding, embedding_of, read_vectors};

/// Most vectors that one search may be given.
const TARGETS_MAX: usize = 64;

/// Methods that make vectors of text: they need a model.
const OF_TEXT: [&str; 3] = ["embedding.text", "embedding.text_i8", "embedding.text_i1"];

impl<'q, 'p: 'q> Binder<'q, 'p> {
    /// See the file head.
    pub(super) fn vector_search(&self, call: &'q Call) -> Result<Predicate, QueryError> {
        self.check_arguments(call, 2, 4)?;
        let field = self.vector_field(call)?;
        let embedding = embedding_of(&field).unwrap_or_default();
        let targets = self.targets(call, embedding)?;
        if targets.is_empty() {
            return Ok(Predicate::Nothing);
        }
        let mut test = NearTest::new(field, embedding, targets);
        test.is_exact = self.exact;
        if let Some(minimum) = self.optional_number(call, 2)? {
            #[expect(clippy::cast_possible_truncation, reason = "rounds to a float")]
            let minimum = minimum as f32;
            test.minimum = minimum;
        }
        if let Some(count) = self.optional_number(call, 3)? {
            let most = f64::from(VECTOR_CANDIDATES_MAX);
            if count.fract() != 0.0 || !(1.0..=most).contains(&count) {
                return Err(QueryError::invalid(format!(
                    "The candidates of vector.search() are a whole number from 1 to \
                     {VECTOR_CANDIDATES_MAX}, but got: {call}"
                )));
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number within the limit"
            )]
            let count = count as usize;
            test.count = count;
        }
        Ok(Predicate::Near(Box::new(test)))
    }

    /// A number that may be missing or null.
    fn optional_number(&self, call: &'q Call, position: usize) -> Result<Option<f64>, QueryError> {
        match call.arguments.get(position) {
            None => Ok(None),
            Some(_) if matches!(self.value_argument(call, position), Ok(Resolved::Null)) => {
                Ok(None)
            }
            Some(_) => self.number_argument(call, position).map(Some),
        }
    }

    /// The first argument.
    fn vector_field(&self, call: &'q Call) -> Result<IndexField, QueryError> {
        let wrong = || {
            QueryError::invalid(format!(
                "The first argument of vector.search() is a field, or a field in embedding.f32(), \
                 embedding.i8(), embedding.i1(), embedding.f32_i8() or embedding.f32_i1(), but \
                 got: {call}"
            ))
        };
        let (path, embedding) = match call.arguments.first() {
            Some(Argument::Expression(Expression::Call(inner))) => {
                refuse_text(inner)?;
                let embedding = Embedding::of_method(&inner.name).ok_or_else(wrong)?;
                self.check_arguments(inner, 1, 1)?;
                (inner.arguments.first(), embedding)
            }
            path => (path, Embedding::F32),
        };
        let path = match path {
            Some(Argument::Expression(Expression::Path(path))) => FieldPath::new(path, self.alias),
            Some(Argument::Expression(Expression::Value(Value::String(name)))) => {
                FieldPath::new(&Path::name(name.clone()), self.alias)
            }
            _ => return Err(wrong()),
        };
        Ok(match (self.schema, self.is_named) {
            // A named index says itself how its vectors are kept.
            (Some(schema), _) => schema.vector_field(path.as_str()),
            (None, true) => IndexField::named_vector(path.as_str()),
            (None, false) => IndexField {
                path,
                kind: FieldKind::Vector(embedding),
            },
        })
    }

    /// The second argument.
    fn targets(&self, call: &'q Call, embedding: Embedding) -> Result<Vec<Target>, QueryError> {
        if let Some(Argument::Expression(Expression::Call(inner))) = call.arguments.get(1) {
            refuse_text(inner)?;
            if inner.is("embedding.forDoc") {
                self.check_arguments(inner, 1, 1)?;
                let id = self.text_argument(inner, 0)?;
                return Ok(id.into_iter().map(Target::Document).collect());
            }
            if !inner.is("embedding.forRaw") && !inner.is("embedding.raw") {
                return Err(QueryError::invalid(format!(
                    "The second argument of vector.search() is a vector, or \
                     embedding.forDoc(id), but got: {call}"
                )));
            }
            self.check_arguments(inner, 1, 1)?;
            return self.vectors(inner, 0, embedding);
        }
        self.vectors(call, 1, embedding)
    }

    fn vectors(
        &self,
        call: &'q Call,
        position: usize,
        embedding: Embedding,
    ) -> Result<Vec<Target>, QueryError> {
        let value = self.value_argument(call, position)?;
        let value = match &value {
            Resolved::Null => return Ok(Vec::new()),
            Resolved::Text(text) => Json::String(text),
            Resolved::Array(array) => Json::Array(*array),
            Resolved::Object(object) => Json::Object(*object),
            other => {
                return Err(QueryError::invalid(format!(
                    "A vector to search for is an array of numbers, base64, or {{\"@vector\": \
                     [...]}}, but got the {}: {}",
                    other.type_name(),
                    other.shown()
                )));
            }
        };
        let mut targets = Vec::new();
        let mut wrong = None;
        read_vectors(value, embedding, &mut |vector| match vector {
            Ok(vector) => targets.push(Target::Vector(vector)),
            Err(message) => wrong = Some(message),
        });
        if let Some(message) = wrong {
            return Err(QueryError::invalid(format!(
                "What vector.search() is to search for is no vector: {message}. A text needs a \
                 model, and none can be loaded: give its vector."
            )));
        }
        if targets.len() > TARGETS_MAX {
            return Err(QueryError::invalid(format!(
                "vector.search() searches for up to {TARGETS_MAX} vectors at once, but got {}: \
                 split the query",
                targets.len()
            )));
        }
        Ok(targets)
    }
}

/// Says what to do in place of a method that makes vectors of text.
fn refuse_text(call: &Call) -> Result<(), QueryError> {
    match OF_TEXT.into_iter().any(|name| call.is(name)) {
        false => Ok(()),
        true => Err(QueryError::NotSupported(format!(
            "{}() needs a model that makes vectors of text, and none can be loaded: make the \
             vectors yourself, store them in the documents and pass one as a parameter.",
            call.name
        ))),
    }
}
