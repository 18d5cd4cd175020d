//! Durable mode: what is in memory is in storage, too, before anybody hears of it.
//!
//! `encode` says which entries of storage a change makes, `journal` writes them in groups,
//! `recover` reads everything back at the start. Bytes: docs/format.md, "Redis keys".

mod encode;
mod journal;
mod recover;

pub(crate) use journal::Journal;
pub(crate) use recover::{load, open};

/// Tree of keys.
pub(crate) const KEYS_TREE: &str = "redis keys";
/// Tree of the elements of collections.
pub(crate) const ELEMENTS_TREE: &str = "redis elements";
/// Tree of what is known of the whole.
pub(crate) const META_TREE: &str = "redis meta";
/// Entry of the meta tree: format of the rest.
pub(crate) const FORMAT_KEY: &[u8] = b"format";
/// Entry of the meta tree: the stored database of each database, two bytes each.
pub(crate) const DATABASES_KEY: &[u8] = b"databases";
pub(crate) const FORMAT: u8 = 1;

/// A change of storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Put {
        tree: &'static str,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Delete {
        tree: &'static str,
        key: Vec<u8>,
    },
    DeletePrefix {
        tree: &'static str,
        prefix: Vec<u8>,
    },
}

impl Change {
    /// Bytes that it makes storage write, about.
    fn len_bytes(&self) -> usize {
        match self {
            Change::Put { key, value, .. } => key.len() + value.len(),
            Change::Delete { key, .. } => key.len(),
            Change::DeletePrefix { prefix, .. } => prefix.len(),
        }
    }
}
