//! Queries: parameters in, typed rows out.
//!
//! Rows that are documents, results of a reduce or objects of a script are read in binary form.
//! Rows of selected fields are made as JSON by the engine, and parsed here.

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::time::Duration;

use jackdaw_database::{BoxError, QueryError, QueryRequest, QueryResult, RowSink, StoredDocument};
use jackdaw_document::{Builder, DocumentBuf, Limits, Parser, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::database::Database;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::form::{from_value, to_document};
use crate::names::bounded;

/// A query in RQL, with its parameters; [`Database::query`] begins one.
///
/// A query of a collection sees all that was stored before it. It makes the index that it needs,
/// once, and waits for that up to 15 seconds. A query of an index that you defined waits for it up
/// to a second; [`Query::wait`] says otherwise.
///
/// ```
/// # let db = jackdaw::Database::in_memory()?;
/// # for (id, year) in [("albums/1", 1971), ("albums/2", 1976), ("albums/3", 1982)] {
/// #     db.put(id, &serde_json::json!({"Title": id, "Year": year}))?;
/// # }
/// #[derive(serde::Deserialize)]
/// struct Found {
///     #[serde(rename = "Title")]
///     title: String,
/// }
///
/// let text = "from Albums where Year >= $from and Year < $to order by Year select Title";
/// let rows = db.query::<Found>(text).bind("from", 1970).bind("to", 1980).rows()?;
/// assert_eq!(rows.total(), Some(2));
/// let titles: Vec<String> = rows.into_iter().map(|row| row.title).collect();
/// assert_eq!(titles, ["albums/1", "albums/2"]);
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[must_use = "a query is run by `rows`, `first`, `count`, `documents` or `for_each`"]
pub struct Query<'db, T> {
    db: &'db Database,
    text: String,
    parameters: Vec<(String, DocumentBuf)>,
    builder: Builder,
    /// Why a parameter cannot be one.
    mistake: Option<Error>,
    wait: Option<Duration>,
    snapshot: Option<String>,
    of: PhantomData<fn() -> T>,
}

impl<'db, T> Query<'db, T> {
    pub(crate) fn new(db: &'db Database, text: &str) -> Query<'db, T> {
        Query {
            db,
            text: text.to_owned(),
            parameters: Vec::new(),
            builder: Builder::new(),
            mistake: None,
            wait: None,
            snapshot: None,
            of: PhantomData,
        }
    }

    /// Sets the parameter `$name` to a value of any serde type. The last value of a name counts.
    ///
    /// That a value cannot be a parameter is an error of the call that runs the query.
    pub fn bind<V: Serialize>(mut self, name: &str, value: V) -> Self {
        let name = name.strip_prefix('$').unwrap_or(name);
        match to_document(&value, &mut self.builder) {
            Ok(value) => self.parameters.push((name.to_owned(), value)),
            Err(error) => {
                let error = Error::Value(error.in_field(name));
                self.mistake.get_or_insert(error);
            }
        }
        self
    }

    /// Waits until the index of the query has seen all changes, up to `timeout`.
    pub fn wait(mut self, timeout: Duration) -> Self {
        self.wait = Some(bounded(timeout));
        self
    }

    /// Asks the documents of a named snapshot. The query may not name an index, and looks at every
    /// document of its collection.
    pub fn in_snapshot(mut self, name: &str) -> Self {
        self.snapshot = Some(name.to_owned());
        self
    }

    /// Number of matches, without reading any. `None` when the query cannot tell without: one by
    /// the beginning of ids.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
    /// assert_eq!(db.query::<()>("from Albums where Year > 1970").count()?, Some(1));
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::rows`].
    pub fn count(self) -> Result<Option<u64>> {
        let result = self.run(Some(0), Reading::Rows, &mut |_| {
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(result.outcome.total_results)
    }

    /// The matching documents with their ids and versions, whatever the query selects of them.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
    /// let mut batch = db.batch();
    /// for document in db.query::<()>("from Albums where Year < 1980").documents()? {
    ///     batch.delete_if(document.id(), document.version());
    /// }
    /// batch.commit()?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::rows`]; [`Error::Query`] when rows are no documents, but groups or results of a
    /// reduce.
    pub fn documents(self) -> Result<Vec<Document>> {
        let mut documents = Vec::new();
        self.run(None, Reading::Documents, &mut |row| {
            documents.push(Document::of_stored(row.document));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(documents)
    }

    /// Runs the query with `take` for each row; that ends it by breaking.
    fn run(
        self,
        page_size: Option<u64>,
        reading: Reading,
        take: &mut dyn FnMut(Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<QueryResult> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        let mut builder = self.builder;
        builder.clear().begin_object();
        for (name, value) in &self.parameters {
            builder.key(name).value(value.root());
        }
        let parameters = builder.end_object().finish();
        let parameters = parameters.map_err(|error| Error::invalid(error.to_string()))?;
        let request = QueryRequest {
            text: &self.text,
            parameters: Some(parameters.document()),
            page_size,
            without_rows: reading == Reading::Documents,
            wait: self.wait,
            snapshot: self.snapshot.as_deref(),
            ..QueryRequest::default()
        };
        let mut sink = Sink {
            take,
            parser: Parser::new(Limits::default()),
            is_over: false,
        };
        match self.db.inner().query(&request, &mut sink) {
            Err(QueryError::Sink(_)) if sink.is_over => Ok(QueryResult::default()),
            outcome => outcome.map_err(Error::of_query),
        }
    }
}

impl<T: DeserializeOwned> Query<'_, T> {
    /// All rows, in memory.
    ///
    /// # Errors
    /// - [`Error::Query`]: the text is no query, a parameter is missing, a script failed, sorting
    ///   needs more than 256 MiB.
    /// - [`Error::Value`]: a row is not of the type asked for, or a parameter has no form in JSON.
    /// - [`Error::Missing`]: there is no such index or snapshot.
    /// - [`Error::Io`], [`Error::Damaged`].
    pub fn rows(self) -> Result<Rows<T>> {
        let mut rows = Vec::new();
        let result = self.run(None, Reading::Rows, &mut |row| {
            rows.push(from_value(row.value)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Rows {
            rows,
            total: result.outcome.total_results,
            is_stale: result.is_stale,
            index: result.index_name,
            duration: result.duration,
        })
    }

    /// The first row; `None` when there is none.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
    /// let text = "from Albums where Year > 2000";
    /// assert!(db.query::<serde_json::Value>(text).first()?.is_none());
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::rows`].
    pub fn first(self) -> Result<Option<T>> {
        let mut first = None;
        self.run(Some(1), Reading::Rows, &mut |row| {
            first = Some(from_value(row.value)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    /// Calls `take` with one row after the other, until it breaks. Rows are not gathered in memory;
    /// while it goes on, the pages that the query sees are kept.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
    /// use std::ops::ControlFlow;
    ///
    /// let mut years = 0;
    /// db.query::<serde_json::Value>("from Albums").for_each(|album| {
    ///     years += album["Year"].as_i64().unwrap_or(0);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(years, 1971);
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::rows`].
    pub fn for_each(self, mut take: impl FnMut(T) -> ControlFlow<()>) -> Result<()> {
        let mut take = |row: Row<'_>| Ok(take(from_value(row.value)?));
        self.run(None, Reading::Rows, &mut take)?;
        Ok(())
    }
}

/// What is read of a match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// What the query selects.
    Rows,
    /// The document.
    Documents,
}

struct Row<'r> {
    document: &'r StoredDocument<'r>,
    value: Value<'r>,
}

struct Sink<'s> {
    take: &'s mut dyn FnMut(Row<'_>) -> Result<ControlFlow<()>>,
    parser: Parser,
    /// The receiver wants no more rows.
    is_over: bool,
}

