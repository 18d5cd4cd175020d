//! Changes behind a position, as events.
//!
//! `routes::feed` reads here, on a thread that may wait for the disk. What is told depends on the
//! database, the query, the position and the moment alone, not on who asks.

use std::iter::Peekable;

use bytes::Bytes;
use jackdaw_database::{Database, DocumentRow, Etag, ReadError, Snapshot, Tombstone};
use jackdaw_document::write_string;

use super::{Wanted, token};

/// Pieces that a batch has at most, each about [`PIECE_BYTES`].
pub(super) const PIECES_MAX: usize = 2;
/// A piece ends when it has so many bytes.
const PIECE_BYTES: usize = 32 << 10;
/// Changes looked at with one snapshot.
const BATCH_MAX: usize = 1024;
/// Revisions looked at to find the state before a change.
const REVISIONS_MAX: usize = 64;

/// See the file head.
pub(super) struct Batch {
    pub(super) pieces: Vec<Bytes>,
    /// Everything up to here is told, or of no interest.
    pub(super) position: Etag,
    /// The last change that there was.
    pub(super) read_to: Etag,
    /// There was nothing behind it.
    pub(super) is_last: bool,
}

/// The next change in the order of etags.
enum Next<'s> {
    Stored(DocumentRow<'s>),
    Deleted(Tombstone),
}

impl Batch {
    /// Ends after [`BATCH_MAX`] changes, or when the events fill two pieces.
    pub(super) fn read(
        database: &Database,
        wanted: &Wanted,
        after: Etag,
    ) -> Result<Batch, ReadError> {
        let snapshot = database.read()?;
        let mut stored = snapshot.by_etag(after)?.peekable();
        let mut deleted = snapshot.tombstones(after)?.peekable();
        let mut batch = Batch {
            pieces: Vec::new(),
            position: after,
            read_to: snapshot.last_etag(),
            is_last: false,
        };
        let mut text = Vec::new();
        for _ in 0..BATCH_MAX {
            let Some(next) = next(&mut stored, &mut deleted)? else {
                batch.is_last = true;
                // All feeds of a database go on from the same place then.
                batch.position = batch.read_to.max(after);
                break;
            };
            let (etag, told) = match &next {
                Next::Stored(row) => (row.etag(), stored_event(&snapshot, wanted, row, after)?),
                Next::Deleted(gone) => (gone.etag, deleted_event(&snapshot, wanted, gone, after)?),
            };
            batch.position = etag;
            if let Some(data) = told {
                let id = token(database, etag);
                text.extend_from_slice(format!("id: {id}\nevent: change\ndata: ").as_bytes());
                text.extend_from_slice(&data);
                text.extend_from_slice(b"\n\n");
            }
            if text.len() >= PIECE_BYTES {
                batch.pieces.push(piece(std::mem::take(&mut text)));
                if batch.pieces.len() >= PIECES_MAX {
                    return Ok(batch);
                }
            }
        }
        if !text.is_empty() {
            batch.pieces.push(piece(text));
        }
        Ok(batch)
    }
}

/// Without room for more: it may be kept.
fn piece(text: Vec<u8>) -> Bytes {
    Bytes::from(text.into_boxed_slice())
}

fn next<'s>(
    stored: &mut Peekable<impl Iterator<Item = Result<DocumentRow<'s>, ReadError>>>,
    deleted: &mut Peekable<impl Iterator<Item = Result<Tombstone, ReadError>>>,
) -> Result<Option<Next<'s>>, ReadError> {
    let is_stored_first = match (stored.peek(), deleted.peek()) {
        (Some(Ok(row)), Some(Ok(gone))) => row.etag() < gone.etag,
        (Some(_), _) => true,
        (None, _) => false,
    };
    if is_stored_first {
        return stored.next().map(|row| row.map(Next::Stored)).transpose();
    }
    deleted
        .next()
        .map(|gone| gone.map(Next::Deleted))
        .transpose()
}

/// The state of a document that a reader at `after` has seen last, if revisions tell it.
fn before<'s>(
    snapshot: &'s Snapshot,
    id: &str,
    after: Etag,
) -> Result<Option<DocumentRow<'s>>, ReadError> {
    let (revisions, _) = snapshot.revisions(id, 0, REVISIONS_MAX)?;
    Ok(revisions
        .into_iter()
        .find(|revision| revision.etag() <= after))
}

fn stored_event(
    snapshot: &Snapshot,
    wanted: &Wanted,
    row: &DocumentRow<'_>,
    after: Etag,
) -> Result<Option<Vec<u8>>, ReadError> {
    if !wanted.is_about(row.collection()) {
        return Ok(None);
    }
    let before = before(snapshot, row.id(), after)?;
    let kind = match (wanted.is_met_by(row), &before) {
        (true, _) => "Put",
        (false, Some(before)) if wanted.is_met_by(before) => "Leave",
        (false, _) => return Ok(None),
    };
    let facts = [row.id(), row.collection(), &row.change_vector()];
    Ok(Some(event(kind, facts, before.as_ref(), Some(row))))
}

fn deleted_event(
    snapshot: &Snapshot,
    wanted: &Wanted,
    gone: &Tombstone,
    after: Etag,
) -> Result<Option<Vec<u8>>, ReadError> {
    if !wanted.is_about(&gone.collection) {
        return Ok(None);
    }
    let before = before(snapshot, &gone.id, after)?;
    if before
        .as_ref()
        .is_some_and(|before| !wanted.is_met_by(before))
    {
        return Ok(None);
    }
    let change_vector = snapshot.origin().change_vector(gone.etag);
    let facts = [gone.id.as_str(), gone.collection.as_str(), &change_vector];
    Ok(Some(event("Delete", facts, before.as_ref(), None)))
}

/// The data of one event. `facts` are id, collection and change vector.
fn event(
    kind: &str,
    facts: [&str; 3],
    before: Option<&DocumentRow<'_>>,
    after: Option<&DocumentRow<'_>>,
) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(b"{\"Type\":");
    write_string(&mut out, kind);
    for (name, fact) in ["Id", "Collection", "ChangeVector"].into_iter().zip(facts) {
        out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        write_string(&mut out, fact);
    }
    for (name, row) in [("Before", before), ("After", after)] {
        out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        match row {
            Some(row) => row.write_json(&mut out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
    out
}
