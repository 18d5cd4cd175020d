//! Operations that go on after their request was answered, looked up by number.
//!
//! Numbers are given out per database, from 1, and not reused while the server runs. `by_query`
//! starts operations; a bulk insert comes under a number that its client got
//! beforehand. All report through [`Progress`]; clients ask for the state until it is final, watch
//! it (`changes`), or end the operation.
//!
//! Threads: any. An operation lives on a thread of its own and only shares its [`Progress`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use super::now;
use crate::http::{Call, Outcome, Reply};
use crate::wire::{Kind, WireError, kind};

/// Finished operations of a database that are remembered.
const REMEMBERED_MAX: usize = 1024;
/// News that may wait for one who watches; who falls further behind is let go.
const NEWS_AHEAD: usize = 1024;

/// All operations of all databases.
#[derive(Debug)]
pub(crate) struct Operations {
    databases: Mutex<HashMap<String, DatabaseOperations>>,
    news: broadcast::Sender<OperationNews>,
}

impl Default for Operations {
    fn default() -> Operations {
        Operations {
            databases: Mutex::default(),
            news: broadcast::Sender::new(NEWS_AHEAD),
        }
    }
}

/// A new state of an operation.
#[derive(Clone, Debug)]
pub(super) struct OperationNews {
    pub(super) database_id: Arc<str>,
    pub(super) number: i64,
    state: Arc<State>,
}

impl OperationNews {
    /// The message of the Changes API.
    pub(super) fn json(&self) -> Value {
        json!({
            "Type": "OperationStatusChange",
            "Value": { "OperationId": self.number, "State": self.state.json() },
        })
    }
}

#[derive(Debug, Default)]
struct DatabaseOperations {
    last: i64,
    known: BTreeMap<i64, Arc<Progress>>,
}

/// What a bulk insert has stored so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inserted {
    pub(super) documents: usize,
    pub(super) attachments: usize,
    pub(super) counters: usize,
    pub(super) series: usize,
    pub(super) batches: usize,
    /// Id of the document that was stored or changed last.
    pub(super) last_id: Option<String>,
}

impl Inserted {
    pub(super) fn total(&self) -> usize {
        self.documents + self.attachments + self.counters + self.series
    }

    /// Adds a batch that was stored later.
    pub(super) fn add(&mut self, later: Inserted) {
        self.documents += later.documents;
        self.attachments += later.attachments;
        self.counters += later.counters;
        self.series += later.series;
        self.batches += later.batches;
        if later.last_id.is_some() {
            self.last_id = later.last_id;
        }
    }

    fn progress(&self) -> Value {
        json!({
            "$type": "Raven.Client.Documents.Operations.BulkInsertProgress, Raven.Client",
            "Total": self.total(),
            "BatchCount": self.batches,
            "LastProcessedId": self.last_id,
            "DocumentsProcessed": self.documents,
            "AttachmentsProcessed": self.attachments,
            "CountersProcessed": self.counters,
            "TimeSeriesProcessed": self.series,
        })
    }

    fn result(&self) -> Value {
        let mut result = bulk_result(self.total(), &[]);
        for (name, count) in [
            ("DocumentsProcessed", self.documents),
            ("AttachmentsProcessed", self.attachments),
            ("CountersProcessed", self.counters),
            ("TimeSeriesProcessed", self.series),
        ] {
            result[name] = count.into();
        }
        result
    }
}

/// One operation, as it reports itself.
#[derive(Debug)]
pub(super) struct Progress {
    database_id: Arc<str>,
    number: i64,
    description: String,
    started: String,
    is_cancelled: watch::Sender<bool>,
    state: Mutex<Arc<State>>,
    news: broadcast::Sender<OperationNews>,
}

