//! `jackdaw import`: files of other programs into a database.

mod csv_arguments;
mod preview;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use jackdaw_io::Vfs;

use self::csv_arguments::CsvArguments;
use super::target::{ImportTarget, Location, local_or_new, remote_or_new};
use crate::import::allowance::Allowance;
use crate::import::job::{Job, Open, Stages, import};
use crate::import::remote::RemoteSink;
use crate::import::signals::stop_on_signals;
use crate::import::summary::Purpose;
use jackdaw_transfer::albums::AlbumParser;
use jackdaw_transfer::archive::ByteSource;
use jackdaw_transfer::check::CheckSink;
use jackdaw_transfer::csv::{CsvHeader, CsvOptions, CsvParser, open};
use jackdaw_transfer::encoding::{TextEncoding, decoded};
use jackdaw_transfer::json::JsonParser;
use jackdaw_transfer::local::LocalSink;
use jackdaw_transfer::source::Input;
use jackdaw_transfer::values::JsonSource;

/// Arguments of the command.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum ImportArguments {
    /// CD albums in xmcd form: an archive (tar, packed with gzip, bzip2 or zstd or not at all), a
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
    /// JSON documents: one a line, one behind another, pretty-printed, or in an array; packed with
    /// gzip, bzip2, zstd or zip or not at all.
    Ndjson {
        /// The files; - is standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        common: Common,
        /// The collection of documents whose @metadata name none.
        #[arg(long, value_name = "NAME")]
        collection: Option<String>,
        /// The field that holds the id; by default @metadata/@id, then Id, then id. A value
        /// without a slash goes behind the name of the collection.
        #[arg(long, value_name = "FIELD")]
        id_field: Option<String>,
    },
    /// Comma separated values, the first line naming the fields, packed with gzip, bzip2, zstd or
    /// zip or not at all.
    ///
    /// Numbers become numbers where their text means nothing else, empty fields null, all else
    /// strings. --preview shows the first documents and stores nothing.
    Csv {
        /// The files; - is standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        csv: Box<CsvArguments>,
    },
}

/// Arguments of every format.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    target: ImportTarget,
    /// Write every entry that is left out, with the reason, to this file.
    #[arg(long, value_name = "FILE")]
    skipped: Option<PathBuf>,
    /// Succeed although entries are left out: at most this many, or a share such as 0.5%.
    #[arg(long, value_name = "N", default_value = "0")]
    allow_skipped: Allowance,
    /// The encoding of JSON or CSV that is neither UTF-8 nor UTF-16: windows-1252, shift_jis and
    /// all others that browsers know.
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    encoding: Option<TextEncoding>,
    /// Import a file again that was imported to its end.
    #[arg(long)]
    again: bool,
    /// Read and parse everything, store nothing, and show rates and what would be left out.
    #[arg(long, conflicts_with = "preview")]
    check: bool,
    /// Show how the first entries are read, and store nothing.
    #[arg(long)]
    preview: bool,
}