/// Ends a query whose receiver has enough.
#[derive(Debug, thiserror::Error)]
#[error("no more rows are wanted")]
struct Over;

impl RowSink for Sink<'_> {
    fn row(
        &mut self,
        document: &StoredDocument<'_>,
        json: &[u8],
    ) -> std::result::Result<(), BoxError> {
        // Without rows there is no JSON.
        if json.is_empty() {
            return self.value(document, Value::Null);
        }
        let row = self.parser.parse_split(json)?;
        let row = Row {
            document,
            value: row.body.root(),
        };
        self.is_over = (self.take)(row)?.is_break();
        match self.is_over {
            true => Err(Box::new(Over)),
            false => Ok(()),
        }
    }

    fn takes_values(&self) -> bool {
        true
    }

    fn value(
        &mut self,
        document: &StoredDocument<'_>,
        value: Value<'_>,
    ) -> std::result::Result<(), BoxError> {
        self.is_over = (self.take)(Row { document, value })?.is_break();
        match self.is_over {
            true => Err(Box::new(Over)),
            false => Ok(()),
        }
    }

    fn include(&mut self, _: &str, _: &[u8]) -> std::result::Result<(), BoxError> {
        Ok(())
    }
}

/// The rows of a query, and what the database knows of them.
///
/// It is a list of values: iterate over it, or use it as a slice.
///
/// ```
/// # let db = jackdaw::Database::in_memory()?;
/// # db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
/// let rows = db.query::<serde_json::Value>("from Albums limit 10").rows()?;
/// assert_eq!((rows.len(), rows.total(), rows.is_stale()), (1, Some(1), false));
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<T> {
    rows: Vec<T>,
    total: Option<u64>,
    is_stale: bool,
    index: String,
    duration: Duration,
}

impl<T> Rows<T> {
    /// Number of matches, of which a `limit` leaves a part; `None` where the query stopped without
    /// knowing.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Whether the newest changes are missing, since the index did not come so far in time.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The index that answered, or `collection/` and a name where documents were looked at.
    #[must_use]
    pub fn index(&self) -> &str {
        &self.index
    }

    /// How long it took.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// The rows alone.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.rows
    }
}

impl<T> std::ops::Deref for Rows<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.rows
    }
}

impl<T> IntoIterator for Rows<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> std::vec::IntoIter<T> {
        self.rows.into_iter()
    }
}

impl<'r, T> IntoIterator for &'r Rows<T> {
    type Item = &'r T;
    type IntoIter = std::slice::Iter<'r, T>;

    fn into_iter(self) -> std::slice::Iter<'r, T> {
        self.rows.iter()
    }
}
