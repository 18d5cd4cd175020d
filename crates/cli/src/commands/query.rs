//! `jackdaw query`: asks a database and shows the rows.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use jackdaw_client::DatabaseClient;
use jackdaw_database::{BoxError, Database, QueryRequest, RowSink, StoredDocument, split_explain};
use jackdaw_document::{DocumentBuf, Limits};
use jackdaw_io::Vfs;
use jackdaw_query::syntax::SourceName;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::connect::ServerAt;
use super::target::{Location, Target, local, remote};
use crate::output::names::there_is;
use crate::output::numbers::{count, duration};
use crate::output::rows::{RowFormat, render};
use crate::output::say::{note, say};
use crate::output::table::terminal_width;

/// Rows of a table unless `--rows` names another number: more than people read. Formats for
/// programs have no such limit, since a program does not notice what is missing.
const TABLE_ROWS: u64 = 1000;

/// How long a query in this process waits for an index that has to be made or completed first.
pub(crate) const INDEX_WAIT: Duration = Duration::from_secs(600);

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct QueryArguments {
    /// The query, such as: from Albums where Year >= 1990 order by Title limit 10. With `explain`
    /// in front it tells how it would be run, with `explain analyze` what each step cost
    #[arg(value_name = "RQL")]
    text: String,
    #[command(flatten)]
    target: Target,
    /// How rows are shown.
    #[arg(long, value_enum, default_value_t = RowFormat::Table)]
    format: RowFormat,
    /// The value of $NAME in the query: JSON, or a text as it is.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parse_parameter)]
    parameters: Vec<(String, serde_json::Value)>,
    /// Ask the documents of this snapshot instead of those of now; see `jackdaw snapshot`.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
    /// Most rows to fetch; `limit` in the query works as well. Default: 1,000 for a table, all
    /// for json, ndjson and csv.
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
}

impl QueryArguments {
    /// Most rows to fetch; `None` is all.
    fn rows_max(&self) -> Option<u64> {
        let default = (self.format == RowFormat::Table).then_some(TABLE_ROWS);
        self.rows.or(default)
    }

    /// Adds to an error what there is in place of an index or a snapshot that is missing.
    fn with_names(
        &self,
        error: anyhow::Error,
        names: impl FnOnce() -> Option<Names>,
    ) -> anyhow::Error {
        let index = match jackdaw_query::syntax::parse(&split_explain(&self.text).1)
            .map(|query| query.from.source)
        {
            Ok(SourceName::Index(name)) => Some(name),
            _ => None,
        };
        if index.is_none() && self.snapshot.is_none() {
            return error;
        }
        let Some(names) = names() else {
            return error;
        };
        let missing = [
            (
                MissingKind::Snapshot,
                self.snapshot.as_ref(),
                &names.snapshots,
            ),
            (MissingKind::Index, index.as_ref(), &names.indexes),
        ];
        for (kind, wanted, known) in missing {
            let Some(wanted) = wanted else { continue };
            let is_wanted = |name: &String| match kind {
                // Names of indexes are the same in any letter case.
                MissingKind::Index => name.eq_ignore_ascii_case(wanted),
                MissingKind::Snapshot => name == wanted,
            };
            if known.iter().any(is_wanted) {
                continue;
            }
            let database = &self.target.database;
            let kind = match kind {
                MissingKind::Index => "index",
                MissingKind::Snapshot => "snapshot",
            };
            return match known.is_empty() {
                true => anyhow::anyhow!(
                    "the query failed: there is no {kind} {wanted:?} in {database}, nor any other"
                ),
                false => anyhow::anyhow!(
                    "the query failed: there is no {kind} {wanted:?} in {database}; {}",
                    there_is(wanted, known)
                ),
            };
        }
        error
    }
}

/// What a query gave, wherever it ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// Rows as JSON texts.
    pub(crate) rows: Vec<Vec<u8>>,
    /// Matches in all.
    pub(crate) total: u64,
    /// What answered: an index, or a collection.
    pub(crate) index_name: String,
    /// Whether newer changes are not reflected.
    pub(crate) is_stale: bool,
}

