//! Entries on their way through the stages of an import, many at a time.
//!
//! A chunk is filled by the read stage, emptied by a parse thread and handed back to be filled
//! again, so a long import allocates no more than a short one.

use std::ops::Range;

use crate::skip::SkipReason;

/// A chunk is full at this many bytes or entries, whichever comes first. It becomes one
/// transaction: larger ones gain little and make a stop wait.
pub const CHUNK_BYTES: usize = 2 * 1024 * 1024;
/// See [`CHUNK_BYTES`].
pub const CHUNK_ENTRIES: usize = 2_048;

/// Raw entries, in the order of the input.
#[derive(Debug, Default)]
pub struct Chunk {
    /// How many entries of the input came before this chunk.
    pub entries_before: u64,
    bytes: Vec<u8>,
    names: String,
    entries: Vec<(Range<usize>, Range<usize>)>,
    skipped: Vec<Skipped>,
}

/// An entry that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// What the input calls it: a path in an archive, a line number.
    pub name: String,
    /// Why.
    pub reason: SkipReason,
}

impl Chunk {
    /// Empties the chunk and keeps its memory, except what an unusually long entry took.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(CHUNK_BYTES * 4);
        self.names.clear();
        self.entries.clear();
        self.skipped.clear();
    }

    /// Whether the read stage should pass it on.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= CHUNK_BYTES || self.entry_count() >= CHUNK_ENTRIES
    }

    /// Entries and skips: how far the input is read, counted in entries.
    #[must_use]
    pub fn entry_count(&self) -> usize {
        self.entries.len() + self.skipped.len()
    }

    /// Adds an entry whose content `fill` appends; `fill` gives its name.
    ///
    /// # Errors
    /// Those of `fill`; nothing is added.
    pub fn push_with<E>(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>) -> Result<Filled, E>,
    ) -> Result<bool, E> {
        let start = self.bytes.len();
        let filled = fill(&mut self.bytes);
        match filled {
            Ok(Filled::Entry(name)) => {
                let name_start = self.names.len();
                self.names.push_str(&name);
                self.entries
                    .push((name_start..self.names.len(), start..self.bytes.len()));
                Ok(true)
            }
            Ok(Filled::Skipped(skipped)) => {
                self.bytes.truncate(start);
                self.skipped.push(skipped);
                Ok(true)
            }
            Ok(Filled::End) => {
                self.bytes.truncate(start);
                Ok(false)
            }
            Err(error) => {
                self.bytes.truncate(start);
                Err(error)
            }
        }
    }

    /// Name and content of every entry.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries
            .iter()
            .map(|(name, content)| (&self.names[name.clone()], &self.bytes[content.clone()]))
    }

    /// Moves the skips of the read stage into `out`.
    pub fn drain_skipped(&mut self, out: &mut Vec<Skipped>) {
        out.append(&mut self.skipped);
    }
}

/// What the read stage found next.
#[derive(Debug)]
pub enum Filled {
    /// An entry of this name; its content was appended.
    Entry(String),
    /// Something that is left out.
    Skipped(Skipped),
    /// The end of the input.
    End,
}
