//! A database for tests: documents in a list, an index in plain pages that sees them up to a point.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::{DocumentBuf, Limits};
use jackdaw_search::{Batch, Columns, EntryId, IndexReader, IndexWriter, MemoryStore};
use jackdaw_storage::MemoryPages;

use crate::error::{BoxError, QueryError};
use crate::execute::{ExecuteOptions, Outcome, RowBuffer, execute};
use crate::fields::{IndexField, add_terms};
use crate::groups::{GroupsAccess, KeptGroups};
use crate::parameters::Parameters;
use crate::plan::plan;
use crate::source::{
    ColumnAccess, IndexAccess, IndexRows, Numbers, SeriesEntry, SeriesExtent, ShownVector, Source,
    StoredDocument,
};
use crate::syntax::parse;
use crate::{BoundQuery, bind};
use jackdaw_model::{DocumentNumber, Etag, Scope};

struct Stored {
    id: String,
    collection: String,
    etag: Etag,
    metadata: DocumentBuf,
    body: DocumentBuf,
}

/// An entry of a time series: time, values, tag.
type TestEntry = (i64, Vec<f64>, Option<String>);

/// Documents and the history of their numbers.
#[derive(Default)]
pub(crate) struct TestDatabase {
    documents: BTreeMap<u64, Stored>,
    numbers: BTreeMap<String, u64>,
    etags: BTreeMap<u64, u64>,
    removed: Vec<(Etag, u64)>,
    /// Entries by lower-cased id and name.
    series: BTreeMap<(String, String), Vec<TestEntry>>,
    last_number: u64,
    last_etag: u64,
    /// Groups that queries may use.
    pub(crate) kept_groups: Option<KeptGroups>,
}

