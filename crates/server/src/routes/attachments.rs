//! `/databases/*/attachments`: files of documents, streamed both ways.
//!
//! A content that is put arrives while it is stored, in transactions of a MiB, or less where there
//! is little memory; one that is read leaves in pieces, or as the one range that the client asked
//! for. Batches carry contents as parts of a multipart body, in the order of their commands.

use std::ops::Range;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH, RANGE,
};
use jackdaw_database::{
    AttachmentChange, AttachmentContent, AttachmentInfo, AttachmentUpload, Command, CommandResult,
    Database, Snapshot, WriteError,
};
use jackdaw_document::{Object, ObjectWriter, Value, write_object};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use super::documents::snapshot;
use super::queries::long;
use super::{Rate, failure, input, writing};
use crate::http::{
    ATTACHMENT_POLICY, BodyPlace, Call, ChunkWriter, Feed, Outcome, Pace, Pending, Reply, crowded,
    overloaded,
};
use crate::wire::{WireError, kind};

/// Type of a content whose owner gave none.
const ANY_TYPE: HeaderValue = HeaderValue::from_static("application/octet-stream");
/// Bytes of a content that are read before their pages in memory are let go of.
const RESIDENT_BYTES_MAX: usize = 32 << 20;
/// Gives the upload back when a piece is stored.
type Storing = JoinHandle<Result<AttachmentUpload, WriteError>>;

fn required(call: &Call, name: &str) -> Result<String, WireError> {
    let value = call.query().filled(name);
    value
        .map(|value| value.into_owned())
        .ok_or_else(|| WireError::empty_parameter(name))
}

fn find(snapshot: &Snapshot, id: &str, name: &str) -> Result<Option<AttachmentInfo>, WireError> {
    let read = |error| failure::read(&error);
    match snapshot.number(id).map_err(read)? {
        Some(number) => snapshot.attachment(number, name).map_err(read),
        None => Ok(None),
    }
}

/// `HEAD /databases/*/attachments?id=&name=`
pub(super) fn head(call: &Call) -> Outcome {
    let snapshot = snapshot(call)?;
    let found = find(&snapshot, &required(call, "id")?, &required(call, "name")?)?;
    let Some(found) = found else {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    };
    if call.unquoted(&IF_NONE_MATCH) == Some(found.change_vector.as_str()) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED));
    }
    Ok(Reply::empty(StatusCode::OK).with_etag(&found.change_vector))
}

/// `GET /databases/*/attachments?id=&name=`
pub(super) fn get(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let snapshot = snapshot(call)?;
    let found = find(&snapshot, &required(call, "id")?, &required(call, "name")?)?;
    give(call, &snapshot, found, out)
}

/// `POST /databases/*/attachments?id=&name=` with `{Type, ChangeVector}`: an attachment of a
/// document or of a revision.
pub(super) fn post(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let mut parser = input::parser(call);
    let given = input::object(call, &mut parser)?;
    let name = required(call, "name")?;
    let snapshot = snapshot(call)?;
    let is_revision = input::text(given, "Type")? == Some("Revision");
    let found = match is_revision {
        true => {
            let vector = input::text(given, "ChangeVector")?.unwrap_or("");
            of_revision(&snapshot, vector, &name)?
        }
        false => find(&snapshot, &required(call, "id")?, &name)?,
    };
    give(call, &snapshot, found, out)
}

/// What the metadata of a revision says of its attachment.
fn of_revision(
    snapshot: &Snapshot,
    change_vector: &str,
    name: &str,
) -> Result<Option<AttachmentInfo>, WireError> {
    let row = snapshot.revision(change_vector);
    let Some(row) = row.map_err(|error| failure::read(&error))? else {
        return Ok(None);
    };
    let list = row
        .metadata()
        .and_then(|metadata| metadata.root().get("@attachments"));
    let list = list.and_then(|list| list.as_array());
    let mut listed = list.into_iter().flat_map(|list| list.iter());
    let text = |attachment: &Value<'_>, member: &str| {
        let text = attachment
            .get(member)
            .and_then(|text| text.as_str().map(str::to_owned));
        text.unwrap_or_default()
    };
    let found = listed.find(|one| text(one, "Name").to_lowercase() == name.to_lowercase());
    Ok(found.map(|found| AttachmentInfo {
        name: text(&found, "Name"),
        content_type: text(&found, "ContentType"),
        hash: text(&found, "Hash"),
        len_bytes: found
            .get("Size")
            .and_then(|len| len.as_i64())
            .and_then(|len| u64::try_from(len).ok())
            .unwrap_or(0),
        etag: row.etag(),
        change_vector: row.change_vector(),
    }))
}

