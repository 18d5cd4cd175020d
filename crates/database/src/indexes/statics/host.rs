//! What maps and reduces may ask of the database: answered from the snapshot of the batch, and
//! noted, so that the document comes back when the answer changes.

use std::time::{Duration, Instant};

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::{Builder, DocumentBuf, Value};
use jackdaw_script::HostError;
use jackdaw_script::index::{ATTACHMENT_TEXT_BYTES_MAX, Attachment, IndexHost, LoadedDocument};

use super::references::{Asked, Reference};
use crate::error::ReadError;
use crate::names::{EMPTY_COLLECTION, ID_BYTES_MAX};
use crate::snapshot::{DocumentRow, Snapshot};

/// Time of one run of a map or reduce; a longer one fails its document or group, so that one script
/// does not keep the others from their turns.
const RUN_TIME_MAX: Duration = Duration::from_secs(10);

/// See the file head.
pub(super) struct MapHost<'s> {
    snapshot: &'s Snapshot,
    is_over: &'s dyn Fn() -> bool,
    /// When the present run began.
    begun: Instant,
    asked: Asked,
}

impl<'s> MapHost<'s> {
    pub(super) fn new(snapshot: &'s Snapshot, is_over: &'s dyn Fn() -> bool) -> MapHost<'s> {
        MapHost {
            snapshot,
            is_over,
            begun: Instant::now(),
            asked: Asked::new(),
        }
    }

    /// What was asked for since the last call.
    pub(super) fn take_asked(&mut self) -> Asked {
        std::mem::take(&mut self.asked)
    }

    fn row(&self, id: &str) -> Result<Option<DocumentRow<'s>>, HostError> {
        if id.is_empty() || id.len() > ID_BYTES_MAX || lowercase(id).len() > ID_BYTES_MAX {
            return Ok(None);
        }
        match self.snapshot.number(id).map_err(failed)? {
            Some(number) => self.snapshot.load(number).map_err(failed),
            None => Ok(None),
        }
    }
}

fn failed(error: ReadError) -> HostError {
    HostError::Failed(Box::new(error))
}

impl IndexHost for MapHost<'_> {
    fn load(
        &mut self,
        id: &str,
        collection: Option<&str>,
    ) -> Result<Option<LoadedDocument>, HostError> {
        if !id.is_empty() && id.len() <= ID_BYTES_MAX {
            let reference = Reference::Document(lowercase(id).into_owned());
            self.asked.insert(reference, 0);
        }
        let Some(row) = self.row(id)? else {
            return Ok(None);
        };
        let is_wanted =
            collection.is_none_or(|wanted| lowercase(wanted) == lowercase(row.collection()));
        Ok(is_wanted.then(|| LoadedDocument {
            id: row.id().to_owned(),
            body: row.body().to_buf(),
            metadata: row.metadata().map(|metadata| metadata.to_buf()),
            collection: (row.collection() != EMPTY_COLLECTION).then(|| row.collection().to_owned()),
            change_vector: Some(row.change_vector()),
            last_modified: Some(row.last_modified().to_string()),
        }))
    }

    fn compare_exchange(&mut self, key: &str) -> Result<Option<DocumentBuf>, HostError> {
        if key.is_empty() || key.len() > ID_BYTES_MAX {
            return Ok(None);
        }
        let found = self.snapshot.exchange_value(key).map_err(failed)?;
        let reference = Reference::Exchange(lowercase(key).into_owned());
        let index = found.as_ref().map_or(0, |value| value.index);
        self.asked.insert(reference, index);
        // Values are kept in an object of one member.
        let inner = |value: &DocumentBuf| {
            let mut builder = Builder::new();
            builder.value(value.root().get("Object").unwrap_or(value.root()));
            builder.finish().ok()
        };
        Ok(found.and_then(|value| inner(&value.value)))
    }

    fn counter_names(&mut self, id: &str) -> Result<Vec<String>, HostError> {
        let Some(row) = self.row(id)? else {
            return Ok(Vec::new());
        };
        let counters = self.snapshot.all_counters(row.number()).map_err(failed)?;
        Ok(counters.into_iter().map(|counter| counter.name).collect())
    }

    fn time_series_names(&mut self, id: &str) -> Result<Vec<String>, HostError> {
        let Some(row) = self.row(id)? else {
            return Ok(Vec::new());
        };
        let series = self.snapshot.all_series(row.number()).map_err(failed)?;
        Ok(series.into_iter().map(|series| series.name).collect())
    }

    fn attachments(&mut self, id: &str) -> Result<Vec<Attachment>, HostError> {
        let row = self.row(id)?;
        let metadata = row.and_then(|row| row.metadata());
        let list = metadata.and_then(|metadata| metadata.root().get("@attachments"));
        let attachment = |value: Value<'_>| {
            let text = |name: &str| value.get(name).and_then(|text| text.as_str());
            Some(Attachment {
                name: text("Name")?.to_owned(),
                content_type: text("ContentType").unwrap_or_default().to_owned(),
                hash: text("Hash")?.to_owned(),
                len_bytes: u64::try_from(value.get("Size")?.as_i64()?).ok()?,
            })
        };
        let array = list.and_then(|list| list.as_array());
        Ok(array
            .into_iter()
            .flat_map(|array| array.iter())
            .filter_map(attachment)
            .collect())
    }

    fn attachment_content(&mut self, id: &str, name: &str) -> Result<Option<Vec<u8>>, HostError> {
        let Some(row) = self.row(id)? else {
            return Ok(None);
        };
        let found = self.snapshot.attachment(row.number(), name);
        let Some(found) = found.map_err(failed)? else {
            return Ok(None);
        };
        if found.len_bytes > ATTACHMENT_TEXT_BYTES_MAX {
            return Err(HostError::Refused(format!(
                "The attachment '{name}' of '{}' has {} bytes, maps read at most \
                 {ATTACHMENT_TEXT_BYTES_MAX} as text",
                row.id(),
                found.len_bytes
            )));
        }
        let mut content = Vec::new();
        loop {
            let piece = self
                .snapshot
                .attachment_piece(&found.hash, content.len() as u64)
                .map_err(failed)?;
            if piece.is_empty() {
                return Ok(Some(content));
            }
            content.extend_from_slice(piece);
        }
    }

    fn begin(&mut self) {
        self.begun = Instant::now();
    }

    fn is_over(&mut self) -> bool {
        (self.is_over)() || self.begun.elapsed() > RUN_TIME_MAX
    }
}
