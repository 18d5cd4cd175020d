//! Keys and their values as entries of storage.
//!
//! Invariant: a change is written from what memory holds when it is drained, under the lock of the
//! shard, so entries are right in whatever order commands touched them.

use jackdaw_base::varint;

use super::{Change, DATABASES_KEY, ELEMENTS_TREE, KEYS_TREE, META_TREE};
use crate::keyspace::{Dirty, Entry, Key, Shard, Space};
use crate::value::{Object, position_element};

/// Longest name that stands in a key of storage itself; longer ones are hashed.
pub(super) const NAME_BYTES_MAX: usize = 1000;
pub(super) const PLAIN: u8 = 0;
pub(super) const HASHED: u8 = 1;
const HASH_BYTES: usize = 32;

pub(super) const HAS_EXPIRY: u8 = 1;

pub(super) const TYPE_STRING: u8 = 0;
pub(super) const TYPE_HASH: u8 = 1;
pub(super) const TYPE_LIST: u8 = 2;
pub(super) const TYPE_SET: u8 = 3;
pub(super) const TYPE_SORTED: u8 = 4;

/// A name as the end of a key of storage.
fn push_name(key: &mut Vec<u8>, name: &[u8]) {
    if name.len() <= NAME_BYTES_MAX {
        key.push(PLAIN);
        key.extend_from_slice(name);
    } else {
        key.push(HASHED);
        let hash = blake2b_simd::Params::new()
            .hash_length(HASH_BYTES)
            .hash(name);
        key.extend_from_slice(hash.as_bytes());
    }
}

/// A hashed name is kept whole in front of the value.
fn push_whole_name(value: &mut Vec<u8>, name: &[u8]) {
    if name.len() > NAME_BYTES_MAX {
        varint::encode(name.len() as u64, value);
        value.extend_from_slice(name);
    }
}

/// Key of the tree of keys.
pub(super) fn key_of(database: u16, name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(3 + name.len().min(NAME_BYTES_MAX));
    key.extend_from_slice(&database.to_be_bytes());
    push_name(&mut key, name);
    key
}

/// What the keys of a collection's elements begin with.
fn elements_prefix(database: u16, id: u64) -> Vec<u8> {
    [&database.to_be_bytes()[..], &id.to_be_bytes()].concat()
}

fn element_key(database: u16, id: u64, element: &[u8]) -> Vec<u8> {
    let mut key = elements_prefix(database, id);
    push_name(&mut key, element);
    key
}

fn element_put(database: u16, id: u64, element: &[u8], content: &[u8]) -> Change {
    let mut value = Vec::with_capacity(content.len());
    push_whole_name(&mut value, element);
    value.extend_from_slice(content);
    Change::Put {
        tree: ELEMENTS_TREE,
        key: element_key(database, id, element),
        value,
    }
}

/// The entry of a key itself.
fn head_put(database: u16, entry: &Entry) -> Change {
    let kind = match entry.object_ref() {
        None | Some(Object::Text(_)) => TYPE_STRING,
        Some(Object::Hash(_)) => TYPE_HASH,
        Some(Object::List(_)) => TYPE_LIST,
        Some(Object::Set(_)) => TYPE_SET,
        Some(Object::Sorted(_)) => TYPE_SORTED,
    };
    let text = entry.text().unwrap_or_default();
    let mut value = Vec::with_capacity(18 + text.len());
    value.push(kind);
    value.push(if entry.expiry().is_some() {
        HAS_EXPIRY
    } else {
        0
    });
    if let Some(expiry) = entry.expiry() {
        value.extend_from_slice(&expiry.to_le_bytes());
    }
    push_whole_name(&mut value, entry.key());
    match entry.object_ref().and_then(Object::id) {
        Some(id) => value.extend_from_slice(&id.to_le_bytes()),
        None => value.extend_from_slice(text),
    }
    Change::Put {
        tree: KEYS_TREE,
        key: key_of(database, entry.key()),
        value,
    }
}

/// Everything of a key.
fn whole_put(database: u16, entry: &Entry, changes: &mut Vec<Change>) {
    changes.push(head_put(database, entry));
    let Some((object, id)) = entry.object_ref().and_then(|o| Some((o, o.id()?))) else {
        return;
    };
    changes.push(Change::DeletePrefix {
        tree: ELEMENTS_TREE,
        prefix: elements_prefix(database, id),
    });
    let mut put = |element: &[u8], content: &[u8]| {
        changes.push(element_put(database, id, element, content));
    };
    match object {
        Object::Text(_) => {}
        Object::Hash(hash) => hash.iter().for_each(|(field, value)| put(field, value)),
        Object::List(list) => list
            .positions()
            .for_each(|(position, item)| put(&position_element(position), item)),
        Object::Set(set) => set.iter().for_each(|member| put(member, &[])),
        Object::Sorted(set) => set
            .iter()
            .for_each(|(member, score)| put(member, &score.to_le_bytes())),
    }
}