fn give(
    call: &Call,
    snapshot: &Snapshot,
    found: Option<AttachmentInfo>,
    out: &mut ChunkWriter,
) -> Result<(), WireError> {
    let Some(found) = found else {
        out.head = Reply::empty(StatusCode::NOT_FOUND);
        return Ok(());
    };
    if call.unquoted(&IF_NONE_MATCH) == Some(found.change_vector.as_str()) {
        out.head = Reply::empty(StatusCode::NOT_MODIFIED);
        return Ok(());
    }
    let head = std::mem::replace(&mut out.head, Reply::empty(StatusCode::OK));
    out.head = head.with_etag(&found.change_vector);
    let name = found.name.replace(['"', '\r', '\n'], "_");
    let escaped = escape(&found.name);
    let disposition = format!("attachment; filename=\"{name}\"; filename*=UTF-8''{escaped}");
    let hash_header = HeaderName::from_static("attachment-hash");
    out.set_header(CONTENT_DISPOSITION, &disposition);
    out.set_header(hash_header, &found.hash);
    out.set_header(
        HeaderName::from_static("attachment-size"),
        &found.len_bytes.to_string(),
    );
    out.set_header(ACCEPT_RANGES, "bytes");
    out.set_header(CONTENT_SECURITY_POLICY, ATTACHMENT_POLICY);
    out.head.headers.insert(CONTENT_TYPE, ANY_TYPE);
    if !found.content_type.is_empty() {
        out.set_header(CONTENT_TYPE, &found.content_type);
    }
    let (offset, end) = match range(call, found.len_bytes)? {
        None => (0, found.len_bytes),
        Some((first, end)) => {
            out.head.status = StatusCode::PARTIAL_CONTENT;
            let told = format!("bytes {first}-{}/{}", end - 1, found.len_bytes);
            out.set_header(CONTENT_RANGE, &told);
            (first, end)
        }
    };
    out.set_header(CONTENT_LENGTH, &(end - offset).to_string());
    send_content(call, snapshot, &found.hash, offset..end, out)
}

/// Sends bytes of a content. What was read of the data file is let go of now and then: a long
/// content would else be resident as a whole.
fn send_content(
    call: &Call,
    snapshot: &Snapshot,
    hash: &str,
    mut bytes: Range<u64>,
    out: &mut ChunkWriter,
) -> Result<(), WireError> {
    let mut resident_bytes = 0;
    while !bytes.is_empty() {
        let piece = snapshot.attachment_piece(hash, bytes.start);
        let piece = piece.map_err(|error| failure::read(&error))?;
        let left = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
        let piece = &piece[..piece.len().min(left)];
        if piece.is_empty() {
            let message = "The content of the attachment ends before its length.";
            return Err(WireError::new(kind::UNEXPECTED, message));
        }
        out.buffer.extend_from_slice(piece);
        bytes.start += piece.len() as u64;
        resident_bytes += piece.len();
        out.checkpoint()?;
        if resident_bytes >= RESIDENT_BYTES_MAX {
            resident_bytes = 0;
            super::database(call)?.release_resident();
        }
    }
    Ok(())
}

