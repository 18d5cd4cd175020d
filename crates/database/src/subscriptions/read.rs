//! Making a batch: the documents of a range of etags that pass the query of a subscription.

use std::ops::Bound;
use std::sync::atomic::AtomicBool;

use jackdaw_document::{DocumentBuf, Limits, Value};
use jackdaw_model::{DocumentNumber, Etag, Scope};
use jackdaw_query::{
    ExecuteOptions, FollowQuery, Follower, QueryError, QueryMemory, StoredDocument, write_document,
};

use super::definition::{ArchivedDocuments, Subscription};
use super::progress::BatchRange;
use crate::error::ReadError;
use crate::flags::Flags;
use crate::snapshot::{DocumentRow, Snapshot};
use crate::source::DatabaseSource;
use crate::store::trees::{REVISION_ETAGS, REVISIONS, decode_number};
use crate::store::{key_etag, revision_key};

/// Bounds of one batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchLimits<'l> {
    /// Most documents handed out.
    pub documents: usize,
    /// Bytes of JSON after which no further document is added.
    pub bytes: usize,
    /// Most documents looked at.
    pub scanned: usize,
    /// Raised by the caller to stop.
    pub interrupt: Option<&'l AtomicBool>,
}

/// One document of a batch.
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionItem<'i> {
    /// The document; of a subscription to revisions the pair `{Current, Previous}`.
    pub document: &'i StoredDocument<'i>,
    /// The row as JSON, with `@metadata`.
    pub json: &'i [u8],
    /// Why the script of the query failed for it; the JSON is the document then.
    pub error: Option<&'i str>,
}

/// Takes a batch as it is made.
pub trait BatchSink {
    /// One document.
    fn item(&mut self, item: SubscriptionItem<'_>);
    /// One included document as JSON, after all items. Each id comes once.
    fn include(&mut self, id: &str, json: &[u8]);
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchRead {
    /// The last etag that was looked at; 0 when there was none.
    pub scanned_to: Etag,
    /// Number of documents that were looked at.
    pub scanned: usize,
    /// The etag of the last document handed out.
    pub last_sent: Etag,
    /// The documents handed out.
    pub numbers: Vec<DocumentNumber>,
    /// Etags of documents that another connection has.
    pub held: Vec<Etag>,
    /// Whether there was nothing more in the range.
    pub is_at_end: bool,
}

impl Snapshot {
    /// Reads the next batch of a subscription from `range`. Costs a look at each document of its
    /// collection that changed there.
    ///
    /// # Errors
    /// See [`QueryError`]; what was given to `sink` does not count then.
    pub fn read_batch(
        &self,
        subscription: &Subscription,
        query: &FollowQuery,
        range: &BatchRange,
        limits: &BatchLimits<'_>,
        sink: &mut dyn BatchSink,
    ) -> Result<BatchRead, QueryError> {
        let mut batch = Batch {
            snapshot: self,
            archived: subscription.archived,
            follower: Follower::new(query),
            limits,
            range,
            read: BatchRead::default(),
            bytes: 0,
            sink,
        };
        batch.read.is_at_end = true;
        match query.is_about_revisions() {
            true => batch.read_revisions(query.scope())?,
            false => batch.read_documents(query.scope())?,
        }
        batch.give_includes()?;
        Ok(batch.read)
    }
}

struct Batch<'b> {
    snapshot: &'b Snapshot,
    archived: ArchivedDocuments,
    follower: Follower<'b>,
    limits: &'b BatchLimits<'b>,
    range: &'b BatchRange,
    read: BatchRead,
    bytes: usize,
    sink: &'b mut dyn BatchSink,
}

fn failed(error: ReadError) -> QueryError {
    QueryError::Source(Box::new(error))
}

impl Batch<'_> {
    /// Whether another document may be looked at.
    fn has_room(&mut self) -> bool {
        let has_room = self.read.numbers.len() < self.limits.documents
            && self.bytes < self.limits.bytes
            && self.read.scanned < self.limits.scanned;
        self.read.is_at_end = has_room;
        has_room
    }

    fn read_documents(&mut self, scope: &Scope) -> Result<(), QueryError> {
        let changed = self.snapshot.changed(scope, self.range.after);
        for entry in changed.map_err(failed)? {
            let (etag, number) = entry.map_err(failed)?;
            if etag > self.range.up_to {
                break;
            }
            if !self.has_room() {
                return Ok(());
            }
            let row = self.snapshot.load(number).map_err(failed)?;
            let row = row.ok_or_else(|| {
                failed(ReadError::damaged_document(
                    "an entry for a document",
                    number,
                ))
            })?;
            self.look_at(etag, number, &row.stored())?;
        }
        Ok(())
    }

