//! Counts and sizes of a database.
//!
//! Every count is kept by the database and read in constant time. Counts of what this server does
//! not have (conflicts) are zero, which is the truth.

use hyper::StatusCode;
use jackdaw_database::{CollectionSizes, ReadError, Snapshot};
use serde_json::{Map, Value, json};

use super::{documents, failure, indexes, now};
use crate::http::{Call, Outcome, Reply};
use crate::wire::WireError;

/// `GET /databases/*/stats`
pub(super) fn database(call: &Call) -> Outcome {
    let mut body = Map::new();
    let metadata =
        json!({ "DateTime": now(), "WebUrl": call.own_url(), "NodeTag": call.node_tag() });
    body.insert("@metadata".to_owned(), metadata);
    body.extend(members(call)?);
    Ok(Reply::value(&Value::Object(body)))
}

/// Members of `/stats` that `/stats/essential` answers.
const ESSENTIAL: [&str; 9] = [
    "CountOfIndexes",
    "CountOfDocuments",
    "CountOfRevisionDocuments",
    "CountOfTombstones",
    "CountOfDocumentsConflicts",
    "CountOfConflicts",
    "CountOfAttachments",
    "CountOfCounterEntries",
    "CountOfTimeSeriesSegments",
];

/// `GET /databases/*/stats/essential`: counts, and of each index what people look at.
pub(super) fn essential(call: &Call) -> Outcome {
    let mut body = members(call)?;
    body.retain(|name, _| ESSENTIAL.contains(&name.as_str()));
    let infos = indexes::infos(&*super::database(call)?)?;
    let rows: Vec<Value> = infos.iter().map(indexes::essential).collect();
    body.insert("Indexes".to_owned(), rows.into());
    Ok(Reply::value(&Value::Object(body)))
}

/// `GET /databases/*/stats/detailed`
pub(super) fn detailed(call: &Call) -> Outcome {
    let snapshot = documents::snapshot(call)?;
    let identities = snapshot
        .identities()
        .map_err(|error| failure::read(&error))?;
    let mut body = Map::new();
    body.insert("CountOfIdentities".to_owned(), identities.len().into());
    let exchange = snapshot
        .exchange_count()
        .map_err(|error| failure::read(&error))?;
    body.insert("CountOfCompareExchange".to_owned(), exchange.into());
    for name in [
        "CountOfCompareExchangeTombstones",
        "CountOfTimeSeriesDeletedRanges",
    ] {
        body.insert(name.to_owned(), 0.into());
    }
    body.extend(members(call)?);
    Ok(Reply::value(&Value::Object(body)))
}

/// Numbers of what documents have beside their bodies.
struct Beside {
    attachments: u64,
    contents: u64,
    revisions: u64,
    /// Documents that have some: clients expect the number of groups of counters.
    counters: u64,
    series: u64,
}

impl Beside {
    fn read(snapshot: &Snapshot) -> Result<Beside, ReadError> {
        Ok(Beside {
            attachments: snapshot.attachment_count()?,
            contents: snapshot.content_count()?,
            revisions: snapshot.revision_count()?,
            counters: snapshot.counter_owner_count()?,
            series: snapshot.series_count()?,
        })
    }
}

fn members(call: &Call) -> Result<Map<String, Value>, WireError> {
    let database = super::database(call)?;
    let statistics = database
        .statistics()
        .map_err(|error| failure::read(&error))?;
    let last_etag = statistics.last_etag;
    let change_vector = match last_etag.0 {
        0 => String::new(),
        _ => database.origin().change_vector(last_etag),
    };
    let beside =
        Beside::read(&documents::snapshot(call)?).map_err(|error| failure::read(&error))?;
    let infos = indexes::infos(&database)?;
    let last_indexed = infos.iter().filter_map(|info| info.last_indexed).max();
    let members = json!({
        "CountOfIndexes": infos.len(),
        "CountOfDocuments": statistics.document_count,
        "CountOfRevisionDocuments": beside.revisions,
        "CountOfTombstones": statistics.tombstone_count,
        "CountOfDocumentsConflicts": 0,
        "CountOfConflicts": 0,
        "CountOfAttachments": beside.attachments,
        "CountOfCounterEntries": beside.counters,
        "CountOfTimeSeriesSegments": beside.series,
        "Indexes": infos.iter().map(indexes::summary).collect::<Vec<_>>(),
        "CountOfUniqueAttachments": beside.contents,
        "DatabaseChangeVector": change_vector,
        "DatabaseId": database.id().as_str(),
        "NumberOfTransactionMergerQueueOperations": 0,
        "Is64Bit": cfg!(target_pointer_width = "64"),
        "Pager": "Jackdaw",
        "LastDocEtag": last_etag.0,
        "LastDatabaseEtag": last_etag.0,
        "LastIndexingTime": last_indexed.map(|moment| moment.to_string()),
        "SizeOnDisk": size(statistics.data_bytes + statistics.journal_bytes),
        "TempBuffersSizeOnDisk": size(statistics.scratch_bytes),
    });
    match members {
        Value::Object(members) => Ok(members),
        _ => Ok(Map::new()),
    }
}

