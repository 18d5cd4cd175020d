//! `group by`: documents of a scope become rows of keys, counts and sums.
//!
//! Bound by `bind::group`, run by `execute` before everything else: conditions, order, filter and
//! projection then see the groups as documents. Groups are made anew for each query, from every
//! document of the scope, so they are never stale and cost time in proportion.
//!
//! A group is a document without id. Its fields are named as the paths are written. What is null,
//! or not there, is in the group of null; documents whose list to group by is empty are left out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use jackdaw_base::time::UnixTicks;
use jackdaw_document::{ArrayWriter, DocumentBuf, Limits, Value, write_array, write_object};

use crate::error::{BoxError, QueryError};
use crate::execute::ExecuteOptions;
use crate::fields::FieldPath;
use crate::project::{Found, find, for_each};
use crate::source::{
    ChangeVector, DocumentNumber, EMPTY_COLLECTION, Etag, IndexAccess, Numbers, Scope, SeriesEntry,
    Source, StoredDocument,
};
use crate::syntax::PathPart;

/// Field of a group that holds its number of entries.
pub(crate) const COUNT: &str = "Count";
/// Field of a group that holds all its keys, when there are several.
pub(crate) const KEY: &str = "Key";
/// Looks at the interrupt flag once in so many documents.
const CHECK_DOCUMENTS: u64 = 256;
/// Memory of one group beside its keys.
const GROUP_BYTES: usize = 160;

/// What a `group by` clause asks for.
#[derive(Clone, Debug)]
pub(crate) struct Grouping {
    pub(crate) keys: Vec<FieldPath>,
    /// For each key, whether it is the content of an array, not its elements.
    pub(crate) contents: Vec<bool>,
    pub(crate) sums: Vec<FieldPath>,
    /// Field of each sum.
    pub(crate) sum_names: Vec<String>,
    /// The name that an index of this would have.
    pub(crate) index_name: String,
}

/// A group while it grows.
struct Group {
    /// JSON of each key.
    keys: Vec<Vec<u8>>,
    count: u64,
    sums: Vec<Sum>,
}

#[derive(Clone, Copy)]
enum Sum {
    Long(i64),
    Double(f64),
}

impl Sum {
    /// Adds a number; false when the value is none. Null counts as nothing.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a sum beyond 64 bits is the nearest number"
    )]
    fn add(&mut self, value: Value<'_>) -> bool {
        let so_far = match *self {
            Sum::Long(sum) => sum as f64,
            Sum::Double(sum) => sum,
        };
        match (*self, value) {
            (_, Value::Null) => {}
            (Sum::Long(sum), Value::Long(long)) => {
                *self = match sum.checked_add(long) {
                    Some(sum) => Sum::Long(sum),
                    None => Sum::Double(so_far + long as f64),
                };
            }
            (_, value) => match value.as_f64() {
                Some(double) => *self = Sum::Double(so_far + double),
                None => return false,
            },
        }
        true
    }
}

impl Grouping {
    /// The path to the array whose elements are grouped, when there is one.
    fn fanned_prefix(&self) -> Option<&[PathPart]> {
        let mut keys = self.keys.iter().zip(&self.contents);
        let fanned = keys.find(|(key, is_content)| !**is_content && each_of(key).is_some());
        let (key, _) = fanned?;
        each_of(key).map(|at| &key.parts()[..at])
    }

