//! Methods of sequences: `Select`, `Where`, `Sum`, `GroupBy` and the like.
//!
//! They are run at once, not when their results are asked for. Nothing is an empty sequence.

use std::collections::HashMap;
use std::hash::Hasher;

use bumpalo::collections::Vec as ArenaVec;

use super::arithmetic::{self, Number, are_equal, hash_value, sorting_order};
use super::evaluate::{Outcome, Run, refuse};
use super::expression::{Argument, Lambda, Operator, Sequence};
use super::format::text_of;
use super::value::{Group, Record, Value};
use crate::index::error::RunError;

/// Names of an entry of a dictionary.
const KEY_VALUE: [&str; 2] = ["Key", "Value"];
/// Elements that `Recurse` and comparing deeply go into at most.
const DEPTH_MAX: usize = 64;

/// Values that were seen, to find those that are equal.
#[derive(Default)]
pub(crate) struct Known<'a> {
    slots: HashMap<u64, Vec<usize>>,
    values: Vec<Value<'a>>,
}

impl<'a> Known<'a> {
    /// The slot of the value that equals `value`, and whether it is new.
    fn slot(&mut self, value: Value<'a>) -> (usize, bool) {
        // Entries of a group mostly have the key of the one before.
        if let Some(last) = self.values.last()
            && are_equal(*last, value)
        {
            return (self.values.len() - 1, false);
        }
        let mut hasher = std::hash::DefaultHasher::new();
        hash_value(value, &mut hasher);
        let same = self.slots.entry(hasher.finish()).or_default();
        let known = same
            .iter()
            .find(|slot| are_equal(self.values[**slot], value));
        if let Some(slot) = known {
            return (*slot, false);
        }
        let slot = self.values.len();
        same.push(slot);
        self.values.push(value);
        (slot, true)
    }

    /// Whether `value` was not there yet.
    pub(crate) fn insert(&mut self, value: Value<'a>) -> bool {
        self.slot(value).1
    }

    fn contains(&self, value: Value<'a>) -> bool {
        let mut hasher = std::hash::DefaultHasher::new();
        hash_value(value, &mut hasher);
        let same = self.slots.get(&hasher.finish());
        same.is_some_and(|slots| {
            slots
                .iter()
                .any(|slot| are_equal(self.values[*slot], value))
        })
    }
}

