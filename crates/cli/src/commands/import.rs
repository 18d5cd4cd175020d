//! `jackdaw import`: files of other programs into a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use jackdaw_io::Vfs;

use super::target::{Location, Target, local_or_new, remote_or_new};
use crate::import::job::{Job, Stages, import};
use crate::import::remote::RemoteSink;
use crate::import::signals::stop_on_signals;
use jackdaw_transfer::albums::AlbumParser;
use jackdaw_transfer::chunk::Filled;
use jackdaw_transfer::csv::{CsvHeader, CsvParser};
use jackdaw_transfer::dialect::{Dialect, line_break_of};
use jackdaw_transfer::json::JsonParser;
use jackdaw_transfer::lines::{LineSource, Lines, Records};
use jackdaw_transfer::local::LocalSink;
use jackdaw_transfer::source::Input;

/// Arguments of the command.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum ImportArguments {
    /// CD albums in xmcd form: an archive (tar, packed with gzip or bzip2 or not at all), a
    /// directory, or one file.
    ///
    /// Albums go into the collection Albums under ids such as albums/rock/860a650b, so importing
    /// one twice stores it once.
    Freedb {
        /// The archive, directory or file.
        file: PathBuf,
        #[command(flatten)]
        common: Common,
        /// The collection.
        #[arg(long, value_name = "NAME", default_value = "Albums")]
        collection: String,
    },
    /// JSON documents, one a line, packed with gzip or bzip2 or not at all.
    Ndjson {
        /// The file.
        file: PathBuf,
        #[command(flatten)]
        common: Common,
        /// The collection of lines whose @metadata name none.
        #[arg(long, value_name = "NAME")]
        collection: Option<String>,
        /// The field that holds the id; by default @metadata/@id, then Id, then id. A value
        /// without a slash goes behind the name of the collection.
        #[arg(long, value_name = "FIELD")]
        id_field: Option<String>,
    },
    /// Comma separated values, the first line naming the fields, packed with gzip or bzip2 or not
    /// at all.
    ///
    /// Numbers become numbers, empty fields null, all else strings.
    Csv {
        /// The file.
        file: PathBuf,
        #[command(flatten)]
        common: Common,
        /// The collection.
        #[arg(long, value_name = "NAME")]
        collection: String,
        /// The field that holds the id; by default one called Id in any letter case. Without one,
        /// records are numbered. A value without a slash goes behind the name of the collection.
        #[arg(long, value_name = "FIELD")]
        id_field: Option<String>,
        /// The character between fields; by default the one of , ; tab | that splits the first
        /// line most, outside quotes.
        #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
        delimiter: Option<u8>,
    },
}

/// Arguments of every format.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    target: Target,
    /// Write every entry that is left out, with the reason, to this file.
    #[arg(long, value_name = "FILE")]
    skipped: Option<PathBuf>,
    /// Import a file again that was imported to its end.
    #[arg(long)]
    again: bool,
}

/// Imports a file.
pub(crate) fn run(arguments: ImportArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    let query = ready_query(&arguments);
    let (job, target) = job(arguments)?;
    let stop = stop_on_signals()?;
    let name = &target.database;
    match target.location() {
        Location::Server(server) => import(
            job,
            &mut RemoteSink::new(remote_or_new(server, name)?),
            &stop,
        ),
        Location::Directory(directory) => {
            let local = local_or_new(directory, name, disk)?;
            let mut sink = LocalSink::new(Arc::clone(&local.database));
            if let Some(query) = query {
                sink = sink.ready_for(query);
            }
            import(job, &mut sink, &stop)
        }
    }
}

/// What is asked of albums most; its index is ready when an import of them ends.
fn ready_query(arguments: &ImportArguments) -> Option<String> {
    let ImportArguments::Freedb { collection, .. } = arguments else {
        return None;
    };
    let name = collection.replace('\'', "''");
    Some(format!(
        "from '{name}' where Artist = '' and Title = '' and DiscIds = ''"
    ))
}

