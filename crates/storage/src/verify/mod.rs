//! Looking for damage in the files of an environment without opening it.
//!
//! A second reader of the formats, written from docs/format.md and sharing no code with the one
//! that serves documents: what both of them accept is not merely what one of them overlooks. It
//! reads every byte that means something, changes nothing and replays nothing, so a damaged
//! directory stays as it is. `meta`, `journal` and `pages` look at one file each.
//!
//! Called by `jackdaw check` before it opens an environment.
//!
//! Invariants:
//! - Nothing is written but a lock file where there is none, and no byte read is trusted before its
//!   checksum.
//! - A place is named once, and only when bytes there are not what was written.

mod bytes;
mod journal;
mod meta;
mod pages;

use std::io;
use std::path::Path;

use jackdaw_io::{FileLock, Vfs};

use self::meta::Verdict;
use crate::environment::OpenError;
use crate::error::{Damage, StorageError};

/// What [`verify`] found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Damaged places; empty when all is well.
    pub damages: Vec<Damage>,
    /// Whether the environment was closed in order.
    pub was_clean: bool,
    /// Pages in use whose checksum was computed.
    pub pages: u64,
    /// Pages that hold nothing; their bytes have no meaning.
    pub free_pages: u64,
    /// Pages that the next opening will write anew from the journal, left out.
    pub pending_pages: u64,
    /// Records of the journal whose checksums were computed.
    pub records: u64,
}

/// Checks the files of the environment in `directory`, which nobody may have open for writing.
///
/// Costs two passes over the data file. The last record of an environment that was not closed in
/// order may be torn; it is named only when it was acknowledged for certain. An environment in
/// which a compaction is to be completed is left to the next opening: nothing is looked at.
///
/// # Errors
/// When there is no environment of this format, another process has it open, or the machine fails.
/// Damage is in the report.
pub fn verify(vfs: &dyn Vfs, directory: &Path) -> Result<VerifyReport, OpenError> {
    let io = |source| OpenError::Storage(StorageError::io(directory, "verification", source));
    if !vfs.exists(&directory.join("meta")).map_err(io)? {
        return Err(OpenError::Missing {
            path: directory.to_owned(),
        });
    }
    let _lock = lock(vfs, directory)?;
    let mut report = VerifyReport::default();
    let meta = match meta::verify(vfs, directory, &mut report.damages).map_err(io)? {
        Verdict::Usable(meta) => meta,
        Verdict::Damaged => return Ok(report),
        Verdict::Foreign => {
            return Err(OpenError::NotAnEnvironment {
                path: directory.to_owned(),
            });
        }
        Verdict::Encrypted => {
            return Err(OpenError::Encrypted {
                path: directory.to_owned(),
            });
        }
        Verdict::OtherVersion(found) => {
            return Err(OpenError::Version {
                path: directory.to_owned(),
                found,
                supported: meta::VERSION,
            });
        }
    };
    report.was_clean = meta.is_clean;
    let journal = journal::verify(vfs, directory, &meta, &mut report).map_err(io)?;
    pages::verify(vfs, directory, &meta, &journal, &mut report).map_err(io)?;
    Ok(report)
}

fn lock(vfs: &dyn Vfs, directory: &Path) -> Result<Box<dyn FileLock>, OpenError> {
    let path = directory.join("LOCK");
    let shared = match vfs.lock_shared(&path) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => vfs.lock(&path),
        taken => taken,
    };
    shared.map_err(|source| match source.kind() {
        io::ErrorKind::WouldBlock => OpenError::InUse {
            path: directory.to_owned(),
        },
        _ => StorageError::io(directory, "locking", source).into(),
    })
}

/// Damage of a file other than the data file, or of the data file as a whole.
fn damage_of_file(name: &str, what: crate::error::DamageKind) -> Damage {
    Damage {
        file: name.to_owned().into(),
        page: None,
        what,
    }
}
