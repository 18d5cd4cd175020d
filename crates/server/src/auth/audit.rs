//! The audit log: one line of JSON for each audited request, each with the hash of the one before.
//!
//! `http::dispatch` writes it on secured servers, `jackdaw audit` reads it back. A line that was
//! changed or taken out breaks the chain for all that follow; the end of the chain is kept apart
//! (see `head`), so that the last lines are no exception. What nobody known is refused is told in
//! full once a minute for a range of addresses, and counted from there on (see `refusals`).
//!
//! Invariants:
//! - A change that was answered with success has its line on the disk.
//! - The head never counts a line that is not on the disk, so it is never ahead after a power cut.

mod head;
mod objects;
mod refusals;
mod verify;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use serde_json::{Value, json};

use super::certificate::{fingerprint, hex, moment};
use head::Head;
pub(crate) use objects::Objects;
use refusals::Refusals;
pub use verify::{AuditError, VerifiedAudit, verify_audit};

/// The chain begins with this.
const FIRST: &str = "";
/// Longest line: paths are bounded by the limit of a request's head.
const LINE_BYTES_MAX: usize = 256 << 10;
/// First status that is a refusal or a failure.
const REFUSED: u16 = 400;

/// What a line tells, besides when.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Name and credential of who asked; `None` when nobody knows.
    pub(crate) who: Option<(String, String)>,
    pub(crate) peer: SocketAddr,
    pub(crate) method: &'static str,
    pub(crate) url: String,
    /// What was changed, however the request named it.
    pub(crate) objects: Objects,
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
    log: File,
    head_file: File,
    /// What is written by now.
    head: Head,
    /// The head file says less.
    is_behind: bool,
    /// A sync failed: nobody knows which lines are on the disk, and a later sync would not tell.
    is_broken: bool,
    refusals: Refusals,
}

impl AuditLog {
    /// Opens a log for appending, or begins one. One whose end is not what its head says is gone on
    /// with from the head, so that the place stays to be seen.
    pub(crate) fn open(path: PathBuf) -> std::io::Result<AuditLog> {
        let mut log = private(OpenOptions::new().read(true).append(true), &path)?;
        let head_path = head::path_of(&path);
        let mut options = OpenOptions::new();
        let mut head_file = private(options.read(true).write(true).truncate(false), &head_path)?;
        let kept = Head::read(&mut head_file)?;
        let has_lost_head = kept.is_none() && log.metadata()?.len() > 0;
        let head = match kept {
            Some(kept) => kept.caught_up(&mut log)?,
            None => Ok(Head::default().advanced(&mut log)?),
        };
        let head = head.unwrap_or_else(|kept| {
            let path = path.display();
            tracing::error!(%path, "the last lines of the audit log were changed or removed");
            kept
        });
        let end = End {
            log,
            head_file,
            head,
            is_behind: true,
            is_broken: false,
            refusals: Refusals::default(),
        };
        let log = AuditLog {
            path,
            end: Mutex::new(end),
        };
        if has_lost_head {
            let path = log.path.display();
            tracing::error!(%path, "the file that counts the lines of the audit log is gone");
            let mut end = log.lock();
            let lines = end.head.lines;
            log.append(
                &mut end,
                json!({ "Who": "?", "HeadMissing": true, "Lines": lines }),
            )?;
        }
        log.settle(Instant::now())?;
        Ok(log)
    }

    /// Appends a line, or counts what is one refusal of many. What succeeded waits until it is on
    /// the disk; refusals do not, so that nobody can make the disk busy by being refused.
    pub(crate) fn write(&self, entry: &Entry) -> std::io::Result<()> {
        self.write_at(entry, Instant::now())
    }

    fn write_at(&self, entry: &Entry, now: Instant) -> std::io::Result<()> {
        let mut end = self.lock();
        let is_refused = entry.status >= REFUSED;
        if is_refused && entry.who.is_none() && !end.refusals.note(entry.peer.ip(), now) {
            return Ok(());
        }
        let (name, credential) = entry
            .who
            .as_ref()
            .map_or(("?", Value::Null), |(name, credential)| {
                (name, credential.as_str().into())
            });
        let line = json!({
            "Who": name,
            "With": credential,
            "From": entry.peer.to_string(),
            "Method": entry.method,
            "Url": entry.url,
            "Objects": entry.objects.to_json(),
            "Status": entry.status,
        });
        self.append(&mut end, line)?;
        match is_refused {
            true => Ok(()),
            false => end.make_durable(),
        }
    }

    /// Writes counts of refusals that are due, and has the head say what is written by now. Called
    /// twice a second.
    pub(crate) fn settle(&self, now: Instant) -> std::io::Result<()> {
        let mut end = self.lock();
        let due = end.refusals.due(now);
        self.append_counts(&mut end, due)?;
        match end.is_behind {
            true => end.make_durable(),
            false => Ok(()),
        }
    }

    fn append_counts(&self, end: &mut End, counts: Vec<(String, u64)>) -> std::io::Result<()> {
        for (range, count) in counts {
            self.append(
                end,
                json!({ "Who": "?", "From": range, "MoreRefused": count }),
            )?;
        }
        Ok(())
    }

    fn append(&self, end: &mut End, mut line: Value) -> std::io::Result<()> {
        line["At"] = moment(SystemTime::now()).into();
        line["Previous"] = end.head.last.as_str().into();
        let line = line.to_string();
        let start = end.log.metadata()?.len();
        let written = end.log.write_all(format!("{line}\n").as_bytes());
        if let Err(error) = written {
            // Half a line would spoil the next one. What cannot be cut off is told by the check.
            let _ = end.log.set_len(start);
            tracing::error!(path = %self.path.display(), %error, "the audit log cannot be written");
            return Err(error);
        }
        end.head.pass(line.as_bytes());
        end.is_behind = true;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl End {
    /// The lines first, then the head that counts them.
    fn make_durable(&mut self) -> std::io::Result<()> {
        if self.is_broken {
            let what = "the audit log could not be written to the disk: restart the server";
            return Err(std::io::Error::other(what));
        }
        self.log
            .sync_data()
            .inspect_err(|_| self.is_broken = true)?;
        self.head.write(&mut self.head_file)?;
        self.is_behind = false;
        Ok(())
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        let mut end = self.lock();
        let counts = end.refusals.take_all();
        let written = self.append_counts(&mut end, counts);
        if let Err(error) = written.and_then(|()| end.make_durable()) {
            tracing::error!(%error, "the last lines of the audit log may be missing");
        }
    }
}

fn private(options: &mut OpenOptions, path: &Path) -> std::io::Result<File> {
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// What the next line names as the one before.
fn hash_of(line: &[u8]) -> String {
    hex(&fingerprint(line))
}

#[cfg(test)]
mod tests;
