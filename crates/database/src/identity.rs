//! The identity of a database and the change vectors made from it.
//!
//! A change vector of this server is `A:<etag>-<identity>`: the node's tag, the etag of the change
//! and the database's 22 characters. It is made from a record's etag and not stored with it.

use std::fmt;
use std::sync::Arc;

use jackdaw_base::base64::encode_unpadded;
use jackdaw_base::hash::xxh3_64;

use jackdaw_query::Etag;

/// Tag of the only node.
pub(crate) const NODE_TAG: &str = "A";
/// What stands before the index of a cluster-wide transaction in a change vector.
const GUARD_PART: &str = ",TRXN:";

/// A change vector without the part that names a cluster-wide transaction, and that index.
pub(crate) fn split_guard(change_vector: &str) -> (&str, Option<u64>) {
    match change_vector.split_once(GUARD_PART) {
        None => (change_vector, None),
        Some((own, guard)) => {
            let index = guard.split('-').next().and_then(|text| text.parse().ok());
            (own, index)
        }
    }
}

/// Names a database for ever: 16 random bytes, shown as 22 characters of base64.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseId {
    bytes: [u8; 16],
    text: Arc<str>,
    /// See [`DatabaseId::transaction_tag`]: every answer carries it.
    transaction_tag: Arc<str>,
}

impl DatabaseId {
    pub(crate) fn new(bytes: [u8; 16]) -> DatabaseId {
        let text = encode_unpadded(&bytes).into();
        let transaction_tag = derived(&bytes, 2).into();
        DatabaseId {
            bytes,
            text,
            transaction_tag,
        }
    }

    /// The 22 characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The 16 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.bytes
    }

    /// The etag that a change vector of this database names; `None` for any other text.
    #[must_use]
    pub fn etag_of(&self, change_vector: &str) -> Option<Etag> {
        let (own, _) = split_guard(change_vector.trim());
        let (etag, database) = own
            .strip_prefix(NODE_TAG)?
            .strip_prefix(':')?
            .split_once('-')?;
        // A plus sign that a client left as it is in a URL arrives as a space.
        (database.replace(' ', "+") == self.as_str()).then(|| etag.parse().ok().map(Etag))?
    }

    /// Names the cluster-wide transactions of the database: 22 characters that differ from its own.
    #[must_use]
    pub fn transaction_tag(&self) -> &str {
        &self.transaction_tag
    }

    /// A further identity for `purpose`: 22 characters that differ for each.
    #[must_use]
    pub fn derived(&self, purpose: u64) -> String {
        derived(&self.bytes, purpose)
    }

    /// The change vector of a document as cluster-wide transactions see it: with the index of the
    /// transaction that changed it last.
    #[must_use]
    pub fn guarded_change_vector(&self, change_vector: &str, index: u64) -> String {
        format!(
            "{change_vector}{GUARD_PART}{index}-{}",
            self.transaction_tag()
        )
    }

    /// The change vector of what the cluster-wide transaction with this index changed, where that
    /// is no document.
    #[must_use]
    pub fn transaction_vector(&self, index: u64) -> String {
        format!("TRXN:{index}-{}", self.transaction_tag())
    }

    /// What counts here: the node in this database, as counters name it.
    #[must_use]
    pub fn place(&self) -> String {
        [NODE_TAG, "-", &self.text].concat()
    }

    /// The change vector of the change with this etag.
    #[must_use]
    pub fn change_vector(&self, etag: Etag) -> String {
        [NODE_TAG, ":", &etag.0.to_string(), "-", &self.text].concat()
    }
}

fn derived(bytes: &[u8; 16], purpose: u64) -> String {
    let halves = [xxh3_64(bytes, purpose), xxh3_64(bytes, !purpose)];
    encode_unpadded(halves.map(u64::to_le_bytes).as_flattened())
}

impl fmt::Debug for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_vectors_name_node_etag_and_database() {
        let id = DatabaseId::new([7; 16]);
        assert_eq!(id.as_str().len(), 22);
        let vector = id.change_vector(Etag(12));
        assert_eq!(vector, format!("A:12-{id}"));
        assert_eq!(split_guard(&vector), (vector.as_str(), None));
        assert_eq!(id.etag_of(&vector), Some(Etag(12)));
        assert_eq!(id.etag_of("A:12-other"), None);
        let guarded = id.guarded_change_vector(&vector, 7);
        assert_eq!(split_guard(&guarded), (vector.as_str(), Some(7)));
        assert_eq!(guarded, format!("{vector},{}", id.transaction_vector(7)));
        assert_ne!(id.transaction_tag(), id.as_str());
    }
}
