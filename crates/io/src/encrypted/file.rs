//! An open encrypted file: a header of 4,096 bytes with the tweak of its first sector, then the
//! sectors, each in its place.
//!
//! Made by `EncryptedVfs::open`. Bytes: docs/format.md, "Encrypted files".
//!
//! Invariants:
//! - The header is durable before anything else of the file is written.
//! - Lengths and offsets of others are those of the plain content, but for the file below.
//! - Writes are whole sectors, so that none has to be read before it is written; only the last
//!   sector of a file that no longer grows may be short.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jackdaw_base::hash::xxh3_64_without_checksum;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::mapping::{DecryptedMemory, EncryptedMapping};
use super::sectors::{SECTOR_BYTES, SHORT_SECTOR_BYTES_MIN, SectorCipher};
use crate::buffer::AlignedBuffer;
use crate::error::with_path;
use crate::vfs::{Durability, Mapping, VfsFile};

/// Bytes before the content: a multiple of what direct I/O needs.
pub(super) const HEADER_BYTES: u64 = HEADER_LEN as u64;
const HEADER_LEN: usize = 4096;
/// Bytes that are encrypted and written at once.
const CHUNK_BYTES: usize = 4 << 20;
/// Buffers for ciphertext that are kept, and how long.
const BUFFERS_MAX: usize = 4;
const BUFFER_BYTES_KEPT: usize = 1 << 20;

const MAGIC: [u8; 8] = *b"JKDWSEC1";
const VERSION: u32 = 1;
const SECTOR: u64 = SECTOR_BYTES as u64;

/// Start of an encrypted file; the rest of its 4,096 bytes is zero.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct FileHeader {
    magic: [u8; 8],
    version: U32,
    reserved: U32,
    tweak: [u8; 16],
    checksum: U64,
}

/// What the handles of one file share.
pub(super) struct FileState {
    /// Of the first sector.
    pub(super) tweak: u128,
    mappings: Mutex<Vec<Weak<EncryptedMapping>>>,
}

impl FileState {
    pub(super) fn new(tweak: u128) -> FileState {
        FileState {
            tweak,
            mappings: Mutex::default(),
        }
    }

    /// What is decrypted of a range is forgotten, now and when the guard is dropped.
    fn change(&self, range: Range<u64>) -> Change<'_> {
        self.forget(&range);
        Change { file: self, range }
    }

    fn forget(&self, range: &Range<u64>) {
        let mut mappings = self.mappings.lock().unwrap_or_else(PoisonError::into_inner);
        mappings.retain(|mapping| match mapping.upgrade() {
            Some(mapping) => {
                mapping.forget(range);
                true
            }
            None => false,
        });
    }
}

/// A change of a file on its way.
struct Change<'f> {
    file: &'f FileState,
    range: Range<u64>,
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.file.forget(&self.range);
    }
}

/// Memory for ciphertext on its way to the disk.
#[derive(Default)]
pub(super) struct Buffers {
    free: Mutex<Vec<AlignedBuffer>>,
}

impl Buffers {
    fn take(&self) -> AlignedBuffer {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.pop().unwrap_or_default()
    }

    fn give_back(&self, mut buffer: AlignedBuffer) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < BUFFERS_MAX {
            buffer.clear();
            buffer.shrink_to(BUFFER_BYTES_KEPT);
            free.push(buffer);
        }
    }
}

/// What a file that was just opened begins with.
pub(super) enum Start {
    /// The tweak of its first sector.
    Tweak(u128),
    /// Nothing yet: creating it was interrupted, or has just begun.
    Blank,
}

/// Writes the header of a new file, durably.
pub(super) fn write_header(file: &dyn VfsFile, tweak: u128) -> io::Result<()> {
    let mut header = FileHeader {
        magic: MAGIC,
        version: VERSION.into(),
        reserved: U32::ZERO,
        tweak: tweak.to_le_bytes(),
        checksum: U64::ZERO,
    };
    header.checksum = xxh3_64_without_checksum(header.as_bytes()).into();
    let mut block = AlignedBuffer::zeroed(HEADER_LEN);
    block[..size_of::<FileHeader>()].copy_from_slice(header.as_bytes());
    file.write_at(&block, 0, Durability::Data)
}

