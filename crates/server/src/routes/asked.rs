//! A query as a client sends it: in a JSON body, or in the URL.
//!
//! Used by `queries`, `streams` and `by_query`.

use std::borrow::Cow;
use std::time::Duration;

use jackdaw_database::{ProjectionBehavior, QueryRequest};
use jackdaw_document::{DocumentBuf, Limits, Object, Value};

use super::input;
use super::sorters::KnownSorters;
use crate::http::Call;
use crate::router::Verb;
use crate::wire::{WireError, kind, parse_time_span};

/// How long a client waits for fresh results that does not say how long.
pub(super) const WAIT_DEFAULT: Duration = Duration::from_secs(15);

/// A query as a client sent it.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) text: String,
    /// An object; `None` without parameters.
    pub(super) parameters: Option<DocumentBuf>,
    pub(super) start: Option<u64>,
    pub(super) page_size: Option<u64>,
    /// Wait at most so long for an index that has seen every change.
    pub(super) wait: Option<Duration>,
    pub(super) projection: ProjectionBehavior,
    /// The snapshot to ask instead of what is there now: `?snapshot=`.
    pub(super) snapshot: Option<String>,
    /// What it may order by.
    pub(super) sorters: KnownSorters,
}

impl Asked {
    pub(super) fn read(call: &Call) -> Result<Asked, WireError> {
        let mut asked = if call.verb == Verb::Get {
            Asked::from_url(call)?
        } else {
            Asked::from_body(call)?
        };
        asked.snapshot = call.query().first("snapshot").map(Cow::into_owned);
        Ok(asked)
    }

    /// `GET ?query=&start=&pageSize=&waitForNonStaleResultsTimeout=`
    fn from_url(call: &Call) -> Result<Asked, WireError> {
        let query = call.query();
        let text = query
            .filled("query")
            .ok_or_else(|| WireError::missing_parameter("query"))?;
        let number = |name| {
            query
                .number(name)
                .and_then(|number| u64::try_from(number).ok())
        };
        let timeout = query.filled("waitForNonStaleResultsTimeout");
        let waits = query.flag("waitForNonStaleResults") || timeout.is_some();
        let timeout = timeout
            .and_then(|text| parse_time_span(&text))
            .unwrap_or(WAIT_DEFAULT);
        let parameters = query
            .filled("queryParameters")
            .or_else(|| query.filled("parameters"));
        let parameters = parameters.map(|text| {
            DocumentBuf::from_json(text.as_bytes(), &Limits::default())
                .map_err(|error| input::refused(&error, text.as_bytes()))
        });
        Ok(Asked {
            text: text.into_owned(),
            parameters: parameters.transpose()?,
            start: number("start"),
            page_size: number("pageSize"),
            wait: waits.then_some(timeout),
            projection: query
                .filled("projectionBehavior")
                .map_or_else(Default::default, |text| projection(&text)),
            snapshot: None,
            sorters: KnownSorters::of(call),
        })
    }

    /// The same for the database.
    pub(super) fn request(&self) -> QueryRequest<'_> {
        QueryRequest {
            text: &self.text,
            parameters: self
                .parameters
                .as_ref()
                .map(|parameters| parameters.document()),
            start: self.start,
            page_size: self.page_size,
            wait: self.wait,
            projection: self.projection,
            snapshot: self.snapshot.as_deref(),
            sorters: Some(&self.sorters),
            ..QueryRequest::default()
        }
    }

    pub(super) fn from_body(call: &Call) -> Result<Asked, WireError> {
        let mut parser = input::parser(call);
        Asked::from_object(call, input::object(call, &mut parser)?)
    }

    /// A query as an object of JSON, inside the body or all of it.
    pub(super) fn from_object(call: &Call, body: Object<'_>) -> Result<Asked, WireError> {
        let Some(text) = input::text(body, "Query")?.filter(|text| !text.trim().is_empty()) else {
            let message = "Index query does not contain 'Query' field.";
            return Err(WireError::new(kind::INVALID_OPERATION, message));
        };
        let waits = body
            .get("WaitForNonStaleResults")
            .and_then(|value| value.as_bool());
        let parameters = body.get("QueryParameters").filter(|value| !value.is_null());
        Ok(Asked {
            text: text.to_owned(),
            parameters: parameters.map(input::copied),
            start: number(body, "Start"),
            page_size: number(body, "PageSize"),
            wait: (waits == Some(true)).then(|| timeout(body)),
            projection: input::text(body, "ProjectionBehavior")?
                .map_or_else(Default::default, projection),
            snapshot: None,
            sorters: KnownSorters::of(call),
        })
    }
}

/// What is not known counts as the default, as with the reference.
fn projection(text: &str) -> ProjectionBehavior {
    match text {
        "FromIndex" => ProjectionBehavior::FromIndex,
        "FromIndexOrThrow" => ProjectionBehavior::FromIndexOrThrow,
        "FromDocument" => ProjectionBehavior::FromDocument,
        "FromDocumentOrThrow" => ProjectionBehavior::FromDocumentOrThrow,
        _ => ProjectionBehavior::Default,
    }
}

fn number(body: Object<'_>, name: &str) -> Option<u64> {
    body.get(name)
        .and_then(|value| value.as_i64())
        .and_then(|number| u64::try_from(number).ok())
}

/// The timeout as a text, or as a number of milliseconds, as some clients write it.
fn timeout(body: Object<'_>) -> Duration {
    match body.get("WaitForNonStaleResultsTimeout") {
        Some(Value::String(text)) => parse_time_span(text).unwrap_or(WAIT_DEFAULT),
        Some(value) => {
            let milliseconds = value.as_i64().and_then(|number| u64::try_from(number).ok());
            milliseconds.map_or(WAIT_DEFAULT, Duration::from_millis)
        }
        None => WAIT_DEFAULT,
    }
}
