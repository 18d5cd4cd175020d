//! `/databases/*/docs`: documents by id, by prefix, newest first; storing and deleting one.
//!
//! Reading takes one snapshot for a whole request, so that documents and what they include agree.
//! The ETag of one document is its change vector, of several and of a cluster-wide read a hash of
//! theirs, of a listing the database's change vector; a client that sends it back gets 304.

use std::collections::HashSet;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{IF_MATCH, IF_NONE_MATCH};
use jackdaw_base::hash::xxh3_64;
use jackdaw_database::{
    Command, CommandResult, DocumentRow, Etag, PrefixQuery, ReadError, Snapshot,
};
use jackdaw_document::{Path, Value, write_object, write_string};

use super::preview::Shown;
use super::{compare_exchange, counters, failure, input, revisions, series, writing};
use crate::http::{Call, ChunkWriter, Outcome, Pending, Quick, Reply, Sink};
use crate::wire::{QueryString, WireError, kind};

/// More parameters than this, most of them ids, are no short read.
const SHORT_PARAMETERS_MAX: usize = 4;

/// `GET /databases/*/docs`
pub(super) const GET: Quick = Quick {
    is_short,
    write: get,
};

/// A few documents by id and nothing beside them, of a database that is open.
fn is_short(call: &Call) -> bool {
    let query = call.query();
    query.has("id")
        && query.names().count() <= SHORT_PARAMETERS_MAX
        && is_plain(query)
        && call.shared.databases.get_open(&call.part(0)).is_some()
}

/// Whether nothing but documents is asked for.
fn is_plain(query: QueryString<'_>) -> bool {
    let is_known = |name: &str| {
        let mut known = ["id", "metadataOnly"].iter();
        known.any(|known| name.eq_ignore_ascii_case(known))
    };
    query.names().all(is_known)
}

fn get(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let query = call.query();
    if query.has("id") {
        let ids: Vec<String> = query.all("id").map(|id| id.into_owned()).collect();
        return by_ids(call, &ids, out);
    }
    list(call, out)
}

/// `POST /databases/*/docs` with `{Ids}`: for more ids than fit into a URL.
pub(super) fn post(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let mut parser = input::parser(call);
    let given = input::object(call, &mut parser)?;
    let ids = match given.get("Ids") {
        None | Some(Value::Null) => {
            let message = "Request should have a property name 'Ids' which is mandatory.";
            return Err(WireError::new(kind::ARGUMENT, message));
        }
        Some(Value::Array(ids)) => ids,
        Some(other) => {
            let found = input::token(other);
            let message = format!("Expected 'Ids' to be an array, but got {found}");
            return Err(WireError::new(kind::FORMAT, message));
        }
    };
    // Null, and what else is no id, is the id of no document: answers keep its place.
    let ids: Vec<String> = ids
        .iter()
        .map(|id| id.as_str().unwrap_or("").to_owned())
        .collect();
    if ids.is_empty() {
        return list(call, out);
    }
    by_ids(call, &ids, out)
}

/// What clients send in place of an ETag for a document that they know to be missing.
const MISSING_ETAG: &str = "404 Response";