/// The envelope of an answer; rows stay text.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope<'t> {
    #[serde(borrow)]
    results: Vec<&'t RawValue>,
    total_results: i64,
    #[serde(default)]
    index_name: String,
    #[serde(default)]
    is_stale: bool,
}

/// Asks and prints.
pub(crate) fn run(arguments: &QueryArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    let name = &arguments.target.database;
    let started = Instant::now();
    let answer = match arguments.target.location() {
        Location::Server(server) => ask_server(server, name, arguments)?,
        Location::Directory(directory) => {
            let local = local(directory, name, disk)?;
            let parameters = parameter_object(&arguments.parameters)?;
            let request = QueryRequest {
                text: &arguments.text,
                parameters: Some(parameters.document()),
                page_size: arguments.rows_max(),
                wait: Some(INDEX_WAIT),
                snapshot: arguments.snapshot.as_deref(),
                ..QueryRequest::default()
            };
            ask(&local.database, &request).map_err(|error| {
                let has = || names_of(&local.database);
                arguments.with_names(error, has)
            })?
        }
    };
    let time = started.elapsed();
    if arguments.format == RowFormat::Table && split_explain(&arguments.text).0.is_some() {
        return print_explanation(&answer);
    }
    let text = render(&answer.rows, arguments.format, terminal_width())?;
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write the rows")?;
    let line = summary_line(&answer, time);
    match arguments.format {
        RowFormat::Table => say!("{line}"),
        // Standard output is for the data.
        RowFormat::Json | RowFormat::Ndjson | RowFormat::Csv => note!("{line}"),
    }
    Ok(())
}

/// Prints what `explain` tells in place of rows.
fn print_explanation(answer: &Answer) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Explanation {
        text: String,
    }
    let row = answer.rows.first().context("the explanation is missing")?;
    let explanation: Explanation =
        serde_json::from_slice(row).context("the explanation cannot be read")?;
    say!("{}", explanation.text);
    Ok(())
}

/// One line about an answer.
pub(crate) fn summary_line(answer: &Answer, time: Duration) -> String {
    let shown = answer.rows.len() as u64;
    let mut line = if shown == answer.total {
        crate::output::numbers::counted(shown, "row")
    } else {
        format!("{} of {} rows", count(shown), count(answer.total))
    };
    line.push_str(&format!(" in {}", duration(time)));
    if !answer.index_name.is_empty() {
        line.push_str(&format!(", from {}", answer.index_name));
    }
    if answer.is_stale {
        line.push_str(" (stale: newer changes are not reflected)");
    }
    line
}

/// Asks a database of this process.
pub(crate) fn ask(database: &Database, request: &QueryRequest<'_>) -> anyhow::Result<Answer> {
    let mut rows = Rows::default();
    let result = database
        .query(request, &mut rows)
        .context("the query failed")?;
    let shown = rows.0.len() as u64;
    Ok(Answer {
        rows: rows.0,
        total: result.outcome.total_results.unwrap_or(shown),
        index_name: result.index_name,
        is_stale: result.is_stale,
    })
}

/// Rows as they come.
#[derive(Default)]
struct Rows(Vec<Vec<u8>>);

impl RowSink for Rows {
    fn row(&mut self, _document: &StoredDocument<'_>, json: &[u8]) -> Result<(), BoxError> {
        self.0.push(json.to_vec());
        Ok(())
    }

    fn include(&mut self, _id: &str, _json: &[u8]) -> Result<(), BoxError> {
        // Rows are what is shown.
        Ok(())
    }
}

fn parameter_object(parameters: &[(String, serde_json::Value)]) -> anyhow::Result<DocumentBuf> {
    let object: serde_json::Map<String, serde_json::Value> = parameters.iter().cloned().collect();
    let text = serde_json::to_vec(&object)?;
    Ok(DocumentBuf::from_json(&text, &Limits::default())?)
}

