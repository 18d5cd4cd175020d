//! Reading streams: at an offset, chunk by chunk, or through [`std::io::Read`].

use std::io;

use super::{CHUNK_TAG, COUNTER_KEY, HEAD_TAG, StreamHead, chunk_key, head_key};
use crate::error::{DamageKind, StorageError};
use crate::page::{PageNumber, PageRead};
use crate::tree::{Range, Tree, TreeRoot};

/// The streams of one tree, to read.
pub struct Streams<'t, P: ?Sized> {
    tree: Tree<'t, P>,
}

impl<P: ?Sized> Clone for Streams<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: ?Sized> Copy for Streams<'_, P> {}

/// What [`Streams::verify`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamsReport {
    /// Streams.
    pub streams: u64,
    /// Their chunks.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl<'t, P: PageRead + ?Sized> Streams<'t, P> {
    /// The streams in the tree at `root`.
    pub fn new(pages: &'t P, root: TreeRoot) -> Streams<'t, P> {
        Streams {
            tree: Tree::new(pages, root),
        }
    }

    /// The stream called `name`; `None` when there is none. Reads one page per level.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`], [`StorageError::Io`].
    pub fn get(&self, name: &[u8]) -> Result<Option<Stream<'t, P>>, StorageError> {
        let head = find_head(&self.tree, name)?;
        Ok(head.map(|head| Stream {
            tree: self.tree,
            head,
        }))
    }

    /// All streams with their names, by name.
    ///
    /// # Errors
    /// As for [`Streams::get`].
    pub fn iter(&self) -> Result<StreamRange<'t, P>, StorageError> {
        self.prefix(&[])
    }

    /// The streams whose names start with `prefix`, by name.
    ///
    /// # Errors
    /// As for [`Streams::get`].
    pub fn prefix(&self, prefix: &[u8]) -> Result<StreamRange<'t, P>, StorageError> {
        Ok(StreamRange {
            heads: self.tree.prefix(&head_key(prefix))?,
            tree: self.tree,
        })
    }

    /// Checks that every stream has all its chunks at their lengths, and that no chunk is left
    /// over. Reads every chunk.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] with the first damage found, [`StorageError::Io`].
    pub fn verify(&self) -> Result<StreamsReport, StorageError> {
        let mut report = StreamsReport::default();
        for entry in self.iter()? {
            let (_, stream) = entry?;
            for chunk in stream.chunks() {
                report.bytes += chunk?.len() as u64;
                report.chunks += 1;
            }
            report.streams += 1;
        }
        let counter = u64::from(self.tree.contains(COUNTER_KEY)?);
        let expected = self.tree.len();
        let actual = counter + report.streams + report.chunks;
        if expected != actual {
            let what = "number of heads and chunks of streams";
            return Err(miscount(&self.tree, what, expected, actual));
        }
        Ok(report)
    }
}

/// One stream, to read.
pub struct Stream<'t, P: ?Sized> {
    tree: Tree<'t, P>,
    head: StreamHead,
}

impl<P: ?Sized> Clone for Stream<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: ?Sized> Copy for Stream<'_, P> {}

impl<'t, P: PageRead + ?Sized> Stream<'t, P> {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.head.len_bytes.get()
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes from `offset` on to the end of the chunk that holds it, without copying them;
    /// nothing at or behind the end.
    ///
    /// # Errors
    /// As for [`Streams::get`].
    pub fn piece_at(&self, offset: u64) -> Result<&'t [u8], StorageError> {
        if offset >= self.len() {
            return Ok(&[]);
        }
        let chunk_len = self.head.chunk_len() as u64;
        let chunk = read_chunk(&self.tree, &self.head, offset / chunk_len)?;
        // Below the length of a chunk, which is a usize.
        let skipped = usize::try_from(offset % chunk_len).unwrap_or(chunk.len());
        Ok(chunk.get(skipped..).unwrap_or_default())
    }

    /// Copies bytes from `offset` on into `buffer` and gives their number: less than its length
    /// only at the end of the stream.
    ///
    /// # Errors
    /// As for [`Streams::get`].
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        let mut done = 0;
        while done < buffer.len() {
            let piece = self.piece_at(offset.saturating_add(done as u64))?;
            if piece.is_empty() {
                break;
            }
            let count = piece.len().min(buffer.len() - done);
            buffer[done..done + count].copy_from_slice(&piece[..count]);
            done += count;
        }
        Ok(done)
    }

    /// The chunks in order; together they are the stream.
    #[must_use]
    pub fn chunks(&self) -> StreamChunks<'t, P> {
        StreamChunks {
            stream: *self,
            next: 0,
        }
    }

    /// The bytes in order, for whoever takes a [`io::Read`].
    #[must_use]
    pub fn reader(&self) -> StreamReader<'t, P> {
        StreamReader {
            stream: *self,
            offset: 0,
        }
    }
}

