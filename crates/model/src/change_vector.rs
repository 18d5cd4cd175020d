//! Change vectors: which changes of which databases a document holds.
//!
//! The text is RavenDB's: `B:70-<database>, A:48-<database>`, a part for each database, with the
//! tag of the node that wrote it and the etag of the newest change of that database that the
//! document holds. `order|version` has two vectors: the order is how far a shard's history has
//! come, the version is the document's own history and alone decides between two versions of a
//! document. Without `|`, both are the same. Parts with `TRXN` name a cluster-wide transaction,
//! those with `MOVE` a move between shards.
//!
//! A vector is a version vector: of two versions one is newer when it holds all that the other
//! holds and more; when each holds something that the other lacks, they are in conflict. Merging
//! takes the greater etag of each part, so it is commutative, associative and idempotent.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::database_id::DatabaseId;
use crate::node_tag::NodeTag;
use crate::numbers::Etag;

/// Most parts of a vector; a longer text is refused.
const PARTS_MAX: usize = 1024;

/// Why a text is no change vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// A part is not `TAG:ETAG-DATABASE`.
    #[error("a change vector has parts like `A:12-<22 characters>`; `{0}` is not one")]
    Part(String),
    /// The last piece of a part is not the identity of a database.
    #[error("`{0}` is not the identity of a database, which has 22 characters of base64")]
    Database(String),
    /// Two parts name the same database.
    #[error("a change vector names the database {0} twice")]
    Twice(DatabaseId),
    /// There are more than 1,024 parts.
    #[error("a change vector has at most {PARTS_MAX} parts")]
    Long,
}

/// A part of a change vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What wrote it: the tag of a node, or one of the words that name none.
    tag: NodeTag,
    /// The newest change that is held.
    pub etag: Etag,
    /// The database whose change it is.
    pub database: DatabaseId,
}

impl Entry {
    /// What `node` wrote into `database` up to the change with this etag.
    #[must_use]
    pub fn new(node: NodeTag, etag: Etag, database: DatabaseId) -> Entry {
        Entry {
            tag: node,
            etag,
            database,
        }
    }

    /// The node that wrote it; `None` for a cluster-wide transaction or a move.
    #[must_use]
    pub fn node(&self) -> Option<NodeTag> {
        (!self.tag.is_reserved()).then_some(self.tag)
    }

    /// Whether both count changes of the same history. Nodes that share a database do.
    fn is_of(&self, other: &Entry) -> bool {
        let kind = |entry: &Entry| entry.tag.is_reserved().then_some(entry.tag);
        self.database == other.database && kind(self) == kind(other)
    }
}

impl FromStr for Entry {
    type Err = VectorError;

    fn from_str(text: &str) -> Result<Entry, VectorError> {
        let read = || {
            let (tag, rest) = text.split_once(':')?;
            let (etag, database) = rest.split_once('-')?;
            let is_number = !etag.is_empty() && etag.bytes().all(|byte| byte.is_ascii_digit());
            let etag = is_number.then(|| etag.parse().ok()).flatten()?;
            Some((NodeTag::word(tag)?, Etag(etag), database))
        };
        let (tag, etag, database) = read().ok_or_else(|| VectorError::Part(text.to_owned()))?;
        Ok(Entry {
            tag,
            etag,
            database: database.parse()?,
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}-{}", self.tag, self.etag.0, self.database)
    }
}

/// How one version of a document relates to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Both hold the same changes.
    Equal,
    /// It holds all that the other holds, and more.
    Newer,
    /// The other holds all that it holds, and more.
    Older,
    /// Each holds a change that the other lacks.
    Conflict,
}

/// The parts of one vector; no two count the same history.
#[derive(Clone, Debug, Default)]
struct Parts(Vec<Entry>);

