//! Failures as clients see them: a status, a type name they map to an exception, and texts.
//!
//! Made by `routes` from typed errors of the layers below; turned into bytes by
//! `http::dispatch`. The names are those the official clients know, so that their exceptions are
//! the right ones.
//!
//! Invariant: every status of 400 and above carries `{Url, Type, Message, Error}`, but for "no such
//! thing", which is a 404 without body and no [`WireError`].

use std::fmt;

use hyper::StatusCode;
use serde_json::{Map, Value};

/// What a failure is: the name of the exception that clients make of it, and its usual status.
///
/// The official clients choose the exception by name for every status but 403, 404, 408, 409, 410,
/// 425, 502, 503 and 504. A mistake of the caller is a 400, where the reference answers 500; see
/// decision 0042.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    status: StatusCode,
}

impl Kind {
    const fn answered(status: StatusCode, name: &'static str) -> Kind {
        Kind { name, status }
    }

    const fn mistake(name: &'static str) -> Kind {
        Kind::answered(StatusCode::BAD_REQUEST, name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name)
    }
}

/// The kinds that clients know.
pub(crate) mod kind {
    use hyper::StatusCode;

    use super::Kind;

    pub(crate) const ARGUMENT: Kind = Kind::mistake("System.ArgumentException");
    pub(crate) const AUTHORIZATION: Kind = Kind::answered(
        StatusCode::FORBIDDEN,
        "Raven.Client.Exceptions.Security.AuthorizationException",
    );
    pub(crate) const BAD_REQUEST: Kind =
        Kind::mistake("Raven.Client.Exceptions.BadRequestException");
    pub(crate) const BULK_INSERT_ABORTED: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.BulkInsert.BulkInsertAbortedException");
    pub(crate) const COLLECTION_MISMATCH: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.DocumentCollectionMismatchException");
    pub(crate) const CONCURRENCY: Kind = Kind::answered(
        StatusCode::CONFLICT,
        "Raven.Client.Exceptions.ConcurrencyException",
    );
    pub(crate) const END_OF_STREAM: Kind = Kind::mistake("System.IO.EndOfStreamException");
    pub(crate) const FORMAT: Kind = Kind::mistake("System.FormatException");
    pub(crate) const CLUSTER_CONCURRENCY: Kind = Kind::answered(
        StatusCode::CONFLICT,
        "Raven.Client.Exceptions.ClusterTransactionConcurrencyException",
    );
    pub(crate) const COUNTER_OVERFLOW: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Counters.CounterOverflowException");
    pub(crate) const DATABASE_DISABLED: Kind = Kind::answered(
        StatusCode::SERVICE_UNAVAILABLE,
        "Raven.Client.Exceptions.Database.DatabaseDisabledException",
    );
    pub(crate) const INVALID_KEY: Kind =
        Kind::mistake("Raven.Client.Exceptions.CompareExchangeInvalidKeyException");
    pub(crate) const KEY_TOO_BIG: Kind =
        Kind::mistake("Raven.Client.Exceptions.CompareExchangeKeyTooBigException");
    pub(crate) const NO_ATTACHMENT: Kind = Kind::mistake(
        "Raven.Client.Exceptions.Documents.Attachments.AttachmentDoesNotExistException",
    );
    pub(crate) const NO_DOCUMENT: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.DocumentDoesNotExistException");
    pub(crate) const INDEX_COMPILATION: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Compilation.IndexCompilationException");
    pub(crate) const INDEX_CREATION: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Indexes.IndexCreationException");
    pub(crate) const INVALID_COMMAND: Kind =
        Kind::mistake("Raven.Server.Exceptions.InvalidCommandTypeException");
    pub(crate) const INVALID_DATA: Kind = Kind::mistake("System.IO.InvalidDataException");
    pub(crate) const INVALID_OPERATION: Kind = Kind::mistake("System.InvalidOperationException");
    pub(crate) const INVALID_QUERY: Kind =
        Kind::mistake("Raven.Client.Exceptions.InvalidQueryException");
    pub(crate) const JAVASCRIPT: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Patching.JavaScriptException");
    pub(crate) const JAVASCRIPT_PARSE: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Patching.JavaScriptParseException");
    pub(crate) const JINT: Kind = Kind::mistake("Jint.Runtime.JavaScriptException");
    pub(crate) const NO_DATABASE: Kind =
        Kind::mistake("Raven.Client.Exceptions.Database.DatabaseDoesNotExistException");
    pub(crate) const NO_INDEX: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Indexes.IndexDoesNotExistException");
    pub(crate) const NO_SORTER: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Sorters.SorterDoesNotExistException");
    pub(crate) const ANALYZER_COMPILATION: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Compilation.AnalyzerCompilationException");
    pub(crate) const SORTER_COMPILATION: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Compilation.SorterCompilationException");
    pub(crate) const NO_ROUTE: Kind =
        Kind::mistake("Raven.Client.Exceptions.Routing.RouteNotFoundException");
    pub(crate) const NOT_OBJECT: Kind =
        Kind::mistake("Sparrow.Exceptions.InvalidStartOfObjectException");
    pub(crate) const NOT_SUPPORTED: Kind = Kind::mistake("System.NotSupportedException");
    pub(crate) const OUT_OF_RANGE: Kind = Kind::mistake("System.ArgumentOutOfRangeException");
    pub(crate) const PARSE_QUERY: Kind =
        Kind::mistake("Raven.Server.Documents.Queries.Parser.QueryParser+ParseException");
    pub(crate) const NO_SUBSCRIPTION: Kind = Kind::mistake(
        "Raven.Client.Exceptions.Documents.Subscriptions.SubscriptionDoesNotExistException",
    );
    pub(crate) const RAFT_APPLY: Kind = Kind::mistake("Raven.Server.Rachis.RachisApplyException");
    pub(crate) const SUBSCRIPTION_CLOSED: Kind = Kind::mistake(
        "Raven.Client.Exceptions.Documents.Subscriptions.SubscriptionClosedException",
    );
    pub(crate) const SUBSCRIPTION_INVALID: Kind = Kind::mistake(
        "Raven.Client.Exceptions.Documents.Subscriptions.SubscriptionInvalidStateException",
    );
    pub(crate) const SUBSCRIPTION_IN_USE: Kind =
        Kind::mistake("Raven.Client.Exceptions.Documents.Subscriptions.SubscriptionInUseException");
    pub(crate) const TIMEOUT: Kind = Kind::answered(
        StatusCode::SERVICE_UNAVAILABLE,
        "Raven.Client.Exceptions.RavenTimeoutException",
    );
    pub(crate) const UNAUTHORIZED: Kind = Kind::mistake("System.UnauthorizedAccessException");
    pub(crate) const UNEXPECTED: Kind = Kind::answered(
        StatusCode::INTERNAL_SERVER_ERROR,
        "Raven.Client.Exceptions.RavenException",
    );