fn by_ids(call: &Call, ids: &[String], out: &mut ChunkWriter) -> Result<(), WireError> {
    let query = call.query();
    let includes = Includes::read(query)?;
    let snapshot = snapshot(call)?;
    let mut found: Vec<Option<DocumentRow<'_>>> = ids
        .iter()
        .map(|id| get_one(&snapshot, id))
        .collect::<Result<_, _>>()?;
    let is_cluster_wide = query
        .first("txMode")
        .is_some_and(|mode| mode.eq_ignore_ascii_case("ClusterWide"));
    if is_cluster_wide {
        // Such a session is told of what there is, and of nothing else.
        found.retain(Option::is_some);
    } else if matches!(found[..], [None]) {
        // Clients keep answers without a document, too.
        let is_known = call.unquoted(&IF_NONE_MATCH) == Some(MISSING_ETAG);
        out.head = Reply::empty(match is_known {
            true => StatusCode::NOT_MODIFIED,
            false => StatusCode::NOT_FOUND,
        });
        return Ok(());
    }
    let included = includes.gather(&snapshot, &found)?;
    let etag = match &found[..] {
        [Some(document)] if includes.is_empty() && !is_cluster_wide => document.change_vector(),
        _ if includes.has_beside() => {
            // These change without the documents: only the whole database tells.
            let exchange = snapshot
                .exchange_index()
                .map_err(|error| failure::read(&error))?;
            let state = [snapshot.last_etag().0, exchange];
            hashed_etag(&snapshot, &found, &included, &state)
        }
        _ if is_cluster_wide => {
            let guards = found.iter().flatten().map(|document| {
                let guard = snapshot.guard_of(document.id());
                Ok(guard.map_err(|error| failure::read(&error))?.unwrap_or(0))
            });
            let guards = guards.collect::<Result<Vec<u64>, WireError>>()?;
            hashed_etag(&snapshot, &found, &included, &guards)
        }
        _ => hashed_etag(&snapshot, &found, &included, &[]),
    };
    if not_modified(call, &etag, out) {
        return Ok(());
    }
    let metadata_only = query.flag("metadataOnly");
    out.buffer.extend_from_slice(b"{\"Results\":[");
    for (slot, document) in found.iter().enumerate() {
        if slot > 0 {
            out.buffer.push(b',');
        }
        out.announce(document.map_or(0, |document| document.body().as_bytes().len()))?;
        match document {
            Some(document) if is_cluster_wide => {
                push_guarded(&snapshot, &mut out.buffer, document, metadata_only)?;
            }
            Some(document) => push_document(&mut out.buffer, document, metadata_only),
            None => out.buffer.extend_from_slice(b"null"),
        }
        out.checkpoint()?;
    }
    out.buffer.extend_from_slice(b"],\"Includes\":{");
    for (slot, document) in included.iter().enumerate() {
        if slot > 0 {
            out.buffer.push(b',');
        }
        out.announce(document.body().as_bytes().len())?;
        write_string(&mut out.buffer, document.id());
        out.buffer.push(b':');
        document.write_json(&mut out.buffer);
        out.checkpoint()?;
    }
    out.buffer.push(b'}');
    // One that was asked for again has its counters and series told once.
    let mut told = HashSet::new();
    let documents = found.iter().flatten();
    let documents: Vec<&DocumentRow<'_>> = documents
        .filter(|document| told.insert(document.number()))
        .collect();
    includes.push_beside(&snapshot, &documents, is_cluster_wide, out)?;
    out.buffer.push(b'}');
    Ok(())
}

/// A document with the index of the cluster-wide transaction that changed it last.
fn push_guarded(
    snapshot: &Snapshot,
    out: &mut Vec<u8>,
    document: &DocumentRow<'_>,
    metadata_only: bool,
) -> Result<(), WireError> {
    let guard = snapshot
        .guard_of(document.id())
        .map_err(|error| failure::read(&error))?;
    let Some(index) = guard else {
        push_document(out, document, metadata_only);
        return Ok(());
    };
    let vector = snapshot
        .origin()
        .with_transaction(&document.change_vector(), index);
    document.write_json_as(&vector, metadata_only, out);
    Ok(())
}

/// The documents of the database that the route captured: as of now, or with `?snapshot=` of the
/// snapshot of that name.
pub(super) fn snapshot(call: &Call) -> Result<Snapshot, WireError> {
    let database = super::database(call)?;
    let found = match call.query().first("snapshot") {
        Some(name) => database.read_snapshot(&name),
        None => database.read(),
    };
    found.map_err(|error| failure::read(&error))
}

fn get_one<'s>(snapshot: &'s Snapshot, id: &str) -> Result<Option<DocumentRow<'s>>, WireError> {
    snapshot.get(id).map_err(|error| failure::read(&error))
}

/// `startsWith` and its companions, or all documents from the newest.
fn list(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let snapshot = snapshot(call)?;
    if not_modified(call, &snapshot.change_vector(), out) {
        return Ok(());
    }
    let shown = Shown::asked(call.query());
    out.buffer.extend_from_slice(b"{\"Results\":[");
    let mut first = true;
    each_listed(&snapshot, call.query(), Unlisted::NewestFirst, |document| {
        if !std::mem::take(&mut first) {
            out.buffer.push(b',');
        }
        out.announce(document.body().as_bytes().len())?;
        shown.push(&mut out.buffer, document);
        Ok(out.checkpoint()?)
    })?;
    out.buffer.extend_from_slice(b"]}");
    Ok(())
}

/// `GET /databases/*/collections/docs?name=&start=&pageSize=`: a collection, newest change first.
pub(super) fn of_collection(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let query = call.query();
    let name = query
        .filled("name")
        .ok_or_else(|| WireError::empty_parameter("name"))?;
    let snapshot = snapshot(call)?;
    if not_modified(call, &snapshot.change_vector(), out) {
        return Ok(());
    }
    let shown = Shown::asked(query);
    let rows = snapshot
        .latest_of_collection(&name)
        .map_err(|error| failure::read(&error))?;
    let (start, size) = page(query);
    out.buffer.extend_from_slice(b"{\"Results\":[");
    for (slot, row) in rows.skip(start).take(size).enumerate() {
        if slot > 0 {
            out.buffer.push(b',');
        }
        let row = row.map_err(|error| failure::read(&error))?;
        out.announce(row.body().as_bytes().len())?;
        shown.push(&mut out.buffer, &row);
        out.checkpoint()?;
    }
    out.buffer.extend_from_slice(b"]}");
    Ok(())
}

