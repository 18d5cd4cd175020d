//! HiLo: ranges of numbers from which clients make ids without asking for each.
//!
//! The highest number given out per tag is the `Max` of a document `Raven/Hilo/<tag>` in the
//! collection `@hilo`, as clients and exports of the protocol expect. A client that comes back
//! soon gets a larger range.

use jackdaw_base::time::{TICKS_PER_SECOND, UnixTicks};
use jackdaw_document::{Builder, Value};
use jackdaw_storage::WriteTransaction;

use crate::database::Core;
use crate::error::WriteError;
use crate::names::fold_id;
use crate::store::{Applied, Put, Writer};

/// Size of a range for a client that just began.
const RANGE_LEN_MIN: i64 = 32;
/// Largest range.
const RANGE_LEN_MAX: i64 = 1 << 20;
/// A client that needs the next range within this time gets twice as much.
const SOON_TICKS: i64 = 30 * TICKS_PER_SECOND;
/// One that needs it only after this time gets half.
const LATE_TICKS: i64 = 60 * TICKS_PER_SECOND;
const COLLECTION: &str = "@hilo";

/// What a client says when it asks for a range.
#[derive(Clone, Debug, Default)]
pub struct HiloRequest {
    /// What the numbers are for; most often a collection's name.
    pub tag: String,
    /// Length of the last range; 0 when there was none.
    pub last_size: i64,
    /// When it was given.
    pub last_at: Option<UnixTicks>,
    /// The highest number the client knows to be taken.
    pub last_max: i64,
}

/// Numbers that nobody else gets: from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiloRange {
    /// The first.
    pub low: i64,
    /// The last.
    pub high: i64,
}

/// Takes the next range.
pub(crate) fn next(
    transaction: &mut WriteTransaction,
    core: &Core,
    request: &HiloRequest,
) -> Result<(HiloRange, Applied), WriteError> {
    let mut writer = Writer::begin(transaction, core)?;
    let document = DocumentName::new(&request.tag)?;
    let taken = document
        .max(&mut writer)?
        .unwrap_or(0)
        .max(request.last_max);
    let len = range_len(request, core.now());
    let low = taken
        .checked_add(1)
        .ok_or_else(|| WriteError::NumbersUsedUp {
            name: request.tag.clone(),
        })?;
    let range = HiloRange {
        low,
        high: low.saturating_add(len - 1),
    };
    document.set_max(&mut writer, range.high)?;
    Ok((range, writer.finish()?))
}

/// Takes back the numbers of a range that were not used: those above `last`. Nothing happens when
/// another range was given since.
pub(crate) fn give_back(
    transaction: &mut WriteTransaction,
    core: &Core,
    tag: &str,
    end: i64,
    last: i64,
) -> Result<Applied, WriteError> {
    let mut writer = Writer::begin(transaction, core)?;
    let document = DocumentName::new(tag)?;
    if last < end && document.max(&mut writer)? == Some(end) {
        document.set_max(&mut writer, last)?;
    }
    writer.finish()
}

fn range_len(request: &HiloRequest, now: UnixTicks) -> i64 {
    let last = request.last_size.clamp(RANGE_LEN_MIN, RANGE_LEN_MAX);
    let Some(last_at) = request.last_at.filter(|_| request.last_size > 0) else {
        return RANGE_LEN_MIN;
    };
    let elapsed = now.0.saturating_sub(last_at.0);
    let len = if elapsed < SOON_TICKS {
        last * 2
    } else if elapsed > LATE_TICKS {
        last / 2
    } else {
        last
    };
    len.clamp(RANGE_LEN_MIN, RANGE_LEN_MAX)
}

struct DocumentName {
    id: String,
    folded: String,
}

impl DocumentName {
    fn new(tag: &str) -> Result<DocumentName, WriteError> {
        let id = format!("Raven/Hilo/{tag}");
        let folded = fold_id(&id)?.into_owned();
        Ok(DocumentName { id, folded })
    }

    fn max(&self, writer: &mut Writer<'_>) -> Result<Option<i64>, WriteError> {
        let record = writer.record(&self.folded)?;
        let max = record.and_then(|record| record.body().root().get("Max"));
        Ok(max.as_ref().and_then(Value::as_i64))
    }

    fn set_max(&self, writer: &mut Writer<'_>, max: i64) -> Result<(), WriteError> {
        let mut builder = Builder::new();
        builder.begin_object().key("Max").long(max).end_object();
        let body = builder.finish().expect("the calls are balanced");
        // A document that somebody stored under this id stays in its collection.
        let record = writer.record(&self.folded)?;
        let collection = match record.map(|record| record.collection) {
            Some(collection) => collection,
            None => writer.collection(COLLECTION)?,
        };
        writer.put(&Put {
            id: &self.id,
            folded: &self.folded,
            collection,
            metadata_len: 0,
            content: body.as_bytes(),
            expected: None,
            keeps_revision: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_grow_for_clients_in_a_hurry_and_shrink_for_others() {
        let at = |seconds: i64| UnixTicks(seconds * TICKS_PER_SECOND);
        let check = |last_size, last_at: Option<i64>, expected| {
            let request = HiloRequest {
                last_size,
                last_at: last_at.map(at),
                ..HiloRequest::default()
            };
            assert_eq!(range_len(&request, at(1_000)), expected);
        };
        check(0, None, 32);
        check(0, Some(999), 32);
        check(32, Some(999), 64);
        check(64, Some(955), 64);
        check(64, Some(900), 32);
        check(32, Some(0), 32);
        check(i64::MAX, Some(999), RANGE_LEN_MAX);
    }
}
