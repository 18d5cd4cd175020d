//! The head of the audit log: how many lines and bytes there are, and the hash of the last line.
//!
//! It is a file of its own beside the log, `audit.head`, one line of fixed length. Written by the
//! log after its lines; read when a log is opened, and by the check.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{FIRST, LINE_BYTES_MAX, hash_of};

/// Longest head file: two numbers and a hash.
const BYTES_MAX: u64 = 256;

/// See the file head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    pub(super) last: String,
}

/// Where the head of a log is kept.
pub(super) fn path_of(log: &Path) -> PathBuf {
    log.with_extension("head")
}

impl Head {
    /// What a head file says; `None` when it is empty, an error when it is damaged.
    pub(super) fn read(file: &mut File) -> std::io::Result<Option<Head>> {
        let mut text = String::new();
        file.seek(SeekFrom::Start(0))?;
        file.take(BYTES_MAX).read_to_string(&mut text)?;
        if text.is_empty() {
            return Ok(None);
        }
        let mut words = text.split_whitespace();
        let mut number = || words.next()?.parse().ok();
        let (lines, bytes) = (number(), number());
        let (Some(lines), Some(bytes)) = (lines, bytes) else {
            let what = "audit.head is damaged: look at the audit log, then remove the file";
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
        };
        let last = words.next().unwrap_or(FIRST).to_owned();
        Ok(Some(Head { lines, bytes, last }))
    }

    /// Replaces what a head file says, at once: it never grows shorter.
    pub(super) fn write(&self, file: &mut File) -> std::io::Result<()> {
        let text = format!("{:020} {:020} {:64}\n", self.lines, self.bytes, self.last);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())
    }

    /// Goes on behind one more line, which is given without its end.
    pub(super) fn pass(&mut self, line: &[u8]) {
        self.lines += 1;
        self.bytes += line.len() as u64 + 1;
        self.last = hash_of(line);
    }

    /// The head at the end of the log, for a server that ended before it was written, or this one
    /// in its last place when the log does not hold what it counts.
    pub(super) fn caught_up(mut self, log: &mut File) -> std::io::Result<Result<Head, Head>> {
        if self.is_in(log)? {
            return self.advanced(log).map(Ok);
        }
        let mut there = Head::default();
        there = there.advanced(log)?;
        (self.lines, self.bytes) = (there.lines, there.bytes);
        Ok(Err(self))
    }

    /// Whether the log has the last line that this head counts, where it should be.
    fn is_in(&self, log: &mut File) -> std::io::Result<bool> {
        if log.metadata()?.len() < self.bytes {
            return Ok(false);
        }
        if self.bytes == 0 {
            return Ok(self.last == FIRST);
        }
        let start = self.bytes.saturating_sub(LINE_BYTES_MAX as u64);
        let mut tail = Vec::new();
        log.seek(SeekFrom::Start(start))?;
        log.take(self.bytes - start).read_to_end(&mut tail)?;
        let Some(tail) = tail.strip_suffix(b"\n") else {
            return Ok(false);
        };
        let line = tail.rsplit(|byte| *byte == b'\n').next().unwrap_or(tail);
        Ok(hash_of(line) == self.last)
    }

    /// Passes all lines behind this head. Half a line, which a power cut left, is cut off: nothing
    /// was answered because of it.
    pub(super) fn advanced(mut self, log: &mut File) -> std::io::Result<Head> {
        log.seek(SeekFrom::Start(self.bytes))?;
        let mut reader = BufReader::new(&*log);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            if line.pop() != Some(b'\n') {
                log.set_len(self.bytes)?;
                break;
            }
            self.pass(&line);
            line.clear();
        }
        Ok(self)
    }
}

/// What a line says is the hash of the one before it.
pub(super) fn previous(line: &[u8]) -> Option<String> {
    let parsed: Value = serde_json::from_slice(line).ok()?;
    parsed["Previous"].as_str().map(str::to_owned)
}
