//! Reading for `verify`: whole files in pieces, numbers at offsets.
//!
//! Invariants:
//! - Offsets come from docs/format.md; slices are as long as the tables there say.

use std::io;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::{OpenMode, OpenOptions, Vfs, VfsFile};

/// Bytes read ahead.
const WINDOW_BYTES: usize = 1 << 20;

/// A file read mostly from front to back.
pub(super) struct Source {
    file: Arc<dyn VfsFile>,
    pub(super) len_bytes: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl Source {
    pub(super) fn open(vfs: &dyn Vfs, path: &Path) -> io::Result<Source> {
        let options = OpenOptions {
            mode: OpenMode::Read,
            direct: false,
        };
        let file = vfs.open(path, options)?;
        let len_bytes = file.len_bytes()?;
        Ok(Source {
            file,
            len_bytes,
            window: Vec::new(),
            window_start: 0,
        })
    }

    /// `len_bytes` from `offset` on; `None` when the file ends before.
    pub(super) fn read(&mut self, offset: u64, len_bytes: usize) -> io::Result<Option<&[u8]>> {
        let Some(end) = offset.checked_add(len_bytes as u64) else {
            return Ok(None);
        };
        if end > self.len_bytes {
            return Ok(None);
        }
        let window_end = self.window_start + self.window.len() as u64;
        if offset < self.window_start || end > window_end {
            let rest = usize::try_from(self.len_bytes - offset).unwrap_or(usize::MAX);
            self.window.resize(len_bytes.max(WINDOW_BYTES).min(rest), 0);
            self.file.read_at(&mut self.window, offset)?;
            self.window_start = offset;
        }
        let at = usize::try_from(offset - self.window_start).unwrap_or(usize::MAX);
        Ok(self
            .window
            .get(at..)
            .and_then(|bytes| bytes.get(..len_bytes)))
    }
}

/// Whether the root of a catalog says that there are named snapshots.
pub(super) fn keeps_pages(root: &[u8]) -> bool {
    u16_at(root, 18) & 2 != 0
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
