//! The skips of an import: counted by kind, the first ones kept, all of them in a file if wanted.
//!
//! Written by the write stage, so that the order is that of the input, but for documents that the
//! database leaves out: they come when it answers.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::chunk::Skipped;

/// Skips shown at the end.
pub const SHOWN_MAX: usize = 10;

/// Collects skips.
#[derive(Debug, Default)]
pub struct SkipLog {
    by_kind: BTreeMap<&'static str, u64>,
    first: Vec<Skipped>,
    first_loss: Option<Skipped>,
    file: Option<(PathBuf, BufWriter<File>)>,
    file_error: Option<std::io::Error>,
    /// What stands before the names of entries.
    input: Option<String>,
}

impl SkipLog {
    /// A log that also writes a line per skip to `path`: at its end when an import is resumed,
    /// else from its beginning.
    ///
    /// # Errors
    /// The system's, when the file cannot be opened.
    pub fn with_file(path: &Path, resumed: bool) -> std::io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .write(true)
            .append(resumed)
            .truncate(!resumed)
            .open(path)?;
        Ok(Self {
            file: Some((path.to_owned(), BufWriter::new(file))),
            ..Self::default()
        })
    }

    /// Puts the name of an input before the names of its entries from now on.
    pub fn set_input(&mut self, name: &str) {
        self.input = Some(name.to_owned());
    }

    /// Takes one skip.
    pub fn add(&mut self, mut skipped: Skipped) {
        if let Some(input) = &self.input {
            skipped.name = format!("{input}, {}", skipped.name);
        }
        *self.by_kind.entry(skipped.reason.kind()).or_default() += 1;
        if let Some((_, file)) = &mut self.file
            && let Err(error) = writeln!(file, "{}\t{}", skipped.name, skipped.reason)
        {
            self.file_error.get_or_insert(error);
        }
        if self.first_loss.is_none() && skipped.reason.is_loss() {
            self.first_loss = Some(skipped.clone());
        }
        if self.first.len() < SHOWN_MAX {
            self.first.push(skipped);
        }
    }

    /// How many there were.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_kind.values().sum()
    }

    /// How many there were of each kind.
    #[must_use]
    pub fn by_kind(&self) -> &BTreeMap<&'static str, u64> {
        &self.by_kind
    }

    /// The first ones.
    #[must_use]
    pub fn first(&self) -> &[Skipped] {
        &self.first
    }

    /// The first that held something.
    #[must_use]
    pub fn first_loss(&self) -> Option<&Skipped> {
        self.first_loss.as_ref()
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The first error of writing it, with its path; the import itself is not affected.
    pub fn finish(&mut self) -> Result<(), (PathBuf, std::io::Error)> {
        let Some((path, mut file)) = self.file.take() else {
            return Ok(());
        };
        let flushed = file.flush();
        match self.file_error.take().map_or(flushed, Err) {
            Ok(()) => Ok(()),
            Err(error) => Err((path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::SkipReason;

    #[test]
    fn skips_are_counted_kept_and_written() {
        let path = std::env::temp_dir().join(format!("jackdaw-skips-{}", std::process::id()));
        for resumed in [false, true] {
            let mut log = SkipLog::with_file(&path, resumed).unwrap();
            for number in 0..SHOWN_MAX + 2 {
                let reason = if number == 0 {
                    SkipReason::NotXmcd
                } else {
                    SkipReason::Empty
                };
                log.add(Skipped {
                    name: format!("entry {number}"),
                    reason,
                });
            }
            assert_eq!(log.total(), 12);
            assert_eq!(log.by_kind()["empty"], 11);
            assert_eq!(log.first().len(), SHOWN_MAX);
            log.finish().unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 24);
        assert_eq!(text.lines().nth(1), Some("entry 1\tit is empty"));
        std::fs::remove_file(&path).unwrap();
    }
}