impl Parts {
    fn parse(text: &str) -> Result<Parts, VectorError> {
        let mut parts = Parts::default();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let entry: Entry = part.parse()?;
            if parts.0.iter().any(|known| known.is_of(&entry)) {
                return Err(VectorError::Twice(entry.database));
            }
            if parts.0.len() == PARTS_MAX {
                return Err(VectorError::Long);
            }
            parts.0.push(entry);
        }
        Ok(parts)
    }

    fn relation(&self, other: &Parts) -> Relation {
        let has_more = |one: &Parts, than: &Parts| {
            one.0.iter().any(|entry| {
                let known = than.0.iter().find(|known| known.is_of(entry));
                known.is_none_or(|known| known.etag < entry.etag)
            })
        };
        match (has_more(self, other), has_more(other, self)) {
            (false, false) => Relation::Equal,
            (true, false) => Relation::Newer,
            (false, true) => Relation::Older,
            (true, true) => Relation::Conflict,
        }
    }

    fn merge(&mut self, other: &Parts) {
        for entry in &other.0 {
            match self.0.iter_mut().find(|known| known.is_of(entry)) {
                None => self.0.push(entry.clone()),
                Some(known) => match known.etag.cmp(&entry.etag) {
                    Ordering::Less => *known = entry.clone(),
                    // Of two nodes of one database the first in the alphabet is shown, so that
                    // the result does not depend on which side was merged into which.
                    Ordering::Equal => known.tag = known.tag.min(entry.tag),
                    Ordering::Greater => {}
                },
            }
        }
        self.0.sort_by(|one, other| {
            let key = |entry: &Entry| (entry.tag, *entry.database.as_bytes());
            key(one).cmp(&key(other))
        });
    }

    fn set(&mut self, own: Entry) {
        self.0.retain(|known| !known.is_of(&own));
        self.0.push(own);
    }

    fn etag_of(&self, database: &DatabaseId) -> Option<Etag> {
        let own = |entry: &&Entry| entry.node().is_some() && entry.database == *database;
        self.0.iter().find(own).map(|entry| entry.etag)
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, entry) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{entry}")?;
        }
        Ok(())
    }
}

/// Which changes of which databases a document, or a database, holds.
///
/// ```
/// use jackdaw_model::{ChangeVector, Relation};
///
/// let first: ChangeVector = "A:3-AAAAAAAAAAAAAAAAAAAAAA".parse()?;
/// let other: ChangeVector = "B:7-BBBBBBBBBBBBBBBBBBBBBA".parse()?;
/// assert_eq!(first.relation(&other), Relation::Conflict);
///
/// let mut merged = first.clone();
/// merged.merge(&other);
/// assert_eq!(merged.relation(&first), Relation::Newer);
/// assert_eq!(merged.to_string(), "A:3-AAAAAAAAAAAAAAAAAAAAAA, B:7-BBBBBBBBBBBBBBBBBBBBBA");
/// # Ok::<(), jackdaw_model::VectorError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChangeVector {
    order: Parts,
    /// `None` when it is the order.
    version: Option<Parts>,
}

impl ChangeVector {
    /// The vector of the one change that `entry` names.
    #[must_use]
    pub fn of(entry: Entry) -> ChangeVector {
        ChangeVector {
            order: Parts(vec![entry]),
            version: None,
        }
    }

    /// Whether it holds no change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.0.is_empty() && self.version().0.is_empty()
    }

    /// The parts of the document's own history, in the order in which they are printed.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.version().0.iter()
    }

    /// The etag of a database in the document's own history.
    #[must_use]
    pub fn etag_of(&self, database: &DatabaseId) -> Option<Etag> {
        self.version().etag_of(database)
    }

    /// How the document's own history relates to that of another vector.
    #[must_use]
    pub fn relation(&self, other: &ChangeVector) -> Relation {
        self.version().relation(other.version())
    }

    /// Takes in what `other` holds: of each part the greater etag. Parts are in the order of their
    /// tags afterwards.
    pub fn merge(&mut self, other: &ChangeVector) {
        let version = match (&self.version, &other.version) {
            (None, None) => None,
            (own, others) => {
                let mut version = own.as_ref().unwrap_or(&self.order).clone();
                version.merge(others.as_ref().unwrap_or(&other.order));
                Some(version)
            }
        };
        self.order.merge(&other.order);
        self.version = version.filter(|version| version.relation(&self.order) != Relation::Equal);
    }

    /// Records a change of this database: its part gets the etag, and the last place.
    pub fn set(&mut self, own: Entry) {
        if let Some(version) = &mut self.version {
            version.set(own.clone());
        }
        self.order.set(own);
    }

    fn version(&self) -> &Parts {
        self.version.as_ref().unwrap_or(&self.order)
    }
}

/// Equal vectors hold the same changes, in whatever order their parts are printed.
impl PartialEq for ChangeVector {
    fn eq(&self, other: &ChangeVector) -> bool {
        self.order.relation(&other.order) == Relation::Equal
            && self.relation(other) == Relation::Equal
    }
}

impl Eq for ChangeVector {}

impl FromStr for ChangeVector {
    type Err = VectorError;

    /// Reads parts with a comma between them, with or without spaces; a text without any is the
    /// empty vector.
    fn from_str(text: &str) -> Result<ChangeVector, VectorError> {
        let (order, version) = match text.split_once('|') {
            None => (text, None),
            Some((order, version)) => (order, Some(version)),
        };
        Ok(ChangeVector {
            order: Parts::parse(order)?,
            version: version.map(Parts::parse).transpose()?,
        })
    }
}

impl fmt::Display for ChangeVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.order)?;
        match &self.version {
            None => Ok(()),
            Some(version) => write!(f, "|{version}"),
        }
    }
}
