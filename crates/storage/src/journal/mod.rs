//! Journal (write-ahead log): page differences are durable here before any page is written in place.
//!
//! `difference` says what changed in a page, `record` frames the changes of one transaction,
//! `writer` appends records to files, `reader` gives them back at recovery.
//! Bytes: docs/format.md, "Journal".

mod difference;
mod file;
mod reader;
mod record;
mod writer;

pub(crate) use difference::{PageOperation, PageOperations, encode_page, encode_run, result_hash};
pub(crate) use file::{journal_name, journal_number};
pub(crate) use reader::{JournalPosition, JournalReader};
pub(crate) use record::{JOURNAL_UNIT_BYTES, TransactionRecord};
pub(crate) use writer::{Journal, JournalOptions};
