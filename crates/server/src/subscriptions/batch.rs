//! A batch as the bytes that go to a client.

use jackdaw_database::{
    BatchLimits, BatchRange, BatchRead, BatchSink, FollowQuery, QueryError, Snapshot, Subscription,
    SubscriptionItem,
};
use jackdaw_document::{write_object, write_string};

use super::link::push_ascii;
use crate::routes::Included;
use crate::wire::WireError;

/// Bytes of included documents in a batch; clients load what is left out themselves.
const INCLUDED_BYTES_MAX: usize = 16 << 20;

/// Collects the messages of a batch.
struct Messages {
    out: Vec<u8>,
    includes: Vec<u8>,
    included: Included,
}

impl BatchSink for Messages {
    fn item(&mut self, item: SubscriptionItem<'_>) {
        self.included.note(item.document);
        self.out.extend_from_slice(b"{\"Type\":\"Data\",\"Data\":");
        push_ascii(item.json, &mut self.out);
        if let Some(error) = item.error {
            self.out.extend_from_slice(b",\"Exception\":");
            let mut text = Vec::new();
            write_string(&mut text, error);
            push_ascii(&text, &mut self.out);
        }
        self.out.push(b'}');
    }

    fn include(&mut self, id: &str, json: &[u8]) {
        if self.includes.len() + json.len() > INCLUDED_BYTES_MAX {
            return;
        }
        if !self.includes.is_empty() {
            self.includes.push(b',');
        }
        write_string(&mut self.includes, id);
        self.includes.push(b':');
        self.includes.extend_from_slice(json);
    }
}

/// Why a batch could not be made.
pub(super) enum BatchError {
    /// The query failed.
    Query(QueryError),
    /// What it includes could not be read.
    Includes(WireError),
}

/// Reads the next batch of a range; the bytes are empty when no document is in it.
pub(super) fn read(
    snapshot: &Snapshot,
    subscription: &Subscription,
    query: &FollowQuery,
    range: &BatchRange,
    limits: &BatchLimits<'_>,
) -> Result<(BatchRead, Vec<u8>), BatchError> {
    let included = Included::of(&subscription.query, None).map_err(BatchError::Includes)?;
    let mut messages = Messages {
        out: Vec::new(),
        includes: Vec::new(),
        included,
    };
    let read = snapshot
        .read_batch(subscription, query, range, limits, &mut messages)
        .map_err(BatchError::Query)?;
    let Messages {
        mut out,
        includes,
        included,
    } = messages;
    if read.numbers.is_empty() {
        return Ok((read, Vec::new()));
    }
    if !includes.is_empty() {
        out.extend_from_slice(b"{\"Type\":\"Includes\",\"Includes\":{");
        push_ascii(&includes, &mut out);
        out.extend_from_slice(b"}}");
    }
    let mut push_message = |name: &str, members: Vec<u8>| {
        if !members.is_empty() {
            out.extend_from_slice(format!("{{\"Type\":\"{name}\"").as_bytes());
            push_ascii(&members, &mut out);
            out.push(b'}');
        }
    };
    let mut members = Vec::new();
    included
        .push_counters(snapshot, &mut members)
        .map_err(BatchError::Includes)?;
    push_message("CounterIncludes", members);
    let mut members = Vec::new();
    included
        .push_series(snapshot, &mut members)
        .map_err(BatchError::Includes)?;
    push_message("TimeSeriesIncludes", members);
    out.extend_from_slice(b"{\"Type\":\"EndOfBatch\"}");
    Ok((read, out))
}

/// Rows of a subscription that is only tried.
#[derive(Default)]
struct Rows {
    rows: Vec<u8>,
    includes: Vec<u8>,
}

impl BatchSink for Rows {
    fn item(&mut self, item: SubscriptionItem<'_>) {
        if !self.rows.is_empty() {
            self.rows.push(b',');
        }
        self.rows.extend_from_slice(item.json);
    }

    fn include(&mut self, id: &str, json: &[u8]) {
        if !self.includes.is_empty() {
            self.includes.push(b',');
        }
        write_string(&mut self.includes, id);
        self.includes.push(b':');
        self.includes.extend_from_slice(json);
    }
}

/// The first rows of a subscription as an answer over HTTP: `{"Results":[..]}`, with `Includes`
/// when there are any.
pub(crate) fn sample(
    snapshot: &Snapshot,
    subscription: &Subscription,
    query: &FollowQuery,
    range: &BatchRange,
    limits: &BatchLimits<'_>,
) -> Result<Vec<u8>, QueryError> {
    let mut rows = Rows::default();
    snapshot.read_batch(subscription, query, range, limits, &mut rows)?;
    let wrapped = |open: &[u8], inside: &[u8], close: &[u8]| [open, inside, close].concat();
    let mut body = Vec::new();
    write_object(&mut body, |object| {
        object.raw("Results", &wrapped(b"[", &rows.rows, b"]"));
        if !rows.includes.is_empty() {
            object.raw("Includes", &wrapped(b"{", &rows.includes, b"}"));
        }
    });
    Ok(body)
}
