//! `/databases/*/cmpxchg`: values by key that change only for a client who knows their last index.
//!
//! Also the parts of cluster-wide transactions and loads that are about them.

use std::collections::HashSet;

use hyper::StatusCode;
use jackdaw_database::{Command, ExchangeChange, ExchangeOutcome, ExchangeValue, Snapshot};
use jackdaw_document::{DocumentBuf, Object, ObjectWriter, Path, write_object, write_string};

use super::queries::long;
use super::{documents, failure, input};
use crate::http::{Call, ChunkWriter, Outcome, Reply, Sink};
use crate::wire::{QueryString, WireError, kind};

/// Longest key on the wire, in bytes.
const KEY_BYTES_MAX: usize = 512;
/// What keys of guards begin with: the values that cluster-wide transactions keep for documents.
const GUARD_PREFIX: &str = "rvn-atomic/";

/// `GET /databases/*/cmpxchg?key=` (repeated, each told once) or `?startsWith=&start=&pageSize=`
pub(super) fn get(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let query = call.query();
    let snapshot = documents::snapshot(call)?;
    let read = |error| failure::read(&error);
    if query.has("key") {
        let mut keys: Vec<String> = query.all("key").map(|key| key.into_owned()).collect();
        let mut seen = HashSet::new();
        // Clients read the list into a table by key.
        keys.retain(|key| seen.insert(key.to_lowercase()));
        let find = |key: String| {
            let value = snapshot.exchange_value(&key).map_err(read)?;
            Ok((key, value))
        };
        if let [key] = &keys[..]
            && snapshot.exchange_value(key).map_err(read)?.is_none()
        {
            out.head = Reply::empty(StatusCode::NOT_FOUND);
            return Ok(());
        }
        return list(out, keys.into_iter().map(find));
    }
    let number = |name: &str| {
        query
            .number(name)
            .and_then(|number| usize::try_from(number).ok())
    };
    let prefix = query.first("startsWith").unwrap_or_default();
    let (start, size) = (
        number("start").unwrap_or(0),
        number("pageSize").unwrap_or(usize::MAX),
    );
    let values = snapshot
        .exchange_values(&prefix, start, size)
        .map_err(read)?;
    list(
        out,
        values.map(|value| {
            let value = value.map_err(read)?;
            Ok((value.key.to_lowercase(), Some(value)))
        }),
    )
}

type Found = Result<(String, Option<ExchangeValue>), WireError>;

/// Writes the list, one value in memory at a time.
fn list(out: &mut ChunkWriter, found: impl Iterator<Item = Found>) -> Result<(), WireError> {
    out.buffer.extend_from_slice(b"{\"Results\":[");
    for (slot, found) in found.enumerate() {
        let (key, value) = found?;
        if slot > 0 {
            out.buffer.push(b',');
        }
        out.announce(stored_bytes(value.as_ref()))?;
        write_object(&mut out.buffer, |row| push(row, &key, value.as_ref()));
        out.checkpoint()?;
    }
    out.buffer.extend_from_slice(b"]}");
    Ok(())
}

fn stored_bytes(value: Option<&ExchangeValue>) -> usize {
    value.map_or(0, |value| value.value.len())
}

fn push(row: &mut ObjectWriter<'_>, key: &str, value: Option<&ExchangeValue>) {
    row.string("Key", key);
    match value {
        Some(value) => row.value("Value", value.value.root()),
        None => row.null("Value"),
    }
    row.long("Index", value.map_or(-1, |value| long(value.index)));
}

fn key(call: &Call) -> Result<String, WireError> {
    let key = call
        .query()
        .filled("key")
        .ok_or_else(|| WireError::empty_parameter("key"))?;
    check_key(&key)?;
    Ok(key.into_owned())
}

fn check_key(key: &str) -> Result<(), WireError> {
    if key.len() <= KEY_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "Compare Exchange key cannot exceed {KEY_BYTES_MAX} bytes, but the key was {} bytes. The \
         invalid key is '{key}'. Parameter 'str'",
        key.len()
    );
    Err(WireError::new(kind::KEY_TOO_BIG, message))
}

fn index(call: &Call) -> Result<u64, WireError> {
    let index = call.query().number("index");
    let index = index.ok_or_else(|| WireError::missing_parameter("index"))?;
    Ok(u64::try_from(index).unwrap_or(0))
}

/// `PUT /databases/*/cmpxchg?key=&index=`: 0 demands that there is no value yet.
pub(super) fn put(call: &Call) -> Outcome {
    let (key, index) = (key(call)?, index(call)?);
    let mut parser = input::parser(call);
    let value = input::parse(call, &mut parser)?.to_buf();
    change(call, &key, index, ExchangeChange::Put(value))
}

/// `DELETE /databases/*/cmpxchg?key=&index=`
pub(super) fn delete(call: &Call) -> Outcome {
    change(call, &key(call)?, index(call)?, ExchangeChange::Delete)
}