/// The range a client asks for, as first byte and end; `None` for the whole content, also when
/// several are asked for.
fn range(call: &Call, len_bytes: u64) -> Result<Option<(u64, u64)>, WireError> {
    let Some(asked) = call
        .header(&RANGE)
        .and_then(|text| text.strip_prefix("bytes="))
    else {
        return Ok(None);
    };
    let Some((first, last)) = asked.split_once('-').filter(|_| !asked.contains(',')) else {
        return Ok(None);
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let range = match (number(first), number(last)) {
        (Some(first), Some(last)) => Some((first, last.saturating_add(1).min(len_bytes))),
        (Some(first), None) => Some((first, len_bytes)),
        (None, Some(length)) => Some((len_bytes.saturating_sub(length), len_bytes)),
        (None, None) => None,
    };
    match range {
        Some((first, end)) if first >= end => {
            let message = format!("The range '{asked}' is outside of {len_bytes} bytes.");
            let error = WireError::new(kind::ARGUMENT, message);
            Err(error.with_status(StatusCode::RANGE_NOT_SATISFIABLE))
        }
        range => Ok(range),
    }
}

fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// `PUT /databases/*/attachments?id=&name=&contentType=`: stored while it arrives.
pub(super) fn put(call: Arc<Call>, mut feed: Feed) -> Pending {
    Box::pin(async move {
        let outcome = store(&call, &mut feed).await;
        if outcome.is_err() {
            feed.drain().await;
        }
        outcome
    })
}

async fn store(call: &Arc<Call>, feed: &mut Feed) -> Outcome {
    let database = super::database_soon(call).await?;
    let (id, name) = (required(call, "id")?, required(call, "name")?);
    let upload = database.upload_attachment();
    let unused = upload.name();
    let outcome = store_as(call, &database, upload, feed, (id, name)).await;
    if outcome.is_err() {
        // It would take disk space until the database is opened again.
        let removed = tokio::task::spawn_blocking(move || database.remove_upload(unused));
        if let Ok(Err(error)) = removed.await {
            tracing::warn!(%error, "what came of an attachment stays until the next start");
        }
    }
    outcome
}

async fn store_as(
    call: &Arc<Call>,
    database: &Arc<Database>,
    upload: AttachmentUpload,
    feed: &mut Feed,
    (id, name): (String, String),
) -> Outcome {
    // The place of what travels with the command.
    let (content, _place) = receive(call, upload, feed).await?;
    let command = Command::Attachment {
        id: id.clone(),
        name: name.clone(),
        expected: call.unquoted(&IF_MATCH).map(str::to_owned),
        change: AttachmentChange::Put {
            content_type: call
                .query()
                .first("contentType")
                .unwrap_or_default()
                .into_owned(),
            content,
        },
    };
    let results = writing::write(call, database, vec![command]).await?;
    let Some(CommandResult::Attachment {
        attachment: Some(stored),
        ..
    }) = results.into_iter().next()
    else {
        return Err(WireError::new(kind::UNEXPECTED, "A put gave no result."));
    };
    let mut body = Vec::new();
    write_object(&mut body, |object| {
        object.string("ChangeVector", &stored.change_vector);
        object.string("Name", &name);
        object.string("DocumentId", &id);
        push_content(object, &stored);
    });
    Ok(Reply::json(StatusCode::CREATED, body))
}

fn push_content(object: &mut ObjectWriter<'_>, stored: &AttachmentInfo) {
    object.string("ContentType", &stored.content_type);
    object.string("Hash", &stored.hash);
    object.long("Size", long(stored.len_bytes));
}

/// Stores a body as it comes, a piece while the next arrives; gives it as a content that can be
/// attached, and counts what of it is in memory. A slow sender holds no thread, and memory for a
/// limited time.
async fn receive(
    call: &Call,
    upload: AttachmentUpload,
    feed: &mut Feed,
) -> Result<(AttachmentContent, BodyPlace), WireError> {
    let mut storing: Option<Storing> = Some(tokio::spawn(async { Ok(upload) }));
    let received = receive_pieces(call, feed, &mut storing).await;
    // A piece may still be on its way, also when no more comes.
    let stored = settle(&mut storing).await;
    let (piece, upload) = (received?, stored?);
    let turn = turn(call).await?;
    let finished = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let Piece { bytes, place, .. } = piece;
        upload.finish(bytes).map(|content| (content, place))
    });
    let finished = finished.await.map_err(|_| lost())?;
    finished.map_err(|error| failure::write(&error))
}

