//! Copying and verifying the data file of a backup.

use std::path::Path;
use std::sync::Arc;

use jackdaw_base::width::to_usize;
use jackdaw_io::{AlignedBuffer, Durability, OpenMode, OpenOptions, Vfs, VfsFile};

use super::{BackupError, Progress};
use crate::environment::page_checksum;
use crate::error::{DamageKind, StorageError};
use crate::page::{self, PAGE_BYTES, Page, PageKind, PageNumber, run_page_count};
use crate::transaction::{GROUP_PAGES, SpaceMap};

/// Read and written at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Opens a file for reading.
pub(super) fn open_to_read(vfs: &dyn Vfs, path: &Path) -> Result<Arc<dyn VfsFile>, BackupError> {
    let options = OpenOptions {
        mode: OpenMode::Read,
        direct: false,
    };
    vfs.open(path, options)
        .map_err(|source| BackupError::io(path, "opening", source))
}

/// Creates a file, in the place of one that was left over.
pub(super) fn create(vfs: &dyn Vfs, path: &Path) -> Result<Arc<dyn VfsFile>, BackupError> {
    let io = |source| BackupError::io(path, "creation", source);
    if vfs.exists(path).map_err(io)? {
        vfs.remove_file(path).map_err(io)?;
    }
    let options = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    vfs.open(path, options).map_err(io)
}

/// Copies the first `len_bytes` of a file, or all that it has; ranges of zeros become holes. Gives
/// the bytes written.
pub(super) fn copy(
    (source, source_path): (&dyn VfsFile, &Path),
    (target, target_path): (&dyn VfsFile, &Path),
    len_bytes: u64,
    progress: Progress<'_>,
) -> Result<u64, BackupError> {
    let read = |error| BackupError::io(source_path, "read", error);
    let write = |error| BackupError::io(target_path, "write", error);
    let len_bytes = len_bytes.min(source.len_bytes().map_err(read)?);
    let mut buffer = AlignedBuffer::zeroed(CHUNK_BYTES);
    let mut offset = 0;
    let mut written = 0;
    while offset < len_bytes {
        let count = to_usize(len_bytes - offset).min(CHUNK_BYTES);
        let chunk = &mut buffer[..count];
        source.read_at(chunk, offset).map_err(read)?;
        if chunk.iter().any(|&byte| byte != 0) {
            target
                .write_at(chunk, offset, Durability::None)
                .map_err(write)?;
            // A hint: failing to start early only makes the sync later longer.
            let _ = target.start_write_back(offset, count as u64);
            written += count as u64;
        }
        offset += count as u64;
        progress(offset, len_bytes);
    }
    target.set_len(len_bytes).map_err(write)?;
    Ok(written)
}

/// Checks every page in use of a data file that nobody writes; gives their number.
pub(super) fn verify(
    file: &dyn VfsFile,
    path: &Path,
    salt: u64,
    page_count: u64,
    progress: Progress<'_>,
) -> Result<u64, BackupError> {
    let mut verifier = Verifier {
        file,
        path,
        salt,
        bytes: AlignedBuffer::zeroed(PAGE_BYTES),
    };
    let mut map = AlignedBuffer::zeroed(PAGE_BYTES);
    let mut verified = 0;
    let mut number = 0;
    while number < page_count {
        if number.is_multiple_of(GROUP_PAGES) {
            verifier.page(number, page_count)?;
            map.copy_from_slice(&verifier.bytes[..PAGE_BYTES]);
            progress(number, page_count);
        } else if SpaceMap::of(whole_page(&map)).is_free(number % GROUP_PAGES) {
            number += 1;
            continue;
        }
        let pages = verifier.page(number, page_count)?;
        verified += pages;
        number += pages;
    }
    progress(page_count, page_count);
    Ok(verified)
}

struct Verifier<'a> {
    file: &'a dyn VfsFile,
    path: &'a Path,
    salt: u64,
    /// What was read last.
    bytes: AlignedBuffer,
}

impl Verifier<'_> {
    /// Reads and checks the page or run that starts at `number`; gives its number of pages.
    fn page(&mut self, number: u64, page_count: u64) -> Result<u64, BackupError> {
        self.read(number, 1)?;
        let header = *whole_page(&self.bytes).header();
        let pages = match header.kind == PageKind::Overflow as u8 {
            true => u64::from(run_page_count(header.overflow_len())),
            false => 1,
        };
        if number + pages > page_count {
            let what = DamageKind::Pointer {
                what: "the length of a run",
                target: number + pages,
            };
            return Err(StorageError::corrupt_page(PageNumber(number), what).into());
        }
        if pages > 1 {
            self.read(number, pages)?;
        }
        check(PageNumber(number), self.salt, &self.bytes)?;
        Ok(pages)
    }

    fn read(&mut self, number: u64, pages: u64) -> Result<(), BackupError> {
        self.bytes.resize(to_usize(pages) * PAGE_BYTES);
        self.file
            .read_at(&mut self.bytes, number * PAGE_BYTES as u64)
            .map_err(|source| BackupError::io(self.path, "read", source))
    }
}

fn whole_page(bytes: &[u8]) -> &Page {
    Page::from_bytes(&bytes[..PAGE_BYTES]).expect("at least one page was read")
}

/// Checks checksum, number and structure of a page or run.
fn check(number: PageNumber, salt: u64, bytes: &[u8]) -> Result<(), StorageError> {
    let page = whole_page(bytes);
    let expected = page.header().checksum.get();
    let actual = page_checksum(salt, number, bytes);
    if expected != actual {
        let what = DamageKind::Checksum { expected, actual };
        return Err(StorageError::corrupt_page(number, what));
    }
    if page.number() != number {
        let what = DamageKind::PageNumber {
            expected: number.0,
            actual: page.number().0,
        };
        return Err(StorageError::corrupt_page(number, what));
    }
    Ok(page::validate(page)?)
}
