//! `/databases/*/revisions`: earlier states of documents, and which documents keep them.
//!
//! A revision is shown as its document was, under the change vector it had.

use std::collections::HashSet;

use hyper::StatusCode;
use hyper::header::IF_NONE_MATCH;
use jackdaw_base::time::UnixTicks;
use jackdaw_database::{DocumentRow, Etag, RevisionsConfiguration, Snapshot};
use jackdaw_document::{Path, Value, write_object};
use serde_json::json;

use super::documents::{hash_of, push_document, snapshot, texts_at};
use super::queries::long;
use super::{failure, input};
use crate::http::{Call, ChunkWriter, Outcome, Reply, Sink};
use crate::wire::{QueryString, WireError, kind};

/// Revisions told at once unless the client says otherwise.
const PAGE_SIZE: usize = 25;

/// `GET /databases/*/revisions?id=&start=&pageSize=&metadataOnly=`, `?id=&before=` or
/// `?changeVector=` (repeated)
pub(super) fn get(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let query = call.query();
    let snapshot = snapshot(call)?;
    let read = |error| failure::read(&error);
    if query.has("changeVector") {
        let vectors: Vec<String> = query
            .all("changeVector")
            .map(|text| text.into_owned())
            .collect();
        let find = |vector: &String| snapshot.revision(vector).map_err(read);
        let found: Vec<_> = vectors.iter().map(find).collect::<Result<_, WireError>>()?;
        if let [None] = &found[..] {
            out.head = Reply::empty(StatusCode::NOT_FOUND);
            return Ok(());
        }
        return answer(call, &snapshot, &found, None, out);
    }
    let id = query
        .filled("id")
        .ok_or_else(|| WireError::empty_parameter("id"))?;
    if let Some(text) = query.filled("before") {
        let moment = UnixTicks::parse(text.trim()).ok_or_else(|| {
            let message = format!("Could not parse query string 'before' as date '{text}'.");
            WireError::new(kind::ARGUMENT, message)
        })?;
        let found = snapshot.revision_before(&id, moment).map_err(read)?;
        let found: Vec<_> = found.into_iter().map(Some).collect();
        let count = found.len() as u64;
        return answer(call, &snapshot, &found, Some(count), out);
    }
    let (start, size) = page(call, usize::MAX);
    let (rows, total) = snapshot.revisions(&id, start, size).map_err(read)?;
    let found: Vec<_> = rows.into_iter().map(Some).collect();
    answer(call, &snapshot, &found, Some(total), out)
}

fn page(call: &Call, default: usize) -> (usize, usize) {
    let query = call.query();
    let number = |name: &str| {
        query
            .number(name)
            .and_then(|number| usize::try_from(number).ok())
    };
    (
        number("start").unwrap_or(0),
        number("pageSize").unwrap_or(default),
    )
}

