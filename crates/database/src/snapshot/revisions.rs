//! Reading revisions: by id, by change vector, by time, and those of deleted documents.

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;

use super::row::DocumentRow;
use super::view::Snapshot;
use crate::error::ReadError;
use crate::revisions::RevisionsConfiguration;
use crate::store::trees::{
    REVISION_BIN, REVISION_ETAGS, REVISION_OWNERS, REVISIONS, SETTINGS, decode_number, tree,
};
use crate::store::{configuration_key, decode_configuration, revision_key};
use jackdaw_model::{DocumentNumber, Etag};

impl Snapshot {
    /// Which documents keep revisions; `None` when that was never said.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn revisions_configuration(&self) -> Result<Option<RevisionsConfiguration>, ReadError> {
        let settings = tree(&self.transaction, SETTINGS)?;
        decode_configuration(settings.get(configuration_key())?)
    }

    fn revision_owner(&self, id: &str) -> Result<Option<u64>, ReadError> {
        let Some(owners) = self.transaction.tree(REVISION_OWNERS)? else {
            return Ok(None);
        };
        let bytes = owners.get(lowercase(id).as_bytes())?;
        let number = bytes.map(decode_number).transpose()?;
        Ok(number.map(|number| number.0))
    }

    /// A page of the revisions of an id, the newest first, and how many there are in all.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn revisions(
        &self,
        id: &str,
        start: usize,
        page_size: usize,
    ) -> Result<(Vec<DocumentRow<'_>>, u64), ReadError> {
        let owner = self.revision_owner(id)?;
        let (Some(owner), Some(revisions)) = (owner, self.transaction.tree(REVISIONS)?) else {
            return Ok((Vec::new(), 0));
        };
        let mut rows = Vec::new();
        let mut count = 0;
        for (slot, entry) in revisions.prefix(&owner.to_be_bytes())?.rev().enumerate() {
            let (_, bytes) = entry?;
            count += 1;
            if slot >= start && rows.len() < page_size {
                rows.push(self.row(DocumentNumber(owner), bytes)?);
            }
        }
        Ok((rows, count))
    }

    /// The newest revision of an id that is not younger than `moment`.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn revision_before(
        &self,
        id: &str,
        moment: UnixTicks,
    ) -> Result<Option<DocumentRow<'_>>, ReadError> {
        let owner = self.revision_owner(id)?;
        let (Some(owner), Some(revisions)) = (owner, self.transaction.tree(REVISIONS)?) else {
            return Ok(None);
        };
        for entry in revisions.prefix(&owner.to_be_bytes())?.rev() {
            let row = self.row(DocumentNumber(owner), entry?.1)?;
            if row.last_modified() <= moment {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// The revision with this change vector.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn revision(&self, change_vector: &str) -> Result<Option<DocumentRow<'_>>, ReadError> {
        let Some(etag) = self.core.origin.etag_of(change_vector) else {
            return Ok(None);
        };
        let Some(etags) = self.transaction.fixed_tree(REVISION_ETAGS)? else {
            return Ok(None);
        };
        match etags.get(etag.0)?.map(decode_number).transpose()? {
            Some(owner) => self.revision_at(owner.0, etag),
            None => Ok(None),
        }
    }

    /// The revision of an owner with this etag.
    pub(crate) fn revision_at(
        &self,
        owner: u64,
        etag: Etag,
    ) -> Result<Option<DocumentRow<'_>>, ReadError> {
        let Some(revisions) = self.transaction.tree(REVISIONS)? else {
            return Ok(None);
        };
        let bytes = revisions.get(&revision_key(owner, etag))?;
        bytes
            .map(|bytes| self.row(DocumentNumber(owner), bytes))
            .transpose()
    }

    /// A page of the revisions that say that their documents were deleted, the newest first.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn revision_bin(
        &self,
        start: usize,
        page_size: usize,
    ) -> Result<Vec<DocumentRow<'_>>, ReadError> {
        let Some(bin) = self.transaction.fixed_tree(REVISION_BIN)? else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        for entry in bin.iter()?.rev().skip(start).take(page_size) {
            let (etag, owner) = entry?;
            let row = self.revision_at(decode_number(owner)?.0, Etag(etag))?;
            rows.push(row.ok_or_else(|| ReadError::damaged("the bin of revisions"))?);
        }
        Ok(rows)
    }

    /// Number of revisions of all documents. O(1).
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn revision_count(&self) -> Result<u64, ReadError> {
        let revisions = self.transaction.tree(REVISIONS)?;
        Ok(revisions.map_or(0, |revisions| revisions.len()))
    }
}
