//! Where the entries of an import come from: a file, an archive, a directory of either.
//!
//! Called by the import commands; read by the read stage.
//!
//! Invariants:
//! - The same input gives the same entries in the same order, so that an import can be resumed by
//!   their number: directories are walked in the order of their names.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::UNIX_EPOCH;

use jackdaw_base::hash::{Xxh3, xxh3_64};

use crate::archive::{ByteSource, SourceError, TarItem, TarReader, looks_like_tar, open_stream};
use crate::chunk::{Chunk, Filled, Skipped};
use crate::skip::SkipReason;
use crate::zip_members;

/// Longest entry of an archive. Albums have about 1 kB; this leaves room for anything real.
pub const ENTRY_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Bytes looked at to tell a tar archive, and read at a time from single files.
const PEEK_BYTES: usize = 512;
/// Bytes read at a time to identify an input.
const IDENTITY_BYTES: usize = 1024 * 1024;
/// What names standard input.
const STANDARD_INPUT: &str = "-";
/// How a zip archive begins; an empty one with the third.
const ZIP_MARKS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

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
    /// Hash of the whole content, which tells this input from others when an import is resumed.
    /// `None` when it cannot be read twice.
    pub identity: Option<u64>,
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
    /// Opens a file or a directory. A file is read once to identify it; of the files in a
    /// directory, names, lengths and times of change count.
    ///
    /// # Errors
    /// The system's, when it cannot be opened or read.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let name = path.display().to_string();
        let position = Arc::new(AtomicU64::new(0));
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            let mut hash = Xxh3::new(0);
            hash_directory(path, &mut hash)?;
            return Ok(Self {
                name,
                identity: Some(hash.finish()),
                total: Total::Unknown,
                position,
                opened: Opened::Directory(path.to_owned()),
            });
        }
        let mut file = File::open(path)?;
        // Pipes cannot be rewound.
        let identity = match metadata.is_file() {
            true => Some(hash_file(&mut file)?),
            false => None,
        };
        Ok(Self {
            name,
            identity,
            total: match metadata.len() {
                0 => Total::Unknown,
                len_bytes => Total::Bytes(len_bytes),
            },
            position,
            opened: Opened::File(Box::new(file)),
        })
    }

    /// Opens files for formats whose imports read one file after another: `-` is standard input,
    /// and a zip archive stands for the files in it.
    ///
    /// # Errors
    /// The first that cannot be opened, with its path.
    pub fn open_each(paths: &[PathBuf]) -> Result<Vec<Self>, (PathBuf, std::io::Error)> {
        let mut inputs = Vec::new();
        for path in paths {
            let opened = if path == Path::new(STANDARD_INPUT) {
                Ok(vec![Self {
                    name: "standard input".to_owned(),
                    identity: None,
                    total: Total::Unknown,
                    position: Arc::default(),
                    opened: Opened::File(Box::new(std::io::stdin())),
                }])
            } else {
                Self::open(path).and_then(|input| input.with_members(path))
            };
            inputs.extend(opened.map_err(|error| (path.clone(), error))?);
        }
        Ok(inputs)
    }

    /// The files in it when it is a zip archive, else itself.
    fn with_members(self, path: &Path) -> std::io::Result<Vec<Self>> {
        let Some(identity) = self.identity.filter(|_| path.is_file()) else {
            return Ok(vec![self]);
        };
        let mut head = Vec::new();
        File::open(path)?.take(4).read_to_end(&mut head)?;
        if !ZIP_MARKS.contains(&head.as_slice()) {
            return Ok(vec![self]);
        }
        let members = zip_members::members(path)?.into_iter();
        let inputs = members.map(|member| Self {
            name: format!("{}/{}", self.name, member.name),
            identity: Some(xxh3_64(member.name.as_bytes(), identity)),
            total: Total::Bytes(member.packed_bytes),
            position: Arc::default(),
            opened: Opened::File(member.reader),
        });
        Ok(inputs.collect())
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
            identity: Some(identity),
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

/// Hashes a file from its beginning, and goes back there.
fn hash_file(file: &mut File) -> std::io::Result<u64> {
    let mut hash = Xxh3::new(0);
    let mut buffer = vec![0; IDENTITY_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(len) => hash.update(&buffer[..len]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(hash.finish())
}

/// Hashes names, lengths and times of change of all files below a directory.
fn hash_directory(directory: &Path, hash: &mut Xxh3) -> std::io::Result<()> {
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        let mut entries = fs::read_dir(&directory)?.collect::<std::io::Result<Vec<_>>>()?;
        entries.sort_unstable_by_key(fs::DirEntry::file_name);
        for entry in entries {
            hash.update(entry.file_name().as_encoded_bytes());
            // What cannot be looked at is reported when it is read.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            hash.update(&metadata.len().to_le_bytes());
            if metadata.is_dir() {
                waiting.push(entry.path());
            } else if let Ok(changed) = metadata.modified()
                && let Ok(changed) = changed.duration_since(UNIX_EPOCH)
            {
                hash.update(&changed.as_nanos().to_le_bytes());
            }
        }
    }
    Ok(())
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
