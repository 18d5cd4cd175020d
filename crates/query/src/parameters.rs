//! Parameters of a query, and values with the parameters put in.
//!
//! Parameters come beside the text, as a JSON object. They are looked up when a query is bound,
//! so a bound query holds no reference to them.

use std::borrow::Cow;

use jackdaw_base::number::Number;
use jackdaw_document::{Array, Builder, Document, DocumentBuf, Object, Value as Json};

use crate::error::QueryError;
use crate::fields::to_number;
use crate::syntax::Value;

/// The parameters of one query.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameters<'a> {
    object: Option<Object<'a>>,
}

impl<'a> Parameters<'a> {
    /// No parameters.
    pub const NONE: Parameters<'static> = Parameters { object: None };

    /// Takes the JSON object of a request; null counts as no parameters.
    ///
    /// # Errors
    /// [`QueryError::Invalid`] when it is anything else.
    pub fn new(document: Document<'a>) -> Result<Parameters<'a>, QueryError> {
        match document.root() {
            Json::Object(object) => Ok(Parameters {
                object: Some(object),
            }),
            Json::Null => Ok(Parameters { object: None }),
            _ => Err(QueryError::invalid(
                "Query parameters must be a JSON object",
            )),
        }
    }

    /// The value of `$name`.
    ///
    /// # Errors
    /// [`QueryError::Invalid`] when the request does not have it.
    pub(crate) fn get(&self, name: &str) -> Result<Json<'a>, QueryError> {
        match self.object.and_then(|object| object.get(name)) {
            Some(value) => Ok(value),
            None if self.object.is_none_or(|object| object.is_empty()) => {
                Err(QueryError::invalid(format!(
                    "The query is parametrized but the actual values of parameters were not \
                     provided: add ${name} to the query parameters"
                )))
            }
            None => Err(QueryError::invalid(format!(
                "The query is parametrized but the actual values of parameters were not \
                 provided: there is no ${name} among the query parameters"
            ))),
        }
    }

    /// All of them, for a script; `None` without parameters.
    pub(crate) fn to_document(self) -> Option<DocumentBuf> {
        let mut builder = Builder::new();
        builder.value(Json::Object(self.object?));
        builder.finish().ok()
    }

    /// Whether the request has `$name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.object.is_some_and(|object| object.contains(name))
    }

    /// A literal as it is, or the value of the parameter.
    ///
    /// # Errors
    /// As [`Parameters::get`].
    pub(crate) fn resolve<'v>(&self, value: &'v Value) -> Result<Resolved<'v>, QueryError>
    where
        'a: 'v,
    {
        Ok(match value {
            Value::Null => Resolved::Null,
            Value::Bool(value) => Resolved::Bool(*value),
            Value::Long(long) => Resolved::Number(Number::Long(*long)),
            Value::Double(double) => Resolved::Number(Number::Double(*double)),
            Value::String(text) => Resolved::Text(Cow::Borrowed(text)),
            Value::Parameter(name) => Resolved::from_json(self.get(name)?),
        })
    }
}

/// A value with a type.
#[derive(Clone, Debug)]
pub(crate) enum Resolved<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    Array(Array<'a>),
    Object(Object<'a>),
}

impl<'a> Resolved<'a> {
    pub(crate) fn from_json(value: Json<'a>) -> Resolved<'a> {
        match value {
            Json::Null => Resolved::Null,
            Json::Bool(value) => Resolved::Bool(value),
            Json::String(text) => Resolved::Text(Cow::Borrowed(text)),
            Json::Array(array) => Resolved::Array(array),
            Json::Object(object) => Resolved::Object(object),
            number => match to_number(number) {
                Some(number) => Resolved::Number(number),
                None => Resolved::Null,
            },
        }
    }

    /// Name of the type in messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Resolved::Null => "Null",
            Resolved::Bool(true) => "True",
            Resolved::Bool(false) => "False",
            Resolved::Number(Number::Long(_)) => "Long",
            Resolved::Number(Number::Double(_)) => "Double",
            Resolved::Text(_) => "String",
            Resolved::Array(_) => "Array",
            Resolved::Object(_) => "Object",
        }
    }

    /// Whether both compare in the same way; null goes with everything.
    pub(crate) fn is_compatible(&self, other: &Resolved<'_>) -> bool {
        matches!(
            (self, other),
            (Resolved::Null, _)
                | (_, Resolved::Null)
                | (Resolved::Bool(_), Resolved::Bool(_))
                | (Resolved::Number(_), Resolved::Number(_))
                | (Resolved::Text(_), Resolved::Text(_))
        )
    }

    /// The value in a message.
    pub(crate) fn shown(&self) -> String {
        match self {
            Resolved::Null => "null".to_owned(),
            Resolved::Bool(value) => value.to_string(),
            Resolved::Number(Number::Long(long)) => long.to_string(),
            Resolved::Number(Number::Double(double)) => format!("{double:?}"),
            Resolved::Text(text) => text.clone().into_owned(),
            Resolved::Array(array) => Json::Array(*array).to_json(),
            Resolved::Object(object) => Json::Object(*object).to_json(),
        }
    }

    /// Appends the value as JSON.
    pub(crate) fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Resolved::Text(text) => Json::String(text).write_json(out),
            Resolved::Number(Number::Double(double)) => Json::Double(*double).write_json(out),
            other => out.extend_from_slice(other.shown().as_bytes()),
        }
    }
}
