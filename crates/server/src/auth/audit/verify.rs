//! Whether an audit log is what was written: read from its first line to its head.
//!
//! Called by the command line, beside a running server or without one.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::head::{self, Head};
use super::{FIRST, LINE_BYTES_MAX};

/// Why an audit log is not what was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// A file cannot be read.
    #[error("cannot read {0}: {1}")]
    File(PathBuf, std::io::Error),
    /// A line does not follow from the one before it.
    #[error("line {0} does not follow from the line before it: something was changed or removed")]
    Broken(u64),
    /// The log does not hold the last line that its head counts.
    #[error(
        "the log does not end as its head says: of its {0} lines the last were changed or removed"
    )]
    End(u64),
    /// There are lines, and nothing says how many there should be.
    #[error(
        "{0} is missing: it was removed, or the log is older than this version, in which case the \
         next start of the server makes it"
    )]
    NoHead(PathBuf),
    /// A hash that was noted earlier is of no line.
    #[error("no line has the hash {0}: the log was replaced, or cut off before that line")]
    NotThere(String),
}

/// What is known of an audit log that is as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedAudit {
    /// All lines.
    pub lines: u64,
    /// Those of them behind the head: of the last half second, or of a server that was killed.
    pub newer: u64,
    /// Hash of the last line; empty when there is none. Noted elsewhere, it shows later that
    /// everything up to here is still there, whoever may write to this machine.
    pub last: String,
}

/// Reads an audit log. `noted` is the hash of a line that has to be there.
///
/// # Errors
/// [`AuditError`] names the first line that does not follow from the one before, or says what is
/// missing.
pub fn verify_audit(path: &Path, noted: Option<&str>) -> Result<VerifiedAudit, AuditError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |error| AuditError::File(path, error)
    };
    // First: a running server writes lines, then their head.
    let head_path = head::path_of(path);
    let kept = match File::open(&head_path) {
        Ok(mut file) => Head::read(&mut file).map_err(unreadable(&head_path))?,
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(unreadable(&head_path)(error)),
    };
    let file = File::open(path).map_err(unreadable(path))?;
    let mut reader = BufReader::new(file);
    let mut at = Head::default();
    let mut is_head_passed = kept.as_ref().is_some_and(|kept| *kept == at);
    let mut is_noted_passed = noted.is_none_or(|noted| noted == FIRST);
    while let Some(line) = next_line(&mut reader).map_err(unreadable(path))? {
        if head::previous(&line).as_deref() != Some(&at.last) {
            return Err(AuditError::Broken(at.lines + 1));
        }
        at.pass(&line);
        is_head_passed |= kept.as_ref().is_some_and(|kept| *kept == at);
        is_noted_passed |= noted.is_some_and(|noted| noted.eq_ignore_ascii_case(&at.last));
    }
    let counted = match kept {
        Some(kept) if is_head_passed => kept.lines,
        Some(kept) => return Err(AuditError::End(kept.lines)),
        None if at.lines == 0 => 0,
        None => return Err(AuditError::NoHead(head_path)),
    };
    if let Some(noted) = noted.filter(|_| !is_noted_passed) {
        return Err(AuditError::NotThere(noted.to_owned()));
    }
    Ok(VerifiedAudit {
        lines: at.lines,
        newer: at.lines - counted,
        last: at.last,
    })
}

/// The next whole line without its end. One that is just being written is none yet.
fn next_line(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    reader
        .take(LINE_BYTES_MAX as u64)
        .read_until(b'\n', &mut line)?;
    let is_whole = line.pop() == Some(b'\n');
    Ok(is_whole.then_some(line))
}
