//! Errors of a static index, kept with it: what failed for which document. The oldest go.

use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, Document};
use jackdaw_storage::{ReadTransaction, StorageError, WriteTransaction};

use super::trees::{ERRORS, META, Meta, key, keys};
use crate::error::ReadError;
use crate::indexes::step::StepError;

/// Errors kept of one index.
const KEPT: u64 = 500;
/// Longest text kept of one error, in bytes.
const TEXT_BYTES_MAX: usize = 4096;
/// Where the reason of an index that stopped for good is kept.
const FAILURE_KEY: &[u8] = b"failure";

/// Something that failed while an index took changes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexingError {
    /// When.
    pub at: UnixTicks,
    /// For which document; `None` when it was none.
    pub document: Option<String>,
    /// What was done: `Map`, `Reduce`, `Output`.
    pub action: String,
    /// What went wrong.
    pub error: String,
}

/// Keeps errors; drops the oldest when there are too many.
pub(super) fn store(
    transaction: &mut WriteTransaction,
    errors: &[IndexingError],
    meta: &mut Meta,
) -> Result<(), StepError> {
    if errors.is_empty() {
        return Ok(());
    }
    let mut tree = transaction.tree_mut(ERRORS)?;
    let skipped = errors
        .len()
        .saturating_sub(usize::try_from(KEPT).unwrap_or(usize::MAX));
    for error in &errors[skipped..] {
        tree.put(&key(meta.next_error), error.encode().as_slice())?;
        meta.next_error += 1;
    }
    let surplus = usize::try_from(tree.len().saturating_sub(KEPT)).unwrap_or(usize::MAX);
    for old in keys(Some(tree.as_tree()), &[], surplus)? {
        tree.delete(&old)?;
    }
    Ok(())
}

/// A text as far as it is kept, so that a batch does not hold long ones either.
pub(super) fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text.shrink_to_fit();
    text
}

/// Keeps why the index stopped for good.
pub(crate) fn store_failure(
    transaction: &mut WriteTransaction,
    why: &str,
) -> Result<(), StorageError> {
    let why = &why[..why.floor_char_boundary(TEXT_BYTES_MAX)];
    transaction
        .tree_mut(META)?
        .put(FAILURE_KEY, why.as_bytes())?;
    Ok(())
}

/// Why the index stopped for good, if it did.
pub(crate) fn load_failure(transaction: &ReadTransaction) -> Result<Option<String>, ReadError> {
    let Some(tree) = transaction.tree(META)? else {
        return Ok(None);
    };
    let why = tree.get(FAILURE_KEY)?;
    Ok(why.map(|why| String::from_utf8_lossy(why).into_owned()))
}

/// All errors kept, oldest first.
pub(crate) fn load(transaction: &ReadTransaction) -> Result<Vec<IndexingError>, ReadError> {
    let Some(tree) = transaction.tree(ERRORS)? else {
        return Ok(Vec::new());
    };
    tree.iter()?
        .map(|entry| IndexingError::decode(entry?.1))
        .collect()
}

/// Forgets all errors.
pub(crate) fn clear(transaction: &mut WriteTransaction) -> Result<(), StorageError> {
    if transaction.tree(ERRORS)?.is_some() {
        transaction.tree_mut(ERRORS)?.clear()?;
    }
    Ok(())
}

/// Number of errors kept. O(1).
pub(crate) fn count(transaction: &ReadTransaction) -> Result<u64, ReadError> {
    Ok(transaction.tree(ERRORS)?.map_or(0, |tree| tree.len()))
}

impl IndexingError {
    fn encode(&self) -> Vec<u8> {
        let mut builder = Builder::new();
        builder.begin_object().key("Timestamp").long(self.at.0);
        builder.key("Document");
        match &self.document {
            Some(id) => builder.string(id),
            None => builder.null(),
        };
        let end = self.error.floor_char_boundary(TEXT_BYTES_MAX);
        builder.key("Action").string(&self.action);
        builder.key("Error").string(&self.error[..end]).end_object();
        builder
            .finish()
            .expect("the calls are balanced")
            .into_bytes()
    }

    fn decode(bytes: &[u8]) -> Result<IndexingError, ReadError> {
        let root = Document::trusted(bytes).root();
        let text = |name: &str| Some(root.get(name)?.as_str()?.to_owned());
        let decoded = || {
            Some(IndexingError {
                at: UnixTicks(root.get("Timestamp")?.as_i64()?),
                document: text("Document"),
                action: text("Action")?,
                error: text("Error")?,
            })
        };
        decoded().ok_or_else(|| ReadError::damaged("an error kept of an index"))
    }
}
