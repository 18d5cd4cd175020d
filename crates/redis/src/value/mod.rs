//! What a key can hold beside a short string: long strings, hashes, lists, sets, sorted sets.
//!
//! Called by `keyspace` and `commands`. Every change of a collection goes through a method that
//! records it in an [`Edit`], so that a command cannot change something and forget to write it.

mod collections;
mod order;

use std::hash::RandomState;
use std::sync::LazyLock;

pub(crate) use collections::{HashValue, ListValue, SetValue, SortedValue, position_element};

/// Bytes of a key, a field, a member or an element.
pub(crate) type Bytes = Box<[u8]>;

/// Bytes that an allocation takes beyond its content, on average.
pub(crate) const ALLOCATION_BYTES: usize = 8;

/// The hasher of fields and members: one secret for the whole process.
pub(crate) fn hasher() -> RandomState {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.clone()
}

/// A value that lies beside its key.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    /// A string that is long, or grows.
    Text(Vec<u8>),
    Hash(HashValue),
    List(ListValue),
    Set(SetValue),
    Sorted(SortedValue),
}

impl Object {
    /// Estimated bytes of memory.
    pub(crate) fn footprint(&self) -> usize {
        size_of::<Object>()
            + match self {
                Object::Text(text) => text.capacity() + ALLOCATION_BYTES,
                Object::Hash(hash) => hash.footprint(),
                Object::List(list) => list.footprint(),
                Object::Set(set) => set.footprint(),
                Object::Sorted(sorted) => sorted.footprint(),
            }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            // An empty string is a value.
            Object::Text(_) => false,
            Object::Hash(hash) => hash.len() == 0,
            Object::List(list) => list.len() == 0,
            Object::Set(set) => set.len() == 0,
            Object::Sorted(sorted) => sorted.len() == 0,
        }
    }

    /// What TYPE answers.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Object::Text(_) => "string",
            Object::Hash(_) => "hash",
            Object::List(_) => "list",
            Object::Set(_) => "set",
            Object::Sorted(_) => "zset",
        }
    }

    /// How the value is held: the names of Redis for structures of the same kind.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Object::Text(_) => "raw",
            Object::Hash(_) | Object::Set(_) => "hashtable",
            Object::List(_) => "quicklist",
            Object::Sorted(_) => "skiplist",
        }
    }

    /// The number under which the elements of a collection lie in storage.
    pub(crate) fn id(&self) -> Option<u64> {
        match self {
            Object::Text(_) => None,
            Object::Hash(hash) => Some(hash.id),
            Object::List(list) => Some(list.id),
            Object::Set(set) => Some(set.id),
            Object::Sorted(sorted) => Some(sorted.id),
        }
    }

    pub(crate) fn set_id(&mut self, id: u64) {
        match self {
            Object::Text(_) => {}
            Object::Hash(hash) => hash.id = id,
            Object::List(list) => list.id = id,
            Object::Set(set) => set.id = id,
            Object::Sorted(sorted) => sorted.id = id,
        }
    }
}

/// One kind of collection, for code that is the same for all.
pub(crate) trait Kind: Sized {
    fn of(object: &Object) -> Option<&Self>;
    fn of_mut(object: &mut Object) -> Option<&mut Self>;
    fn create() -> Object;
}

/// What an operation changed.
#[derive(Debug, Default)]
pub(crate) struct Edit {
    /// Elements are recorded; without it, only that something changed.
    pub(crate) is_recording: bool,
    pub(crate) is_changed: bool,
    /// So much changed that the value is written anew.
    pub(crate) is_whole: bool,
    /// Fields, members or positions that were put or removed.
    pub(crate) elements: Vec<Bytes>,
}

impl Edit {
    pub(crate) fn touch(&mut self, element: &[u8]) {
        self.is_changed = true;
        if self.is_recording && !self.is_whole {
            self.elements.push(element.into());
        }
    }

    pub(crate) fn whole(&mut self) {
        self.is_changed = true;
        self.is_whole = true;
    }
}