/// `start=` and `pageSize=`; everything without them.
fn page(query: QueryString<'_>) -> (usize, usize) {
    let number = |name: &str| {
        query
            .number(name)
            .and_then(|number| usize::try_from(number).ok())
    };
    (
        number("start").unwrap_or(0),
        number("pageSize").unwrap_or(usize::MAX),
    )
}

/// The order of documents when no prefix is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unlisted {
    /// As a listing.
    NewestFirst,
    /// As an export.
    OldestFirst,
}

/// Gives each document that the listing parameters choose to `take`.
pub(super) fn each_listed(
    snapshot: &Snapshot,
    query: QueryString<'_>,
    unlisted: Unlisted,
    mut take: impl FnMut(&DocumentRow<'_>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let (skip, most) = page(query);
    let give = |row: Result<DocumentRow<'_>, ReadError>| {
        take(&row.map_err(|error| failure::read(&error))?)
    };
    if let Some(prefix) = query.first("startsWith") {
        let (matches, exclude) = (query.filled("matches"), query.filled("exclude"));
        let start_after = query.filled("startAfter");
        let listing = PrefixQuery {
            prefix: &prefix,
            matches: matches.as_deref(),
            exclude: exclude.as_deref(),
            start_after: start_after.as_deref(),
            ..PrefixQuery::default()
        };
        let rows = snapshot
            .by_prefix(&listing)
            .map_err(|error| failure::read(&error))?;
        return rows.skip(skip).take(most).try_for_each(give);
    }
    if unlisted == Unlisted::OldestFirst {
        let rows = snapshot
            .by_etag(Etag(0))
            .map_err(|error| failure::read(&error))?;
        return rows.skip(skip).take(most).try_for_each(give);
    }
    let rows = snapshot.latest().map_err(|error| failure::read(&error))?;
    rows.skip(skip).take(most).try_for_each(give)
}

/// Sets the ETag; answers 304 and returns true when the client has it already.
pub(super) fn not_modified(call: &Call, etag: &str, out: &mut ChunkWriter) -> bool {
    if call.unquoted(&IF_NONE_MATCH) == Some(etag) {
        out.head = Reply::empty(StatusCode::NOT_MODIFIED);
        return true;
    }
    let head = std::mem::replace(&mut out.head, Reply::empty(StatusCode::OK));
    out.head = head.with_etag(etag);
    false
}

/// Paths named by `include=` whose values are ids of further documents.
#[derive(Default)]
struct Includes {
    paths: Vec<Path>,
    counters: Option<counters::Wanted>,
    exchange: Option<compare_exchange::Wanted>,
    series: Option<series::Wanted>,
    revisions: Option<revisions::Included>,
}

impl Includes {
    fn read(query: QueryString<'_>) -> Result<Includes, WireError> {
        // Each of what follows walks the whole text: the usual request is asked once.
        if is_plain(query) {
            return Ok(Includes::default());
        }
        let mut paths = Vec::new();
        for text in query.all("include").filter(|text| !text.is_empty()) {
            let path = Path::parse(&text)
                .map_err(|error| WireError::new(kind::ARGUMENT, error.to_string()))?;
            paths.push(path.fanning_out());
        }
        Ok(Includes {
            paths,
            counters: counters::Wanted::read(query),
            exchange: compare_exchange::Wanted::read(query)?,
            series: series::Wanted::read(query)?,
            revisions: revisions::Included::read(query)?,
        })
    }

    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.has_beside()
    }

    /// Whether something is wanted that may change without the documents.
    fn has_beside(&self) -> bool {
        self.counters.is_some()
            || self.exchange.is_some()
            || self.series.is_some()
            || self.revisions.is_some()
    }

    /// Appends what is wanted beside documents, as further members of the answer.
    fn push_beside(
        &self,
        snapshot: &Snapshot,
        documents: &[&DocumentRow<'_>],
        is_cluster_wide: bool,
        out: &mut dyn Sink,
    ) -> Result<(), WireError> {
        if let Some(counters) = &self.counters {
            counters.push(snapshot, documents, out)?;
        }
        if let Some(exchange) = &self.exchange {
            let bodies = documents.iter().map(|document| document.body().root());
            exchange.push(snapshot, bodies, is_cluster_wide, out)?;
        }
        if let Some(series) = &self.series {
            let named = documents
                .iter()
                .map(|document| (document.id(), document.number()));
            series.push(snapshot, named, out)?;
        }
        if let Some(revisions) = &self.revisions {
            revisions.push(snapshot, documents, out)?;
        }
        Ok(())
    }

    /// The documents named that exist, each once, without those that were asked for anyway.
    fn gather<'s>(
        &self,
        snapshot: &'s Snapshot,
        found: &[Option<DocumentRow<'s>>],
    ) -> Result<Vec<DocumentRow<'s>>, WireError> {
        let mut seen: HashSet<String> = HashSet::new();
        seen.extend(
            found
                .iter()
                .flatten()
                .map(|document| document.id().to_lowercase()),
        );
        let mut included = Vec::new();
        for document in found.iter().flatten() {
            for path in &self.paths {
                for id in texts_at(path, document.body().root()) {
                    if seen.insert(id.to_lowercase()) {
                        included.extend(get_one(snapshot, id)?);
                    }
                }
            }
        }
        Ok(included)
    }
}

