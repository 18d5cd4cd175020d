//! Journal (write-ahead log): page differences are durable here before a page is written in place.
//!
//! `difference` says what changed in a page, `record` frames the changes of one transaction,
//! `append` writes records, `writer` gives it files, `reader` gives them back at recovery,
//! `archive` keeps files that recovery no longer needs.
//! Bytes: docs/format.md, "Journal".

mod append;
mod archive;
mod difference;
mod file;
mod reader;
mod record;
mod writer;

pub(crate) use append::{NewRecord, PayloadSource};
pub(crate) use archive::{ARCHIVE_DIRECTORY, Archive, JournalHold};
pub(crate) use difference::{
    ByteChange, PageChange, PageOperation, PageOperations, encode_in_place, encode_page,
    encode_run, result_hash,
};
pub(crate) use file::{JournalFileHeader, JournalFileStart, journal_name, journal_number};
pub(crate) use reader::{JournalPosition, JournalReader, JournalRecords, ReadRecord};
pub(crate) use record::{JOURNAL_UNIT_BYTES, RecordFields};
pub(crate) use writer::{Journal, JournalOptions, is_prepared};

/// Directory of the journal inside an environment's.
pub(crate) const JOURNAL_DIRECTORY: &str = "journal";
