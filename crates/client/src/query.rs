//! One query: its text, its parameters, and the page of results.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::transport::encode;

/// A query to be run with `DatabaseClient::query`.
#[derive(Clone, Debug)]
pub struct Query {
    text: String,
    parameters: Map<String, Value>,
    start: Option<u64>,
    page_size: Option<u64>,
    wait: Option<Duration>,
    snapshot: Option<String>,
}

/// The answer to a query.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct QueryReply {
    /// Matching documents or projections of this page, each with its `@metadata`.
    pub results: Vec<Value>,
    /// Matches in all.
    pub total_results: i64,
    /// Documents named by `include`, by id; null when missing.
    #[serde(default)]
    pub includes: Map<String, Value>,
    /// The index that answered, or `collection/Name`.
    #[serde(default)]
    pub index_name: String,
    /// Whether newer changes are not reflected.
    pub is_stale: bool,
    /// Time the server took.
    #[serde(rename = "DurationInMs", default)]
    pub duration_ms: i64,
}

impl Query {
    /// A query in RQL.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Query {
        let text = text.into();
        Query {
            text,
            parameters: Map::new(),
            start: None,
            page_size: None,
            wait: None,
            snapshot: None,
        }
    }

    /// Sets the value of `$name`.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: impl Into<Value>) -> Query {
        self.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// Asks for `size` results after the first `start`.
    #[must_use]
    pub fn page(mut self, start: u64, size: u64) -> Query {
        self.start = Some(start);
        self.page_size = Some(size);
        self
    }

    /// Waits at most `timeout` for results that reflect everything written before.
    #[must_use]
    pub fn wait_for_fresh(mut self, timeout: Duration) -> Query {
        self.wait = Some(timeout);
        self
    }

    /// Asks the documents of a snapshot instead of those of now. No index helps then.
    #[must_use]
    pub fn at_snapshot(mut self, name: impl Into<String>) -> Query {
        self.snapshot = Some(name.into());
        self
    }

    /// What the URL says besides the path, without the question mark.
    pub(crate) fn url_parameters(&self) -> String {
        let snapshot = self.snapshot.as_deref();
        snapshot.map_or(String::new(), |name| format!("snapshot={}", encode(name)))
    }

    pub(crate) fn body(&self) -> String {
        let mut body = json!({ "Query": self.text, "QueryParameters": self.parameters });
        if let Some(start) = self.start {
            body["Start"] = start.into();
        }
        if let Some(page_size) = self.page_size {
            body["PageSize"] = page_size.into();
        }
        if let Some(wait) = self.wait {
            let (hours, rest) = (wait.as_secs() / 3600, wait.as_secs() % 3600);
            let ticks = wait.subsec_nanos() / 100;
            body["WaitForNonStaleResults"] = true.into();
            body["WaitForNonStaleResultsTimeout"] =
                format!("{hours:02}:{:02}:{:02}.{ticks:07}", rest / 60, rest % 60).into();
        }
        body.to_string()
    }
}