/// Some elements of a key.
fn elements_put(database: u16, entry: &Entry, elements: &[Box<[u8]>], changes: &mut Vec<Change>) {
    let Some((object, id)) = entry.object_ref().and_then(|o| Some((o, o.id()?))) else {
        return;
    };
    for element in elements {
        let score;
        let content: Option<&[u8]> = match object {
            Object::Text(_) => None,
            Object::Hash(hash) => hash.get(element),
            Object::List(list) => list.at_element(element),
            Object::Set(set) => set.contains(element).then_some(&[]),
            Object::Sorted(set) => match set.score(element) {
                Some(found) => {
                    score = found.to_le_bytes();
                    Some(&score)
                }
                None => None,
            },
        };
        changes.push(match content {
            Some(content) => element_put(database, id, element, content),
            None => Change::Delete {
                tree: ELEMENTS_TREE,
                key: element_key(database, id, element),
            },
        });
    }
}

impl Shard {
    /// Turns what changed into changes of storage.
    pub(crate) fn drain_changes(&mut self, stored_as: &[u16], changes: &mut Vec<Change>) {
        for dirty in std::mem::take(&mut self.dirty) {
            let (Dirty::Whole { database, key }
            | Dirty::Head { database, key }
            | Dirty::Elements { database, key, .. }
            | Dirty::Removed { database, key, .. }) = &dirty;
            let stored = stored_as.get(usize::from(*database)).copied();
            let stored = stored.unwrap_or(*database);
            if let Dirty::Removed { id, .. } = &dirty {
                changes.push(Change::Delete {
                    tree: KEYS_TREE,
                    key: key_of(stored, key),
                });
                if let Some(id) = id {
                    changes.push(Change::DeletePrefix {
                        tree: ELEMENTS_TREE,
                        prefix: elements_prefix(stored, *id),
                    });
                }
                continue;
            }
            let found = Key {
                database: *database,
                hash: self.hash(key),
                bytes: key,
            };
            // What is gone again has left a removal behind it.
            let Some(entry) = self.entry_as_it_is(&found) else {
                continue;
            };
            match &dirty {
                Dirty::Whole { .. } => whole_put(stored, entry, changes),
                Dirty::Head { .. } => changes.push(head_put(stored, entry)),
                Dirty::Elements { elements, .. } => {
                    elements_put(stored, entry, elements, changes);
                }
                Dirty::Removed { .. } => {}
            }
        }
    }
}

impl Space {
    /// Turns what changed in all shards into changes of storage.
    pub(crate) fn drain_changes(&mut self, changes: &mut Vec<Change>) {
        changes.append(&mut self.changes);
        let stored_as = self.stored_as.clone();
        for shard in self.shards() {
            if !shard.dirty.is_empty() {
                shard.drain_changes(&stored_as, changes);
            }
        }
    }

    /// Sets down what commands changed so far, before whole databases change.
    pub(crate) fn settle_changes(&mut self) {
        let mut changes = Vec::new();
        self.drain_changes(&mut changes);
        self.changes = changes;
    }

    /// Deletes all keys of a database.
    pub(crate) fn clear(&mut self, database: u16) {
        if self.is_durable {
            self.settle_changes();
            let stored = self.stored_as[usize::from(database)];
            for tree in [KEYS_TREE, ELEMENTS_TREE] {
                self.changes.push(Change::DeletePrefix {
                    tree,
                    prefix: stored.to_be_bytes().to_vec(),
                });
            }
        }
        self.shards().for_each(|shard| {
            shard.clear(database);
        });
    }

    /// Exchanges two databases.
    pub(crate) fn swap(&mut self, first: u16, second: u16) {
        if self.is_durable {
            self.settle_changes();
        }
        self.shards().for_each(|shard| shard.swap(first, second));
        self.stored_as.swap(usize::from(first), usize::from(second));
        if self.is_durable {
            let value = self.stored_as.iter().flat_map(|s| s.to_le_bytes());
            self.changes.push(Change::Put {
                tree: META_TREE,
                key: DATABASES_KEY.to_vec(),
                value: value.collect(),
            });
        }
    }
}