    /// The groups of `scope`, in the order in which their first documents changed.
    pub(crate) fn groups<S: Source>(
        &self,
        scope: &Scope,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<Vec<DocumentBuf>, QueryError> {
        let mut groups = Groups {
            grouping: self,
            memory_bytes_max: options.memory_bytes_max,
            len_bytes: 0,
            list: Vec::new(),
            slots: HashMap::new(),
        };
        let numbers = source.changed(scope, Etag(0)).map_err(QueryError::Source)?;
        for (visited, number) in (1_u64..).zip(numbers) {
            if visited.is_multiple_of(CHECK_DOCUMENTS) {
                options.check()?;
            }
            let number = number.map_err(QueryError::Source)?;
            if let Some(document) = source.document(number).map_err(QueryError::Source)? {
                groups.add(&document)?;
            }
        }
        groups.list.iter().map(|group| self.row(group)).collect()
    }

    /// A group as a document.
    fn row(&self, group: &Group) -> Result<DocumentBuf, QueryError> {
        let mut json = Vec::new();
        write_object(&mut json, |row| {
            for (key, value) in self.keys.iter().zip(&group.keys) {
                row.raw(key.as_str(), value);
            }
            for (name, sum) in self.sum_names.iter().zip(&group.sums) {
                match *sum {
                    Sum::Long(sum) => row.long(name, sum),
                    Sum::Double(sum) => row.double(name, sum),
                }
            }
            row.long(COUNT, i64::try_from(group.count).unwrap_or(i64::MAX));
            if self.keys.len() > 1 {
                row.object(KEY, |all| {
                    for (key, value) in self.keys.iter().zip(&group.keys) {
                        all.raw(key.as_str(), value);
                    }
                });
            }
        });
        // Parts of documents make a document; only its depth may be too much.
        DocumentBuf::from_json(&json, &Limits::default())
            .map_err(|error| QueryError::Operation(format!("A group cannot be shown: {error}")))
    }
}

/// Position of the first `[]`.
fn each_of(path: &FieldPath) -> Option<usize> {
    path.parts().iter().position(|part| *part == PathPart::Each)
}

struct Groups<'g> {
    grouping: &'g Grouping,
    memory_bytes_max: usize,
    len_bytes: usize,
    list: Vec<Group>,
    slots: HashMap<Vec<u8>, usize>,
}

impl Groups<'_> {
    fn add(&mut self, document: &StoredDocument<'_>) -> Result<(), QueryError> {
        let Some(prefix) = self.grouping.fanned_prefix() else {
            return self.add_entry(document, None);
        };
        let elements = match find(document.body.root(), prefix) {
            Found::One(Value::Array(elements)) => elements,
            // A document without the array is in the group of null.
            _ => return self.add_entry(document, Some(Value::Null)),
        };
        elements
            .iter()
            .try_for_each(|element| self.add_entry(document, Some(element)))
    }

    /// Adds a document, or one element of the array that is grouped.
    fn add_entry(
        &mut self,
        document: &StoredDocument<'_>,
        element: Option<Value<'_>>,
    ) -> Result<(), QueryError> {
        let mut keys = Vec::with_capacity(self.grouping.keys.len());
        for (path, is_content) in self.grouping.keys.iter().zip(&self.grouping.contents) {
            let mut json = Vec::new();
            match (each_of(path), element) {
                (Some(at), Some(element)) if !is_content => {
                    write_content(element, &path.parts()[at + 1..], &mut json);
                }
                _ => write_key(document, path, &mut json),
            }
            keys.push(json);
        }
        let folded = keys.join(&b"\0"[..]);
        let slot = match self.slots.get(&folded) {
            Some(slot) => *slot,
            None => self.begin(folded, keys)?,
        };
        let group = &mut self.list[slot];
        group.count += 1;
        for (path, sum) in self.grouping.sums.iter().zip(&mut group.sums) {
            let mut is_sum = true;
            let mut add = |value: Value<'_>| is_sum = is_sum && sum.add(value);
            match (each_of(path), element) {
                (Some(at), Some(element)) => for_each(element, &path.parts()[at + 1..], &mut add),
                _ => for_each(document.body.root(), path.parts(), &mut add),
            }
            if !is_sum {
                return Err(QueryError::Operation(format!(
                    "sum({path}) needs numbers, but document '{}' has something else there",
                    document.id
                )));
            }
        }
        Ok(())
    }

    fn begin(&mut self, folded: Vec<u8>, keys: Vec<Vec<u8>>) -> Result<usize, QueryError> {
        self.len_bytes += folded.len() * 2 + GROUP_BYTES;
        if self.len_bytes > self.memory_bytes_max {
            return Err(QueryError::Memory {
                what: "group by",
                limit_bytes: self.memory_bytes_max,
                advice: "Group by fewer keys.",
            });
        }
        self.list.push(Group {
            keys,
            count: 0,
            sums: vec![Sum::Long(0); self.grouping.sums.len()],
        });
        let slot = self.list.len() - 1;
        self.slots.insert(folded, slot);
        Ok(slot)
    }
}