pub(crate) fn json(text: &str) -> DocumentBuf {
    DocumentBuf::from_json(text.as_bytes(), &Limits::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

impl TestDatabase {
    /// Stores a document; in another collection it becomes another document.
    pub(crate) fn put(&mut self, id: &str, collection: &str, body: &str) {
        let lower = lowercase(id).into_owned();
        if let Some(number) = self.numbers.get(&lower)
            && self.documents[number].collection != collection
        {
            self.delete(id);
        }
        self.last_etag += 1;
        let number = *self.numbers.entry(lower).or_insert_with(|| {
            self.last_number += 1;
            self.last_number
        });
        let stored = Stored {
            id: id.to_owned(),
            collection: collection.to_owned(),
            etag: Etag(self.last_etag),
            metadata: json(r#"{"Note":"m"}"#),
            body: json(body),
        };
        self.etags.insert(self.last_etag, number);
        if let Some(old) = self.documents.insert(number, stored) {
            self.etags.remove(&old.etag.0);
        }
    }

    /// Adds an entry at the end of a time series.
    pub(crate) fn append(&mut self, id: &str, name: &str, at: &str, values: &[f64], tag: &str) {
        let at = UnixTicks::parse(at).unwrap().0 / 10_000;
        let series = self.series.entry(series_key(id, name)).or_default();
        let tag = (!tag.is_empty()).then(|| tag.to_owned());
        series.push((at, values.to_vec(), tag));
    }

    pub(crate) fn delete(&mut self, id: &str) {
        if let Some(number) = self.numbers.remove(lowercase(id).as_ref()) {
            if let Some(old) = self.documents.remove(&number) {
                self.etags.remove(&old.etag.0);
            }
            self.last_etag += 1;
            self.removed.push((Etag(self.last_etag), number));
        }
    }

    pub(crate) fn etag(&self) -> Etag {
        Etag(self.last_etag)
    }

    pub(crate) fn stored(&self, number: u64) -> Option<StoredDocument<'_>> {
        let stored = self.documents.get(&number)?;
        Some(StoredDocument {
            number: DocumentNumber(number),
            etag: stored.etag,
            id: &stored.id,
            collection: &stored.collection,
            change_vector: ShownVector::Single {
                node_tag: "A",
                etag: stored.etag,
                database: "DB",
            },
            last_modified: UnixTicks(i64::try_from(stored.etag.0).unwrap() * 10_000_000),
            flags: Cow::Borrowed(""),
            metadata: Some(stored.metadata.document()),
            body: stored.body.document(),
        })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = StoredDocument<'_>> {
        self.documents
            .keys()
            .filter_map(|number| self.stored(*number))
    }
}

fn series_key(id: &str, name: &str) -> (String, String) {
    (lowercase(id).into_owned(), lowercase(name).into_owned())
}

/// An index of the documents as they are now.
pub(crate) struct TestIndex {
    store: MemoryStore,
    scope: Scope,
    fields: Vec<IndexField>,
    indexed_up_to: Etag,
    columns: Columns,
}

impl TestIndex {
    pub(crate) fn build(database: &TestDatabase, scope: Scope, fields: &[IndexField]) -> TestIndex {
        let mut store = MemoryStore::new();
        let mut batch = Batch::new();
        for document in database
            .all()
            .filter(|document| scope.contains(document.collection))
        {
            let slots: Vec<_> = fields
                .iter()
                .map(|field| batch.field(&field.name(), field.options()).unwrap())
                .collect();
            let mut terms = batch.put(EntryId::from(document.number)).unwrap();
            for (field, slot) in fields.iter().zip(slots) {
                add_terms(&document, field, slot, &mut terms);
            }
        }
        let etag = database.etag();
        IndexWriter::new()
            .apply(&mut store, &batch, Some(etag.0))
            .unwrap();
        TestIndex {
            store,
            scope,
            fields: fields.to_vec(),
            indexed_up_to: etag,
            columns: Columns::new(1 << 20),
        }
    }

    pub(crate) fn reader(&self) -> IndexReader<'_, MemoryPages> {
        IndexReader::open(&self.store).unwrap().unwrap()
    }
}

/// A snapshot, with or without an index.
pub(crate) struct TestSource<'t> {
    pub(crate) database: &'t TestDatabase,
    pub(crate) index: Option<(&'t TestIndex, &'t IndexReader<'t, MemoryPages>)>,
}

impl<'t> TestSource<'t> {
    pub(crate) fn without_index(database: &'t TestDatabase) -> TestSource<'t> {
        TestSource {
            database,
            index: None,
        }
    }
}

impl Source for TestSource<'_> {
    type Pages = MemoryPages;

    fn document(&self, number: DocumentNumber) -> Result<Option<StoredDocument<'_>>, BoxError> {
        Ok(self.database.stored(number.0))
    }

    fn document_by_id(&self, id: &str) -> Result<Option<StoredDocument<'_>>, BoxError> {
        let number = self.database.numbers.get(lowercase(id).as_ref());
        Ok(number.and_then(|number| self.database.stored(*number)))
    }

    fn count(&self, scope: &Scope) -> Result<u64, BoxError> {
        Ok(self
            .database
            .all()
            .filter(|document| scope.contains(document.collection))
            .count() as u64)
    }

    fn changed(&self, scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError> {
        let scope = scope.clone();
        let changed = self
            .database
            .etags
            .range(after.0 + 1..)
            .filter(move |(_, number)| {
                let document = &self.database.documents[number];
                scope.contains(&document.collection)
            });
        Ok(Box::new(
            changed.map(|(_, number)| Ok(DocumentNumber(*number))),
        ))
    }

    fn removed(&self, _scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError> {
        let removed = self
            .database
            .removed
            .iter()
            .filter(move |(etag, _)| *etag > after);
        Ok(Box::new(
            removed.map(|(_, number)| Ok(DocumentNumber(*number))),
        ))
    }

    fn visit_ids(
        &self,
        from: &str,
        visit: &mut dyn FnMut(&str, DocumentNumber) -> ControlFlow<()>,
    ) -> Result<(), BoxError> {
        for (id, number) in self.database.numbers.range(from.to_owned()..) {
            if visit(id, DocumentNumber(*number)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn series_extent(&self, id: &str, name: &str) -> Result<Option<SeriesExtent>, BoxError> {
        let Some(entries) = self.database.series.get(&series_key(id, name)) else {
            return Ok(None);
        };
        let ends = entries.first().zip(entries.last());
        Ok(ends.map(|(first, last)| SeriesExtent {
            first: first.0,
            last: last.0,
            count: entries.len() as u64,
        }))
    }

    fn visit_series(
        &self,
        id: &str,
        name: &str,
        (from, to): (i64, i64),
        visit: &mut dyn FnMut(SeriesEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), BoxError> {
        let series = self.database.series.get(&series_key(id, name));
        for (at, values, tag) in series.into_iter().flatten() {
            let tag = tag.as_deref();
            let entry = SeriesEntry {
                at: *at,
                values,
                tag,
            };
            if (from..=to).contains(at) && visit(entry).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn kept_groups(&self) -> Option<GroupsAccess<'_>> {
        self.database.kept_groups.as_ref().map(|kept| GroupsAccess {
            kept,
            up_to: self.database.etag(),
        })
    }

    fn index(&self) -> Option<IndexAccess<'_, MemoryPages>> {
        self.index.map(|(index, reader)| IndexAccess {
            name: "Auto/Test",
            scope: &index.scope,
            fields: &index.fields,
            rows: IndexRows::Documents,
            has_open_fields: false,
            reader: Some(reader),
            indexed_up_to: index.indexed_up_to,
            columns: Some(ColumnAccess {
                columns: &index.columns,
                version: 1,
            }),
            is_cut: false,
        })
    }
}

pub(crate) fn bound(text: &str, parameters: &str) -> Result<BoundQuery, QueryError> {
    let parameters = json(parameters);
    bind(&parse(text)?, Parameters::new(parameters.document())?)
}

pub(crate) struct TestResult {
    pub(crate) outcome: Outcome,
    pub(crate) rows: DocumentBuf,
    pub(crate) includes: DocumentBuf,
    pub(crate) index_name: String,
    pub(crate) plan: String,
}

impl TestResult {
    /// The ids of the rows.
    pub(crate) fn ids(&self) -> Vec<String> {
        let rows = self.rows.root().as_array().unwrap();
        let id = |row: jackdaw_document::Value<'_>| {
            row.get_path(&["@metadata", "@id"])
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        };
        rows.iter().map(id).collect()
    }
}

pub(crate) fn run_bound(
    query: &BoundQuery,
    source: &TestSource<'_>,
    options: &ExecuteOptions<'_>,
) -> Result<TestResult, QueryError> {
    let plan = plan(query, source)?;
    let mut sink = RowBuffer::default();
    let outcome = execute(&plan, source, options, &mut sink)?;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ok(TestResult {
        outcome,
        rows: json(&format!("[{}]", text(&sink.rows))),
        includes: json(&format!("{{{}}}", text(&sink.includes))),
        index_name: plan.index_name().to_owned(),
        plan: plan.to_string(),
    })
}

pub(crate) fn run(
    text: &str,
    parameters: &str,
    source: &TestSource<'_>,
) -> Result<TestResult, QueryError> {
    run_bound(
        &bound(text, parameters)?,
        source,
        &ExecuteOptions::default(),
    )
}
