//! Forward record: the terms of one entry, so that it can be changed and removed exactly.
//!
//! Written and read by the writer, read for `IndexReader::entry_terms` and by `verify`. Bytes:
//! docs/format.md, section "Inverted index".
//!
//! Invariants:
//! - Terms ascend by field and key, without repeats. A record and the posting lists of its terms
//!   always change in one transaction, so each term of a record has the entry in its list and the
//!   other way round.
//! - An entry without terms has a record too.
//!
//! Threads: pure functions over borrowed bytes.

use jackdaw_base::varint;

use crate::catalog::FieldId;
use crate::posting::Malformed;

/// First byte of a record; others are reserved.
const FORMAT: u8 = 0;

/// Writes one record term by term.
pub(crate) struct RecordWriter<'a> {
    out: &'a mut Vec<u8>,
    previous: u16,
}

impl<'a> RecordWriter<'a> {
    /// Replaces the content of `out` by a record without terms.
    pub(crate) fn new(out: &'a mut Vec<u8>) -> RecordWriter<'a> {
        out.clear();
        out.push(FORMAT);
        RecordWriter { out, previous: 0 }
    }

    /// Adds a term above all earlier ones.
    pub(crate) fn push(&mut self, field: FieldId, key: &[u8]) {
        debug_assert!(field.0 >= self.previous);
        varint::encode(u64::from(field.0 - self.previous), self.out);
        varint::encode(key.len() as u64, self.out);
        self.out.extend_from_slice(key);
        self.previous = field.0;
    }
}

/// Terms of a record, ascending by field and key.
#[derive(Clone)]
pub(crate) struct RecordTerms<'a> {
    rest: &'a [u8],
    field: u16,
}

impl<'a> RecordTerms<'a> {
    pub(crate) fn open(record: &'a [u8]) -> Result<RecordTerms<'a>, Malformed> {
        match record.split_first() {
            Some((&FORMAT, rest)) => Ok(RecordTerms { rest, field: 0 }),
            _ => Err(Malformed("a forward record is of a later format")),
        }
    }

    /// No terms: what an entry has that is not in the index.
    pub(crate) fn empty() -> RecordTerms<'static> {
        RecordTerms {
            rest: &[],
            field: 0,
        }
    }

    /// The next term.
    pub(crate) fn next_term(&mut self) -> Result<Option<(FieldId, &'a [u8])>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.take()
            .map(Some)
            .ok_or(Malformed("a forward record ends within a term"))
    }

    fn take(&mut self) -> Option<(FieldId, &'a [u8])> {
        let step = u16::try_from(varint::take(&mut self.rest)?).ok()?;
        self.field = self.field.checked_add(step)?;
        let len_bytes = usize::try_from(varint::take(&mut self.rest)?).ok()?;
        let (key, rest) = self.rest.split_at_checked(len_bytes)?;
        self.rest = rest;
        Some((FieldId(self.field), key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_come_back_in_order() {
        let terms: [(u16, &[u8]); 4] = [(0, b"a"), (0, b"b"), (3, b""), (60_000, &[7; 300])];
        let mut record = Vec::new();
        let mut writer = RecordWriter::new(&mut record);
        terms
            .iter()
            .for_each(|(field, key)| writer.push(FieldId(*field), key));
        let mut reader = RecordTerms::open(&record).unwrap();
        for (field, key) in terms {
            assert_eq!(reader.next_term().unwrap(), Some((FieldId(field), key)));
        }
        assert_eq!(reader.next_term().unwrap(), None);
    }

    #[test]
    fn records_cut_anywhere_are_refused() {
        let mut record = Vec::new();
        let mut writer = RecordWriter::new(&mut record);
        writer.push(FieldId(2), b"some key");
        assert!(RecordTerms::open(&[]).is_err());
        assert!(RecordTerms::open(&[9]).is_err());
        for end in 2..record.len() {
            let mut reader = RecordTerms::open(&record[..end]).unwrap();
            assert!(reader.next_term().is_err(), "cut at {end}");
        }
    }
}