/// Imports files.
pub(crate) fn run(arguments: ImportArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    let query = ready_query(&arguments);
    let format = Format::of(arguments)?;
    if format.common.preview {
        return format.preview();
    }
    let (job, common) = format.job();
    let stop = stop_on_signals()?;
    let Some((name, place)) = common.target.place() else {
        return import(job, || CheckSink, &stop);
    };
    if common.check {
        return import(job, || CheckSink, &stop);
    }
    match place {
        Location::Server(server) => {
            let database = remote_or_new(server, name)?;
            import(job, || RemoteSink::new(database.clone()), &stop)
        }
        Location::Directory(directory) => {
            let local = local_or_new(directory, name, disk)?;
            let new_sink = || {
                let sink = LocalSink::new(Arc::clone(&local.database));
                match &query {
                    Some(query) => sink.ready_for(query.clone()),
                    None => sink,
                }
            };
            import(job, new_sink, &stop)
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

/// A format with its options and inputs.
struct Format {
    kind: &'static str,
    noun: &'static str,
    inputs: Vec<Input>,
    common: Common,
    /// Options that decide what documents come out.
    settings: Vec<String>,
    open: Open,
    csv: Option<CsvOptions>,
}

impl Format {
    fn of(arguments: ImportArguments) -> anyhow::Result<Self> {
        match arguments {
            ImportArguments::Freedb {
                file,
                common,
                collection,
            } => {
                anyhow::ensure!(
                    common.encoding.is_none(),
                    "--encoding is not for albums: their encoding is found value by value"
                );
                let input = Input::open(&file).with_context(|| unopened(&file))?;
                let settings = vec![collection.clone()];
                let open: Open = Box::new(move |input, threads, _| {
                    let collection = collection.clone();
                    Ok(Stages {
                        source: Box::new(input.into_entries(threads)?),
                        parser: Box::new(move || Box::new(AlbumParser::new(&collection))),
                    })
                });
                Ok(Self {
                    kind: "freedb",
                    noun: "albums",
                    inputs: vec![input],
                    common,
                    settings,
                    open,
                    csv: None,
                })
            }
            ImportArguments::Ndjson {
                files,
                common,
                collection,
                id_field,
            } => {
                let encoding = common.encoding;
                Ok(Self {
                    kind: "ndjson",
                    noun: "documents",
                    inputs: open_each(&files)?,
                    common,
                    settings: vec![
                        collection.clone().unwrap_or_default(),
                        id_field.clone().unwrap_or_default(),
                        encoding.map_or(String::new(), |encoding| encoding.name().to_owned()),
                    ],
                    open: Box::new(move |input, threads, offset| {
                        let (collection, id_field) = (collection.clone(), id_field.clone());
                        let parser = move || {
                            let parser =
                                JsonParser::new(collection.as_deref(), id_field.as_deref());
                            Box::new(parser.numbered_from(offset)) as _
                        };
                        Ok(Stages {
                            source: Box::new(JsonSource::new(text_of(input, threads, encoding)?)?),
                            parser: Box::new(parser),
                        })
                    }),
                    csv: None,
                })
            }
            ImportArguments::Csv { files, common, csv } => {
                // --check and --preview do without.
                let collection = csv.collection.clone().unwrap_or_else(|| "Rows".to_owned());
                let options = csv.options().map_err(anyhow::Error::msg)?;
                let kept = options.clone();
                let encoding = common.encoding;
                Ok(Self {
                    kind: "csv",
                    noun: "documents",
                    inputs: open_each(&files)?,
                    common,
                    settings: vec![collection.clone(), format!("{options:?} {encoding:?}")],
                    open: Box::new(move |input, threads, offset| {
                        let stream = text_of(input, threads, encoding)?;
                        csv_stages(stream, offset, &collection, &options).map(|(stages, _)| stages)
                    }),
                    csv: Some(kept),
                })
            }
        }
    }

    fn job(self) -> (Job, Common) {
        let common = self.common;
        let job = Job {
            kind: self.kind,
            noun: self.noun,
            inputs: self.inputs,
            settings: self.settings,
            open: self.open,
            skipped: common.skipped.clone(),
            allowance: common.allow_skipped,
            again: common.again,
            purpose: match common.check {
                true => Purpose::Check,
                false => Purpose::Import,
            },
        };
        (job, common)
    }

    /// Shows the first entries of each input.
    fn preview(self) -> anyhow::Result<()> {
        for input in self.inputs {
            let name = input.name.clone();
            let explain = || format!("cannot read {name}");
            let header;
            let stages = match &self.csv {
                None => {
                    header = None;
                    (self.open)(input, 1, 0).with_context(explain)?
                }
                Some(options) => {
                    let stream = text_of(input, 1, self.common.encoding).with_context(explain)?;
                    let (stages, of_file) =
                        csv_stages(stream, 0, &self.settings[0], options).with_context(explain)?;
                    header = Some(of_file);
                    stages
                }
            };
            preview::show(&name, stages, header.as_deref()).with_context(explain)?;
        }
        Ok(())
    }
}

fn open_each(files: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    let inputs = Input::open_each(files)
        .map_err(|(path, error)| anyhow::Error::new(error).context(unopened(&path)))?;
    anyhow::ensure!(!inputs.is_empty(), "the archive holds no files");
    Ok(inputs)
}

fn unopened(path: &std::path::Path) -> String {
    format!("cannot open {}: check the path", path.display())
}

/// The text of an input.
fn text_of(
    input: Input,
    threads: usize,
    encoding: Option<TextEncoding>,
) -> anyhow::Result<Box<dyn ByteSource>> {
    let stream = input.into_stream(threads)?;
    Ok(match encoding {
        Some(encoding) => decoded(stream, encoding),
        None => stream,
    })
}

fn parse_encoding(name: &str) -> Result<TextEncoding, String> {
    TextEncoding::named(name)
        .ok_or_else(|| "not the name of an encoding; try windows-1252 or shift_jis".to_owned())
}

/// Reads the header, then leaves the records to the stages.
fn csv_stages(
    stream: Box<dyn ByteSource>,
    offset: u64,
    collection: &str,
    options: &CsvOptions,
) -> anyhow::Result<(Stages, Arc<CsvHeader>)> {
    let opened = open(stream, options)?;
    let header = Arc::new(opened.header);
    let collection = collection.to_owned();
    let of_file = Arc::clone(&header);
    let parser = move || {
        let parser = CsvParser::new(Arc::clone(&header), &collection);
        Box::new(parser.numbered_from(offset)) as _
    };
    let stages = Stages {
        source: Box::new(opened.source),
        parser: Box::new(parser),
    };
    Ok((stages, of_file))
}