#[derive(Debug)]
enum State {
    Running {
        processed: usize,
        total: usize,
    },
    Inserting(Inserted),
    Completed {
        total: usize,
        details: Vec<Detail>,
    },
    Inserted(Inserted),
    Faulted {
        kind: Kind,
        status: StatusCode,
        message: String,
    },
    Canceled,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Operations {
    /// The next number of a database.
    fn next(&self, database_id: &str) -> i64 {
        let mut databases = lock(&self.databases);
        let operations = databases.entry(database_id.to_owned()).or_default();
        operations.last += 1;
        operations.last
    }

    /// A new operation and its number.
    pub(super) fn begin(&self, database_id: &str, description: String) -> (i64, Arc<Progress>) {
        let number = self.next(database_id);
        (number, self.under(database_id, number, description))
    }

    /// The operation under a number that was given out before; it may have been ended already.
    pub(super) fn under(
        &self,
        database_id: &str,
        number: i64,
        description: String,
    ) -> Arc<Progress> {
        let mut databases = lock(&self.databases);
        let operations = databases.entry(database_id.to_owned()).or_default();
        operations.last = operations.last.max(number);
        while operations.known.len() >= REMEMBERED_MAX {
            operations.known.pop_first();
        }
        let known = operations.known.entry(number);
        let news = self.news.clone();
        known
            .or_insert_with(|| Arc::new(Progress::new(database_id, number, description, news)))
            .clone()
    }

    /// What happens to all operations of all databases from now on.
    pub(super) fn watch(&self) -> broadcast::Receiver<OperationNews> {
        self.news.subscribe()
    }

    /// Ends an operation, even before it begins; false when its number was never given out.
    fn kill(&self, database_id: &str, number: i64) -> bool {
        let last = lock(&self.databases)
            .get(database_id)
            .map_or(0, |operations| operations.last);
        if !(1..=last).contains(&number) {
            return false;
        }
        self.under(database_id, number, String::new())
            .is_cancelled
            .send_replace(true);
        true
    }

    fn find(&self, database_id: &str, number: i64) -> Option<Arc<Progress>> {
        lock(&self.databases)
            .get(database_id)?
            .known
            .get(&number)
            .cloned()
    }

    fn all(&self, database_id: &str) -> Vec<(i64, Arc<Progress>)> {
        let databases = lock(&self.databases);
        let known = databases
            .get(database_id)
            .map(|operations| &operations.known);
        known
            .into_iter()
            .flatten()
            .map(|(number, one)| (*number, one.clone()))
            .collect()
    }
}

impl Progress {
    fn new(
        database_id: &str,
        number: i64,
        description: String,
        news: broadcast::Sender<OperationNews>,
    ) -> Progress {
        let begun = State::Running {
            processed: 0,
            total: 0,
        };
        Progress {
            database_id: database_id.into(),
            number,
            description,
            started: now(),
            is_cancelled: watch::Sender::new(false),
            state: Mutex::new(Arc::new(begun)),
            news,
        }
    }

    /// Whether a client asked to end it.
    pub(super) fn is_cancelled(&self) -> bool {
        *self.is_cancelled.borrow()
    }

    /// Waits until a client asks to end it.
    pub(super) async fn cancelled(&self) {
        drop(
            self.is_cancelled
                .subscribe()
                .wait_for(|is_cancelled| *is_cancelled)
                .await,
        );
    }

    pub(super) fn report(&self, processed: usize, total: usize) {
        self.change(State::Running { processed, total });
    }

    /// Reports what a bulk insert has stored so far.
    pub(super) fn report_inserted(&self, inserted: Inserted) {
        self.change(State::Inserting(inserted));
    }

    /// Reports the end of a bulk insert.
    pub(super) fn complete_inserted(&self, inserted: Inserted) {
        self.change(State::Inserted(inserted));
    }

    /// `details` say what was done to each document, when the client asked for it.
    pub(super) fn complete(&self, total: usize, details: Vec<Detail>) {
        self.change(State::Completed { total, details });
    }

    pub(super) fn fail(&self, error: &WireError) {
        let message = error.message.clone();
        self.change(State::Faulted {
            kind: error.kind,
            status: error.status,
            message,
        });
    }

    pub(super) fn cancel(&self) {
        self.change(State::Canceled);
    }

    fn change(&self, state: State) {
        let state = Arc::new(state);
        *lock(&self.state) = state.clone();
        let news = OperationNews {
            database_id: self.database_id.clone(),
            number: self.number,
            state,
        };
        // That nobody watches is no failure.
        drop(self.news.send(news));
    }

