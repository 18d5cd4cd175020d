//! `jackdaw export`: all documents of a database as NDJSON, in the order of their ids.
//!
//! Lines are written by `jackdaw_transfer::export`.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use jackdaw_document::{Limits, Parser};
use jackdaw_io::Vfs;
use jackdaw_transfer::export::{ExportWriter, Totals};

use super::connect::ServerAt;
use super::target::{Location, Target, local, remote};
use crate::output::numbers::{bytes, counted, duration};
use crate::output::say::note;

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
    note!(
        "{}, {} in {}; hash of ids, collections, metadata and contents {:016x}",
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
    let (_, total) = writer.finish().context("cannot write the last documents")?;
    Ok(total)
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
    match skip_damaged {
        true => writer.readable(&snapshot)?,
        false => writer.snapshot(&snapshot)?,
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
        let (out, total) = writer.finish().unwrap();
        (String::from_utf8(out).unwrap(), total)
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
