//! The audit log: one line of JSON for each audited request, each with the hash of the one before.
//!
//! `http::dispatch` writes it on secured servers, `jackdaw audit` reads it back. A line that was
//! changed or taken out breaks the chain for all that follow.
//!
//! Invariant: a change that was answered with success has its line on the disk.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::{Value, json};

use super::certificate::{fingerprint, hex, moment};

/// The chain begins with this.
const FIRST: &str = "";
/// Longest line: paths are bounded by the limit of a request's head.
const LINE_BYTES_MAX: usize = 256 << 10;

/// What a line tells, besides when.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) who: String,
    pub(crate) from: String,
    pub(crate) method: &'static str,
    pub(crate) url: String,
    pub(crate) status: u16,
}

/// An open audit log.
#[derive(Debug)]
pub(crate) struct AuditLog {
    path: PathBuf,
    end: Mutex<End>,
}

#[derive(Debug)]
struct End {
    file: File,
    last: String,
}

impl AuditLog {
    /// Opens a log for appending, or begins one.
    pub(crate) fn open(path: PathBuf) -> std::io::Result<AuditLog> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        let last = last_line(&mut file)?;
        let last = last.map_or(FIRST.to_owned(), |line| hex(&fingerprint(&line)));
        Ok(AuditLog {
            path,
            end: Mutex::new(End { file, last }),
        })
    }

    /// Appends a line. What succeeded waits until it is on the disk; refusals do not, so that
    /// nobody can make the disk busy by being refused.
    pub(crate) fn write(&self, entry: &Entry) -> std::io::Result<()> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let line = json!({
            "At": moment(SystemTime::now()),
            "Who": entry.who,
            "From": entry.from,
            "Method": entry.method,
            "Url": entry.url,
            "Status": entry.status,
            "Previous": end.last,
        });
        let line = line.to_string();
        let start = end.file.metadata()?.len();
        let written = end.file.write_all(format!("{line}\n").as_bytes());
        if let Err(error) = written {
            // Half a line would spoil the next one. What cannot be cut off is told by the check.
            let _ = end.file.set_len(start);
            tracing::error!(path = %self.path.display(), %error, "the audit log cannot be written");
            return Err(error);
        }
        end.last = hex(&fingerprint(line.as_bytes()));
        match entry.status < 400 {
            true => end.file.sync_data(),
            false => Ok(()),
        }
    }
}

/// The last complete line, without its end.
fn last_line(file: &mut File) -> std::io::Result<Option<Vec<u8>>> {
    let len = file.seek(SeekFrom::End(0))?;
    let start = len.saturating_sub(LINE_BYTES_MAX as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(LINE_BYTES_MAX as u64).read_to_end(&mut tail)?;
    if tail.last().is_some_and(|byte| *byte != b'\n') {
        // A power cut left half a line: the chain goes on behind it, and it stays to be seen.
        file.write_all(b"\n")?;
        tail.push(b'\n');
    }
    let mut lines = tail.split(|byte| *byte == b'\n').rev().skip(1);
    Ok(lines.next().map(<[u8]>::to_vec))
}

/// Why an audit log is not what was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    File(PathBuf, std::io::Error),
    /// A line does not follow from the one before it.
    #[error("line {0} does not follow from the line before it: something was changed or removed")]
    Broken(u64),
}

/// Reads an audit log and gives its number of lines.
///
/// # Errors
/// [`AuditError`] names the first line that does not follow from the one before.
pub fn verify_audit(path: &Path) -> Result<u64, AuditError> {
    let unreadable = |error| AuditError::File(path.to_owned(), error);
    let file = File::open(path).map_err(unreadable)?;
    let (mut last, mut count) = (FIRST.to_owned(), 0);
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(unreadable)?;
        count += 1;
        let parsed: Value = serde_json::from_slice(&line).unwrap_or_default();
        if parsed["Previous"] != Value::String(last) {
            return Err(AuditError::Broken(count));
        }
        last = hex(&fingerprint(&line));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_goes_on_after_opening_again_and_a_changed_line_breaks_it() {
        let name = format!("jackdaw-audit-{}.log", std::process::id());
        let path = std::env::temp_dir().join(name);
        let entry = |url: &str| Entry {
            who: "somebody\n".to_owned(),
            from: "127.0.0.1:1".to_owned(),
            method: "PUT",
            url: url.to_owned(),
            status: 403,
        };
        let log = AuditLog::open(path.clone()).unwrap();
        log.write(&entry("/a")).unwrap();
        log.write(&entry("/b")).unwrap();
        drop(log);
        AuditLog::open(path.clone())
            .unwrap()
            .write(&entry("/c"))
            .unwrap();
        assert_eq!(verify_audit(&path).unwrap(), 3);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("/b", "/x")).unwrap();
        assert!(matches!(verify_audit(&path), Err(AuditError::Broken(3))));
        std::fs::remove_file(&path).unwrap();
    }
}
