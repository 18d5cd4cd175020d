//! What the examples share: albums to work on. The examples are the files beside this folder.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Context, Result};
use jackdaw_cli::demo::DemoArchive;
use jackdaw_transfer::albums::AlbumParser;
use jackdaw_transfer::archive::{ByteSource, TarItem, TarReader, open_stream};
use jackdaw_transfer::parse::{EntryParser, OwnedDocument};

/// Longest entry of an archive that is read.
const ENTRY_BYTES_MAX: u64 = 16 << 20;
const SEED: u64 = 1;
const INVENTED_ALBUMS: u64 = 20_000;

/// The albums that the program's argument names: a number of invented ones, or an archive.
///
/// # Errors
/// When the archive cannot be read.
pub fn albums_of_arguments() -> Result<Albums> {
    let Some(argument) = std::env::args().nth(1) else {
        return Albums::invented(INVENTED_ALBUMS);
    };
    match argument.parse() {
        Ok(count) => Albums::invented(count),
        Err(_) => Albums::of_archive(Path::new(&argument)),
    }
}

/// A directory for this run of an example, which does not exist yet.
///
/// # Errors
/// When what an earlier run left cannot be removed.
pub fn new_directory(purpose: &str) -> Result<PathBuf> {
    let name = format!("jackdaw-example-{}-{purpose}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    Ok(directory)
}

/// The albums of an archive, one after the other. Entries that are no albums are passed over.
pub struct Albums {
    entries: TarReader<Box<dyn ByteSource>>,
    content: Vec<u8>,
    parser: AlbumParser,
}

impl Albums {
    /// A made-up archive of `count` albums, the same on every machine.
    ///
    /// # Errors
    /// None in practice: reading it takes no file.
    pub fn invented(count: u64) -> Result<Albums> {
        Albums::read(Box::new(DemoArchive::new(SEED, count)))
    }

    /// The albums of a file: a tar archive of xmcd entries, plain or packed with gzip or bzip2.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_archive(path: &Path) -> Result<Albums> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Albums::read(Box::new(file))
    }

    fn read(file: Box<dyn Read + Send>) -> Result<Albums> {
        let stream = open_stream(file, Arc::new(AtomicU64::new(0)), 1)?;
        let parser = AlbumParser::new("Albums");
        Ok(Albums {
            entries: TarReader::new(stream),
            content: Vec::new(),
            parser,
        })
    }

    fn next_album(&mut self) -> Result<Option<OwnedDocument>> {
        loop {
            self.content.clear();
            match self.entries.next_item(&mut self.content, ENTRY_BYTES_MAX)? {
                TarItem::End => return Ok(None),
                TarItem::TooLong { .. } | TarItem::Damaged { .. } => {}
                TarItem::File { name } => {
                    let mut parsed = Vec::new();
                    let outcome = self.parser.parse(&name, &self.content, &mut parsed);
                    if outcome.is_ok() {
                        return Ok(parsed.pop());
                    }
                }
            }
        }
    }
}

impl Iterator for Albums {
    type Item = Result<OwnedDocument>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_album().transpose()
    }
}