fn write_key(document: &StoredDocument<'_>, path: &FieldPath, json: &mut Vec<u8>) {
    let Some(parts) = path.metadata_parts() else {
        return write_content(document.body.root(), path.parts(), json);
    };
    if let [PathPart::Name(name)] = parts
        && let Some(text) = document.system_metadata(name)
    {
        return Value::String(&text).write_json(json);
    }
    let metadata = document.metadata.map(|metadata| metadata.root());
    write_content(metadata.unwrap_or(Value::Null), parts, json);
}

/// What is at a path: null when nothing is, an array of all when there are many.
fn write_content(root: Value<'_>, parts: &[PathPart], json: &mut Vec<u8>) {
    match find(root, parts) {
        Found::Nothing => json.extend_from_slice(b"null"),
        Found::One(value) => value.write_json(json),
        Found::Many => write_array(json, |list| push_each(root, parts, list)),
    }
}

/// The values of a path that fans out; an element without the property counts as null.
fn push_each(root: Value<'_>, parts: &[PathPart], list: &mut ArrayWriter<'_>) {
    let each = parts.iter().position(|part| *part == PathPart::Each);
    let elements = each.map(|at| (find(root, &parts[..at]), &parts[at + 1..]));
    let Some((Found::One(Value::Array(elements)), rest)) = elements else {
        return for_each(root, parts, &mut |value| list.value(value));
    };
    for element in elements.iter() {
        match find(element, rest) {
            Found::Nothing => list.value(Value::Null),
            Found::One(value) => list.value(value),
            Found::Many => push_each(element, rest, list),
        }
    }
}

/// Groups as the documents of a query; scripts still find real documents by id.
pub(crate) struct GroupSource<'g, S> {
    pub(crate) groups: Vec<DocumentBuf>,
    pub(crate) inner: &'g S,
}

impl<S: Source> Source for GroupSource<'_, S> {
    type Pages = S::Pages;

    fn document(&self, number: DocumentNumber) -> Result<Option<StoredDocument<'_>>, BoxError> {
        let slot = usize::try_from(number.0).unwrap_or(usize::MAX);
        let group = slot.checked_sub(1).and_then(|slot| self.groups.get(slot));
        Ok(group.map(|group| StoredDocument {
            number,
            etag: Etag(number.0),
            id: "",
            collection: EMPTY_COLLECTION,
            change_vector: ChangeVector::Text(""),
            last_modified: UnixTicks(0),
            flags: Cow::Borrowed(""),
            metadata: None,
            body: group.document(),
        }))
    }

    fn document_by_id(&self, id: &str) -> Result<Option<StoredDocument<'_>>, BoxError> {
        self.inner.document_by_id(id)
    }

    fn count(&self, _scope: &Scope) -> Result<u64, BoxError> {
        Ok(self.groups.len() as u64)
    }

    fn changed(&self, _scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError> {
        let numbers = after.0 + 1..=self.groups.len() as u64;
        Ok(Box::new(numbers.map(|number| Ok(DocumentNumber(number)))))
    }

    fn removed(&self, _scope: &Scope, _after: Etag) -> Result<Numbers<'_>, BoxError> {
        Ok(Box::new(std::iter::empty()))
    }

    fn visit_ids(
        &self,
        _from: &str,
        _visit: &mut dyn FnMut(&str, DocumentNumber) -> ControlFlow<()>,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    fn counters(&self, id: &str) -> Result<Vec<(String, i64)>, BoxError> {
        self.inner.counters(id)
    }

    fn series_span(&self, id: &str, name: &str) -> Result<Option<(i64, i64)>, BoxError> {
        self.inner.series_span(id, name)
    }

    fn visit_series(
        &self,
        id: &str,
        name: &str,
        range: (i64, i64),
        visit: &mut dyn FnMut(SeriesEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), BoxError> {
        self.inner.visit_series(id, name, range, visit)
    }

    fn exchange_value(&self, key: &str) -> Result<Option<DocumentBuf>, BoxError> {
        self.inner.exchange_value(key)
    }

    fn index(&self) -> Option<IndexAccess<'_, S::Pages>> {
        None
    }
}