/// `GET /databases/*/docs/size?id=`: bytes of a document as it is stored, its pages left out.
pub(super) fn document(call: &Call) -> Outcome {
    let query = call.query();
    let id = query
        .filled("id")
        .ok_or_else(|| WireError::missing_parameter("id"))?;
    let snapshot = documents::snapshot(call)?;
    let found = snapshot.get(&id).map_err(|error| failure::read(&error))?;
    let Some(found) = found else {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    };
    let metadata = found.metadata();
    let metadata_bytes = metadata.map_or(0, |metadata| metadata.as_bytes().len());
    let len_bytes = (found.body().as_bytes().len() + metadata_bytes) as u64;
    Ok(Reply::value(&json!({
        "ActualSize": len_bytes,
        "HumaneActualSize": humane(len_bytes),
        "AllocatedSize": len_bytes,
        "HumaneAllocatedSize": humane(len_bytes),
        "IsCompressed": false,
        "DocId": found.id(),
    })))
}

/// `GET /databases/*/collections/stats`: collections that hold something.
pub(super) fn collections(call: &Call) -> Outcome {
    let snapshot = super::database(call)?
        .read()
        .map_err(|error| failure::read(&error))?;
    let collections = snapshot
        .collections()
        .map_err(|error| failure::read(&error))?;
    let present = collections
        .into_iter()
        .filter(|collection| collection.count > 0);
    let by_name: Map<String, Value> = present
        .map(|collection| (collection.name, collection.count.into()))
        .collect();
    let mut body = counts(&snapshot)?;
    body.insert("Collections".to_owned(), by_name.into());
    Ok(Reply::value(&Value::Object(body)))
}

/// What statistics of collections say of all of them together.
fn counts(snapshot: &Snapshot) -> Result<Map<String, Value>, WireError> {
    let read = |error| failure::read(&error);
    let tombstones = snapshot.tombstone_count().map_err(read)?;
    let beside = Beside::read(snapshot).map_err(read)?;
    let counts = [
        ("CountOfDocuments", snapshot.count()),
        ("CountOfDocumentsConflicts", 0),
        ("CountOfConflicts", 0),
        ("CountOfRevisionDocuments", beside.revisions),
        ("CountOfTombstones", tombstones),
        ("CountOfTimeSeriesDeletedRanges", 0),
        ("CountOfAttachments", beside.attachments),
        ("CountOfCounterEntries", beside.counters),
        ("CountOfTimeSeriesSegments", beside.series),
    ];
    let members = counts.map(|(name, count)| (name.to_owned(), count.into()));
    Ok(members.into_iter().collect())
}

/// `GET /databases/*/collections/stats/detailed`: passes all records of the database.
pub(super) fn collection_sizes(call: &Call) -> Outcome {
    let snapshot = documents::snapshot(call)?;
    let sizes = snapshot
        .collection_sizes(&call.abandoned)
        .map_err(|error| failure::read(&error))?;
    // Nobody waits for the answer any more.
    let Some(sizes) = sizes else {
        return Ok(Reply::empty(StatusCode::SERVICE_UNAVAILABLE));
    };
    let mut body = counts(&snapshot)?;
    let present = sizes.iter().filter(|held| held.documents.count > 0);
    let collections: Map<String, Value> = present
        .map(|held| (held.name.clone(), collection_size(held)))
        .collect();
    body.insert("Collections".to_owned(), collections.into());
    Ok(Reply::value(&Value::Object(body)))
}

fn collection_size(held: &CollectionSizes) -> Value {
    let parts = [
        held.documents,
        held.tombstones,
        held.revisions,
        held.counters,
        held.series,
    ];
    json!({
        "Name": held.name,
        "CountOfDocuments": held.documents.count,
        "Size": size(parts.iter().map(|part| part.len_bytes).sum()),
        "DocumentsSize": size(held.documents.len_bytes),
        "CountOfTombstones": held.tombstones.count,
        "TombstonesSize": size(held.tombstones.len_bytes),
        "CountOfRevisions": held.revisions.count,
        "RevisionsSize": size(held.revisions.len_bytes),
        "CountOfTimeSeriesDeletedRanges": 0,
        "TimeSeriesDeletedRangesSize": size(0),
        "CountOfCounterEntries": held.counters.count,
        "CounterEntriesSize": size(held.counters.len_bytes),
        "CountOfTimeSeriesSegments": held.series.count,
        "TimeSeriesSegmentsSize": size(held.series.len_bytes),
    })
}

/// A size as clients read it: for programs and for people.
pub(super) fn size(bytes: u64) -> Value {
    json!({ "HumaneSize": humane(bytes), "SizeInBytes": bytes })
}

#[expect(clippy::cast_precision_loss, reason = "two decimals for people")]
fn humane(bytes: u64) -> String {
    let units = [("GBytes", 30), ("MBytes", 20), ("KBytes", 10)];
    for (unit, shift) in units {
        if bytes >= 1 << shift {
            let amount = format!("{:.2}", bytes as f64 / f64::from(1u32 << shift));
            let amount = amount.trim_end_matches('0').trim_end_matches('.');
            return format!("{amount} {unit}");
        }
    }
    format!("{bytes} Bytes")
}

#[cfg(test)]
mod tests {
    use super::humane;

    #[test]
    fn sizes_read_like_the_recorded_ones() {
        for (bytes, expected) in [
            (0, "0 Bytes"),
            (1023, "1023 Bytes"),
            (368_640, "360 KBytes"),
            (14_131_200, "13.48 MBytes"),
            (23_281_664, "22.2 MBytes"),
            (3 << 30, "3 GBytes"),
        ] {
            assert_eq!(humane(bytes), expected);
        }
    }
}
