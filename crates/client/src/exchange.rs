//! Compare-exchange: values by key that change only for who knows their last index.

use serde::Deserialize;
use serde_json::value::RawValue;
use ureq::http::Method;

use crate::database::DatabaseClient;
use crate::error::ClientError;
use crate::transport::{Call, encode};

/// A value with the number of its last change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeValue {
    /// As JSON text.
    pub value: String,
    /// To be given with the next change.
    pub index: u64,
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchanged {
    /// It was made; the value has this index now.
    Made {
        /// Index of the change.
        index: u64,
    },
    /// Somebody else was faster: this is the present value; `None` when there is none.
    Refused(Option<ExchangeValue>),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listing {
    results: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row {
    value: Option<Box<RawValue>>,
    index: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    index: u64,
    value: Option<Box<RawValue>>,
    successful: bool,
}

impl DatabaseClient {
    /// The value under `key`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn exchange_value(&self, key: &str) -> Result<Option<ExchangeValue>, ClientError> {
        let path = format!("{}/cmpxchg?key={}", self.base, encode(key));
        let Some(body) = self.transport.call(Method::GET, &path, &Call::default())? else {
            return Ok(None);
        };
        let listing: Listing = self.transport.read(&path, &body)?;
        let row = listing.results.into_iter().next();
        Ok(row.and_then(|row| value(row.value, u64::try_from(row.index).ok()?)))
    }

    /// Sets the value under `key` to a JSON text, if its index is still `index`; 0 demands that
    /// there is no value.
    ///
    /// # Errors
    /// See [`ClientError`]. After one of the connection the change may or may not have been made.
    pub fn exchange(&self, key: &str, text: &str, index: u64) -> Result<Exchanged, ClientError> {
        let path = format!("{}/cmpxchg?key={}&index={index}", self.base, encode(key));
        let call = Call {
            body: Some(text.as_bytes()),
            ..Call::default()
        };
        let body = self
            .transport
            .call(Method::PUT, &path, &call)?
            .unwrap_or_default();
        let answer: Answer = self.transport.read(&path, &body)?;
        Ok(match answer.successful {
            true => Exchanged::Made {
                index: answer.index,
            },
            false => Exchanged::Refused(value(answer.value, answer.index)),
        })
    }
}

fn value(text: Option<Box<RawValue>>, index: u64) -> Option<ExchangeValue> {
    let value = text?.get().to_owned();
    (value != "null").then_some(ExchangeValue { value, index })
}
