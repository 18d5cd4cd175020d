//! Hashes, lists, sets and sorted sets, with what each change means for storage.
//!
//! Invariants: `bytes` is the content of all elements; a change goes through a method with an
//! [`Edit`]. Fields and members lie in a dense sequence, which scans walk from its end: a removal
//! moves the last element down, so a walk downwards misses none that stays.

use std::collections::VecDeque;
use std::hash::RandomState;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::order::Order;
use super::{ALLOCATION_BYTES, Bytes, Edit, Kind, Object, hasher};

/// Bytes of a place in a dense sequence with its hash, its two pointers and its slot.
const FIELD_BYTES: usize = 56;
const MEMBER_BYTES: usize = 40;
const SCORE_BYTES: usize = 88;
const ITEM_BYTES: usize = 16;

macro_rules! kind {
    ($type:ident, $variant:ident) => {
        impl Kind for $type {
            fn of(object: &Object) -> Option<&Self> {
                match object {
                    Object::$variant(value) => Some(value),
                    _ => None,
                }
            }
            fn of_mut(object: &mut Object) -> Option<&mut Self> {
                match object {
                    Object::$variant(value) => Some(value),
                    _ => None,
                }
            }
            fn create() -> Object {
                Object::$variant($type::default())
            }
        }
    };
}

kind!(HashValue, Hash);
kind!(ListValue, List);
kind!(SetValue, Set);
kind!(SortedValue, Sorted);

/// Fields with values.
#[derive(Clone, Debug)]
pub(crate) struct HashValue {
    pub(crate) id: u64,
    fields: IndexMap<Bytes, Bytes, RandomState>,
    bytes: usize,
}

impl Default for HashValue {
    fn default() -> HashValue {
        HashValue {
            id: 0,
            fields: IndexMap::with_hasher(hasher()),
            bytes: 0,
        }
    }
}

impl HashValue {
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(crate) fn footprint(&self) -> usize {
        self.bytes + self.fields.len() * (FIELD_BYTES + 2 * ALLOCATION_BYTES)
    }

    pub(crate) fn get(&self, field: &[u8]) -> Option<&[u8]> {
        self.fields.get(field).map(AsRef::as_ref)
    }

    pub(crate) fn at(&self, position: usize) -> Option<(&[u8], &[u8])> {
        let (field, value) = self.fields.get_index(position)?;
        Some((field, value))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|(f, v)| (f.as_ref(), v.as_ref()))
    }

    /// Puts a field; `true` when it is new.
    pub(crate) fn set(&mut self, field: &[u8], value: &[u8], edit: &mut Edit) -> bool {
        edit.touch(field);
        self.bytes += value.len();
        if let Some(old) = self.fields.get_mut(field) {
            self.bytes -= old.len();
            if old.len() == value.len() {
                old.copy_from_slice(value);
            } else {
                *old = value.into();
            }
            return false;
        }
        self.bytes += field.len();
        self.fields.insert(field.into(), value.into());
        true
    }

    pub(crate) fn remove(&mut self, field: &[u8], edit: &mut Edit) -> Option<Bytes> {
        let value = self.fields.swap_remove(field)?;
        self.bytes -= field.len() + value.len();
        edit.touch(field);
        Some(value)
    }
}

/// Elements in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListValue {
    pub(crate) id: u64,
    items: VecDeque<Bytes>,
    /// Position of the first element in storage; it falls when one is pushed in front.
    first: i64,
    bytes: usize,
}

