//! The documents of a batch: those that changed behind the position of an index, those that load
//! what changed, and those that were put off.
//!
//! Invariants:
//! - The position of a batch is that of the last change that was looked at, in the order of etags;
//!   a document that loads what changed is in the batch or put off in the same transaction.

use std::collections::BTreeSet;

use jackdaw_base::lowercase::lowercase;
use jackdaw_model::{DocumentNumber, Etag, Scope};
use jackdaw_storage::ReadTransaction;

use super::programs::Programs;
use super::references;
use super::trees::{PENDING, REFERENCES, keys, last_number};
use crate::error::ReadError;
use crate::snapshot::Snapshot;
use crate::tombstone::Tombstone;

/// Bytes of documents read for one batch.
const READ_BYTES_MAX: usize = 32 << 20;

/// See the file head.
#[derive(Default)]
pub(super) struct Gathered {
    /// Documents to be mapped.
    pub(super) wanted: BTreeSet<DocumentNumber>,
    /// Those of them that come because of what they load.
    pub(super) by_reference: BTreeSet<DocumentNumber>,
    /// Documents that are gone.
    pub(super) gone: BTreeSet<DocumentNumber>,
    /// Documents to be mapped later.
    pub(super) postponed: Vec<DocumentNumber>,
    /// Changes up to here were looked at.
    pub(super) up_to: Etag,
    /// Whether that was all there is.
    pub(super) is_all: bool,
}

enum Event {
    Changed(DocumentNumber),
    Removed(Tombstone),
}

type Events<'s> = Box<dyn Iterator<Item = Result<(Etag, Event), ReadError>> + 's>;

/// Where documents of a batch come from.
pub(super) struct Sources<'s> {
    pub(super) programs: &'s Programs,
    pub(super) snapshot: &'s Snapshot,
    pub(super) pages: &'s ReadTransaction,
    /// Most documents of the batch.
    pub(super) documents_max: usize,
}

impl Gathered {
    /// Takes documents that were put off, as far as there is room.
    pub(super) fn take_pending(&mut self, sources: &Sources<'_>) -> Result<(), ReadError> {
        let tree = sources.pages.tree(PENDING)?;
        for key in keys(tree, &[], sources.documents_max)? {
            let number = DocumentNumber(last_number(&key)?);
            self.by_reference.insert(number);
            self.wanted.insert(number);
        }
        Ok(())
    }

    /// Takes `numbers`, or puts those off for which there is no room.
    pub(super) fn take(
        &mut self,
        numbers: impl IntoIterator<Item = DocumentNumber>,
        is_reference: bool,
        documents_max: usize,
    ) {
        for number in numbers {
            if self.wanted.contains(&number) {
                continue;
            }
            if self.wanted.len() >= documents_max {
                self.postponed.push(number);
                continue;
            }
            self.wanted.insert(number);
            if is_reference {
                self.by_reference.insert(number);
            }
        }
    }

    /// Takes the changes behind `after`.
    pub(super) fn take_changes(
        &mut self,
        sources: &Sources<'_>,
        after: Etag,
        is_stopping: &dyn Fn() -> bool,
    ) -> Result<(), ReadError> {
        let Sources {
            programs,
            snapshot,
            pages,
            documents_max,
        } = sources;
        let own = programs.collections();
        let is_own = |folded: &str| match &own {
            None => true,
            Some(own) => own.iter().any(|name| name == folded),
        };
        let is_referenced = |folded: &str| programs.referenced().iter().any(|name| name == folded);
        let references = pages.tree(REFERENCES)?;
        let mut events = events(snapshot, own.as_deref(), programs.referenced(), after)?;
        let mut read_bytes = 0;
        self.up_to = after;
        loop {
            // Documents that are gone change groups, which are reduced again.
            let count = self.wanted.len() + self.gone.len();
            if count >= *documents_max || read_bytes >= READ_BYTES_MAX || is_stopping() {
                return Ok(());
            }
            let Some((etag, event)) = next(&mut events)? else {
                self.up_to = snapshot.last_etag();
                self.is_all = true;
                return Ok(());
            };
            match event {
                Event::Changed(number) => {
                    let damaged = || ReadError::damaged_document("an entry for a document", number);
                    let row = snapshot.load(number)?.ok_or_else(damaged)?;
                    let folded = lowercase(row.collection());
                    if is_own(&folded) {
                        self.wanted.insert(number);
                        read_bytes += row.body().as_bytes().len();
                    }
                    if is_referenced(&folded) {
                        let found =
                            references::referrers(references.as_ref(), &lowercase(row.id()))?;
                        self.take(found, true, *documents_max);
                    }
                }
                Event::Removed(tombstone) => {
                    let folded = lowercase(&tombstone.collection);
                    if is_own(&folded) {
                        self.gone.insert(tombstone.number);
                    }
                    if is_referenced(&folded) {
                        let found = references::referrers(references.as_ref(), &tombstone.id)?;
                        self.take(found, true, *documents_max);
                    }
                }
            }
            self.up_to = etag;
        }
    }
}

/// Changes of the collections that count, and all deletions, each kind by itself in order.
fn events<'s>(
    snapshot: &'s Snapshot,
    own: Option<&[String]>,
    referenced: &[String],
    after: Etag,
) -> Result<Vec<std::iter::Peekable<Events<'s>>>, ReadError> {
    let changed = |scope: &Scope| -> Result<Events<'s>, ReadError> {
        let entries = snapshot.changed(scope, after)?;
        Ok(Box::new(entries.map(|entry| {
            entry.map(|(etag, number)| (etag, Event::Changed(number)))
        })))
    };
    let removed = snapshot.tombstones(after)?;
    let removed = removed.map(|entry| entry.map(|one| (one.etag, Event::Removed(one))));
    let mut all: Vec<Events<'s>> = vec![Box::new(removed)];
    match own {
        None => all.push(changed(&Scope::All)?),
        Some(own) => {
            let names: BTreeSet<&String> = own.iter().chain(referenced).collect();
            for name in names {
                all.push(changed(&Scope::Collection(name.clone()))?);
            }
        }
    }
    Ok(all.into_iter().map(Iterator::peekable).collect())
}

/// The earliest event.
fn next(
    events: &mut [std::iter::Peekable<Events<'_>>],
) -> Result<Option<(Etag, Event)>, ReadError> {
    let mut first: Option<(Etag, usize)> = None;
    for (slot, list) in events.iter_mut().enumerate() {
        match list.peek() {
            Some(Ok((etag, _))) if first.is_none_or(|(least, _)| *etag < least) => {
                first = Some((*etag, slot));
            }
            Some(Err(_)) => return list.next().transpose(),
            _ => {}
        }
    }
    match first {
        Some((_, slot)) => events[slot].next().transpose(),
        None => Ok(None),
    }
}
