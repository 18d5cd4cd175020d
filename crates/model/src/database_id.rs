//! The identity of a database.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use jackdaw_base::hash::xxh3_64;

use crate::change_vector::VectorError;

/// Names a database for ever: 16 random bytes, shown as 22 characters of base64.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DatabaseId {
    bytes: [u8; 16],
    text: Arc<str>,
}

/// Purpose of the identity of cluster-wide transactions.
const TRANSACTIONS: u64 = 2;

impl DatabaseId {
    /// The identity with these bytes.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> DatabaseId {
        let text = STANDARD_NO_PAD.encode(bytes).into();
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

    /// A further identity for `purpose`: 22 characters that differ for each.
    #[must_use]
    pub fn derived(&self, purpose: u64) -> String {
        let halves = [
            xxh3_64(&self.bytes, purpose),
            xxh3_64(&self.bytes, !purpose),
        ];
        STANDARD_NO_PAD.encode(halves.map(u64::to_le_bytes).as_flattened())
    }

    /// Names the cluster-wide transactions of the database: 22 characters that differ from its own.
    #[must_use]
    pub fn of_transactions(&self) -> String {
        self.derived(TRANSACTIONS)
    }
}

impl FromStr for DatabaseId {
    type Err = VectorError;

    /// Reads the 22 characters. A space stands for a plus sign that a client did not escape in a
    /// URL.
    fn from_str(text: &str) -> Result<DatabaseId, VectorError> {
        let bytes = STANDARD_NO_PAD.decode(text.replace(' ', "+")).ok();
        let bytes = bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        bytes
            .map(DatabaseId::new)
            .ok_or_else(|| VectorError::Database(text.to_owned()))
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
    fn identities_read_back_and_differ_by_purpose() {
        let id = DatabaseId::new([0xfb; 16]);
        assert_eq!(id.as_str().len(), 22);
        assert_eq!(id.as_str().parse::<DatabaseId>().unwrap(), id);
        assert!(id.as_str().contains('+'));
        let unescaped = id.as_str().replace('+', " ");
        assert_eq!(unescaped.parse::<DatabaseId>().unwrap(), id);
        assert_ne!(id.of_transactions(), id.as_str());
        assert_ne!(id.of_transactions(), id.derived(1));
        for text in [
            "",
            "short",
            "AAAAAAAAAAAAAAAAAAAAAA==",
            "AAAAAAAAAAAAAAAAAAAAAB",
        ] {
            assert!(text.parse::<DatabaseId>().is_err(), "{text}");
        }
    }
}
