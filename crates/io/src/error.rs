//! I/O errors that name the operation and the path, without losing the kind or the system's code.
//!
//! Used by every operation of `RealVfs`; the engine and the command line read them back through
//! [`os_error_code`] and `std::error::Error::source`.
//!
//! Invariants: wrapping keeps `io::Error::kind`; the first cause stays reachable as `source`.

use std::io;
use std::path::{Path, PathBuf};

/// What an `io::Error` of this crate carries: the operation, the path, and the machine's answer.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {}: {source}", path.display())]
pub struct FileError {
    /// Verb phrase, such as `write` or `make durable`.
    pub operation: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The cause, with the system's error code when it has one.
    pub source: io::Error,
}

/// Wraps `source` so that its message names the operation and the path. The kind is kept.
pub(crate) fn with_path(operation: &'static str, path: &Path, source: io::Error) -> io::Error {
    let kind = source.kind();
    io::Error::new(
        kind,
        FileError {
            operation,
            path: path.to_path_buf(),
            source,
        },
    )
}

/// The system's error code (`errno`) behind an error, through any number of wrappers.
#[must_use]
pub fn os_error_code(error: &io::Error) -> Option<i32> {
    if let Some(code) = error.raw_os_error() {
        return Some(code);
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = error
        .get_ref()
        .map(|inner| inner as &(dyn std::error::Error + 'static));
    while let Some(current) = cause {
        if let Some(code) = current
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error)
        {
            return Some(code);
        }
        cause = current.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_error_keeps_kind_code_and_names_the_path() {
        let raw = io::Error::from_raw_os_error(28);
        let wrapped = with_path("write", Path::new("/data/journal"), raw);
        assert_eq!(wrapped.kind(), io::ErrorKind::StorageFull);
        assert_eq!(os_error_code(&wrapped), Some(28));
        assert!(
            wrapped
                .to_string()
                .starts_with("cannot write /data/journal: ")
        );
    }

    #[test]
    fn code_is_found_through_two_wrappers() {
        let raw = io::Error::from_raw_os_error(5);
        let wrapped = with_path(
            "write",
            Path::new("a"),
            with_path("sync", Path::new("b"), raw),
        );
        assert_eq!(os_error_code(&wrapped), Some(5));
        assert_eq!(os_error_code(&io::Error::other("no code")), None);
    }
}