fn answer(
    call: &Call,
    snapshot: &Snapshot,
    found: &[Option<DocumentRow<'_>>],
    total: Option<u64>,
    out: &mut ChunkWriter,
) -> Result<(), WireError> {
    out.hold(size_of_val(found))?;
    let etag = match found {
        [] => "nothing".to_owned(),
        [Some(one)] => one.change_vector(),
        several => hash_of(
            snapshot,
            several
                .iter()
                .map(|row| row.as_ref().map_or(Etag(0), |row| row.etag()).0),
        ),
    };
    if call.unquoted(&IF_NONE_MATCH) == Some(etag.as_str()) && etag != "nothing" {
        out.head = Reply::empty(StatusCode::NOT_MODIFIED);
        return Ok(());
    }
    let head = std::mem::replace(&mut out.head, Reply::empty(StatusCode::OK));
    out.head = head.with_etag(&etag);
    let metadata_only = call.query().flag("metadataOnly");
    out.buffer.extend_from_slice(b"{\"Results\":[");
    for (slot, row) in found.iter().enumerate() {
        if slot > 0 {
            out.buffer.push(b',');
        }
        out.announce(row.as_ref().map_or(0, |row| row.body().as_bytes().len()))?;
        match row {
            Some(row) => push_document(&mut out.buffer, row, metadata_only),
            None => out.buffer.extend_from_slice(b"null"),
        }
        out.checkpoint()?;
    }
    out.buffer.push(b']');
    if let Some(total) = total {
        let total = format!(",\"TotalResults\":{total}");
        out.buffer.extend_from_slice(total.as_bytes());
    }
    out.buffer.push(b'}');
    Ok(())
}

/// `GET /databases/*/revisions/count?id=`
pub(super) fn count(call: &Call) -> Outcome {
    let id = call
        .query()
        .filled("id")
        .ok_or_else(|| WireError::empty_parameter("id"))?;
    let snapshot = snapshot(call)?;
    let (_, total) = snapshot
        .revisions(&id, 0, 0)
        .map_err(|error| failure::read(&error))?;
    Ok(Reply::value(&json!({ "RevisionsCount": total })))
}

/// `GET /databases/*/revisions/bin?start=&pageSize=`: documents that were deleted.
pub(super) fn bin(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let (start, size) = page(call, PAGE_SIZE);
    let snapshot = snapshot(call)?;
    let rows = snapshot
        .revision_bin(start, size)
        .map_err(|error| failure::read(&error))?;
    out.hold(size_of_val(&rows[..]))?;
    out.buffer.extend_from_slice(b"{\"Results\":[");
    for (slot, row) in rows.iter().enumerate() {
        if slot > 0 {
            out.buffer.push(b',');
        }
        row.write_metadata_json(&mut out.buffer);
        out.checkpoint()?;
    }
    out.buffer.extend_from_slice(b"]}");
    Ok(())
}

/// `GET /databases/*/revisions/config`: 404 when it was never set.
pub(super) fn configuration(call: &Call) -> Outcome {
    let found = snapshot(call)?.revisions_configuration();
    match found.map_err(|error| failure::read(&error))? {
        None => Ok(Reply::empty(StatusCode::NOT_FOUND)),
        Some(found) => {
            let mut body = Vec::new();
            found.to_document().root().write_json(&mut body);
            Ok(Reply::json(StatusCode::OK, body))
        }
    }
}

/// `POST /databases/*/admin/revisions/config`
pub(super) fn configure(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let given = input::object(call, &mut parser)?;
    let parsed = RevisionsConfiguration::parse(given);
    let parsed = parsed.map_err(|why| {
        WireError::new(
            kind::INVALID_OPERATION,
            format!("The revisions configuration is wrong: {why}."),
        )
    })?;
    let member = serde_json::from_slice(parsed.to_document().root().to_json().as_bytes());
    database
        .set_revisions_configuration(parsed)
        .map_err(|error| failure::write(&error))?;
    let index = super::databases::set_member(call, "Revisions", member.unwrap_or_default())?;
    Ok(Reply::value(&json!({ "RaftCommandIndex": index })))
}

/// `POST /databases/*/admin/revisions/config/enforce`: deletes, as an operation, what the
/// configuration does not keep.
pub(super) fn enforce(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let operations = &call.shared.operations;
    let description = "Enforces the revisions configuration".to_owned();
    let (number, progress) = operations.begin(database.id().as_str(), description);
    tokio::task::spawn_blocking(move || {
        let ids = database.read().and_then(|snapshot| {
            let rows = snapshot.by_etag(Etag(0))?;
            rows.map(|row| Ok(row?.id().to_owned()))
                .collect::<Result<Vec<_>, _>>()
        });
        let ids = match ids {
            Ok(ids) => ids,
            Err(error) => return progress.fail(&failure::read(&error)),
        };
        let mut deleted = 0;
        for batch in ids.chunks(1024) {
            if progress.is_cancelled() {
                return progress.cancel();
            }
            match database.delete_revisions(batch.to_vec(), true) {
                Ok(count) => deleted += usize::try_from(count).unwrap_or(usize::MAX),
                Err(error) => return progress.fail(&failure::write(&error)),
            }
        }
        progress.complete(deleted, Vec::new());
    });
    Ok(Reply::value(
        &json!({ "OperationId": number, "OperationNodeTag": call.node_tag() }),
    ))
}

/// `DELETE /databases/*/admin/revisions` with `{DocumentIds}`: deletes all their revisions.
pub(super) fn delete(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let given = input::object(call, &mut parser)?;
    let ids = input::texts(given, "DocumentIds")?
        .into_iter()
        .map(str::to_owned)
        .collect();
    let deleted = database.delete_revisions(ids, false);
    let deleted = deleted.map_err(|error| failure::write(&error))?;
    Ok(Reply::value(&json!({ "TotalDeletes": long(deleted) })))
}

/// `POST /databases/*/revisions/revert/docs` with `{IdToChangeVector}`: stores what revisions hold.
pub(super) fn revert(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let given = input::object(call, &mut parser)?;
    let Some(Value::Object(wanted)) = given.get("IdToChangeVector") else {
        let message = "An 'IdToChangeVector' object with the revisions to go back to is missing.";
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    };
    let snapshot = snapshot(call)?;
    let mut commands = Vec::with_capacity(wanted.len());
    for (id, vector) in wanted.iter() {
        let vector = vector.as_str().unwrap_or("");
        let row = snapshot
            .revision(vector)
            .map_err(|error| failure::read(&error))?;
        let row = row
            .filter(|row| row.id().eq_ignore_ascii_case(id))
            .ok_or_else(|| {
                let message =
                    format!("There is no revision of '{id}' with change vector '{vector}'.");
                WireError::new(kind::INVALID_OPERATION, message)
            })?;
        commands.push(row.restoring());
    }
    database
        .batch(commands)
        .map_err(|error| failure::write(&error))?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// Revisions that a load includes: by change vectors in the documents, and as of a moment.
pub(super) struct Included {
    paths: Vec<Path>,
    before: Option<UnixTicks>,
}

impl Included {
    /// Reads `revisions=<path>` (repeated) and `revisionsBefore=<date>`.
    pub(super) fn read(query: QueryString<'_>) -> Result<Option<Included>, WireError> {
        let mut paths = Vec::new();
        for text in query.all("revisions").filter(|text| !text.is_empty()) {
            let path = Path::parse(&text)
                .map_err(|error| WireError::new(kind::ARGUMENT, error.to_string()))?;
            paths.push(path.fanning_out());
        }
        let before = query.filled("revisionsBefore").map(|text| {
            UnixTicks::parse(text.trim()).ok_or_else(|| {
                let message =
                    format!("Could not parse query string 'revisionsBefore' as date '{text}'.");
                WireError::new(kind::ARGUMENT, message)
            })
        });
        let before = before.transpose()?;
        let is_empty = paths.is_empty() && before.is_none();
        Ok((!is_empty).then_some(Included { paths, before }))
    }

    /// Appends `,"RevisionIncludes":[{Id, ChangeVector, Before, Revision}]`.
    pub(super) fn push(
        &self,
        snapshot: &Snapshot,
        documents: &[&DocumentRow<'_>],
        out: &mut dyn Sink,
    ) -> Result<(), WireError> {
        let read = |error| failure::read(&error);
        let mut found: Vec<(&str, DocumentRow<'_>, Option<UnixTicks>)> = Vec::new();
        let mut known = HashSet::new();
        for document in documents {
            for path in &self.paths {
                for vector in texts_at(path, document.body().root()) {
                    // Once, however often the document names it.
                    if known.insert((document.id(), vector))
                        && let Some(revision) = snapshot.revision(vector).map_err(read)?
                    {
                        found.push((document.id(), revision, None));
                    }
                }
            }
            if let Some(before) = self.before {
                let revision = snapshot.revision_before(document.id(), before);
                if let Some(revision) = revision.map_err(read)? {
                    found.push((document.id(), revision, Some(before)));
                }
            }
        }
        out.buffer().extend_from_slice(b",\"RevisionIncludes\":[");
        for (slot, (id, revision, before)) in found.iter().enumerate() {
            if slot > 0 {
                out.buffer().push(b',');
            }
            out.announce(revision.body().as_bytes().len())?;
            write_object(out.buffer(), |object| {
                object.string("Id", id);
                object.string("ChangeVector", &revision.change_vector());
                match before {
                    Some(before) => object.string("Before", &before.to_string()),
                    None => object.null("Before"),
                }
            });
            // The object goes on.
            out.buffer().pop();
            out.buffer().extend_from_slice(b",\"Revision\":");
            revision.write_json(out.buffer());
            out.buffer().push(b'}');
            out.checkpoint()?;
        }
        out.buffer().push(b']');
        Ok(())
    }
}