/// Stores all pieces but the last.
async fn receive_pieces(
    call: &Call,
    feed: &mut Feed,
    storing: &mut Option<Storing>,
) -> Result<Piece, WireError> {
    let piece_bytes = call.shared.bodies.piece_bytes();
    let mut piece = Piece::new(call);
    while let Some(came) = feed.next().await? {
        // With little memory left, what came is stored instead of waiting beside the rest.
        if !piece.has_room(came.len()) && !piece.bytes.is_empty() {
            store_piece(call, storing, &mut piece).await?;
        }
        piece.push(&came).await?;
        if piece.bytes.len() >= piece_bytes {
            store_piece(call, storing, &mut piece).await?;
        }
    }
    Ok(piece)
}

/// A place among those that work with data.
async fn turn(call: &Call) -> Result<Option<OwnedSemaphorePermit>, WireError> {
    let turn = call.shared.admission.enter(Rate::Data).await;
    turn.map_err(|_| overloaded())
}

/// Begins to store a piece once those before it are stored, and goes on with an empty one.
async fn store_piece(
    call: &Call,
    storing: &mut Option<Storing>,
    piece: &mut Piece,
) -> Result<(), WireError> {
    let mut upload = settle(storing).await?;
    let turn = turn(call).await?;
    let full = std::mem::replace(piece, Piece::new(call));
    *storing = Some(tokio::task::spawn_blocking(move || {
        let _turn = turn;
        full.store(|bytes| upload.push(bytes)).map(|()| upload)
    }));
    Ok(())
}

/// Waits for the piece that is being stored; fails when there is none because one failed before.
async fn settle(storing: &mut Option<Storing>) -> Result<AttachmentUpload, WireError> {
    let storing = storing.take().ok_or_else(lost)?;
    let stored = storing.await.map_err(|_| lost())?;
    stored.map_err(|error| failure::write(&error))
}

/// What came of a content and is not stored yet.
struct Piece {
    bytes: Vec<u8>,
    place: BodyPlace,
    pace: Pace,
}

impl Piece {
    fn new(call: &Call) -> Piece {
        Piece {
            bytes: Vec::new(),
            place: call.shared.bodies.enter(),
            pace: Pace::new(call.shared.config.stall_timeout),
        }
    }

    /// Whether there is memory for so many bytes more, without waiting.
    fn has_room(&mut self, more_bytes: usize) -> bool {
        let len_bytes = self.bytes.len() + more_bytes;
        self.place.try_grow(len_bytes as u64)
    }

    async fn push(&mut self, came: &[u8]) -> Result<(), WireError> {
        let len_bytes = self.bytes.len() + came.len();
        self.pace.check(len_bytes)?;
        let grown = self.place.grow(len_bytes as u64).await;
        grown.map_err(|_| crowded())?;
        self.bytes.extend_from_slice(came);
        Ok(())
    }

    /// Hands the bytes over to be stored. Their memory is counted until that is done.
    fn store<T>(self, store: impl FnOnce(Vec<u8>) -> T) -> T {
        let Piece { bytes, place, .. } = self;
        let stored = store(bytes);
        drop(place);
        stored
    }
}

fn lost() -> WireError {
    WireError::new(kind::UNEXPECTED, "The attachment could not be stored.")
}

/// `DELETE /databases/*/attachments?id=&name=`
pub(super) fn delete(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let database = super::database_soon(&call).await?;
        let command = Command::Attachment {
            id: required(&call, "id")?,
            name: required(&call, "name")?,
            expected: call.unquoted(&IF_MATCH).map(str::to_owned),
            change: AttachmentChange::Delete,
        };
        writing::write(&call, &database, vec![command]).await?;
        Ok(Reply::empty(StatusCode::NO_CONTENT))
    })
}