/// A position as the element of a key in storage: ordered as bytes.
pub(crate) fn position_element(position: i64) -> [u8; 8] {
    (position.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

impl ListValue {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn footprint(&self) -> usize {
        self.bytes + self.items.len() * (ITEM_BYTES + ALLOCATION_BYTES)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        self.items.get(index).map(AsRef::as_ref)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        self.items.iter().map(AsRef::as_ref)
    }

    /// Elements with their positions in storage.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (i64, &[u8])> {
        (self.first..).zip(self.iter())
    }

    /// The element at a position of storage.
    pub(crate) fn at_element(&self, element: &[u8]) -> Option<&[u8]> {
        let bytes: [u8; 8] = element.try_into().ok()?;
        let position = (u64::from_be_bytes(bytes) ^ (1 << 63)).cast_signed();
        let index = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.get(index)
    }

    /// Appends an element that was read from storage, in the order of positions; `false` when the
    /// position is none or leaves a gap.
    pub(crate) fn restore(&mut self, element: &[u8], item: &[u8]) -> bool {
        let Ok(bytes) = <[u8; 8]>::try_from(element) else {
            return false;
        };
        let position = (u64::from_be_bytes(bytes) ^ (1 << 63)).cast_signed();
        if self.items.is_empty() {
            self.first = position;
        }
        let len = i64::try_from(self.items.len()).unwrap_or(i64::MAX);
        if self.first.checked_add(len) != Some(position) {
            return false;
        }
        self.bytes += item.len();
        self.items.push_back(item.into());
        true
    }

    fn touch(&self, index: usize, edit: &mut Edit) {
        if edit.is_recording {
            let index = i64::try_from(index).unwrap_or(i64::MAX);
            edit.touch(&position_element(self.first.wrapping_add(index)));
        } else {
            edit.touch(&[]);
        }
    }

    pub(crate) fn push(&mut self, item: &[u8], at_front: bool, edit: &mut Edit) {
        self.bytes += item.len();
        if at_front {
            self.items.push_front(item.into());
            self.first -= 1;
            self.touch(0, edit);
        } else {
            self.items.push_back(item.into());
            self.touch(self.items.len() - 1, edit);
        }
    }

    /// Takes up to `count` elements off an end, as long as `fits` lets the length of the next one.
    pub(crate) fn pop_many(
        &mut self,
        from_front: bool,
        count: usize,
        mut fits: impl FnMut(usize) -> bool,
        edit: &mut Edit,
    ) -> Vec<Bytes> {
        let mut popped = Vec::new();
        while popped.len() < count {
            let next = if from_front {
                self.items.front()
            } else {
                self.items.back()
            };
            if !next.is_some_and(|next| fits(next.len())) {
                break;
            }
            popped.extend(self.pop(from_front, edit));
        }
        popped
    }

    pub(crate) fn pop(&mut self, from_front: bool, edit: &mut Edit) -> Option<Bytes> {
        let item;
        if from_front {
            item = self.items.pop_front()?;
            self.touch(0, edit);
            self.first += 1;
        } else {
            item = self.items.pop_back()?;
            self.touch(self.items.len(), edit);
        }
        self.bytes -= item.len();
        Some(item)
    }

    pub(crate) fn replace(&mut self, index: usize, item: &[u8], edit: &mut Edit) {
        if let Some(old) = self.items.get_mut(index) {
            self.bytes = self.bytes + item.len() - old.len();
            *old = item.into();
            self.touch(index, edit);
        }
    }

    pub(crate) fn insert(&mut self, index: usize, item: &[u8], edit: &mut Edit) {
        if index == 0 || index == self.items.len() {
            return self.push(item, index == 0, edit);
        }
        self.bytes += item.len();
        self.items.insert(index, item.into());
        edit.whole();
    }

    /// Keeps the elements from `start` up to `end`.
    pub(crate) fn trim(&mut self, start: usize, end: usize, edit: &mut Edit) {
        while self.items.len() > end.max(start) {
            self.pop(false, edit);
        }
        for _ in 0..start.min(self.items.len()) {
            self.pop(true, edit);
        }
    }

    /// Removes up to `count` elements that are `item`, from the front or the back.
    pub(crate) fn remove(
        &mut self,
        item: &[u8],
        count: usize,
        from_front: bool,
        edit: &mut Edit,
    ) -> usize {
        let mut removed = 0;
        let len = self.items.len();
        let mut keep = vec![true; len];
        for step in 0..len {
            let index = if from_front { step } else { len - 1 - step };
            if removed < count && *self.items[index] == *item {
                keep[index] = false;
                removed += 1;
            }
        }
        if removed > 0 {
            let mut kept = keep.iter();
            self.items.retain(|_| kept.next().copied().unwrap_or(true));
            self.bytes -= removed * item.len();
            edit.whole();
        }
        removed
    }
}

/// Members without order.
#[derive(Clone, Debug)]
pub(crate) struct SetValue {
    pub(crate) id: u64,
    members: IndexSet<Bytes, RandomState>,
    bytes: usize,
}

impl Default for SetValue {
    fn default() -> SetValue {
        SetValue {
            id: 0,
            members: IndexSet::with_hasher(hasher()),
            bytes: 0,
        }
    }
}

impl SetValue {
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn footprint(&self) -> usize {
        self.bytes + self.members.len() * (MEMBER_BYTES + ALLOCATION_BYTES)
    }

    pub(crate) fn contains(&self, member: &[u8]) -> bool {
        self.members.contains(member)
    }

    pub(crate) fn at(&self, position: usize) -> Option<&[u8]> {
        self.members.get_index(position).map(AsRef::as_ref)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(AsRef::as_ref)
    }

    pub(crate) fn add(&mut self, member: &[u8], edit: &mut Edit) -> bool {
        if self.members.contains(member) {
            return false;
        }
        self.members.insert(member.into());
        self.bytes += member.len();
        edit.touch(member);
        true
    }

    pub(crate) fn remove(&mut self, member: &[u8], edit: &mut Edit) -> bool {
        let was_there = self.members.swap_remove(member);
        if was_there {
            self.bytes -= member.len();
            edit.touch(member);
        }
        was_there
    }
}

/// Members with scores.
#[derive(Clone, Debug)]
pub(crate) struct SortedValue {
    pub(crate) id: u64,
    scores: IndexMap<Arc<[u8]>, f64, RandomState>,
    order: Order,
    bytes: usize,
}

impl Default for SortedValue {
    fn default() -> SortedValue {
        SortedValue {
            id: 0,
            scores: IndexMap::with_hasher(hasher()),
            order: Order::default(),
            bytes: 0,
        }
    }
}

impl SortedValue {
    pub(crate) fn len(&self) -> usize {
        self.scores.len()
    }

    pub(crate) fn footprint(&self) -> usize {
        self.bytes + self.scores.len() * (SCORE_BYTES + ALLOCATION_BYTES)
    }

    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied()
    }

    pub(crate) fn at(&self, position: usize) -> Option<(&[u8], f64)> {
        let (member, score) = self.scores.get_index(position)?;
        Some((member, *score))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], f64)> {
        self.scores.iter().map(|(m, s)| (m.as_ref(), *s))
    }

    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    pub(crate) fn rank(&self, member: &[u8]) -> Option<usize> {
        self.order.rank(self.score(member)?, member)
    }

    /// Sets a score, which is not NaN; `true` when the member is new.
    pub(crate) fn set(&mut self, member: &[u8], score: f64, edit: &mut Edit) -> bool {
        // Negative zero and zero are one score.
        let score = score + 0.0;
        if let Some((_, shared, old)) = self.scores.get_full_mut(member) {
            if old.total_cmp(&score).is_ne() {
                let shared = Arc::clone(shared);
                self.order.remove(*old, member);
                *old = score;
                self.order.insert(score, shared);
                edit.touch(member);
            }
            return false;
        }
        let shared: Arc<[u8]> = member.into();
        self.order.insert(score, Arc::clone(&shared));
        self.scores.insert(shared, score);
        self.bytes += member.len();
        edit.touch(member);
        true
    }

    pub(crate) fn remove(&mut self, member: &[u8], edit: &mut Edit) -> Option<f64> {
        let score = self.scores.swap_remove(member)?;
        self.order.remove(score, member);
        self.bytes -= member.len();
        edit.touch(member);
        Some(score)
    }

    /// Takes up to `count` first or last entries out, as long as `fits` lets the length of the next
    /// member.
    pub(crate) fn pop_many(
        &mut self,
        smallest: bool,
        count: usize,
        mut fits: impl FnMut(usize) -> bool,
        edit: &mut Edit,
    ) -> Vec<(Arc<[u8]>, f64)> {
        let mut popped = Vec::new();
        while popped.len() < count {
            let last = self.len().wrapping_sub(1);
            let next = self.at(if smallest { 0 } else { last });
            if !next.is_some_and(|(next, _)| fits(next.len())) {
                break;
            }
            popped.extend(self.pop(smallest, edit));
        }
        popped
    }

    /// Takes the first or the last entry out.
    pub(crate) fn pop(&mut self, smallest: bool, edit: &mut Edit) -> Option<(Arc<[u8]>, f64)> {
        let last = self.len().checked_sub(1)?;
        let position = if smallest { 0 } else { last };
        let (score, member) = self.order.from(position, 1).next()?;
        let member = Arc::clone(member);
        self.remove(&member, edit);
        Some((member, score))
    }
}
