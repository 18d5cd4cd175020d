//! Failures as clients see them: a status, a type name they map to an exception, and texts.
//!
//! Made by `routes` from typed errors of the layers below; turned into bytes by
//! `http::dispatch`. The names are those the official clients know, so that their exceptions are
//! the right ones.
//!
//! Invariant: every status of 400 and above carries `{Url, Type, Message, Error}`, but for "no such
//! thing", which is a 404 without body and no [`WireError`].

use hyper::StatusCode;
use serde_json::{Map, Value};

/// Type names that clients turn into exceptions.
pub(crate) mod kind {
    pub(crate) const ARGUMENT: &str = "System.ArgumentException";
    pub(crate) const AUTHORIZATION: &str =
        "Raven.Client.Exceptions.Security.AuthorizationException";
    pub(crate) const BAD_REQUEST: &str = "Raven.Client.Exceptions.BadRequestException";
    pub(crate) const BULK_INSERT_ABORTED: &str =
        "Raven.Client.Exceptions.Documents.BulkInsert.BulkInsertAbortedException";
    pub(crate) const COLLECTION_MISMATCH: &str =
        "Raven.Client.Exceptions.Documents.DocumentCollectionMismatchException";
    pub(crate) const CONCURRENCY: &str = "Raven.Client.Exceptions.ConcurrencyException";
    pub(crate) const END_OF_STREAM: &str = "System.IO.EndOfStreamException";
    pub(crate) const FORMAT: &str = "System.FormatException";
    pub(crate) const CLUSTER_CONCURRENCY: &str =
        "Raven.Client.Exceptions.ClusterTransactionConcurrencyException";
    pub(crate) const COUNTER_OVERFLOW: &str =
        "Raven.Client.Exceptions.Documents.Counters.CounterOverflowException";
    pub(crate) const DATABASE_DISABLED: &str =
        "Raven.Client.Exceptions.Database.DatabaseDisabledException";
    pub(crate) const INVALID_KEY: &str =
        "Raven.Client.Exceptions.CompareExchangeInvalidKeyException";
    pub(crate) const KEY_TOO_BIG: &str =
        "Raven.Client.Exceptions.CompareExchangeKeyTooBigException";
    pub(crate) const NO_ATTACHMENT: &str =
        "Raven.Client.Exceptions.Documents.Attachments.AttachmentDoesNotExistException";
    pub(crate) const NO_DOCUMENT: &str =
        "Raven.Client.Exceptions.Documents.DocumentDoesNotExistException";
    pub(crate) const INDEX_COMPILATION: &str =
        "Raven.Client.Exceptions.Documents.Compilation.IndexCompilationException";
    pub(crate) const INDEX_CREATION: &str =
        "Raven.Client.Exceptions.Documents.Indexes.IndexCreationException";
    pub(crate) const INVALID_COMMAND: &str = "Raven.Server.Exceptions.InvalidCommandTypeException";
    pub(crate) const INVALID_DATA: &str = "System.IO.InvalidDataException";
    pub(crate) const INVALID_OPERATION: &str = "System.InvalidOperationException";
    pub(crate) const INVALID_QUERY: &str = "Raven.Client.Exceptions.InvalidQueryException";
    pub(crate) const JAVASCRIPT: &str =
        "Raven.Client.Exceptions.Documents.Patching.JavaScriptException";
    pub(crate) const JAVASCRIPT_PARSE: &str =
        "Raven.Client.Exceptions.Documents.Patching.JavaScriptParseException";
    pub(crate) const JINT: &str = "Jint.Runtime.JavaScriptException";
    pub(crate) const NO_DATABASE: &str =
        "Raven.Client.Exceptions.Database.DatabaseDoesNotExistException";
    pub(crate) const NO_INDEX: &str =
        "Raven.Client.Exceptions.Documents.Indexes.IndexDoesNotExistException";
    pub(crate) const NO_ROUTE: &str = "Raven.Client.Exceptions.Routing.RouteNotFoundException";
    pub(crate) const NOT_OBJECT: &str = "Sparrow.Exceptions.InvalidStartOfObjectException";
    pub(crate) const NOT_SUPPORTED: &str = "System.NotSupportedException";
    pub(crate) const OUT_OF_RANGE: &str = "System.ArgumentOutOfRangeException";
    pub(crate) const PARSE_QUERY: &str =
        "Raven.Server.Documents.Queries.Parser.QueryParser+ParseException";
    pub(crate) const NO_SUBSCRIPTION: &str =
        "Raven.Client.Exceptions.Documents.Subscriptions.SubscriptionDoesNotExistException";
    pub(crate) const RAFT_APPLY: &str = "Raven.Server.Rachis.RachisApplyException";
    pub(crate) const SUBSCRIPTION_CLOSED: &str =
        "Raven.Client.Exceptions.Documents.Subscriptions.SubscriptionClosedException";
    pub(crate) const SUBSCRIPTION_INVALID: &str =
        "Raven.Client.Exceptions.Documents.Subscriptions.SubscriptionInvalidStateException";
    pub(crate) const SUBSCRIPTION_IN_USE: &str =
        "Raven.Client.Exceptions.Documents.Subscriptions.SubscriptionInUseException";
    pub(crate) const TIMEOUT: &str = "Raven.Client.Exceptions.RavenTimeoutException";
    pub(crate) const UNAUTHORIZED: &str = "System.UnauthorizedAccessException";
    pub(crate) const UNEXPECTED: &str = "Raven.Client.Exceptions.RavenException";
}

/// A failed request.
#[derive(Debug)]
pub(crate) struct WireError {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    /// What led to it, for the `Error` text alone.
    pub(crate) cause: Option<String>,
    /// Further members of the body, such as `ActualChangeVector`.
    pub(crate) extra: Vec<(&'static str, Value)>,
}

impl WireError {
    /// A failure of the usual status, 500.
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> WireError {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        WireError {
            status,
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
        WireError::new(kind::NO_ROUTE, message).with_status(StatusCode::BAD_REQUEST)
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
        body.insert("Type".to_owned(), self.kind.into());
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