    /// Exceptions that sorters throw, beside those above.
    const THROWN: &[Kind] = &[
        ARGUMENT,
        FORMAT,
        INVALID_OPERATION,
        NOT_SUPPORTED,
        OUT_OF_RANGE,
        SORTER_COMPILATION,
        Kind::mistake("System.ArgumentNullException"),
        Kind::mistake("System.Collections.Generic.KeyNotFoundException"),
        Kind::mistake("System.DivideByZeroException"),
        Kind::mistake("System.Exception"),
        Kind::mistake("System.IndexOutOfRangeException"),
        Kind::mistake("System.InvalidCastException"),
        Kind::mistake("System.NotImplementedException"),
        Kind::mistake("System.NullReferenceException"),
        Kind::mistake("System.OverflowException"),
        Kind::mistake("System.TimeoutException"),
    ];

    /// The kind of an exception that a sorter threw.
    pub(crate) fn thrown(name: &str) -> Kind {
        let known = THROWN.iter().find(|kind| kind.name == name);
        known.copied().unwrap_or(INVALID_OPERATION)
    }
}

/// A failed request.
#[derive(Debug)]
pub(crate) struct WireError {
    pub(crate) status: StatusCode,
    pub(crate) kind: Kind,
    pub(crate) message: String,
    /// What led to it, for the `Error` text alone.
    pub(crate) cause: Option<String>,
    /// Further members of the body, such as `ActualChangeVector`.
    pub(crate) extra: Vec<(&'static str, Value)>,
}

impl WireError {
    /// A failure of the usual status of its kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> WireError {
        WireError {
            status: kind.status,
            kind,
            message: message.into(),
            cause: None,
            extra: Vec::new(),
        }
    }

    pub(crate) fn caused_by(mut self, cause: String) -> WireError {
        self.cause = Some(cause);
        self
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> WireError {
        self.status = status;
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> WireError {
        self.extra.push((name, value.into()));
        self
    }

    pub(crate) fn no_route(method: &str, path: &str) -> WireError {
        let message = format!("There is no handler for path: {method} {path}");
        WireError::new(kind::NO_ROUTE, message)
    }

    pub(crate) fn missing_parameter(name: &str) -> WireError {
        let message = format!("Query string {name} is mandatory, but wasn't specified.");
        WireError::new(kind::ARGUMENT, message)
    }

    pub(crate) fn empty_parameter(name: &str) -> WireError {
        let message = format!("Query string value '{name}' must have a non empty value");
        WireError::new(kind::ARGUMENT, message)
    }

    pub(crate) fn body_too_large(limit: usize) -> WireError {
        let message = format!(
            "The request body is larger than {limit} bytes, the limit of this server. \
             Send it in smaller batches."
        );
        WireError::new(kind::INVALID_DATA, message).with_status(StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// The body for a request whose path and query were `url`.
    pub(crate) fn body(&self, url: &str) -> Vec<u8> {
        let mut body = Map::new();
        body.insert("Url".to_owned(), url.into());
        body.insert("Type".to_owned(), self.kind.name.into());
        body.insert("Message".to_owned(), self.message.clone().into());
        let cause = self.cause.as_ref().map_or(String::new(), |cause| {
            format!(
                "
 ---> {cause}"
            )
        });
        let error = format!("{}: {}{cause}", self.kind, self.message);
        body.insert("Error".to_owned(), error.into());
        let extra = self
            .extra
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        body.extend(extra);
        serde_json::to_vec(&body).expect("a map of strings and values is always serializable")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_the_members_clients_read_in_their_order() {
        let error = WireError::new(kind::CONCURRENCY, "no \"way\"").with("Id", "a/1");
        let text = String::from_utf8(error.body("/x?y=1")).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"Url":"/x?y=1","Type":"Raven.Client.Exceptions.ConcurrencyException","#,
                r#""Message":"no \"way\"","#,
                r#""Error":"Raven.Client.Exceptions.ConcurrencyException: no \"way\"","Id":"a/1"}"#
            )
        );
    }
}
