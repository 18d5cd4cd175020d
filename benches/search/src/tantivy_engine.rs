//! tantivy with its own defaults: one indexing thread, its merge policy, maps of its files.

use std::path::Path;

use anyhow::Result;
use tantivy::aggregation::AggregationCollector;
use tantivy::aggregation::agg_req::Aggregations;
use tantivy::collector::{Collector, Count, TopDocs};
use tantivy::query::{
    AllQuery, BooleanQuery, FuzzyTermQuery, Occur, PhraseQuery, Query as TantivyQuery, RangeQuery,
    RegexQuery, TermQuery,
};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing,
    TextOptions, Value,
};
use tantivy::tokenizer::{LowerCaser, SimpleTokenizer, TextAnalyzer};
use tantivy::{
    DocAddress, Index, IndexReader, IndexWriter, Order, ReloadPolicy, Searcher, TantivyDocument,
    Term,
};

use crate::engine::{Answer, Engine};
use crate::queries::{Kind, Query, TOP};
use crate::rows::Row;

const WORDS: &str = "words";
const MEMORY_BYTES: usize = 128 << 20;
const GENRES: &str = r#"{"genres": {"terms": {"field": "genre", "size": 10000}}}"#;

/// See the file head.
pub(crate) struct Tantivy {
    index: Index,
    writer: Option<IndexWriter>,
    reader: IndexReader,
    fields: Fields,
}

struct Fields {
    id: Field,
    route: Field,
    ids: Field,
    artist: Field,
    title: Field,
    year: Field,
    num: Field,
    genre: Field,
    text: Field,
}

impl Engine for Tantivy {
    const NAME: &'static str = "tantivy";

    fn create(directory: &Path) -> Result<Tantivy> {
        std::fs::create_dir_all(directory)?;
        let mut schema = Schema::builder();
        let words = TextFieldIndexing::default()
            .set_tokenizer(WORDS)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let fields = Fields {
            id: schema.add_text_field("id", STRING | STORED),
            route: schema.add_text_field("route", STRING),
            ids: schema.add_text_field("ids", STRING),
            artist: schema.add_text_field("artist", STRING),
            title: schema.add_text_field("title", STRING),
            year: schema.add_i64_field("year", INDEXED | FAST),
            num: schema.add_i64_field("num", INDEXED | FAST),
            genre: schema.add_text_field("genre", STRING | FAST),
            text: schema.add_text_field("text", TextOptions::default().set_indexing_options(words)),
        };
        let index = Index::create_in_dir(directory, schema.build())?;
        let analyzer = TextAnalyzer::builder(SimpleTokenizer::default())
            .filter(LowerCaser)
            .build();
        index.tokenizers().register(WORDS, analyzer);
        let writer = index.writer_with_num_threads(1, MEMORY_BYTES)?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        Ok(Tantivy {
            index,
            writer: Some(writer),
            reader,
            fields,
        })
    }

    fn add(&mut self, rows: &[Row], is_update: bool) -> Result<()> {
        let fields = &self.fields;
        let writer = self
            .writer
            .as_mut()
            .expect("between two calls there is a writer");
        for row in rows {
            if is_update {
                writer.delete_term(Term::from_field_text(fields.id, &row.id));
            }
            let mut document = TantivyDocument::new();
            document.add_text(fields.id, &row.id);
            document.add_text(fields.route, &row.route);
            for id in &row.ids {
                document.add_text(fields.ids, id);
            }
            document.add_text(fields.artist, &row.artist);
            document.add_text(fields.title, &row.title);
            document.add_i64(fields.year, row.year);
            document.add_i64(fields.num, row.num);
            document.add_text(fields.genre, &row.genre);
            document.add_text(fields.text, &row.text);
            writer.add_document(document)?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.writer
            .as_mut()
            .expect("between two calls there is a writer")
            .commit()?;
        Ok(self.reader.reload()?)
    }

    fn settle(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads()?;
        }
        self.writer = Some(self.index.writer_with_num_threads(1, MEMORY_BYTES)?);
        Ok(self.reader.reload()?)
    }

    fn ask(&self, query: &Query) -> Result<Answer> {
        let searcher = self.reader.searcher();
        self.answer(&searcher, &query.kind)
    }
}