impl<'a> Run<'a, '_> {
    /// The elements of a sequence; of an object, its fields with `Key` and `Value`.
    pub(crate) fn items(&mut self, value: Value<'a>) -> Result<&'a [Value<'a>], RunError> {
        match value {
            Value::Missing | Value::Null => Ok(&[]),
            Value::List(list) => Ok(list),
            Value::Group(group) => Ok(group.elements),
            Value::Array(array) => {
                self.charge(array.len() * std::mem::size_of::<Value<'_>>())?;
                let mut items = ArenaVec::with_capacity_in(array.len(), self.arena);
                items.extend(array.iter().map(Value::of));
                Ok(items.into_bump_slice())
            }
            Value::Object(_) | Value::Document(_) | Value::Metadata(_) | Value::Record(_) => {
                let fields = self.fields(value);
                self.charge(fields.len() * std::mem::size_of::<Value<'_>>() * 2)?;
                let mut items = ArenaVec::with_capacity_in(fields.len(), self.arena);
                for (name, value) in fields {
                    let both = self.arena.alloc_slice_copy(&[Value::Text(name), value]);
                    items.push(Value::Record(Record::made(&KEY_VALUE, both)));
                }
                Ok(items.into_bump_slice())
            }
            Value::Text(text) => {
                self.charge(text.len() * std::mem::size_of::<Value<'_>>())?;
                let mut items = ArenaVec::new_in(self.arena);
                for (at, character) in text.char_indices() {
                    items.push(Value::Text(&text[at..at + character.len_utf8()]));
                }
                Ok(items.into_bump_slice())
            }
            other => refuse(format!(
                "{} is no sequence: '{}'",
                other.kind(),
                text_of(other)
            )),
        }
    }

    /// Runs a method of a sequence.
    pub(crate) fn sequence(
        &mut self,
        method: Sequence,
        source: Value<'a>,
        arguments: &'a [Argument],
    ) -> Outcome<'a> {
        use Sequence as S;
        let items = self.items(source)?;
        let lambda = arguments.iter().find_map(|argument| match argument {
            Argument::Lambda(lambda) => Some(lambda),
            Argument::Value(_) => None,
        });
        match method {
            S::Select | S::SelectMany | S::GroupBy | S::Zip | S::Aggregate | S::ToDictionary => {
                self.shaping(method, items, arguments)
            }
            S::Where | S::TakeWhile | S::SkipWhile => self.filtering(method, items, lambda),
            S::Any | S::All | S::Count => self.counting(method, items, lambda),
            S::Sum | S::Average | S::Min | S::Max => self.summing(method, items, lambda),
            S::MinBy | S::MaxBy => {
                let sorted = self.sorted(items, lambda, false)?;
                let at = if method == S::MinBy {
                    sorted.first()
                } else {
                    sorted.last()
                };
                Ok(at.copied().unwrap_or(Value::Null))
            }
            S::First => match lambda {
                None => Ok(items.first().copied().unwrap_or(Value::Null)),
                Some(condition) => {
                    for item in items {
                        if self.apply(condition, &[*item])?.is_true() {
                            return Ok(*item);
                        }
                    }
                    Ok(Value::Null)
                }
            },
            S::Last => {
                let kept = match lambda {
                    Some(_) => self.filtering(S::Where, items, lambda)?,
                    None => Value::List(items),
                };
                Ok(self.items(kept)?.last().copied().unwrap_or(Value::Null))
            }
            S::OrderBy | S::ThenBy => {
                let sorted = self.sorted(items, lambda, false)?;
                self.list(&sorted)
            }
            S::OrderByDescending | S::ThenByDescending => {
                let sorted = self.sorted(items, lambda, true)?;
                self.list(&sorted)
            }
            S::ToArray => Ok(Value::List(items)),
            S::Reverse => {
                let reversed: Vec<Value<'a>> = items.iter().rev().copied().collect();
                self.list(&reversed)
            }
            S::Distinct => {
                let mut known = Known::default();
                let mut kept = Vec::new();
                for item in items {
                    self.step()?;
                    let key = match lambda {
                        Some(key) => self.apply(key, &[*item])?,
                        None => *item,
                    };
                    self.weigh(key, usize::MAX)?;
                    if known.insert(key) {
                        kept.push(*item);
                    }
                }
                self.list(&kept)
            }
            S::ElementAt | S::Take | S::Skip | S::DefaultIfEmpty | S::Append | S::Prepend => {
                let argument = self.plain_argument(arguments)?;
                self.placing(method, items, argument)
            }
            S::Concat | S::Union | S::Intersect | S::Except => {
                let other = self.plain_argument(arguments)?;
                let other = self.items(other)?;
                self.joining(method, items, other)
            }
        }
    }

    fn plain_argument(&mut self, arguments: &'a [Argument]) -> Outcome<'a> {
        match arguments.first() {
            Some(Argument::Value(value)) => self.value(value),
            _ => Ok(Value::Null),
        }
    }

    /// Methods that make something new of each element.
    fn shaping(
        &mut self,
        method: Sequence,
        items: &'a [Value<'a>],
        arguments: &'a [Argument],
    ) -> Outcome<'a> {
        let lambda = |at: usize| match arguments.get(at) {
            Some(Argument::Lambda(lambda)) => Some(lambda),
            _ => None,
        };
        let mut results = Vec::with_capacity(items.len());
        match (method, lambda(0)) {
            (Sequence::Select, Some(shape)) => {
                for (at, item) in (0_i64..).zip(items) {
                    results.push(self.apply(shape, &[*item, Value::Long(at)])?);
                }
            }
            (Sequence::SelectMany, Some(inner)) => {
                for (at, item) in (0_i64..).zip(items) {
                    let found = self.apply(inner, &[*item, Value::Long(at)])?;
                    for one in self.items(found)? {
                        self.step()?;
                        results.push(match lambda(1) {
                            Some(shape) => self.apply(shape, &[*item, *one])?,
                            None => *one,
                        });
                    }
                }
            }
            (Sequence::GroupBy, Some(key)) => {
                let mut keys = Vec::with_capacity(items.len());
                for item in items {
                    keys.push(self.apply(key, &[*item])?);
                    results.push(match lambda(1).filter(|element| element.slots.len() < 2) {
                        Some(element) => self.apply(element, &[*item])?,
                        None => *item,
                    });
                }
                let groups = self.groups(&keys, &results)?;
                // With two parameters it is made of the key and the group.
                let shape = arguments.iter().find_map(|argument| match argument {
                    Argument::Lambda(lambda) if lambda.slots.len() == 2 => Some(lambda),
                    _ => None,
                });
                let Some(shape) = shape else {
                    return Ok(groups);
                };
                results.clear();
                for group in self.items(groups)? {
                    let key = self.member(*group, "Key")?;
                    results.push(self.apply(shape, &[key, *group])?);
                }
            }
            (Sequence::ToDictionary, Some(key)) => {
                let mut names = ArenaVec::new_in(self.arena);
                for item in items {
                    let name = self.apply(key, &[*item])?;
                    let name = self.plain(name)?;
                    let name: &'a str = self.arena.alloc_str(&name);
                    names.push(name);
                    results.push(match lambda(1) {
                        Some(shape) => self.apply(shape, &[*item])?,
                        None => *item,
                    });
                }
                let values = self.arena.alloc_slice_copy(&results);
                return Ok(Value::Record(Record::made(names.into_bump_slice(), values)));
            }
            _ => return self.folding(method, items, arguments),
        }
        self.list(&results)
    }

    /// `Aggregate` and `Zip`: a value and a function.
    fn folding(
        &mut self,
        method: Sequence,
        items: &'a [Value<'a>],
        arguments: &'a [Argument],
    ) -> Outcome<'a> {
        let (start, lambdas) = match arguments {
            [Argument::Value(start), rest @ ..] => (Some(self.value(start)?), rest),
            all => (None, all),
        };
        let lambda = |at: usize| match lambdas.get(at) {
            Some(Argument::Lambda(lambda)) => Some(lambda),
            _ => None,
        };
        let Some(step) = lambda(0) else {
            return refuse("A function is missing");
        };
        if method == Sequence::Zip {
            let other = self.items(start.unwrap_or(Value::Null))?;
            let mut results = Vec::new();
            for (left, right) in items.iter().zip(other) {
                results.push(self.apply(step, &[*left, *right])?);
            }
            return self.list(&results);
        }
        let mut rest = items.iter();
        let first = match start {
            Some(start) => Some(start),
            None => rest.next().copied(),
        };
        let mut total = first.unwrap_or(Value::Null);
        for item in rest {
            total = self.apply(step, &[total, *item])?;
        }
        match lambda(1) {
            Some(shape) => self.apply(shape, &[total]),
            None => Ok(total),
        }
    }

    fn filtering(
        &mut self,
        method: Sequence,
        items: &'a [Value<'a>],
        condition: Option<&'a Lambda>,
    ) -> Outcome<'a> {
        let mut kept = Vec::new();
        let mut is_skipping = method == Sequence::SkipWhile;
        for (at, item) in (0_i64..).zip(items) {
            let holds = match condition {
                Some(condition) => self.apply(condition, &[*item, Value::Long(at)])?.is_true(),
                None => true,
            };
            match method {
                Sequence::Where if !holds => continue,
                Sequence::TakeWhile if !holds => break,
                Sequence::SkipWhile => {
                    is_skipping &= holds;
                    if is_skipping {
                        continue;
                    }
                }
                _ => {}
            }
            kept.push(*item);
        }
        self.list(&kept)
    }

    fn counting(
        &mut self,
        method: Sequence,
        items: &'a [Value<'a>],
        condition: Option<&'a Lambda>,
    ) -> Outcome<'a> {
        let mut count = 0_i64;
        let total = i64::try_from(items.len()).unwrap_or(i64::MAX);
        match condition {
            None => count = total,
            Some(condition) => {
                for item in items {
                    let holds = self.apply(condition, &[*item])?.is_true();
                    count += i64::from(holds);
                    if method == Sequence::Any && holds || method == Sequence::All && !holds {
                        break;
                    }
                }
            }
        }
        Ok(match method {
            Sequence::Any => Value::Bool(count > 0),
            Sequence::All => Value::Bool(count == total),
            _ => Value::Long(count),
        })
    }

    fn summing(
        &mut self,
        method: Sequence,
        items: &'a [Value<'a>],
        shape: Option<&'a Lambda>,
    ) -> Outcome<'a> {
        let mut total: Option<Value<'a>> = None;
        let mut count = 0_i64;
        for item in items {
            let value = match shape {
                Some(shape) => self.apply(shape, &[*item])?,
                None => *item,
            };
            if value.is_nothing() {
                continue;
            }
            count += 1;
            total = Some(match (total, method) {
                (None, _) => value,
                (Some(total), Sequence::Min | Sequence::Max) => {
                    let order = sorting_order(value, total);
                    let is_better = if method == Sequence::Min {
                        order.is_lt()
                    } else {
                        order.is_gt()
                    };
                    if is_better { value } else { total }
                }
                (Some(total), _) => {
                    arithmetic::operate(Operator::Add, total, value).or_else(refuse)?
                }
            });
        }
        match (method, total) {
            (Sequence::Sum, None) => Ok(Value::Long(0)),
            (_, None) => Ok(Value::Null),
            (Sequence::Average, Some(total)) => {
                // The average of whole numbers is none.
                let (total, count) = match Number::of(total) {
                    Some(Number::Long(_)) => {
                        let double = Number::of(total).map_or(0.0, Number::to_f64);
                        (Value::Double(double), count)
                    }
                    _ => (total, count),
                };
                let count = Value::Long(count);
                arithmetic::operate(Operator::Divide, total, count).or_else(refuse)
            }
            (Sequence::Sum, Some(total)) if !arithmetic::is_number(total) => match total {
                Value::Span(_) => Ok(total),
                other => refuse(format!("{} cannot be summed up", other.kind())),
            },
            (_, Some(total)) => Ok(total),
        }
    }

    /// The elements by a key, equal ones as they stood.
    fn sorted(
        &mut self,
        items: &'a [Value<'a>],
        key: Option<&'a Lambda>,
        is_descending: bool,
    ) -> Result<Vec<Value<'a>>, RunError> {
        let mut keyed = Vec::with_capacity(items.len());
        for item in items {
            let key = match key {
                Some(key) => self.apply(key, &[*item])?,
                None => *item,
            };
            keyed.push((key, *item));
        }
        keyed.sort_by(|left, right| {
            let order = sorting_order(left.0, right.0);
            if is_descending {
                order.reverse()
            } else {
                order
            }
        });
        Ok(keyed.into_iter().map(|(_, item)| item).collect())
    }

    fn placing(
        &mut self,
        method: Sequence,
        items: &'a [Value<'a>],
        argument: Value<'a>,
    ) -> Outcome<'a> {
        let count = match argument {
            Value::Long(count) => usize::try_from(count).unwrap_or(0),
            _ => 0,
        };
        Ok(match method {
            Sequence::ElementAt => items.get(count).copied().unwrap_or(Value::Null),
            Sequence::Take => Value::List(items.get(..count).unwrap_or(items)),
            Sequence::Skip => Value::List(items.get(count..).unwrap_or(&[])),
            Sequence::DefaultIfEmpty if !items.is_empty() => Value::List(items),
            Sequence::DefaultIfEmpty => return self.list(&[argument]),
            _ => {
                let mut all = items.to_vec();
                let at = if method == Sequence::Prepend {
                    0
                } else {
                    all.len()
                };
                all.insert(at, argument);
                return self.list(&all);
            }
        })
    }

    fn joining(
        &mut self,
        method: Sequence,
        items: &'a [Value<'a>],
        other: &'a [Value<'a>],
    ) -> Outcome<'a> {
        let mut kept = Vec::new();
        let mut seen = Known::default();
        let mut others = Known::default();
        if matches!(method, Sequence::Intersect | Sequence::Except) {
            for item in other {
                self.step()?;
                self.weigh(*item, usize::MAX)?;
                others.insert(*item);
            }
        }
        let both = matches!(method, Sequence::Concat | Sequence::Union);
        let second = if both { other } else { &[] };
        for item in items.iter().chain(second) {
            self.step()?;
            self.weigh(*item, usize::MAX)?;
            let is_kept = match method {
                Sequence::Concat => true,
                Sequence::Union => seen.insert(*item),
                Sequence::Intersect => others.contains(*item) && seen.insert(*item),
                _ => !others.contains(*item) && seen.insert(*item),
            };
            if is_kept {
                kept.push(*item);
            }
        }
        self.list(&kept)
    }

    /// Groups of elements with equal keys, in the order of their first elements.
    pub(crate) fn groups(&mut self, keys: &[Value<'a>], elements: &[Value<'a>]) -> Outcome<'a> {
        let mut known = Known::default();
        let mut members: Vec<Vec<Value<'a>>> = Vec::new();
        for (key, element) in keys.iter().zip(elements) {
            self.step()?;
            self.weigh(*key, usize::MAX)?;
            let (slot, is_new) = known.slot(*key);
            if is_new {
                members.push(Vec::new());
            }
            members[slot].push(*element);
        }
        let mut groups = ArenaVec::with_capacity_in(members.len(), self.arena);
        for (key, elements) in known.values.iter().zip(&members) {
            self.charge(std::mem::size_of_val(elements.as_slice()))?;
            let elements = self.arena.alloc_slice_copy(elements);
            let group = Group {
                key: *key,
                elements,
            };
            groups.push(Value::Group(self.arena.alloc(group)));
        }
        Ok(Value::List(groups.into_bump_slice()))
    }
}

