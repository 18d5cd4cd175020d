//! The identity of a database and the change vectors made from it.
//!
//! A change vector of this server is `A:<etag>-<identity>`: the node's tag, the etag of the change
//! and the database's 22 characters. It is made from a record's etag and not stored with it.

use std::fmt;
use std::sync::Arc;

use jackdaw_base::base64::encode_unpadded;

use jackdaw_query::Etag;

/// Tag of the only node.
pub(crate) const NODE_TAG: &str = "A";

/// Names a database for ever: 16 random bytes, shown as 22 characters of base64.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseId {
    bytes: [u8; 16],
    text: Arc<str>,
}

impl DatabaseId {
    pub(crate) fn new(bytes: [u8; 16]) -> DatabaseId {
        let text = encode_unpadded(&bytes).into();
        DatabaseId { bytes, text }
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

    /// The change vector of the change with this etag.
    #[must_use]
    pub fn change_vector(&self, etag: Etag) -> String {
        format!("{NODE_TAG}:{}-{}", etag.0, self.text)
    }
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
    }
}
