//! How trees reach pages: read and write transactions implement these traits.
//!
//! Everything in `tree` is generic over them and compiled for each implementation.
//!
//! Invariants implementations keep:
//! - A page handed out has passed `validate` once, so decoders may index into it.
//! - What a read returns stays unchanged as long as the borrow lives.

use crate::error::StorageError;
use crate::page::{Page, PageNumber};

/// One consistent state of the data file.
pub trait PageRead {
    /// The page `number`.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] for a number outside the file or a damaged page.
    fn page(&self, number: PageNumber) -> Result<&Page, StorageError>;

    /// The whole run that starts at `number`, with the 32-byte header of its first page.
    ///
    /// # Errors
    /// As for [`PageRead::page`].
    fn run(&self, number: PageNumber, pages: u32) -> Result<&[u8], StorageError>;

    /// Where the content of page `number`, the first of `pages`, lies in the data file: elsewhere
    /// when a state of the past is read from pages that were kept for it.
    ///
    /// # Errors
    /// As for [`PageRead::page`].
    #[inline]
    fn place_of(&self, number: PageNumber, _pages: u32) -> Result<PageNumber, StorageError> {
        Ok(number)
    }
}

/// A state of the data file that is being changed by one writer.
///
/// After any error the changes made so far are incomplete: the caller rolls back.
pub trait PageWrite: PageRead {
    /// The page, to change. The first touch in a transaction copies it.
    ///
    /// # Errors
    /// As for [`PageRead::page`].
    fn page_mut(&mut self, number: PageNumber) -> Result<&mut Page, StorageError>;

    /// The whole run, to change.
    ///
    /// # Errors
    /// As for [`PageRead::page`].
    fn run_mut(&mut self, number: PageNumber, pages: u32) -> Result<&mut [u8], StorageError>;

    /// A new page of zeros but for its number, close to `near` when that is possible.
    ///
    /// # Errors
    /// [`StorageError::Full`].
    fn allocate(&mut self, near: Option<PageNumber>) -> Result<PageNumber, StorageError>;

    /// A new run of adjacent pages of zeros but for the number in the first.
    ///
    /// # Errors
    /// [`StorageError::Full`].
    fn allocate_run(&mut self, pages: u32) -> Result<PageNumber, StorageError>;

    /// Gives a page back.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when it is not allocated.
    fn free(&mut self, number: PageNumber) -> Result<(), StorageError>;

    /// Gives a run back.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when it is not allocated.
    fn free_run(&mut self, number: PageNumber, pages: u32) -> Result<(), StorageError>;
}
