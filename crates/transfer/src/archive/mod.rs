//! Archives as streams of entries: plain, gzip or bzip2, holding a tar archive or one file.
//!
//! Called by the read stage of the imports. What a file is, its first bytes tell, never its name.
//!
//! Invariants:
//! - Memory is bounded by a few decompressed blocks, whatever the archive claims.
//! - Damage is found by checksums and lengths, reported with its position, and never panics. Where
//!   the format allows (bzip2 blocks, tar headers) reading goes on behind it.
//! - The same bytes give the same entries in the same order: resuming counts on it.

mod bits;
mod blocks;
mod compression;
mod tar;
mod tar_writer;

pub use compression::{CompressionKind, open_stream};
pub use tar::{TarItem, TarReader, looks_like_tar};
pub use tar_writer::{append_end, append_file};

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why bytes could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Bytes are missing here; the next read continues behind them.
    #[error("{what} at byte {file_position}")]
    Gap {
        /// Position in the file, or in its unpacked content where only that is known.
        file_position: u64,
        /// What is damaged.
        what: String,
    },
    /// Nothing more can be read.
    #[error("{what} at byte {file_position}")]
    Fatal {
        /// Position in the file, or in its unpacked content where only that is known.
        file_position: u64,
        /// What happened.
        what: String,
    },
}

/// A stream of decompressed bytes that may have gaps.
pub trait ByteSource: Send {
    /// Reads up to `buffer.len()` bytes; 0 means the end.
    ///
    /// # Errors
    /// After [`SourceError::Gap`] reading may go on; after [`SourceError::Fatal`] it may not.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError>;
}

impl ByteSource for Box<dyn ByteSource> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        (**self).read(buffer)
    }
}

/// Counts the bytes that pass, for progress and for positions in messages.
#[derive(Debug)]
pub struct CountingReader<R> {
    inner: R,
    position: Arc<AtomicU64>,
}

impl<R: Read> CountingReader<R> {
    /// Adds what is read from `inner` to `position`.
    pub fn new(inner: R, position: Arc<AtomicU64>) -> Self {
        Self { inner, position }
    }
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.position.fetch_add(len as u64, Ordering::Relaxed);
        Ok(len)
    }
}

/// A stream of the bytes in the first field, of which a read returns at most the second.
#[cfg(test)]
pub(crate) struct Slow(pub(crate) Vec<u8>, pub(crate) usize);

#[cfg(test)]
impl ByteSource for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        let len = self.1.min(buffer.len()).min(self.0.len());
        buffer[..len].copy_from_slice(&self.0[..len]);
        self.0.drain(..len);
        Ok(len)
    }
}