/// Reads the header of a file.
///
/// # Errors
/// `InvalidData` when it is no encrypted file, or one of another version.
pub(super) fn read_header(file: &dyn VfsFile, path: &Path) -> io::Result<Start> {
    let len_bytes = file.len_bytes()?;
    if len_bytes < HEADER_BYTES {
        return Ok(Start::Blank);
    }
    let mut block = AlignedBuffer::zeroed(HEADER_LEN);
    file.read_at(&mut block, 0)?;
    if len_bytes == HEADER_BYTES && block.iter().all(|&byte| byte == 0) {
        return Ok(Start::Blank);
    }
    let (header, _) = FileHeader::ref_from_prefix(&block).expect("a block holds a header");
    let is_sound = header.magic == MAGIC
        && header.checksum.get() == xxh3_64_without_checksum(header.as_bytes());
    if !is_sound {
        let text = "it is not encrypted, or the start of the file is damaged: \
                    open the directory without a key, or restore it from a backup";
        let error = io::Error::new(io::ErrorKind::InvalidData, text);
        return Err(with_path("decrypt", path, error));
    }
    if header.version.get() != VERSION {
        let text = format!(
            "it has version {} of encryption, this program knows {VERSION}",
            header.version
        );
        let error = io::Error::new(io::ErrorKind::InvalidData, text);
        return Err(with_path("decrypt", path, error));
    }
    Ok(Start::Tweak(u128::from_le_bytes(header.tweak)))
}

/// Whether the file begins as an encrypted one.
///
/// # Errors
/// When it cannot be read.
pub fn is_encrypted_file(file: &dyn VfsFile) -> io::Result<bool> {
    if file.len_bytes()? < HEADER_BYTES {
        return Ok(false);
    }
    let mut block = AlignedBuffer::zeroed(HEADER_LEN);
    file.read_at(&mut block, 0)?;
    Ok(block.starts_with(&MAGIC))
}

/// See the file head.
pub(super) struct EncryptedFile {
    inner: Arc<dyn VfsFile>,
    path: PathBuf,
    cipher: Arc<SectorCipher>,
    state: Arc<FileState>,
    buffers: Arc<Buffers>,
    memory: Arc<DecryptedMemory>,
    /// The last sector is short: the file does not change any more.
    is_finished: AtomicBool,
}

impl EncryptedFile {
    pub(super) fn new(
        inner: Arc<dyn VfsFile>,
        path: &Path,
        cipher: Arc<SectorCipher>,
        state: Arc<FileState>,
        buffers: Arc<Buffers>,
        memory: Arc<DecryptedMemory>,
    ) -> io::Result<EncryptedFile> {
        let is_finished = !inner.len_bytes()?.is_multiple_of(SECTOR);
        Ok(EncryptedFile {
            inner,
            path: path.to_owned(),
            cipher,
            state,
            buffers,
            memory,
            is_finished: AtomicBool::new(is_finished),
        })
    }

    fn tweak(&self, offset: u64) -> u128 {
        self.state.tweak.wrapping_add(u128::from(offset / SECTOR))
    }

    /// Checks that a change keeps to whole sectors, and gives its range.
    fn changed(&self, offset: u64, len_bytes: u64) -> io::Result<Range<u64>> {
        let end = offset
            .checked_add(len_bytes)
            .filter(|end| end.checked_add(HEADER_BYTES).is_some());
        let is_whole = |bytes: u64| bytes.is_multiple_of(SECTOR);
        match end {
            Some(end)
                if is_whole(offset)
                    && is_whole(end)
                    && !self.is_finished.load(Ordering::Relaxed) =>
            {
                Ok(offset..end)
            }
            _ => Err(self.uneven()),
        }
    }

    #[cold]
    fn uneven(&self) -> io::Error {
        let text = "encrypted files are written by whole sectors of 512 bytes";
        let error = io::Error::new(io::ErrorKind::InvalidInput, text);
        with_path("write", &self.path, error)
    }