    fn json(&self) -> Value {
        let state = lock(&self.state).clone();
        state.json()
    }
}

impl State {
    fn json(&self) -> Value {
        let (status, progress, result) = match self {
            State::Running { processed, total } => {
                let progress = json!({
                    "$type": "Raven.Client.Documents.Operations.DeterminateProgress, Raven.Client",
                    "Processed": processed,
                    "Total": total,
                });
                ("InProgress", progress, Value::Null)
            }
            State::Inserting(inserted) => ("InProgress", inserted.progress(), Value::Null),
            State::Inserted(inserted) => ("Completed", Value::Null, inserted.result()),
            State::Completed { total, details } => {
                ("Completed", Value::Null, bulk_result(*total, details))
            }
            State::Faulted {
                kind,
                status,
                message,
            } => {
                let result = json!({
                    "$type":
                        "Raven.Client.Documents.Operations.OperationExceptionResult, Raven.Client",
                    "Type": kind.name,
                    "Message": message,
                    "Error": format!("{kind}: {message}"),
                    "StatusCode": status.as_u16(),
                    "LimitType": null,
                });
                ("Faulted", Value::Null, result)
            }
            State::Canceled => ("Canceled", Value::Null, Value::Null),
        };
        json!({
            "$type": "Raven.Client.Documents.Operations.OperationState, Raven.Client",
            "Progress": progress,
            "Result": result,
            "Status": status,
        })
    }
}

/// What an operation did to one document.
#[derive(Clone, Debug)]
pub(super) enum Detail {
    Deleted {
        id: String,
    },
    Patched {
        id: String,
        /// `None` when it was left as it was.
        change_vector: Option<String>,
        status: &'static str,
    },
}

impl Detail {
    fn json(&self) -> Value {
        const PLACE: &str = "Raven.Client.Documents.Operations.BulkOperationResult";
        match self {
            Detail::Deleted { id } => json!({
                "$type": format!("{PLACE}+DeleteDetails, Raven.Client"),
                "Id": id,
                "Etag": null,
            }),
            Detail::Patched {
                id,
                change_vector,
                status,
            } => json!({
                "$type": format!("{PLACE}+PatchDetails, Raven.Client"),
                "Id": id,
                "ChangeVector": change_vector,
                "Status": status,
            }),
        }
    }
}

fn bulk_result(total: usize, details: &[Detail]) -> Value {
    json!({
        "$type": "Raven.Client.Documents.Operations.BulkOperationResult, Raven.Client",
        "Total": total,
        "Message": format!("Processed {total} items."),
        "Details": details.iter().map(Detail::json).collect::<Vec<_>>(),
        "Query": null,
        "DocumentsProcessed": 0,
        "AttachmentsProcessed": 0,
        "CountersProcessed": 0,
        "TimeSeriesProcessed": 0,
    })
}

/// `GET /databases/*/operations/next-operation-id`
pub(super) fn next_number(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let number = call.shared.operations.next(database.id().as_str());
    Ok(Reply::value(
        &json!({ "Id": number, "NodeTag": call.node_tag() }),
    ))
}

/// `GET /databases/*/operations?id=`
pub(super) fn list(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let all = call.shared.operations.all(database.id().as_str());
    let wanted = call.query().number("id");
    let chosen = all
        .into_iter()
        .filter(|(number, _)| wanted.is_none_or(|id| id == *number));
    let row = |(number, progress): (i64, Arc<Progress>)| {
        json!({
            "Id": number,
            "Description": {
                "Description": progress.description,
                "StartTime": progress.started,
            },
            "Killable": true,
            "State": progress.json(),
        })
    };
    let rows: Vec<Value> = chosen.map(row).collect();
    if wanted.is_some() && rows.is_empty() {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    }
    Ok(Reply::value(&json!({ "Results": rows })))
}

/// `GET /databases/*/operations/state?id=`
pub(super) fn state(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let number = required_number(call)?;
    match call.shared.operations.find(database.id().as_str(), number) {
        Some(progress) => Ok(Reply::value(&progress.json())),
        None => Ok(Reply::empty(StatusCode::NOT_FOUND)),
    }
}

/// `GET /operations/state?id=`: no operation of the server as a whole exists.
pub(super) fn server_state(call: &Call) -> Outcome {
    required_number(call)?;
    Ok(Reply::empty(StatusCode::NOT_FOUND))
}

/// `POST /databases/*/operations/kill?id=`
pub(super) fn kill(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let number = required_number(call)?;
    if call.shared.operations.kill(database.id().as_str(), number) {
        return Ok(Reply::empty(StatusCode::NO_CONTENT));
    }
    let message = format!("Operation {number} was not registered");
    Err(WireError::new(kind::ARGUMENT, message))
}

fn required_number(call: &Call) -> Result<i64, WireError> {
    call.query()
        .number("id")
        .ok_or_else(|| WireError::missing_parameter("id"))
}
