//! `jackdaw export`: all documents of a database as NDJSON, in the order of their ids.
//!
//! A line is the document with `@metadata` reduced to what belongs to it: id, collection, and
//! what users put there. Two databases with the same content give the same bytes, and the hash on
//! standard error is the same whatever the order.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use jackdaw_base::hash::xxh3_64_parts;
use jackdaw_database::{DocumentRow, PrefixQuery, ReadError};
use jackdaw_document::{Document, Limits, Object, Parser, write_document};
use jackdaw_io::Vfs;

use super::connect::ServerAt;
use super::target::{Location, Target, local, remote};
use crate::output::numbers::{bytes, counted, duration};

/// Metadata that the database makes itself; an import makes it anew.
const OWN_METADATA: [&str; 7] = [
    "@id",
    "@collection",
    "@change-vector",
    "@last-modified",
    "@etag",
    "@index-score",
    "@projection",
];
/// All documents in the order of their ids.
const EVERYTHING: &str = "from @all_docs order by id()";

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    target: Target,
    /// Where to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Leave out what cannot be read in a damaged directory, and tell how much that was. Documents
    /// come in the order in which they were first stored; the exit code is 1.
    #[arg(long, requires = "data", conflicts_with = "url")]
    skip_damaged: bool,
}

/// Exports and tells what was written.
pub(crate) fn run(arguments: &ExportArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    let started = Instant::now();
    let output = &arguments.output;
    // Renaming a file over a device or a pipe would take its place.
    let is_special = output.metadata().is_ok_and(|found| !found.is_file());
    let total = if output == Path::new("-") {
        export(arguments, disk, std::io::stdout())
            .context("the export to standard output broke off")?
    } else if is_special {
        let file = OpenOptions::new().write(true).open(output);
        let file = file.with_context(|| cannot_write(output))?;
        export(arguments, disk, file)
            .with_context(|| format!("the export to {} broke off", output.display()))?
    } else {
        export_to_file(arguments, disk, output)?
    };
    eprintln!(
        "{}, {} in {}; content hash {:016x}",
        counted(total.documents, "document"),
        bytes(total.len_bytes),
        duration(started.elapsed()),
        total.hash
    );
    if let Some(damage) = total.damage {
        anyhow::bail!(
            "{} could not be read and left out, first because {}: run `jackdaw check`, and restore \
             those from a backup",
            counted(damage.documents, "document"),
            damage.first
        );
    }
    Ok(())
}

/// Exports beside the file and puts it in place when it is complete.
fn export_to_file(
    arguments: &ExportArguments,
    disk: &Arc<dyn Vfs>,
    output: &Path,
) -> anyhow::Result<Totals> {
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(".incomplete");
    let incomplete = output.with_file_name(name);
    let explain = || cannot_write(output);
    let file = File::create(&incomplete).with_context(explain)?;
    let exported = export(arguments, disk, &file)
        .and_then(|total| {
            file.sync_all().with_context(explain)?;
            std::fs::rename(&incomplete, output).with_context(explain)?;
            Ok(total)
        })
        .with_context(|| format!("the export to {} broke off", output.display()));
    if exported.is_err() {
        // What is left of it helps nobody, and must not be taken for the whole.
        let _ = std::fs::remove_file(&incomplete);
    }
    exported
}

fn cannot_write(output: &Path) -> String {
    format!(
        "cannot write {}: choose another file with -o",
        output.display()
    )
}

fn export(
    arguments: &ExportArguments,
    disk: &Arc<dyn Vfs>,
    out: impl Write,
) -> anyhow::Result<Totals> {
    let mut writer = ExportWriter::new(BufWriter::with_capacity(256 << 10, out));
    let name = &arguments.target.database;
    match arguments.target.location() {
        Location::Server(server) => export_server(server, name, &mut writer)?,
        Location::Directory(directory) => {
            export_directory(directory, name, disk, arguments.skip_damaged, &mut writer)?;
        }
    }
    writer.finish()
}

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Totals {
    documents: u64,
    len_bytes: u64,
    /// Sum of the hashes of all documents, so that their order does not matter.
    hash: u64,
    damage: Option<Damage>,
}

/// What could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Damage {
    documents: u64,
    /// The first reason.
    first: String,
}

impl Totals {
    fn skip(&mut self, error: &ReadError) {
        let damage = self.damage.get_or_insert_with(|| Damage {
            documents: 0,
            first: error.to_string(),
        });
        damage.documents += 1;
    }
}

/// Writes lines and adds them up.
struct ExportWriter<W> {
    out: W,
    body: Vec<u8>,
    line: Vec<u8>,
    total: Totals,
}

