//! Reading what documents have beside their bodies, and values of compare-exchange.

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;

use super::view::Snapshot;
use crate::command::CounterValue;
use crate::due::DueKind;
use crate::error::ReadError;
use crate::exchange::ExchangeValue;
use crate::store::trees::{COUNTERS, EXCHANGE, SERIES, SETTINGS, number_key, tree};
use crate::store::{
    CounterRecord, ExchangeRecord, SeriesRecord, count_owners, counter_key, first_due,
    first_exchange, guard_key, has_exchange_dates, kept_owners, last_exchange_index,
};
use jackdaw_model::{DocumentNumber, Etag};
use jackdaw_storage::{Key, StorageError};

impl Snapshot {
    /// Counters of a document by name; `None` for those it does not have. Names are given back as
    /// they were asked for.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn counters(
        &self,
        number: DocumentNumber,
        names: &[&str],
    ) -> Result<Vec<Option<CounterValue>>, ReadError> {
        let Some(counters) = self.transaction.tree(COUNTERS)? else {
            return Ok(vec![None; names.len()]);
        };
        let find = |name: &&str| {
            let bytes = counters.get(&counter_key(number, name))?;
            let record = bytes.map(CounterRecord::decode).transpose()?;
            Ok(record.map(|record| CounterValue {
                name: (*name).to_owned(),
                value: record.value,
            }))
        };
        names.iter().map(find).collect()
    }

    /// All counters of a document, in the order of their lower-cased names.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn all_counters(&self, number: DocumentNumber) -> Result<Vec<CounterValue>, ReadError> {
        let Some(counters) = self.transaction.tree(COUNTERS)? else {
            return Ok(Vec::new());
        };
        let read = |entry: Result<(_, &[u8]), jackdaw_storage::StorageError>| {
            let record = CounterRecord::decode(entry?.1)?;
            Ok(CounterValue {
                name: record.name.to_owned(),
                value: record.value,
            })
        };
        counters.prefix(&number_key(number))?.map(read).collect()
    }

    /// Documents of which a counter changed after `after`. Looks at all counters.
    pub(crate) fn counters_after(&self, after: Etag) -> Result<Vec<DocumentNumber>, ReadError> {
        let Some(counters) = self.transaction.tree(COUNTERS)? else {
            return Ok(Vec::new());
        };
        owners(counters.iter()?, |value| {
            Ok(CounterRecord::decode(value)?.etag > after)
        })
    }

    /// Documents of which a time series changed after `after`. Looks at all time series.
    pub(crate) fn series_after(&self, after: Etag) -> Result<Vec<DocumentNumber>, ReadError> {
        let Some(series) = self.transaction.tree(SERIES)? else {
            return Ok(Vec::new());
        };
        owners(series.iter()?, |value| {
            Ok(SeriesRecord::decode(value)?.etag > after)
        })
    }

    /// Number of documents that have counters. O(1), but for a database in which none got its first
    /// or lost its last counter since an earlier version: all counters are passed there.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn counter_owner_count(&self) -> Result<u64, ReadError> {
        match kept_owners(&tree(&self.transaction, SETTINGS)?)? {
            Some(count) => Ok(count),
            None => self.counted_owners(),
        }
    }

    /// The documents that have counters, counted one by one.
    pub(crate) fn counted_owners(&self) -> Result<u64, ReadError> {
        let counters = self.transaction.tree(COUNTERS)?;
        counters.map_or(Ok(0), |counters| count_owners(&counters))
    }

    /// The value of compare-exchange under a key, in any letter case.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn exchange_value(&self, key: &str) -> Result<Option<ExchangeValue>, ReadError> {
        let Some(exchange) = self.transaction.tree(EXCHANGE)? else {
            return Ok(None);
        };
        let bytes = exchange.get(lowercase(key).as_bytes())?;
        bytes.map(exchange_value).transpose()
    }

    /// Values of compare-exchange whose keys begin with `prefix`, in any letter case, by key.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn exchange_values(
        &self,
        prefix: &str,
        start: usize,
        page_size: usize,
    ) -> Result<impl Iterator<Item = Result<ExchangeValue, ReadError>>, ReadError> {
        let exchange = self.transaction.tree(EXCHANGE)?;
        let prefix = lowercase(prefix);
        let entries = exchange.map(|exchange| exchange.prefix(prefix.as_bytes()));
        let page = entries.transpose()?.into_iter().flatten();
        let page = page.skip(start).take(page_size);
        Ok(page.map(|entry| exchange_value(entry?.1)))
    }

    /// The index of the cluster-wide transaction that changed a document last.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn guard_of(&self, id: &str) -> Result<Option<u64>, ReadError> {
        let value = self.exchange_value(&guard_key(id))?;
        Ok(value.map(|value| value.index))
    }

    /// Index of the last change of a value of compare-exchange; 0 when there never was one.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn exchange_index(&self) -> Result<u64, ReadError> {
        last_exchange_index(&tree(&self.transaction, SETTINGS)?)
    }

    /// The first date at which a value of compare-exchange expires.
    pub(crate) fn first_exchange_expiry(&self) -> Result<Option<UnixTicks>, ReadError> {
        first_exchange(&self.transaction)
    }

    /// Whether the dates of all values of compare-exchange are known.
    pub(crate) fn has_exchange_dates(&self) -> Result<bool, ReadError> {
        has_exchange_dates(&tree(&self.transaction, SETTINGS)?)
    }

    /// The first date at which something of a kind is due.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn first_due(&self, kind: DueKind) -> Result<Option<UnixTicks>, ReadError> {
        first_due(&self.transaction, kind)
    }

    /// Number of values of compare-exchange. O(1).
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn exchange_count(&self) -> Result<u64, ReadError> {
        let exchange = self.transaction.tree(EXCHANGE)?;
        Ok(exchange.map_or(0, |exchange| exchange.len()))
    }
}

/// The documents whose numbers begin the keys of entries that are wanted, each once.
fn owners<'t>(
    entries: impl Iterator<Item = Result<(Key<'t>, &'t [u8]), StorageError>>,
    is_wanted: impl Fn(&[u8]) -> Result<bool, ReadError>,
) -> Result<Vec<DocumentNumber>, ReadError> {
    let mut numbers: Vec<DocumentNumber> = Vec::new();
    for entry in entries {
        let (key, value) = entry?;
        if !is_wanted(value)? {
            continue;
        }
        let key = key.to_vec();
        let owner = key
            .first_chunk()
            .map(|bytes| DocumentNumber(u64::from_be_bytes(*bytes)));
        let owner = owner.ok_or_else(|| ReadError::damaged("a key of a counter or time series"))?;
        if numbers.last() != Some(&owner) {
            numbers.push(owner);
        }
    }
    Ok(numbers)
}

fn exchange_value(bytes: &[u8]) -> Result<ExchangeValue, ReadError> {
    let record = ExchangeRecord::decode(bytes)?;
    Ok(ExchangeValue {
        key: record.key.to_owned(),
        index: record.index,
        value: record.value.to_buf(),
    })
}
