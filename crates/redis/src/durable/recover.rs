//! Reading everything back at the start.

use std::path::Path;
use std::sync::Arc;

use jackdaw_base::varint;
use jackdaw_io::Vfs;
use jackdaw_storage::{Environment, Options, ReadTransaction, StorageError};

use super::encode::{
    HAS_EXPIRY, HASHED, PLAIN, TYPE_HASH, TYPE_LIST, TYPE_SET, TYPE_SORTED, TYPE_STRING,
};
use super::{DATABASES_KEY, ELEMENTS_TREE, FORMAT, FORMAT_KEY, KEYS_TREE, META_TREE};
use crate::StartError;
use crate::keyspace::{Entry, Space};
use crate::value::{Edit, HashValue, ListValue, Object, SetValue, SortedValue};

/// Opens the environment and marks its format.
///
/// # Errors
/// See [`StartError`].
pub(crate) fn open(vfs: Arc<dyn Vfs>, directory: &Path) -> Result<Environment, StartError> {
    let environment = Environment::open(vfs, directory, Options::default())?;
    let snapshot = environment.read()?;
    let meta = snapshot.tree(META_TREE)?;
    let format = match &meta {
        Some(tree) => tree.get(FORMAT_KEY)?.map(<[u8]>::to_vec),
        None => None,
    };
    match format.as_deref() {
        Some([FORMAT]) => {}
        None => {
            environment
                .write(|transaction| {
                    transaction
                        .tree_mut(META_TREE)?
                        .put(FORMAT_KEY, &[FORMAT])?;
                    Ok::<(), StorageError>(())
                })
                .map_err(|error| StartError::Write(error.to_string()))?;
        }
        Some(found) => {
            return Err(StartError::Format {
                found: found.first().copied().unwrap_or(0),
            });
        }
    }
    Ok(environment)
}

/// Reads all keys into the space.
///
/// # Errors
/// When storage cannot be read, or holds what no server wrote.
pub(crate) fn load(
    environment: &Environment,
    space: &mut Space,
    now: u64,
) -> Result<u64, StartError> {
    let snapshot = environment.read()?;
    load_databases(&snapshot, space)?;
    let (mut count, mut id_max) = (0, 0);
    let Some(keys) = snapshot.tree(KEYS_TREE)? else {
        return Ok(0);
    };
    for entry in keys.iter()? {
        let (key, value) = entry?;
        let key = key.to_vec();
        let (database, entry) = read_key(&snapshot, &key, value)
            .map_err(StartError::from)?
            .ok_or_else(|| damage(&key))?;
        let position = space.stored_as.iter().position(|&s| s == database);
        let Some(position) = position else {
            return Err(StartError::Databases { found: database });
        };
        let name = entry.key().to_vec();
        let position = u16::try_from(position).unwrap_or(u16::MAX);
        let key = space.key(position, &name);
        id_max = id_max.max(entry.object_ref().and_then(Object::id).unwrap_or(0));
        let is_over = entry.expiry().is_some_and(|expiry| expiry <= now);
        // What has ended is put, too: taking it out again removes it from storage.
        space.shard(key.hash).restore(&key, entry);
        count += u64::from(!is_over);
    }
    // Keys lie in other shards than before, so no shard may give a number that any has given.
    space.shards().for_each(|shard| shard.skip_ids(id_max));
    Ok(count)
}

fn damage(key: &[u8]) -> StartError {
    StartError::Damage {
        key: key.escape_ascii().to_string(),
    }
}

fn load_databases(snapshot: &ReadTransaction, space: &mut Space) -> Result<(), StartError> {
    let Some(meta) = snapshot.tree(META_TREE)? else {
        return Ok(());
    };
    let Some(value) = meta.get(DATABASES_KEY)? else {
        return Ok(());
    };
    let stored = value
        .as_chunks::<2>()
        .0
        .iter()
        .map(|c| u16::from_le_bytes(*c));
    for (place, stored) in space.stored_as.iter_mut().zip(stored) {
        *place = stored;
    }
    let mut seen = space.stored_as.clone();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() != space.stored_as.len() {
        return Err(StartError::Databases {
            found: u16::try_from(value.len() / 2).unwrap_or(u16::MAX),
        });
    }
    Ok(())
}