    fn read_revisions(&mut self, scope: &Scope) -> Result<(), QueryError> {
        let transaction = self.snapshot.transaction();
        let etags = transaction.fixed_tree(REVISION_ETAGS);
        let Some(etags) = etags.map_err(|error| failed(error.into()))? else {
            return Ok(());
        };
        let range = (Bound::Excluded(self.range.after.0), Bound::Unbounded);
        for entry in etags.range(range).map_err(|error| failed(error.into()))? {
            let (etag, owner) = entry.map_err(|error| failed(error.into()))?;
            if etag > self.range.up_to.0 {
                break;
            }
            if !self.has_room() {
                return Ok(());
            }
            let owner = decode_number(owner).map_err(failed)?.0;
            let etag = Etag(etag);
            let row = self.snapshot.revision_at(owner, etag).map_err(failed)?;
            let row = row.ok_or_else(|| failed(ReadError::damaged("a revision")))?;
            if !scope.contains(row.collection()) {
                self.read.scanned_to = etag;
                self.read.scanned += 1;
                continue;
            }
            let pair = self.pair(owner, etag, &row)?;
            let document = StoredDocument {
                body: pair.document(),
                metadata: None,
                ..row.stored()
            };
            self.look_at(etag, DocumentNumber(owner), &document)?;
        }
        Ok(())
    }

    /// A revision with the one before it: `{Current, Previous}`, null where there is none.
    fn pair(
        &self,
        owner: u64,
        etag: Etag,
        row: &DocumentRow<'_>,
    ) -> Result<DocumentBuf, QueryError> {
        let mut json = b"{\"Current\":".to_vec();
        push_state(Some(row), &mut json);
        json.extend_from_slice(b",\"Previous\":");
        let transaction = self.snapshot.transaction();
        let storage = |error: jackdaw_storage::StorageError| failed(error.into());
        let revisions = transaction.tree(REVISIONS).map_err(storage)?;
        let revisions = revisions.ok_or_else(|| failed(ReadError::damaged("the revisions")))?;
        let (first, own) = (revision_key(owner, Etag(0)), revision_key(owner, etag));
        let range = (Bound::Included(&first[..]), Bound::Excluded(&own[..]));
        let before = revisions.range(range).map_err(storage)?.next_back();
        let mut key_bytes = Vec::new();
        let previous = match before {
            None => None,
            Some(entry) => {
                entry.map_err(storage)?.0.copy_to(&mut key_bytes);
                let etag = key_etag(&key_bytes).map_err(failed)?;
                self.snapshot.revision_at(owner, etag).map_err(failed)?
            }
        };
        push_state(previous.as_ref(), &mut json);
        json.push(b'}');
        let limits = Limits {
            len_bytes_max: usize::MAX,
            ..Limits::default()
        };
        DocumentBuf::from_json(&json, &limits)
            .map_err(|error| QueryError::Operation(format!("a revision cannot be shown: {error}")))
    }

    fn look_at(
        &mut self,
        etag: Etag,
        number: DocumentNumber,
        document: &StoredDocument<'_>,
    ) -> Result<(), QueryError> {
        self.read.scanned_to = etag;
        self.read.scanned += 1;
        if !is_wanted(self.archived, document) {
            return Ok(());
        }
        // One revision of a document at a time, too.
        if self.range.held.contains(&number) {
            self.read.held.push(etag);
            return Ok(());
        }
        let source = DatabaseSource {
            snapshot: self.snapshot,
            index: None,
            groups: None,
            costs: None,
        };
        let defaults = ExecuteOptions::default();
        let memory = QueryMemory::new(defaults.memory_bytes_max, self.limits.interrupt);
        let options = ExecuteOptions {
            interrupt: self.limits.interrupt,
            memory: Some(&memory),
            ..defaults
        };
        let mut whole = Vec::new();
        let (json, error) = match self.follower.row(document, &source, &options) {
            Ok(None) => return Ok(()),
            Ok(Some(json)) => (json, None),
            Err(QueryError::Script(message) | QueryError::Operation(message)) => {
                write_document(document, &mut whole);
                (whole.as_slice(), Some(message))
            }
            Err(error) => return Err(error),
        };
        self.bytes += json.len();
        self.read.numbers.push(number);
        self.read.last_sent = etag;
        self.sink.item(SubscriptionItem {
            document,
            json,
            error: error.as_deref(),
        });
        Ok(())
    }

    fn give_includes(&mut self) -> Result<(), QueryError> {
        let mut json = Vec::new();
        for id in self.follower.included() {
            if let Some(row) = self.snapshot.get(id).map_err(failed)? {
                json.clear();
                row.write_json(&mut json);
                self.sink.include(row.id(), &json);
            }
        }
        Ok(())
    }
}

/// A state of a document as JSON; null for none and for a deletion.
fn push_state(row: Option<&DocumentRow<'_>>, json: &mut Vec<u8>) {
    match row.filter(|row| !row.flags().has(Flags::DELETE_REVISION)) {
        Some(row) => row.write_json(json),
        None => json.extend_from_slice(b"null"),
    }
}

fn is_wanted(archived: ArchivedDocuments, document: &StoredDocument<'_>) -> bool {
    if archived == ArchivedDocuments::Include {
        return true;
    }
    let metadata = document.metadata.map(|metadata| metadata.root());
    let is_archived = metadata
        .and_then(|metadata: Value<'_>| metadata.get("@archived"))
        .and_then(|flag| flag.as_bool())
        == Some(true);
    is_archived == (archived == ArchivedDocuments::Only)
}