impl<W: Write> ExportWriter<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            body: Vec::new(),
            line: Vec::new(),
            total: Totals::default(),
        }
    }

    fn row(&mut self, row: &DocumentRow<'_>) -> std::io::Result<()> {
        self.document(row.id(), row.collection(), row.metadata(), row.body())
    }

    fn document(
        &mut self,
        id: &str,
        collection: &str,
        metadata: Option<Document<'_>>,
        body: Document<'_>,
    ) -> std::io::Result<()> {
        self.body.clear();
        body.root().write_json(&mut self.body);
        let hash = xxh3_64_parts(&[id.as_bytes(), b"\0", &self.body], 0);
        self.line.clear();
        write_document(body.root(), &mut self.line, |out| {
            out.string("@id", id);
            out.string("@collection", collection);
            let fields = metadata.and_then(|metadata| metadata.root().as_object());
            for (name, value) in fields.iter().flat_map(Object::iter) {
                if !OWN_METADATA.contains(&name) {
                    out.value(name, value);
                }
            }
        });
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.total.documents += 1;
        self.total.len_bytes += self.line.len() as u64;
        self.total.hash = self.total.hash.wrapping_add(hash);
        Ok(())
    }

    fn finish(&mut self) -> anyhow::Result<Totals> {
        self.out
            .flush()
            .context("cannot write the last documents")?;
        Ok(std::mem::take(&mut self.total))
    }
}

fn export_directory<W: Write>(
    directory: &Path,
    name: &str,
    disk: &Arc<dyn Vfs>,
    skip_damaged: bool,
    writer: &mut ExportWriter<W>,
) -> anyhow::Result<()> {
    let local = local(directory, name, disk)?;
    let snapshot = local.database.read()?;
    if skip_damaged {
        for row in snapshot.readable() {
            match row {
                Ok(row) => writer.row(&row)?,
                Err(error) => writer.total.skip(&error),
            }
        }
        return Ok(());
    }
    for row in snapshot.by_prefix(&PrefixQuery::default())? {
        writer.row(&row?)?;
    }
    Ok(())
}

fn export_server<W: Write>(
    server: ServerAt<'_>,
    name: &str,
    writer: &mut ExportWriter<W>,
) -> anyhow::Result<()> {
    let database = remote(server, name)?;
    let mut parser = Parser::new(Limits::default());
    let mut failure = None;
    let query = jackdaw_client::Query::new(EVERYTHING);
    database.stream_query(&query, |line| {
        match export_line(line, &mut parser, writer) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failure.map_or(Ok(()), Err)
}

/// Writes the document of one line of a streamed query; the first line holds statistics.
fn export_line<W: Write>(
    line: &str,
    parser: &mut Parser,
    writer: &mut ExportWriter<W>,
) -> anyhow::Result<()> {
    #[derive(serde::Deserialize)]
    struct Line<'t> {
        #[serde(borrow, rename = "Item")]
        item: Option<&'t serde_json::value::RawValue>,
    }
    let line: Line<'_> = serde_json::from_str(line).context("a line of the answer is no JSON")?;
    let Some(item) = line.item else { return Ok(()) };
    let split = parser.parse_split(item.get().as_bytes())?;
    let text = |name| {
        split
            .metadata
            .as_ref()
            .and_then(|data| data.root().get(name)?.as_str())
    };
    let id = text("@id").context("a document of the answer has no id")?;
    let collection = text("@collection").unwrap_or("@empty");
    writer.document(id, collection, split.metadata, split.body)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(lines: &[&str]) -> (String, Totals) {
        let mut writer = ExportWriter::new(Vec::new());
        let mut parser = Parser::new(Limits::default());
        for line in lines {
            export_line(line, &mut parser, &mut writer).unwrap();
        }
        let total = writer.finish().unwrap();
        (String::from_utf8(writer.out).unwrap(), total)
    }

    const FIRST: &str = "{\"Item\":{\"a\":1.10,\"@metadata\":{\"@collection\":\"As\",\
                         \"@change-vector\":\"A:1\",\"@id\":\"as/1\",\"Mine\":1}}}";
    const SECOND: &str = r#"{"Item":{"a":2,"@metadata":{"@id":"as/2"}}}"#;

    #[test]
    fn lines_hold_what_belongs_to_the_document() {
        let (text, total) = export(&[r#"{"Stats":{}}"#, FIRST, SECOND]);
        assert_eq!(
            text,
            "{\"a\":1.10,\"@metadata\":{\"@id\":\"as/1\",\"@collection\":\"As\",\"Mine\":1}}\n\
             {\"a\":2,\"@metadata\":{\"@id\":\"as/2\",\"@collection\":\"@empty\"}}\n"
        );
        assert_eq!(total.documents, 2);
        assert_eq!(total.len_bytes, text.len() as u64);
    }

    #[test]
    fn the_hash_does_not_depend_on_the_order() {
        assert_eq!(export(&[FIRST, SECOND]).1, export(&[SECOND, FIRST]).1);
        assert_ne!(export(&[FIRST]).1.hash, export(&[SECOND]).1.hash);
    }
}