fn change(call: &Call, key: &str, index: u64, change: ExchangeChange) -> Outcome {
    let outcome = super::database(call)?.change_exchange(key, index, change);
    let ExchangeOutcome {
        index,
        value,
        successful,
    } = outcome.map_err(|error| failure::write(&error))?;
    let mut body = Vec::new();
    write_object(&mut body, |object| {
        object.long("Index", long(index));
        match &value {
            Some(value) => object.value("Value", value.root()),
            None => object.null("Value"),
        }
        object.bool("Successful", successful);
    });
    Ok(Reply::json(StatusCode::OK, body))
}

/// The `CompareExchangePUT` command of a cluster-wide transaction.
pub(super) fn read_put(command: Object<'_>) -> Result<Command, WireError> {
    let (key, index) = key_and_index(command)?;
    let value = command.get("Document").filter(|value| !value.is_null());
    let value = value.ok_or_else(|| {
        let message = "A CompareExchangePUT command must have a 'Document' property.";
        WireError::new(kind::INVALID_OPERATION, message)
    })?;
    let mut builder = jackdaw_document::Builder::new();
    let value: DocumentBuf = builder
        .value(value)
        .finish()
        .map_err(|error| WireError::new(kind::INVALID_DATA, error.to_string()))?;
    Ok(Command::CompareExchangePut { key, index, value })
}

/// The `CompareExchangeDELETE` command of a cluster-wide transaction.
pub(super) fn read_delete(command: Object<'_>) -> Result<Command, WireError> {
    let (key, index) = key_and_index(command)?;
    Ok(Command::CompareExchangeDelete { key, index })
}

fn key_and_index(command: Object<'_>) -> Result<(String, u64), WireError> {
    let key = input::text(command, "Id")?.unwrap_or("");
    check_key(key)?;
    // A batch that wrote guards could say of documents what their own transactions did not.
    if starts_as_guard(key) {
        let message =
            format!("You cannot manipulate the atomic guard '{key}' via the cluster-wide session");
        return Err(WireError::new(kind::INVALID_KEY, message));
    }
    let index = command.get("Index").and_then(|index| index.as_i64());
    Ok((
        key.to_owned(),
        index
            .and_then(|index| u64::try_from(index).ok())
            .unwrap_or(0),
    ))
}

fn starts_as_guard(key: &str) -> bool {
    key.get(..GUARD_PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(GUARD_PREFIX))
}

/// Paths named by `cmpxchg=` whose values are keys.
pub(super) struct Wanted(Vec<Path>);

impl Wanted {
    /// Reads `cmpxchg=`; `None` without it.
    pub(super) fn read(query: QueryString<'_>) -> Result<Option<Wanted>, WireError> {
        let mut paths = Vec::new();
        for text in query.all("cmpxchg").filter(|text| !text.is_empty()) {
            let path = Path::parse(&text)
                .map_err(|error| WireError::new(kind::ARGUMENT, error.to_string()))?;
            paths.push(path.fanning_out());
        }
        Ok((!paths.is_empty()).then_some(Wanted(paths)))
    }

    /// Appends the member of an answer that holds the values that documents name.
    /// `is_cluster_wide`: with their change vectors, which such a session sends back.
    pub(super) fn push<'d>(
        &self,
        snapshot: &Snapshot,
        bodies: impl Iterator<Item = jackdaw_document::Value<'d>>,
        is_cluster_wide: bool,
        out: &mut dyn Sink,
    ) -> Result<(), WireError> {
        let mut keys: Vec<String> = Vec::new();
        for body in bodies {
            for path in &self.0 {
                keys.extend(
                    documents::texts_at(path, body)
                        .into_iter()
                        .map(str::to_owned),
                );
            }
        }
        push_includes(snapshot, keys, is_cluster_wide, out)
    }
}

/// Appends `,"CompareExchangeValueIncludes":{..}` with the values under these keys.
pub(super) fn push_includes(
    snapshot: &Snapshot,
    mut keys: Vec<String>,
    is_cluster_wide: bool,
    out: &mut dyn Sink,
) -> Result<(), WireError> {
    keys.sort();
    keys.dedup();
    out.buffer()
        .extend_from_slice(b",\"CompareExchangeValueIncludes\":{");
    for (slot, key) in keys.iter().enumerate() {
        let value = snapshot
            .exchange_value(key)
            .map_err(|error| failure::read(&error))?;
        out.announce(stored_bytes(value.as_ref()))?;
        push_name(out.buffer(), slot, key);
        write_object(out.buffer(), |row| {
            push(row, key, value.as_ref());
            if let Some(value) = value.as_ref().filter(|_| is_cluster_wide) {
                let vector = snapshot.origin().transaction_vector(value.index);
                row.string("ChangeVector", &vector);
            }
        });
        out.checkpoint()?;
    }
    out.buffer().push(b'}');
    Ok(())
}

/// Begins the member at `slot` of an object.
pub(super) fn push_name(out: &mut Vec<u8>, slot: usize, name: &str) {
    if slot > 0 {
        out.push(b',');
    }
    write_string(out, name);
    out.push(b':');
}