    /// Where a write of `len_bytes` ends; its last sector may be short at the end of the file.
    fn written(&self, offset: u64, len_bytes: u64) -> io::Result<Range<u64>> {
        let short = len_bytes % SECTOR;
        if short < SHORT_SECTOR_BYTES_MIN as u64 || offset + len_bytes < self.len_bytes()? {
            return self.changed(offset, len_bytes);
        }
        let range = self.changed(offset, len_bytes - short)?;
        self.is_finished.store(true, Ordering::Relaxed);
        Ok(range.start..range.end + short)
    }

    fn write_chunk(&self, chunk: &[u8], offset: u64, durability: Durability) -> io::Result<()> {
        let mut sealed = self.buffers.take();
        sealed.extend_from_slice(chunk);
        self.cipher.encrypt(&mut sealed, self.tweak(offset));
        let outcome = self
            .inner
            .write_at(&sealed, HEADER_BYTES + offset, durability);
        self.buffers.give_back(sealed);
        outcome
    }

    /// Reads a range that does not keep to sectors.
    fn read_uneven(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let len_bytes = self.len_bytes()?;
        let end = offset.saturating_add(buffer.len() as u64);
        if end > len_bytes {
            let text = format!("the file ends at {len_bytes}, bytes up to {end} were wanted");
            let error = io::Error::new(io::ErrorKind::UnexpectedEof, text);
            return Err(with_path("read", &self.path, error));
        }
        let start = offset / SECTOR * SECTOR;
        let stop = end.next_multiple_of(SECTOR).min(len_bytes);
        let inside = usize::try_from(offset - start).expect("less than a sector");
        let wanted = usize::try_from(stop - start)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut sectors = AlignedBuffer::zeroed(wanted);
        self.inner.read_at(&mut sectors, HEADER_BYTES + start)?;
        self.cipher.decrypt(&mut sectors, self.tweak(start));
        buffer.copy_from_slice(&sectors[inside..inside + buffer.len()]);
        Ok(())
    }
}

impl VfsFile for EncryptedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let is_whole = offset.is_multiple_of(SECTOR) && buffer.len().is_multiple_of(SECTOR_BYTES);
        if !is_whole {
            return self.read_uneven(buffer, offset);
        }
        self.inner
            .read_at(buffer, HEADER_BYTES.saturating_add(offset))?;
        self.cipher.decrypt(buffer, self.tweak(offset));
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64, durability: Durability) -> io::Result<()> {
        let range = self.written(offset, bytes.len() as u64)?;
        let _change = self.state.change(range);
        let mut at = offset;
        for chunk in bytes.chunks(CHUNK_BYTES) {
            self.write_chunk(chunk, at, durability)?;
            at += chunk.len() as u64;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn start_write_back(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let offset = HEADER_BYTES.saturating_add(offset);
        self.inner.start_write_back(offset, len_bytes)
    }

    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.inner.len_bytes()?.saturating_sub(HEADER_BYTES))
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.changed(0, len_bytes)?;
        let _change = self.state.change(len_bytes..u64::MAX);
        self.inner.set_len(HEADER_BYTES + len_bytes)
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.changed(offset, len_bytes)?;
        self.inner.allocate(HEADER_BYTES + offset, len_bytes)
    }

    fn punch_hole(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let range = self.changed(offset, len_bytes)?;
        let _change = self.state.change(range);
        self.inner.punch_hole(HEADER_BYTES + offset, len_bytes)
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Arc<dyn Mapping>> {
        let mapping = EncryptedMapping::new(
            Arc::clone(&self.inner),
            Arc::clone(&self.cipher),
            self.state.tweak,
            Arc::clone(&self.memory),
            reserve_bytes,
        );
        let mapping = Arc::new(mapping.map_err(|error| with_path("map", &self.path, error))?);
        let mut mappings = self
            .state
            .mappings
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        mappings.push(Arc::downgrade(&mapping));
        Ok(mapping)
    }

    fn is_direct(&self) -> bool {
        self.inner.is_direct()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_that_of_the_format_page() {
        jackdaw_sim::assert_layout!(
            "io::encrypted::FileHeader",
            FileHeader {
                magic,
                version,
                reserved,
                tweak,
                checksum
            }
        );
    }
}