/// `POST /databases/*/attachments/bulk` with `{Attachments: [{DocumentId, Name}]}`: what is known
/// of those that exist, then their contents one behind the other.
pub(super) fn bulk(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let mut parser = input::parser(call);
    let given = input::object(call, &mut parser)?;
    let snapshot = snapshot(call)?;
    let list = given.get("Attachments").and_then(|list| list.as_array());
    let mut found = Vec::new();
    for item in list.into_iter().flat_map(|list| list.iter()) {
        let Some(item) = item.as_object() else {
            continue;
        };
        let id = input::text(item, "DocumentId")?.unwrap_or("");
        let name = input::text(item, "Name")?.unwrap_or("");
        if let Some(attachment) = find(&snapshot, id, name)? {
            found.push((id.to_owned(), attachment));
        }
    }
    write_object(&mut out.buffer, |object| {
        object.array("AttachmentsMetadata", |list| {
            for (id, attachment) in &found {
                list.object(|row| {
                    row.string("Name", &attachment.name);
                    row.string("Hash", &attachment.hash);
                    row.string("ContentType", &attachment.content_type);
                    row.long("Size", long(attachment.len_bytes));
                    row.string("ChangeVector", &attachment.change_vector);
                    row.string("DocumentId", id);
                });
            }
        });
    });
    found.iter().try_for_each(|(_, attachment)| {
        let bytes = 0..attachment.len_bytes;
        send_content(call, &snapshot, &attachment.hash, bytes, out)
    })
}

fn missing(member: &str) -> WireError {
    let message = format!("An attachment command must have a '{member}' property.");
    WireError::new(kind::INVALID_OPERATION, message)
}

/// The `Attachment..` commands of a batch; `content` is that of a put.
pub(super) fn read_command(
    kind_of: &str,
    command: Object<'_>,
    content: Option<AttachmentContent>,
) -> Result<Command, WireError> {
    let text = |name: &'static str| {
        let text = input::text(command, name)?;
        text.map(str::to_owned).ok_or_else(|| missing(name))
    };
    let change = match kind_of {
        "AttachmentPUT" => AttachmentChange::Put {
            content_type: input::text(command, "ContentType")?
                .unwrap_or("")
                .to_owned(),
            content: content.ok_or_else(|| {
                let message = "The content of an attachment is missing: a batch with AttachmentPUT \
                               is a multipart body with one part for each.";
                WireError::new(kind::INVALID_OPERATION, message)
            })?,
        },
        "AttachmentDELETE" => AttachmentChange::Delete,
        other => AttachmentChange::Copy {
            destination_id: text("DestinationId")?,
            destination_name: text("DestinationName")?,
            moves: other == "AttachmentMOVE",
        },
    };
    Ok(Command::Attachment {
        id: text("Id")?,
        name: text("Name")?,
        expected: input::text(command, "ChangeVector")?.map(str::to_owned),
        change,
    })
}

/// Writes the result of a command as a batch tells it.
pub(super) fn push_result(object: &mut ObjectWriter<'_>, result: &CommandResult) {
    let CommandResult::Attachment {
        command,
        id,
        name,
        attachment,
        destination,
        document_change_vector,
    } = result
    else {
        return;
    };
    let id_member = match *command {
        "AttachmentDELETE" => "@id",
        _ => "Id",
    };
    object.string(id_member, id);
    object.string("Type", command);
    object.string("Name", name);
    if let Some((id, name)) = destination {
        object.string("DestinationId", id);
        object.string("DestinationName", name);
    }
    if let Some(attachment) = attachment {
        object.string("ChangeVector", &attachment.change_vector);
        object.string("Hash", &attachment.hash);
        object.string("ContentType", &attachment.content_type);
        object.long("Size", long(attachment.len_bytes));
    }
    if let Some(vector) = document_change_vector {
        object.string("DocumentChangeVector", vector);
        if destination.is_some() {
            object.string("DestinationDocumentChangeVector", vector);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::http::BodyMemory;

    #[test]
    fn a_piece_is_counted_until_it_is_stored() {
        const BYTES: usize = 600 << 10;
        let bodies = BodyMemory::new(1 << 20, Duration::ZERO);
        let mut piece = Piece {
            bytes: vec![0; BYTES],
            place: bodies.enter(),
            pace: Pace::new(Duration::from_secs(1)),
        };
        assert!(piece.has_room(0));
        let mut other = bodies.enter();
        piece.store(|bytes| {
            assert_eq!(bytes.len(), BYTES);
            assert!(!other.try_grow(BYTES as u64));
        });
        assert!(other.try_grow(BYTES as u64));
    }
}
