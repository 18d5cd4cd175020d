//! What documents of an index asked for while they were mapped, so that they are mapped again when
//! that changes.
//!
//! Keys hold hashes of ids, because ids may be as long as keys: two that hash alike only bring
//! documents back that need not come.

use std::collections::BTreeMap;

use jackdaw_base::hash::xxh3_64_parts;
use jackdaw_base::varint;
use jackdaw_model::DocumentNumber;
use jackdaw_storage::{PageRead, Tree, WriteTransaction};

use super::trees::{REFERENCED, REFERENCES, key, last_number};
use crate::error::ReadError;
use crate::indexes::step::StepError;

const HASH_BYTES: usize = 16;

/// What was asked for. Ids and keys are in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reference {
    /// A document by its id.
    Document(String),
    /// A value of compare-exchange by its key.
    Exchange(String),
}

/// What one document asked for, each with the index of the value of compare-exchange that was
/// there; 0 for none, and for documents.
pub(super) type Asked = BTreeMap<Reference, u64>;

/// Replaces what the document `number` asked for.
pub(super) fn set(
    transaction: &mut WriteTransaction,
    number: DocumentNumber,
    asked: &Asked,
) -> Result<(), StepError> {
    let own = key(number.0);
    let before = match transaction.tree(REFERENCED)? {
        Some(tree) => tree.get(&own)?.map_or(Ok(Vec::new()), decode_hashes)?,
        None => Vec::new(),
    };
    if before.is_empty() && asked.is_empty() {
        return Ok(());
    }
    let now: BTreeMap<[u8; HASH_BYTES + 1], (&str, u64)> = asked
        .iter()
        .map(|(reference, seen)| (reference.hash(), (reference.text(), *seen)))
        .collect();
    let mut references = transaction.tree_mut(REFERENCES)?;
    for hash in before.iter().filter(|hash| !now.contains_key(*hash)) {
        references.delete(&reference_key(hash, number))?;
    }
    for (hash, (text, seen)) in &now {
        let mut value = Vec::with_capacity(10 + text.len());
        varint::encode(*seen, &mut value);
        // Documents are found by hash alone.
        if hash[0] == EXCHANGE {
            value.extend_from_slice(text.as_bytes());
        }
        references.put(&reference_key(hash, number), &value)?;
    }
    let mut referenced = transaction.tree_mut(REFERENCED)?;
    if now.is_empty() {
        referenced.delete(&own)?;
    } else {
        let hashes: Vec<u8> = now.keys().flatten().copied().collect();
        referenced.put(&own, &hashes)?;
    }
    Ok(())
}

/// Documents that asked for the document with this id, in lower case.
pub(super) fn referrers<P: PageRead + ?Sized>(
    tree: Option<&Tree<'_, P>>,
    folded: &str,
) -> Result<Vec<DocumentNumber>, ReadError> {
    let Some(tree) = tree else {
        return Ok(Vec::new());
    };
    let prefix = Reference::Document(folded.to_owned()).hash();
    let entries = tree.prefix(&prefix)?;
    entries
        .map(|entry| Ok(DocumentNumber(last_number(&entry?.0.to_vec())?)))
        .collect()
}

/// Documents that saw another value of compare-exchange than there is now; `current` gives the
/// index of a key.
pub(super) fn exchange_referrers<P: PageRead + ?Sized>(
    tree: Option<&Tree<'_, P>>,
    mut current: impl FnMut(&str) -> Result<u64, ReadError>,
) -> Result<Vec<DocumentNumber>, ReadError> {
    let Some(tree) = tree else {
        return Ok(Vec::new());
    };
    let damaged = || ReadError::damaged("a reference of a static index");
    let mut found = Vec::new();
    let mut last: Option<(String, u64)> = None;
    for entry in tree.prefix(&[EXCHANGE])? {
        let (key, mut value) = entry?;
        let seen = varint::take(&mut value).ok_or_else(damaged)?;
        let text = std::str::from_utf8(value).map_err(|_| damaged())?;
        let index = match &last {
            Some((known, index)) if known == text => *index,
            _ => current(text)?,
        };
        last = Some((text.to_owned(), index));
        if index != seen {
            found.push(DocumentNumber(last_number(&key.to_vec())?));
        }
    }
    Ok(found)
}

const DOCUMENT: u8 = b'd';
const EXCHANGE: u8 = b'x';

impl Reference {
    fn text(&self) -> &str {
        match self {
            Reference::Document(text) | Reference::Exchange(text) => text,
        }
    }

    /// Kind and hash: what keys begin with.
    fn hash(&self) -> [u8; HASH_BYTES + 1] {
        let kind = match self {
            Reference::Document(_) => DOCUMENT,
            Reference::Exchange(_) => EXCHANGE,
        };
        let mut hash = [kind; HASH_BYTES + 1];
        hash[1..].copy_from_slice(&hash_of(self.text().as_bytes()));
        hash
    }
}

/// 128 bits that stand for some bytes.
pub(super) fn hash_of(bytes: &[u8]) -> [u8; HASH_BYTES] {
    let mut hash = [0; HASH_BYTES];
    hash[..8].copy_from_slice(&xxh3_64_parts(&[bytes], 0).to_be_bytes());
    hash[8..].copy_from_slice(&xxh3_64_parts(&[bytes], 1).to_be_bytes());
    hash
}

fn reference_key(hash: &[u8; HASH_BYTES + 1], number: DocumentNumber) -> Vec<u8> {
    let mut bytes = hash.to_vec();
    bytes.extend_from_slice(&key(number.0));
    bytes
}

fn decode_hashes(bytes: &[u8]) -> Result<Vec<[u8; HASH_BYTES + 1]>, ReadError> {
    let (hashes, rest) = bytes.as_chunks();
    match rest.is_empty() {
        true => Ok(hashes.to_vec()),
        false => Err(ReadError::damaged(
            "the references of a document of a static index",
        )),
    }
}