/// The name at the end of a key of storage; a hashed one stands in front of the value.
fn name_of<'a>(tagged: &'a [u8], value: &mut &'a [u8]) -> Option<&'a [u8]> {
    match tagged.split_first()? {
        (&PLAIN, name) => Some(name),
        (&HASHED, _) => {
            let len = jackdaw_base::width::to_usize(varint::take(value)?);
            let (name, rest) = value.split_at_checked(len)?;
            *value = rest;
            Some(name)
        }
        _ => None,
    }
}

/// An entry of the tree of keys, with its elements; `None` when it makes no sense.
fn read_key<'a>(
    snapshot: &ReadTransaction,
    key: &'a [u8],
    mut value: &'a [u8],
) -> Result<Option<(u16, Entry)>, StorageError> {
    let Some((database, tagged)) = key.split_first_chunk::<2>() else {
        return Ok(None);
    };
    let Some((&[kind, flags], rest)) = value.split_first_chunk::<2>() else {
        return Ok(None);
    };
    value = rest;
    let mut expiry = None;
    if flags & HAS_EXPIRY != 0 {
        let Some((bytes, rest)) = value.split_first_chunk::<8>() else {
            return Ok(None);
        };
        expiry = Some(u64::from_le_bytes(*bytes));
        value = rest;
    }
    let Some(name) = name_of(tagged, &mut value) else {
        return Ok(None);
    };
    let stored = u16::from_be_bytes(*database);
    if kind == TYPE_STRING {
        return Ok(Some((stored, Entry::string(name, value, expiry, 0))));
    }
    let Some(id) = value.first_chunk::<8>().map(|id| u64::from_le_bytes(*id)) else {
        return Ok(None);
    };
    let object = read_elements(snapshot, kind, stored, id)?;
    Ok(object.map(|mut object| {
        object.set_id(id);
        (stored, Entry::object(name, object, expiry, 0))
    }))
}

fn read_elements(
    snapshot: &ReadTransaction,
    kind: u8,
    stored: u16,
    id: u64,
) -> Result<Option<Object>, StorageError> {
    let mut object = match kind {
        TYPE_HASH => Object::Hash(HashValue::default()),
        TYPE_LIST => Object::List(ListValue::default()),
        TYPE_SET => Object::Set(SetValue::default()),
        TYPE_SORTED => Object::Sorted(SortedValue::default()),
        _ => return Ok(None),
    };
    let Some(elements) = snapshot.tree(ELEMENTS_TREE)? else {
        return Ok(None);
    };
    let mut edit = Edit::default();
    let prefix = [&stored.to_be_bytes()[..], &id.to_be_bytes()].concat();
    for entry in elements.prefix(&prefix)? {
        let (key, mut value) = entry?;
        let key = key.to_vec();
        // Names that were hashed lie in the value, the others in the key.
        let Some(element) = name_of(&key[prefix.len()..], &mut value).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        match &mut object {
            Object::Hash(hash) => {
                hash.set(&element, value, &mut edit);
            }
            Object::List(list) => {
                if !list.restore(&element, value) {
                    return Ok(None);
                }
            }
            Object::Set(set) => {
                set.add(&element, &mut edit);
            }
            Object::Sorted(set) => {
                let Some(score) = value.first_chunk::<8>().map(|s| f64::from_le_bytes(*s)) else {
                    return Ok(None);
                };
                if score.is_nan() {
                    return Ok(None);
                }
                set.set(&element, score, &mut edit);
            }
            Object::Text(_) => return Ok(None),
        }
    }
    // A collection without elements was never written.
    Ok((!object.is_empty()).then_some(object))
}