/// Whether two arrays or objects hold the same.
pub(crate) fn are_equal_deeply(left: Value<'_>, right: Value<'_>) -> bool {
    are_equal_at(left, right, DEPTH_MAX)
}

fn are_equal_at(left: Value<'_>, right: Value<'_>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    if let (Value::Record(left), Value::Record(right)) = (left, right)
        && left.has_names_of(right)
    {
        let mut pairs = left.values.iter().zip(right.values);
        return pairs.all(|(left, right)| is_same(*left, *right, depth));
    }
    if let (Some(left), Some(right)) = (elements(left), elements(right)) {
        let mut pairs = left.iter().zip(&right);
        return left.len() == right.len()
            && pairs.all(|(left, right)| is_same(*left, *right, depth));
    }
    let (Some(left), Some(right)) = (named(left), named(right)) else {
        return false;
    };
    left.len() == right.len()
        && left.iter().all(|(name, value)| {
            let other = right.iter().find(|(other, _)| other == name);
            other.is_some_and(|(_, other)| is_same(*value, *other, depth))
        })
}

fn is_same(left: Value<'_>, right: Value<'_>, depth: usize) -> bool {
    match is_container(left) && is_container(right) {
        true => are_equal_at(left, right, depth),
        false => !is_container(left) && !is_container(right) && are_equal(left, right),
    }
}