/// The chunks of a stream; made by [`Stream::chunks`].
pub struct StreamChunks<'t, P: ?Sized> {
    stream: Stream<'t, P>,
    next: u64,
}

impl<'t, P: PageRead + ?Sized> Iterator for StreamChunks<'t, P> {
    type Item = Result<&'t [u8], StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.stream.head.chunk_count() {
            return None;
        }
        let chunk = read_chunk(&self.stream.tree, &self.stream.head, self.next);
        self.next = match chunk {
            Ok(_) => self.next + 1,
            Err(_) => u64::MAX,
        };
        Some(chunk)
    }
}

/// Reads a stream from its start; made by [`Stream::reader`].
pub struct StreamReader<'t, P: ?Sized> {
    stream: Stream<'t, P>,
    offset: u64,
}

impl<P: PageRead + ?Sized> io::Read for StreamReader<'_, P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.stream.piece_at(self.offset);
        let piece = piece.map_err(io::Error::other)?;
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece[..count]);
        self.offset += count as u64;
        Ok(count)
    }
}

/// Names and streams by name; made by [`Streams::iter`] and [`Streams::prefix`].
pub struct StreamRange<'t, P: ?Sized> {
    heads: Range<'t, P>,
    tree: Tree<'t, P>,
}

impl<'t, P: PageRead + ?Sized> Iterator for StreamRange<'t, P> {
    type Item = Result<(Vec<u8>, Stream<'t, P>), StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = match self.heads.next()? {
            Ok(entry) => entry,
            Err(error) => return Some(Err(error)),
        };
        let mut name = key.to_vec();
        debug_assert_eq!(name.first(), Some(&HEAD_TAG));
        name.remove(0);
        let stream = |head| Stream {
            tree: self.tree,
            head,
        };
        Some(decode_head(&self.tree, value).map(|head| (name, stream(head))))
    }
}

/// The head of the stream called `name`.
pub(super) fn find_head<P: PageRead + ?Sized>(
    tree: &Tree<'_, P>,
    name: &[u8],
) -> Result<Option<StreamHead>, StorageError> {
    match tree.get(&head_key(name))? {
        Some(value) => decode_head(tree, value).map(Some),
        None => Ok(None),
    }
}

fn decode_head<P: PageRead + ?Sized>(
    tree: &Tree<'_, P>,
    value: &[u8],
) -> Result<StreamHead, StorageError> {
    StreamHead::decode(value).ok_or_else(|| {
        let what = DamageKind::Encoding {
            what: "the head of a stream",
        };
        StorageError::corrupt_page(root_page(tree), what)
    })
}

/// A chunk of the stream of `head`, with the length that it has to have.
pub(super) fn read_chunk<'t, P: PageRead + ?Sized>(
    tree: &Tree<'t, P>,
    head: &StreamHead,
    chunk: u64,
) -> Result<&'t [u8], StorageError> {
    debug_assert_eq!(chunk_key(0, 0)[0], CHUNK_TAG);
    let found = tree.get(&chunk_key(head.number.get(), chunk))?;
    let expected = head.len_of_chunk(chunk);
    match found {
        Some(bytes) if bytes.len() == expected => Ok(bytes),
        other => {
            let actual = other.map_or(0, <[u8]>::len) as u64;
            Err(miscount(
                tree,
                "length of a chunk of a stream",
                expected as u64,
                actual,
            ))
        }
    }
}

#[cold]
fn miscount<P: PageRead + ?Sized>(
    tree: &Tree<'_, P>,
    what: &'static str,
    expected: u64,
    actual: u64,
) -> StorageError {
    let what = DamageKind::Count {
        what,
        expected,
        actual,
    };
    StorageError::corrupt_page(root_page(tree), what)
}

pub(super) fn root_page<P: PageRead + ?Sized>(tree: &Tree<'_, P>) -> PageNumber {
    tree.root().root_page().unwrap_or(PageNumber::NONE)
}
