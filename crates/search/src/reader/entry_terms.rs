//! The terms of one entry, from its forward record.
//!
//! Called by query execution to sort a small result or to check a condition on few entries, where
//! walking lists would cost more.
//!
//! Threads: borrows a snapshot.

use jackdaw_storage::PageRead;

use super::IndexReader;
use crate::EntryId;
use crate::catalog::{FORWARD_TREE, FieldId};
use crate::error::{At, IndexError};
use crate::forward::RecordTerms;
use crate::posting::Malformed;
use crate::term::{StoredTerm, class};

/// Terms of an entry, ascending by field and then as [`StoredTerm`] orders: null, text, numbers.
pub struct TermsOfEntry<'t> {
    entry: EntryId,
    terms: RecordTerms<'t>,
}

impl<'t> TermsOfEntry<'t> {
    /// The next term.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn next_term(&mut self) -> Result<Option<(FieldId, StoredTerm<'t>)>, IndexError> {
        let key = self.entry.0.to_be_bytes();
        let (field, term) = loop {
            match self.terms.next_term().at(FORWARD_TREE, &key)? {
                None => return Ok(None),
                Some((_, [class::TOKENS, ..])) => {}
                Some(found) => break found,
            }
        };
        let wrong = Malformed("a forward record holds no term");
        let term = StoredTerm::decode(term)
            .ok_or(wrong)
            .at(FORWARD_TREE, &key)?;
        Ok(Some((field, term)))
    }

    /// The next term of `field`. Terms of other fields before it are passed.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn next_of(&mut self, field: FieldId) -> Result<Option<StoredTerm<'t>>, IndexError> {
        while let Some((found, term)) = self.next_term()? {
            if found == field {
                return Ok(Some(term));
            }
            if found > field {
                break;
            }
        }
        Ok(None)
    }
}

impl<'t, P: PageRead + ?Sized> IndexReader<'t, P> {
    /// The terms of `entry`; `None` when it is not in the index. One look-up.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn entry_terms(&self, entry: EntryId) -> Result<Option<TermsOfEntry<'t>>, IndexError> {
        let key = entry.0.to_be_bytes();
        let Some(forward) = &self.forward else {
            return Ok(None);
        };
        let Some(record) = forward.get(&key)? else {
            return Ok(None);
        };
        let terms = RecordTerms::open(record).at(FORWARD_TREE, &key)?;
        Ok(Some(TermsOfEntry { entry, terms }))
    }
}
