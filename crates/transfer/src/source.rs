//! Where the entries of an import come from: a file, an archive, a directory of either.
//!
//! Called by the import commands; read by the read stage.
//!
//! Invariants:
//! - The same input gives the same entries in the same order, so that an import can be resumed by
//!   their number: directories are walked in the order of their names.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use jackdaw_base::hash::xxh3_64;

use crate::archive::{ByteSource, SourceError, TarItem, TarReader, looks_like_tar, open_stream};
use crate::chunk::{Chunk, Filled, Skipped};
use crate::skip::SkipReason;

/// Longest entry of an archive. Albums have about 1 kB; this leaves room for anything real.
pub const ENTRY_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Bytes looked at to tell a tar archive, and read at a time from single files.
const PEEK_BYTES: usize = 512;
/// Bytes of the beginning that identify an input.
const IDENTITY_BYTES: u64 = 64 * 1024;

/// The read stage's view of an input.
pub trait ChunkSource: Send {
    /// Adds entries until the chunk is full or the input ends; `false` when it has ended.
    ///
    /// # Errors
    /// The input cannot be read on; what was added before is good.
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool, SourceError>;
}

/// What is to be imported.
pub struct Input {
    /// As the user named it.
    pub name: String,
    /// Tells this input from others when an import is resumed.
    pub identity: u64,
    /// How much there is to read.
    pub total: Total,
    /// Bytes read so far, of the file as it is on disk.
    pub position: Arc<AtomicU64>,
    opened: Opened,
}

/// How much an input holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// Bytes of the file.
    Bytes(u64),
    /// Entries; known when the input is made up.
    Entries(u64),
    /// Not known before the end.
    Unknown,
}

enum Opened {
    File(Box<dyn Read + Send>),
    Directory(PathBuf),
}

impl Input {
    /// Opens a file or a directory.
    ///
    /// # Errors
    /// The system's, when it cannot be opened or read.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let name = path.display().to_string();
        let position = Arc::new(AtomicU64::new(0));
        if fs::metadata(path)?.is_dir() {
            let listing = fs::read_dir(path)?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect::<std::io::Result<Vec<_>>>()?;
            let identity = listing.iter().fold(0, |sum: u64, name| {
                sum.wrapping_add(xxh3_64(name.as_bytes(), 0))
            });
            let opened = Opened::Directory(path.to_owned());
            return Ok(Self {
                name,
                identity,
                total: Total::Unknown,
                position,
                opened,
            });
        }
        let mut file = File::open(path)?;
        let len_bytes = file.metadata()?.len();
        let mut head = Vec::new();
        file.by_ref().take(IDENTITY_BYTES).read_to_end(&mut head)?;
        let identity = xxh3_64(&head, len_bytes);
        // Pipes cannot be rewound: what was read goes before the rest.
        let opened = Opened::File(Box::new(Cursor::new(head).chain(file)));
        let total = if len_bytes == 0 {
            Total::Unknown
        } else {
            Total::Bytes(len_bytes)
        };
        Ok(Self {
            name,
            identity,
            total,
            position,
            opened,
        })
    }

    /// An input that is made while it is read. `identity` must tell its content.
    pub fn from_reader(
        name: &str,
        identity: u64,
        total: Total,
        reader: Box<dyn Read + Send>,
    ) -> Self {
        let opened = Opened::File(reader);
        Self {
            name: name.to_owned(),
            identity,
            total,
            position: Arc::default(),
            opened,
        }
    }

    /// The input as one stream of bytes.
    ///
    /// # Errors
    /// When it is a directory, or packed in a way that is not read.
    pub fn into_stream(self, threads: usize) -> Result<Box<dyn ByteSource>, SourceError> {
        match self.opened {
            Opened::File(file) => open_stream(file, self.position, threads),
            Opened::Directory(_) => Err(SourceError::Fatal {
                file_position: 0,
                what: "it is a directory, and this kind of import reads one file".to_owned(),
            }),
        }
    }

    /// The input as entries: of an archive, of a directory, or the one file that it is.
    ///
    /// # Errors
    /// When it is packed in a way that is not read.
    pub fn into_entries(self, threads: usize) -> Result<EntrySource, SourceError> {
        let mut source = EntrySource {
            current: None,
            waiting: VecDeque::new(),
            root: PathBuf::new(),
            position: Arc::clone(&self.position),
            threads,
        };
        match self.opened {
            Opened::File(file) => {
                let name = Path::new(&self.name).file_name().map_or_else(
                    || self.name.clone(),
                    |name| name.to_string_lossy().into_owned(),
                );
                source.open_file(file, name)?;
            }
            Opened::Directory(path) => {
                source.root.clone_from(&path);
                source.waiting.push_back(path);
            }
        }
        Ok(source)
    }
}

/// The entries of an archive, a directory or a single file.
pub struct EntrySource {
    current: Option<Content>,
    /// Directories and files that are still to be read, the next first.
    waiting: VecDeque<PathBuf>,
    root: PathBuf,
    position: Arc<AtomicU64>,
    threads: usize,
}

