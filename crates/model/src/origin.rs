//! Where the changes of a database come from, and the change vectors of single changes.
//!
//! What only this database wrote has the vector `A:<etag>-<identity>`: the node's tag, the etag of
//! the change and the database's 22 characters. It is made from the etag and stored nowhere.

use std::sync::Arc;

use crate::change_vector::ChangeVector;
use crate::database_id::DatabaseId;
use crate::node_tag::NodeTag;
use crate::numbers::Etag;

/// What stands before the index of a cluster-wide transaction in a change vector.
const TRANSACTION_PART: &str = ",TRXN:";

/// A change vector without the part that names a cluster-wide transaction, and that index.
#[must_use]
pub fn split_transaction(change_vector: &str) -> (&str, Option<u64>) {
    match change_vector.split_once(TRANSACTION_PART) {
        None => (change_vector, None),
        Some((own, transaction)) => {
            let index = transaction
                .split('-')
                .next()
                .and_then(|text| text.parse().ok());
            (own, index)
        }
    }
}

/// A database on a node: what own changes are named after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    node: NodeTag,
    database: DatabaseId,
    /// See [`Origin::transactions`]: every answer carries it.
    transactions: Arc<str>,
}

impl Origin {
    /// The origin of what `database` writes on `node`.
    #[must_use]
    pub fn new(node: NodeTag, database: DatabaseId) -> Origin {
        let transactions = database.of_transactions().into();
        Origin {
            node,
            database,
            transactions,
        }
    }

    /// The node's tag.
    #[must_use]
    pub fn node(&self) -> &NodeTag {
        &self.node
    }

    /// The database's identity.
    #[must_use]
    pub fn database(&self) -> &DatabaseId {
        &self.database
    }

    /// Names what this node counted in the database: `A-<identity>`.
    #[must_use]
    pub fn node_and_database(&self) -> String {
        format!("{}-{}", self.node, self.database)
    }

    /// Names the cluster-wide transactions of the database: 22 characters that differ from its own.
    #[must_use]
    pub fn transactions(&self) -> &str {
        &self.transactions
    }

    /// The change vector of the change with this etag.
    #[must_use]
    pub fn change_vector(&self, etag: Etag) -> String {
        let (node, etag) = (self.node.as_str(), etag.0.to_string());
        [node, ":", &etag, "-", self.database.as_str()].concat()
    }

    /// The etag of this database in a change vector, in its version where it has one; `None` for a
    /// vector that does not name the database, and for any other text.
    #[must_use]
    pub fn etag_of(&self, change_vector: &str) -> Option<Etag> {
        let vector: ChangeVector = change_vector.parse().ok()?;
        vector.etag_of(&self.database)
    }

    /// The change vector of a document as cluster-wide transactions see it: with the index of the
    /// transaction that changed it last.
    #[must_use]
    pub fn with_transaction(&self, change_vector: &str, index: u64) -> String {
        format!(
            "{change_vector}{TRANSACTION_PART}{index}-{}",
            self.transactions
        )
    }

    /// The change vector of what the cluster-wide transaction with this index changed, where that
    /// is no document.
    #[must_use]
    pub fn transaction_vector(&self, index: u64) -> String {
        format!("TRXN:{index}-{}", self.transactions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_vectors_name_node_etag_and_database() {
        let database = DatabaseId::new([7; 16]);
        let origin = Origin::new("BC".parse().unwrap(), database.clone());
        let vector = origin.change_vector(Etag(12));
        assert_eq!(vector, format!("BC:12-{database}"));
        assert_eq!(split_transaction(&vector), (vector.as_str(), None));
        assert_eq!(origin.etag_of(&vector), Some(Etag(12)));
        assert_eq!(origin.etag_of(&format!(" A:3-{database} ")), Some(Etag(3)));
        for other in ["", "A:12-other", "A:12-AAAAAAAAAAAAAAAAAAAAAA", "12"] {
            assert_eq!(origin.etag_of(other), None, "{other}");
        }
        let with_transaction = origin.with_transaction(&vector, 7);
        assert_eq!(
            split_transaction(&with_transaction),
            (vector.as_str(), Some(7))
        );
        assert_eq!(origin.etag_of(&with_transaction), Some(Etag(12)));
        let expected = format!("{vector},{}", origin.transaction_vector(7));
        assert_eq!(with_transaction, expected);
        assert_ne!(origin.transactions(), database.as_str());
    }
}
