//! Calls to one database: documents, batches, queries, streams, statistics.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use ureq::http::Method;

use crate::batch::Batch;
use crate::error::ClientError;
use crate::query::{Query, QueryReply};
use crate::transport::{Call, Transport, encode};

/// A database of a server.
#[derive(Clone, Debug)]
pub struct DatabaseClient {
    pub(crate) transport: Transport,
    name: String,
    /// `/databases/{name}`, encoded.
    pub(crate) base: String,
}

/// What the server says about a stored document.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct Stored {
    /// The whole id.
    pub id: String,
    /// The change vector of the stored version.
    pub change_vector: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Loaded {
    results: Vec<Option<Box<RawValue>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answers {
    results: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Collections {
    collections: BTreeMap<String, u64>,
}

impl DatabaseClient {
    pub(crate) fn new(transport: Transport, name: &str) -> DatabaseClient {
        let base = format!("/databases/{}", encode(name).replace('/', "%2F"));
        DatabaseClient {
            transport,
            name: name.to_owned(),
            base,
        }
    }

    /// The name given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The JSON text of a document, with its `@metadata`; `None` when there is no such document.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn load_text(&self, id: &str) -> Result<Option<String>, ClientError> {
        let path = format!("{}/docs?id={}", self.base, encode(id));
        let Some(body) = self.transport.call(Method::GET, &path, &Call::default())? else {
            return Ok(None);
        };
        let loaded: Loaded = self.transport.read(&path, &body)?;
        let first = loaded.results.into_iter().next().flatten();
        Ok(first.map(|text| text.get().to_owned()))
    }

    /// A document as any type serde knows.
    ///
    /// # Errors
    /// [`ClientError::Unreadable`] when the document has another shape.
    pub fn load<T: DeserializeOwned>(&self, id: &str) -> Result<Option<T>, ClientError> {
        let text = self.load_text(id)?;
        text.map(|text| self.transport.read(&self.base, text.as_bytes()))
            .transpose()
    }

    /// Several documents as JSON text, in the order of `ids`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn load_texts(&self, ids: &[&str]) -> Result<Vec<Option<String>>, ClientError> {
        let loaded: Option<Loaded> = self.load_many("docs", ids)?;
        let Some(loaded) = loaded else {
            return Ok(vec![None; ids.len()]);
        };
        Ok(loaded
            .results
            .into_iter()
            .map(|text| text.map(|text| text.get().to_owned()))
            .collect())
    }

    /// The collections of several documents, in the order of `ids`; `None` where there is no such
    /// document.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn collections_of(&self, ids: &[&str]) -> Result<Vec<Option<String>>, ClientError> {
        let answers: Option<Answers> = self.load_many("docs?metadataOnly=true", ids)?;
        let Some(answers) = answers else {
            return Ok(vec![None; ids.len()]);
        };
        let collection = |result: &Value| {
            let name = result.get("@metadata")?.get("@collection")?;
            name.as_str().map(str::to_owned)
        };
        Ok(answers.results.iter().map(collection).collect())
    }

    /// Asks for several documents; `None` when there are none to ask for, or none was found.
    fn load_many<T: DeserializeOwned>(
        &self,
        route: &str,
        ids: &[&str],
    ) -> Result<Option<T>, ClientError> {
        if ids.is_empty() {
            return Ok(None);
        }
        let path = format!("{}/{route}", self.base);
        let body = serde_json::json!({ "Ids": ids }).to_string();
        let call = Call {
            body: Some(body.as_bytes()),
            ..Call::default()
        };
        match self.transport.call(Method::POST, &path, &call)? {
            Some(body) => Ok(Some(self.transport.read(&path, &body)?)),
            None => Ok(None),
        }
    }

    /// Stores a document given as JSON text.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn put_text(&self, id: &str, document: &str) -> Result<Stored, ClientError> {
        self.put_checked(id, document, None)
    }

    /// Stores a document if its change vector is `expected`; an empty one means "must not exist".
    ///
    /// # Errors
    /// [`ClientError::Conflict`] when it is not.
    pub fn put_text_if(
        &self,
        id: &str,
        document: &str,
        expected: &str,
    ) -> Result<Stored, ClientError> {
        self.put_checked(id, document, Some(expected))
    }

    /// Stores a document of any type serde knows.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn put<T: Serialize>(&self, id: &str, document: &T) -> Result<Stored, ClientError> {
        let text = serde_json::to_string(document).map_err(ClientError::Unwritable)?;
        self.put_text(id, &text)
    }

    fn put_checked(
        &self,
        id: &str,
        document: &str,
        if_match: Option<&str>,
    ) -> Result<Stored, ClientError> {
        let path = format!("{}/docs?id={}", self.base, encode(id));
        let call = Call {
            body: Some(document.as_bytes()),
            if_match,
        };
        let body = self
            .transport
            .call(Method::PUT, &path, &call)?
            .unwrap_or_default();
        self.transport.read(&path, &body)
    }

    /// Deletes a document; deleting an absent one is no failure.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn delete(&self, id: &str) -> Result<(), ClientError> {
        let path = format!("{}/docs?id={}", self.base, encode(id));
        self.transport
            .call(Method::DELETE, &path, &Call::default())
            .map(|_| ())
    }

    /// Carries out all commands as one transaction, and returns one result per command.
    ///
    /// # Errors
    /// Nothing of the batch was done, unless the connection failed: then all or nothing was.
    pub fn batch(&self, batch: &Batch) -> Result<Vec<Value>, ClientError> {
        let path = format!("{}/bulk_docs", self.base);
        let body = batch.body();
        let call = Call {
            body: Some(body.as_bytes()),
            ..Call::default()
        };
        let body = self
            .transport
            .call(Method::POST, &path, &call)?
            .unwrap_or_default();
        self.transport
            .read::<Answers>(&path, &body)
            .map(|answers| answers.results)
    }

    /// Runs a query. `None` when the index it names does not exist.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with the position of a mistake in the query.
    pub fn query(&self, query: &Query) -> Result<Option<QueryReply>, ClientError> {
        let text = self.query_text(query)?;
        text.map(|text| self.transport.read(&self.base, text.as_bytes()))
            .transpose()
    }

    /// As [`DatabaseClient::query`], with the answer as the server wrote it.
    ///
    /// # Errors
    /// As [`DatabaseClient::query`].
    pub fn query_text(&self, query: &Query) -> Result<Option<String>, ClientError> {
        let path = format!("{}/queries?{}", self.base, query.url_parameters());
        let body = query.body();
        let call = Call {
            body: Some(body.as_bytes()),
            ..Call::default()
        };
        let body = self.transport.call(Method::POST, &path, &call)?;
        Ok(body.map(|body| String::from_utf8_lossy(&body).into_owned()))
    }

    /// Hands each document whose id begins with `prefix` to `sink`, one JSON text a call, however
    /// many there are; an empty prefix means all. Returns how many were handed over.
    ///
    /// # Errors
    /// See [`ClientError`]; what was handed over before is valid.
    pub fn stream_documents(
        &self,
        prefix: &str,
        sink: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<u64, ClientError> {
        let mut path = format!("{}/streams/docs?format=jsonl", self.base);
        if !prefix.is_empty() {
            path.push_str(&format!("&startsWith={}", encode(prefix)));
        }
        self.lines(Method::GET, &path, &Call::default(), sink)
    }

    /// Hands each line of a streamed query to `sink`: first `{"Stats":..}`, then `{"Item":..}`.
    /// Returns how many lines there were.
    ///
    /// # Errors
    /// As [`DatabaseClient::query`].
    pub fn stream_query(
        &self,
        query: &Query,
        sink: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<u64, ClientError> {
        let parameters = query.url_parameters();
        let path = format!("{}/streams/queries?format=jsonl&{parameters}", self.base);
        let body = query.body();
        let call = Call {
            body: Some(body.as_bytes()),
            ..Call::default()
        };
        self.lines(Method::POST, &path, &call, sink)
    }

    fn lines(
        &self,
        method: Method,
        path: &str,
        call: &Call<'_>,
        mut sink: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<u64, ClientError> {
        let Some(reader) = self.transport.stream(method, path, call)? else {
            return Ok(0);
        };
        let mut reader = BufReader::with_capacity(256 << 10, reader);
        let broken = |source| ClientError::BrokenOff {
            url: format!("{}{path}", self.transport.url),
            source,
        };
        let mut line = String::new();
        let mut count = 0;
        while reader.read_line(&mut line).map_err(broken)? > 0 {
            let text = line.trim_end();
            if !text.is_empty() {
                count += 1;
                if sink(text).is_break() {
                    break;
                }
            }
            line.clear();
        }
        Ok(count)
    }

    /// Counts, sizes and indexes of the database, as the server tells them.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn statistics(&self) -> Result<Value, ClientError> {
        let path = format!("{}/stats", self.base);
        let body = self
            .transport
            .call(Method::GET, &path, &Call::default())?
            .unwrap_or_default();
        self.transport.read(&path, &body)
    }

    /// Number of documents by collection.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn collections(&self) -> Result<BTreeMap<String, u64>, ClientError> {
        let path = format!("{}/collections/stats", self.base);
        let body = self
            .transport
            .call(Method::GET, &path, &Call::default())?
            .unwrap_or_default();
        self.transport
            .read::<Collections>(&path, &body)
            .map(|answer| answer.collections)
    }
}