fn job(arguments: ImportArguments) -> anyhow::Result<(Job, Target)> {
    match arguments {
        ImportArguments::Freedb {
            file,
            common,
            collection,
        } => {
            let settings = vec![collection.clone()];
            let parser = move || Box::new(AlbumParser::new(&collection)) as _;
            let open = move |input: Input, threads| {
                let source = Box::new(input.into_entries(threads)?);
                Ok(Stages {
                    source,
                    parser: Box::new(parser),
                })
            };
            new_job("freedb", "albums", &file, common, settings, Box::new(open))
        }
        ImportArguments::Ndjson {
            file,
            common,
            collection,
            id_field,
        } => {
            let settings = vec![
                collection.clone().unwrap_or_default(),
                id_field.clone().unwrap_or_default(),
            ];
            let open = move |input: Input, threads| {
                let source = LineSource::new(input.into_stream(threads)?, |first| Lines {
                    line_break: line_break_of(first),
                })?;
                let parser = move || {
                    Box::new(JsonParser::new(collection.as_deref(), id_field.as_deref())) as _
                };
                Ok(Stages {
                    source: Box::new(source),
                    parser: Box::new(parser),
                })
            };
            new_job(
                "ndjson",
                "documents",
                &file,
                common,
                settings,
                Box::new(open),
            )
        }
        ImportArguments::Csv {
            file,
            common,
            collection,
            id_field,
            delimiter,
        } => {
            let settings = vec![
                collection.clone(),
                id_field.clone().unwrap_or_default(),
                delimiter.map_or(String::new(), |delimiter| char::from(delimiter).to_string()),
            ];
            let open = move |input: Input, threads| {
                csv_stages(input, threads, &collection, id_field.as_deref(), delimiter)
            };
            new_job("csv", "documents", &file, common, settings, Box::new(open))
        }
    }
}

fn new_job(
    kind: &'static str,
    noun: &'static str,
    file: &Path,
    common: Common,
    settings: Vec<String>,
    open: Box<dyn FnOnce(Input, usize) -> anyhow::Result<Stages>>,
) -> anyhow::Result<(Job, Target)> {
    let input = Input::open(file)
        .with_context(|| format!("cannot open {}: check the path", file.display()))?;
    let Common {
        target,
        skipped,
        again,
    } = common;
    Ok((
        Job {
            kind,
            noun,
            input,
            settings,
            open,
            skipped,
            again,
        },
        target,
    ))
}

/// Reads the header, then leaves the records to the stages.
fn csv_stages(
    input: Input,
    threads: usize,
    collection: &str,
    id_field: Option<&str>,
    delimiter: Option<u8>,
) -> anyhow::Result<Stages> {
    let stream = input.into_stream(threads)?;
    let mut dialect = Dialect::of(&[], delimiter);
    let mut source = LineSource::new(stream, |first| {
        dialect = Dialect::of(first, delimiter);
        Records::new(dialect)
    })?;
    let mut record = Vec::new();
    let header = match source.next(&mut record)? {
        Filled::Entry(_) => CsvHeader::parse(&record, dialect, id_field),
        Filled::Skipped(skipped) => {
            Err(format!("its first line cannot be used: {}", skipped.reason))
        }
        Filled::End => Err("it is empty".to_owned()),
    };
    let header = Arc::new(header.map_err(|what| anyhow::anyhow!(what))?);
    let collection = collection.to_owned();
    let parser = move || Box::new(CsvParser::new(Arc::clone(&header), &collection)) as _;
    Ok(Stages {
        source: Box::new(source),
        parser: Box::new(parser),
    })
}

/// A delimiter is one byte, or the word `tab`.
fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if *byte != b'"' && *byte != b'\n' && byte.is_ascii() => Ok(*byte),
        _ => Err("a delimiter is one ASCII character, or the word tab".to_owned()),
    }
}