enum Content {
    Tar(TarReader<Prefixed>),
    Single { name: String, stream: Prefixed },
}

/// A stream with the bytes that were looked at put back.
pub(crate) struct Prefixed {
    head: Cursor<Vec<u8>>,
    rest: Box<dyn ByteSource>,
}

impl Prefixed {
    pub(crate) fn new(head: Vec<u8>, rest: Box<dyn ByteSource>) -> Self {
        let head = Cursor::new(head);
        Self { head, rest }
    }
}

impl ByteSource for Prefixed {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        match self.head.read(buffer) {
            Ok(len) if len > 0 => Ok(len),
            _ => self.rest.read(buffer),
        }
    }
}

impl EntrySource {
    fn open_file(&mut self, file: Box<dyn Read + Send>, name: String) -> Result<(), SourceError> {
        let mut rest = open_stream(file, Arc::clone(&self.position), self.threads)?;
        let mut head = vec![0; PEEK_BYTES];
        let mut len = 0;
        while len < head.len() {
            match rest.read(&mut head[len..])? {
                0 => break,
                read => len += read,
            }
        }
        head.truncate(len);
        let is_tar = looks_like_tar(&head);
        let stream = Prefixed {
            head: Cursor::new(head),
            rest,
        };
        self.current = Some(if is_tar {
            Content::Tar(TarReader::new(stream))
        } else {
            Content::Single { name, stream }
        });
        Ok(())
    }

    /// Opens what waits next. `false` when nothing does.
    fn open_next(&mut self, skipped: &mut Option<Skipped>) -> Result<bool, SourceError> {
        let Some(path) = self.waiting.pop_front() else {
            return Ok(false);
        };
        let name = path
            .strip_prefix(&self.root)
            .unwrap_or(&path)
            .display()
            .to_string();
        let opened = fs::metadata(&path).and_then(|metadata| {
            if !metadata.is_dir() {
                return File::open(&path).map(Some);
            }
            let mut paths = fs::read_dir(&path)?
                .map(|entry| Ok(entry?.path()))
                .collect::<std::io::Result<Vec<_>>>()?;
            paths.sort_unstable();
            paths
                .into_iter()
                .rev()
                .for_each(|path| self.waiting.push_front(path));
            Ok(None)
        });
        match opened {
            Ok(None) => {}
            Ok(Some(file)) => self.open_file(Box::new(file), name)?,
            Err(error) => {
                let what = format!("it cannot be opened ({error})");
                *skipped = Some(Skipped {
                    name,
                    reason: SkipReason::Damaged { what },
                });
            }
        }
        Ok(true)
    }

    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Filled, SourceError> {
        loop {
            match self.current.take() {
                Some(Content::Single { name, stream }) => return read_single(name, stream, bytes),
                Some(Content::Tar(mut tar)) => {
                    let item = tar.next_item(bytes, ENTRY_BYTES_MAX)?;
                    let filled = match item {
                        TarItem::End => continue,
                        TarItem::File { name } => Filled::Entry(name),
                        TarItem::TooLong { name, len_bytes } => Filled::Skipped(Skipped {
                            name,
                            reason: SkipReason::TooLong {
                                len_bytes,
                                limit: ENTRY_BYTES_MAX,
                            },
                        }),
                        TarItem::Damaged { name, what } => Filled::Skipped(Skipped {
                            name,
                            reason: SkipReason::Damaged { what },
                        }),
                    };
                    self.current = Some(Content::Tar(tar));
                    return Ok(filled);
                }
                None => {
                    let mut skipped = None;
                    let opened = self.open_next(&mut skipped)?;
                    if let Some(skipped) = skipped {
                        return Ok(Filled::Skipped(skipped));
                    }
                    if !opened {
                        return Ok(Filled::End);
                    }
                }
            }
        }
    }
}

impl ChunkSource for EntrySource {
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool, SourceError> {
        while !chunk.is_full() {
            if !chunk.push_with(|bytes| self.next(bytes))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A file that is no archive is one entry.
fn read_single(
    name: String,
    mut stream: Prefixed,
    bytes: &mut Vec<u8>,
) -> Result<Filled, SourceError> {
    let start = bytes.len();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let len = match stream.read(&mut buffer) {
            Ok(0) => return Ok(Filled::Entry(name)),
            Ok(len) => len,
            Err(SourceError::Gap { what, .. }) => {
                return Ok(Filled::Skipped(Skipped {
                    name,
                    reason: SkipReason::Damaged { what },
                }));
            }
            Err(error) => return Err(error),
        };
        bytes.extend_from_slice(&buffer[..len]);
        let len_bytes = (bytes.len() - start) as u64;
        if len_bytes > ENTRY_BYTES_MAX {
            let reason = SkipReason::TooLong {
                len_bytes,
                limit: ENTRY_BYTES_MAX,
            };
            return Ok(Filled::Skipped(Skipped { name, reason }));
        }
    }
}

#[cfg(test)]
mod tests;
