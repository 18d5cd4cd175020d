//! Writing dirty cached bytes back: starting it, and asking what became of it (`sync_file_range`).
//!
//! Called by `RealFile::start_write_back` and `SpillFile::check`. A module of its own because
//! rustix does not offer the call; it holds one unsafe line.
//!
//! Invariants: nothing here makes anything durable.
#![expect(
    unsafe_code,
    reason = "sync_file_range is only offered as a foreign function"
)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Queues the dirty pages of the range for writing. Values beyond the signed range are clamped.
/// A hint.
pub(crate) fn start_write_back(file: &File, offset: u64, len_bytes: u64) -> io::Result<()> {
    let offset = i64::try_from(offset).unwrap_or(i64::MAX);
    let len_bytes = i64::try_from(len_bytes)
        .unwrap_or(i64::MAX)
        .min(i64::MAX - offset);
    if len_bytes == 0 {
        return Ok(()); // Zero would mean "to the end of the file".
    }
    sync_file_range(file, offset, len_bytes, libc::SYNC_FILE_RANGE_WRITE)
}

/// Waits for writing that has begun, and tells whether any since the last call failed.
pub(crate) fn written_back(file: &File) -> io::Result<()> {
    sync_file_range(file, 0, 0, libc::SYNC_FILE_RANGE_WAIT_BEFORE)
}

/// A length of 0 means to the end of the file.
fn sync_file_range(file: &File, offset: i64, len_bytes: i64, flags: u32) -> io::Result<()> {
    let descriptor = file.as_raw_fd();
    // SAFETY: the call takes plain integers and touches no memory of ours; `file` is borrowed, so
    // the descriptor stays open for the whole call.
    let result = unsafe { libc::sync_file_range(descriptor, offset, len_bytes, flags) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