fn ask_server(
    server: ServerAt<'_>,
    name: &str,
    arguments: &QueryArguments,
) -> anyhow::Result<Answer> {
    let database = remote(server, name)?;
    let mut query = jackdaw_client::Query::new(arguments.text.clone());
    if let Some(rows) = arguments.rows_max() {
        query = query.page(0, rows);
    }
    if let Some(name) = &arguments.snapshot {
        query = query.at_snapshot(name);
    }
    for (name, value) in &arguments.parameters {
        query = query.parameter(name, value.clone());
    }
    let text = database.query_text(&query).context("the query failed");
    let text = text
        .and_then(|text| text.context("the query failed: the index that it names does not exist"));
    let text = text.map_err(|error| arguments.with_names(error, || names_on(&database)))?;
    read_answer(&text).with_context(|| format!("{server} gave an answer that is none"))
}

/// What a query may name that is missing.
#[derive(Clone, Copy, Debug)]
enum MissingKind {
    Index,
    Snapshot,
}

/// Indexes and snapshots of a database, for an error about one that is missing.
#[derive(Debug, Default)]
struct Names {
    indexes: Vec<String>,
    snapshots: Vec<String>,
}

/// The names in a database of this process. An error here must not hide the one to explain.
fn names_of(database: &Database) -> Option<Names> {
    let indexes = database.indexes().ok()?.into_iter();
    let snapshots = database.snapshots().ok()?.into_iter();
    Some(Names {
        indexes: indexes.map(|index| index.name().to_owned()).collect(),
        snapshots: snapshots.map(|snapshot| snapshot.name).collect(),
    })
}

/// The names in a database of a server, if it answers.
fn names_on(database: &DatabaseClient) -> Option<Names> {
    let statistics = database.statistics().ok()?;
    let indexes = statistics["Indexes"].as_array()?.iter();
    let snapshots = database.snapshots().ok()?.into_iter();
    Some(Names {
        indexes: indexes
            .filter_map(|index| index["Name"].as_str().map(str::to_owned))
            .collect(),
        snapshots: snapshots.map(|snapshot| snapshot.name).collect(),
    })
}

/// Takes the rows out of a server's answer.
fn read_answer(text: &str) -> anyhow::Result<Answer> {
    let envelope: Envelope<'_> = serde_json::from_str(text)?;
    Ok(Answer {
        rows: envelope
            .results
            .iter()
            .map(|row| row.get().as_bytes().to_vec())
            .collect(),
        total: u64::try_from(envelope.total_results).unwrap_or(0),
        index_name: envelope.index_name,
        is_stale: envelope.is_stale,
    })
}

/// `NAME=VALUE`; a value that is not JSON is a text.
fn parse_parameter(text: &str) -> Result<(String, serde_json::Value), String> {
    let (name, value) = text.split_once('=').ok_or("a parameter is NAME=VALUE")?;
    let name = name.strip_prefix('$').unwrap_or(name);
    if name.is_empty() {
        return Err("a parameter has a name before the equals sign".to_owned());
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_json_or_text() {
        let parse = parse_parameter;
        assert_eq!(parse("a=1").unwrap(), ("a".to_owned(), json!(1)));
        assert_eq!(parse("$a=x=y").unwrap(), ("a".to_owned(), json!("x=y")));
        assert_eq!(parse("a=[\"x\"]").unwrap(), ("a".to_owned(), json!(["x"])));
        assert!(parse("a").is_err() && parse("=1").is_err());
    }

    #[test]
    fn rows_keep_their_text() {
        let answer = read_answer(
            "{\"TotalResults\":5,\"Results\":[{\"a\":1.10,\"b\":[1, 2]}],\
             \"IndexName\":\"i\",\"IsStale\":true}",
        )
        .unwrap();
        assert_eq!(answer.rows, [br#"{"a":1.10,"b":[1, 2]}"#]);
        assert_eq!(
            summary_line(&answer, Duration::from_millis(2)),
            "1 of 5 rows in 2.00 ms, from i (stale: newer changes are not reflected)"
        );
    }
}