/// The texts that a path leads to, those in lists among them.
pub(super) fn texts_at<'a>(path: &Path, root: Value<'a>) -> Vec<&'a str> {
    let mut texts = Vec::new();
    for value in path.values(root) {
        match value {
            Value::String(text) => texts.push(text),
            Value::Array(list) => texts.extend(list.iter().filter_map(|item| item.as_str())),
            _ => {}
        }
    }
    texts.retain(|text| !text.is_empty());
    texts
}

/// Changes exactly when a document of the answer does, or a part of `state`.
fn hashed_etag(
    snapshot: &Snapshot,
    found: &[Option<DocumentRow<'_>>],
    included: &[DocumentRow<'_>],
    state: &[u64],
) -> String {
    let found = found.iter();
    let found = found.map(|document| document.map_or(0, |document| document.etag().0));
    let etags = found.chain(included.iter().map(|document| document.etag().0));
    hash_of(snapshot, state.iter().copied().chain(etags))
}

/// An ETag for several parts of a database: only equality matters. Etags begin anew in a database
/// that was deleted and made again, so its own id is a part.
pub(super) fn hash_of(snapshot: &Snapshot, parts: impl Iterator<Item = u64>) -> String {
    let mut bytes = snapshot.origin().database().as_str().as_bytes().to_vec();
    bytes.extend(parts.flat_map(u64::to_le_bytes));
    // Four times 64 bits, because clients expect 32 bytes.
    let hash: Vec<u8> = (0..4)
        .flat_map(|seed| xxh3_64(&bytes, seed).to_le_bytes())
        .collect();
    format!("Hash-{}", jackdaw_base::base64::encode(&hash))
}

pub(super) fn push_document(out: &mut Vec<u8>, document: &DocumentRow<'_>, metadata_only: bool) {
    if metadata_only {
        document.write_metadata_json(out);
    } else {
        document.write_json(out);
    }
}

/// `HEAD /databases/*/docs?id=`
pub(super) fn head(call: &Call) -> Outcome {
    let snapshot = snapshot(call)?;
    let Some(document) = get_one(&snapshot, &required_id(call)?)? else {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    };
    let change_vector = document.change_vector();
    if call.unquoted(&IF_NONE_MATCH) == Some(change_vector.as_str()) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED));
    }
    Ok(Reply::empty(StatusCode::OK).with_etag(&change_vector))
}

fn required_id(call: &Call) -> Result<String, WireError> {
    let id = call.query().filled("id");
    id.map(|id| id.into_owned())
        .ok_or_else(|| WireError::empty_parameter("id"))
}

/// `PUT /databases/*/docs?id=`
pub(super) fn put(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let database = super::database_soon(&call).await?;
        let command = writing::prepare(&call, read_put).await?;
        let results = writing::write(&call, &database, vec![command]).await?;
        let Some(CommandResult::Put {
            id, change_vector, ..
        }) = results.into_iter().next()
        else {
            return Err(WireError::new(kind::UNEXPECTED, "A put gave no result."));
        };
        let mut body = Vec::new();
        write_object(&mut body, |object| {
            object.string("Id", &id);
            object.string("ChangeVector", &change_vector);
        });
        Ok(Reply::json(StatusCode::CREATED, body))
    })
}

fn read_put(call: &Call) -> Result<Command, WireError> {
    let id = required_id(call)?;
    failure::check_id(&id)?;
    let mut parser = input::parser(call);
    let split = input::parse_document(call, &mut parser)?;
    Ok(Command::Put {
        id: Some(id),
        body: split.body.to_buf(),
        metadata: split.metadata.map(|metadata| metadata.to_buf()),
        expected: call.unquoted(&IF_MATCH).map(str::to_owned),
        keeps_revision: false,
    })
}

/// `DELETE /databases/*/docs?id=`
pub(super) fn delete(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let database = super::database_soon(&call).await?;
        let expected = call.unquoted(&IF_MATCH).map(str::to_owned);
        let command = Command::Delete {
            id: required_id(&call)?,
            expected,
        };
        writing::write(&call, &database, vec![command]).await?;
        Ok(Reply::empty(StatusCode::NO_CONTENT))
    })
}