impl Tantivy {
    fn answer(&self, searcher: &Searcher, kind: &Kind) -> Result<Answer> {
        let fields = &self.fields;
        match kind {
            Kind::Term(value) => self.first(searcher, &*term(fields.ids, value)),
            Kind::Genre { genre, skip } => {
                self.by_number(searcher, &*term(fields.genre, genre), *skip)
            }
            Kind::Prefix(prefix) => {
                let pattern = format!("{}.*", escaped(prefix));
                let query = RegexQuery::from_pattern(&pattern, fields.route)?;
                self.by_number(searcher, &query, 0)
            }
            Kind::And(words) => self.best(searcher, &self.words(Occur::Must, words), 0),
            Kind::Or { words, skip } => {
                self.best(searcher, &self.words(Occur::Should, words), *skip)
            }
            Kind::Range(from, to) => self.by_number(searcher, &self.years(*from, *to), 0),
            Kind::Phrase(a, b) => {
                let words = [a, b].map(|word| Term::from_field_text(fields.text, word));
                self.best(searcher, &PhraseQuery::new(words.into()), 0)
            }
            Kind::WildcardWord(pattern) => {
                let query = RegexQuery::from_pattern(&wildcard(pattern), fields.text)?;
                self.first(searcher, &query)
            }
            Kind::WildcardTitle(pattern) => {
                let query = RegexQuery::from_pattern(&wildcard(pattern), fields.title)?;
                self.first(searcher, &query)
            }
            Kind::Fuzzy(word, edits) => {
                let word = Term::from_field_text(fields.text, word);
                self.first(searcher, &FuzzyTermQuery::new(word, *edits, true))
            }
            Kind::Facet(words) if words.is_empty() => facet(searcher, &AllQuery),
            Kind::Facet(words) => facet(searcher, &self.words(Occur::Should, words)),
            Kind::CountOr(words) => count(searcher, &self.words(Occur::Should, words)),
            Kind::CountAnd(words) => count(searcher, &self.words(Occur::Must, words)),
            Kind::CountRange(from, to) => count(searcher, &self.years(*from, *to)),
            Kind::All => self.by_number(searcher, &AllQuery, 0),
            Kind::ArtistAnd { artist, word } => {
                let both = vec![
                    (Occur::Must, term(fields.artist, artist)),
                    (Occur::Must, scored(fields.text, word)),
                ];
                self.best(searcher, &BooleanQuery::new(both), 0)
            }
        }
    }

    fn words(&self, occur: Occur, words: &[String]) -> BooleanQuery {
        let each = words
            .iter()
            .map(|word| (occur, scored(self.fields.text, word)));
        BooleanQuery::new(each.collect())
    }

    fn years(&self, from: i64, to: i64) -> RangeQuery {
        let bound = |year| std::ops::Bound::Included(Term::from_field_i64(self.fields.year, year));
        RangeQuery::new(bound(from), bound(to))
    }

    fn best(&self, searcher: &Searcher, query: &dyn TantivyQuery, skip: u64) -> Result<Answer> {
        self.page(searcher, query, top(skip).order_by_score())
    }

    fn by_number(
        &self,
        searcher: &Searcher,
        query: &dyn TantivyQuery,
        skip: u64,
    ) -> Result<Answer> {
        let collector = top(skip).order_by_fast_field::<i64>("num", Order::Desc);
        self.page(searcher, query, collector)
    }

    /// Rows in whatever order is cheapest.
    fn first(&self, searcher: &Searcher, query: &dyn TantivyQuery) -> Result<Answer> {
        self.page(searcher, query, top(0).order_by_score())
    }

    /// Runs a query and reads the id of each row.
    fn page<K, C>(
        &self,
        searcher: &Searcher,
        query: &dyn TantivyQuery,
        collector: C,
    ) -> Result<Answer>
    where
        K: Send + 'static,
        C: Collector<Fruit = Vec<(K, DocAddress)>>,
    {
        let found = searcher.search(query, &collector)?;
        for (_, address) in &found {
            let document: TantivyDocument = searcher.doc(*address)?;
            let id = document
                .get_first(self.fields.id)
                .and_then(|value| value.as_str());
            anyhow::ensure!(id.is_some(), "a row has no id");
        }
        Ok(Answer {
            rows: found.len() as u64,
        })
    }
}

fn top(skip: u64) -> TopDocs {
    TopDocs::with_limit(TOP as usize).and_offset(skip as usize)
}

fn term(field: Field, value: &str) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(
        Term::from_field_text(field, value),
        IndexRecordOption::Basic,
    ))
}

fn scored(field: Field, word: &str) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(
        Term::from_field_text(field, word),
        IndexRecordOption::WithFreqs,
    ))
}

fn count(searcher: &Searcher, query: &dyn TantivyQuery) -> Result<Answer> {
    Ok(Answer {
        rows: searcher.search(query, &Count)? as u64,
    })
}

fn facet(searcher: &Searcher, query: &dyn TantivyQuery) -> Result<Answer> {
    let genres: Aggregations = serde_json::from_str(GENRES)?;
    let collector = AggregationCollector::from_aggs(genres, Default::default());
    let found = serde_json::to_value(searcher.search(query, &collector)?)?;
    let genres = found["genres"]["buckets"].as_array().map_or(0, Vec::len);
    Ok(Answer {
        rows: genres as u64,
    })
}

fn wildcard(pattern: &str) -> String {
    let parts: Vec<String> = pattern.split('*').map(escaped).collect();
    parts.join(".*")
}

/// A text as a regular expression that finds itself.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if !c.is_alphanumeric() && c.is_ascii() && c != ' ' && c != '_' {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
