//! Jackdaw as users have it: documents in a database, an automatic index, questions in RQL.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use jackdaw_database::{
    BoxError, Database, DatabaseOptions, Importer, QueryRequest, RowSink, StoredDocument,
};
use jackdaw_document::Builder;
use jackdaw_io::RealVfs;

use crate::engine::{Answer, Engine};
use crate::queries::{Kind, Query, TOP};
use crate::rows::Row;

const COLLECTION: &str = "Rows";
const WAIT: Duration = Duration::from_secs(600);
/// A query that needs every field, so that one index answers all the others.
const EVERY_FIELD: &str = "from Rows where ids = 'x' and route = 'x' and artist = 'x' \
     and title = 'x' and year = 1 and num = 1 and genre = 'x' and search(text, 'x')";

/// See the file head.
pub(crate) struct Jackdaw {
    database: Arc<Database>,
    importer: Importer,
    builder: Builder,
}

impl Engine for Jackdaw {
    const NAME: &'static str = "jackdaw";

    fn create(directory: &Path) -> Result<Jackdaw> {
        let options = DatabaseOptions::default();
        let database = Database::open(RealVfs::new(), directory, "search", &options)?;
        let database = Arc::new(database);
        let importer = Importer::new(Arc::clone(&database));
        let builder = Builder::new();
        let engine = Jackdaw {
            database,
            importer,
            builder,
        };
        engine.query(EVERY_FIELD, None, Some(WAIT))?;
        Ok(engine)
    }

    fn add(&mut self, rows: &[Row], _is_update: bool) -> Result<()> {
        let mut batch = self.importer.prepared();
        for row in rows {
            let builder = self.builder.clear().begin_object();
            builder
                .key("route")
                .string(&row.route)
                .key("ids")
                .begin_array();
            for id in &row.ids {
                builder.string(id);
            }
            builder.end_array();
            builder
                .key("artist")
                .string(&row.artist)
                .key("title")
                .string(&row.title);
            builder.key("year").long(row.year).key("num").long(row.num);
            builder
                .key("genre")
                .string(&row.genre)
                .key("text")
                .string(&row.text);
            batch.put(&row.id, COLLECTION, builder.end_object().finish_borrowed()?)?;
        }
        Ok(self.importer.write(batch, None)?)
    }

    fn commit(&mut self) -> Result<()> {
        self.importer.flush()?;
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        self.query(EVERY_FIELD, None, Some(WAIT))?;
        Ok(())
    }

    fn ask(&self, query: &Query) -> Result<Answer> {
        let (text, page) = rql(&query.kind);
        self.query(&text, Some(page), None)
    }
}

impl Jackdaw {
    fn query(&self, text: &str, page: Option<u64>, wait: Option<Duration>) -> Result<Answer> {
        let request = QueryRequest {
            text,
            page_size: page,
            wait,
            ..QueryRequest::default()
        };
        let mut sink = Counted::default();
        let result = self.database.query(&request, &mut sink)?;
        let rows = match page {
            Some(0) => result.outcome.total_results.unwrap_or(0),
            _ => sink.rows,
        };
        Ok(Answer { rows })
    }
}

/// The question in RQL, and the rows of its page.
fn rql(kind: &Kind) -> (String, u64) {
    let by_number = |condition: String| {
        (
            format!("from Rows where {condition} order by num as long desc select id()"),
            TOP,
        )
    };
    let found = |condition: &str| format!("from Rows where {condition} select id()");
    let best = |condition: String| {
        (
            format!("from Rows where {condition} order by score() select id()"),
            TOP,
        )
    };
    let any = |words: &[String]| format!("search(text, '{}')", words.join(" "));
    let all = |words: &[String]| format!("search(text, '{}', and)", words.join(" "));
    match kind {
        Kind::Term(value) => (found(&format!("ids = '{}'", quoted(value))), TOP),
        Kind::Genre { genre, skip } => {
            let (text, top) = by_number(format!("genre = '{}'", quoted(genre)));
            (paged(text, *skip), top)
        }
        Kind::Prefix(prefix) => by_number(format!("startsWith(route, '{}')", quoted(prefix))),
        Kind::And(words) => best(all(words)),
        Kind::Or { words, skip } => {
            let (text, top) = best(any(words));
            (paged(text, *skip), top)
        }
        Kind::Range(from, to) => by_number(format!("year between {from} and {to}")),
        Kind::Phrase(a, b) => best(format!("search(text, '\"{a} {b}\"')")),
        Kind::WildcardWord(pattern) => (found(&format!("search(text, '{pattern}')")), TOP),
        Kind::WildcardTitle(pattern) => {
            (found(&format!("lucene(title, '{}')", quoted(pattern))), TOP)
        }
        Kind::Fuzzy(word, edits) => (found(&format!("lucene(text, '{word}~{edits}')")), TOP),
        Kind::Facet(words) if words.is_empty() => ("from Rows select facet(genre)".to_owned(), TOP),
        Kind::Facet(words) => (
            format!("from Rows where {} select facet(genre)", any(words)),
            TOP,
        ),
        Kind::CountOr(words) => (found(&any(words)), 0),
        Kind::CountAnd(words) => (found(&all(words)), 0),
        Kind::CountRange(from, to) => (found(&format!("year between {from} and {to}")), 0),
        Kind::All => (
            "from Rows order by num as long desc select id()".to_owned(),
            TOP,
        ),
        Kind::ArtistAnd { artist, word } => best(format!(
            "artist = '{}' and search(text, '{word}')",
            quoted(artist)
        )),
    }
}

fn paged(text: String, skip: u64) -> String {
    match skip {
        0 => text,
        _ => format!("{text} limit {TOP} offset {skip}"),
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// Counts rows and drops them: the time to write them as JSON is part of the query.
#[derive(Default)]
struct Counted {
    rows: u64,
}

impl RowSink for Counted {
    fn row(&mut self, _document: &StoredDocument<'_>, _json: &[u8]) -> Result<(), BoxError> {
        self.rows += 1;
        Ok(())
    }

    fn include(&mut self, _id: &str, _json: &[u8]) -> Result<(), BoxError> {
        Ok(())
    }
}