fn is_container(value: Value<'_>) -> bool {
    matches!(
        value,
        Value::Array(_) | Value::List(_) | Value::Group(_) | Value::Object(_) | Value::Record(_)
    )
}

fn elements<'a>(value: Value<'a>) -> Option<Vec<Value<'a>>> {
    match value {
        Value::Array(array) => Some(array.iter().map(Value::of).collect()),
        Value::List(list) => Some(list.to_vec()),
        Value::Group(group) => Some(group.elements.to_vec()),
        _ => None,
    }
}

fn named<'a>(value: Value<'a>) -> Option<Vec<(&'a str, Value<'a>)>> {
    match value {
        Value::Object(object) => {
            let fields = object.iter();
            Some(
                fields
                    .map(|(name, value)| (name, Value::of(value)))
                    .collect(),
            )
        }
        Value::Record(record) => Some(record.iter().collect()),
        _ => None,
    }
}

/// Hashes arrays and objects; those that hold the same, alike.
pub(crate) fn hash_deeply(value: Value<'_>, hasher: &mut impl Hasher) {
    hash_at(value, hasher, DEPTH_MAX);
}

fn hash_at(value: Value<'_>, hasher: &mut impl Hasher, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    if let Some(elements) = elements(value) {
        hasher.write_usize(elements.len());
        for element in elements {
            match is_container(element) {
                true => hash_at(element, hasher, depth),
                false => hash_value(element, hasher),
            }
        }
    } else if let Some(mut fields) = named(value) {
        fields.sort_by_key(|field| field.0);
        for (name, value) in fields {
            hasher.write(name.as_bytes());
            match is_container(value) {
                true => hash_at(value, hasher, depth),
                false => hash_value(value, hasher),
            }
        }
    }
}
