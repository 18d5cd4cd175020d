//! What a subscription is, and how it is stored.
//!
//! Bytes: docs/format.md, "Subscription".

use jackdaw_base::time::UnixTicks;
use jackdaw_model::Etag;

use crate::error::{ReadError, WriteError};
use crate::store::trees::number_at;

/// Longest name in bytes.
pub(super) const NAME_BYTES_MAX: usize = 512;
/// Longest query in bytes.
pub(super) const QUERY_BYTES_MAX: usize = 256 << 10;
/// Longest name of a node.
const NODE_BYTES_MAX: usize = 64;
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 40;
const DISABLED: u8 = 1;
const PINNED: u8 = 2;

/// Which documents of the query a subscription is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchivedDocuments {
    /// Those that are not archived.
    #[default]
    Exclude,
    /// All.
    Include,
    /// Those that are archived.
    Only,
}

impl ArchivedDocuments {
    const ALL: [ArchivedDocuments; 3] = [
        ArchivedDocuments::Exclude,
        ArchivedDocuments::Include,
        ArchivedDocuments::Only,
    ];

    fn byte(self) -> u8 {
        match self {
            ArchivedDocuments::Exclude => 0,
            ArchivedDocuments::Include => 1,
            ArchivedDocuments::Only => 2,
        }
    }
}

/// Where a subscription begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubscriptionStart {
    /// Where it is, or with the first document when it is new.
    #[default]
    Unchanged,
    /// With the first document.
    Beginning,
    /// Behind the last change there is now.
    Last,
    /// Behind this etag.
    After(Etag),
}

/// A subscription to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionDefinition {
    /// Its name, up to 512 bytes, unique in any letter case; `None` takes its number.
    pub name: Option<String>,
    /// See [`FollowQuery`](jackdaw_query::FollowQuery).
    pub query: String,
    /// Where it begins.
    pub start: SubscriptionStart,
    /// The node that should serve it; kept for clients, there is one node.
    pub mentor_node: Option<String>,
    /// Whether no other node may.
    pub is_pinned: bool,
    /// Whether no connection is accepted.
    pub is_disabled: bool,
    /// Whether archived documents are handed out.
    pub archived: ArchivedDocuments,
}

/// What to change of a subscription; `None` leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionUpdate {
    /// A new name.
    pub name: Option<String>,
    /// A new query.
    pub query: Option<String>,
    /// Where it goes on.
    pub start: SubscriptionStart,
    /// Another mentor.
    pub mentor_node: Option<String>,
    /// Whether it is pinned to it.
    pub is_pinned: Option<bool>,
    /// Whether no connection is accepted.
    pub is_disabled: Option<bool>,
}

/// A stored subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Its number in the database, never used again.
    pub number: u64,
    /// Its name.
    pub name: String,
    /// Its query.
    pub query: String,
    /// What was acknowledged: everything up to this etag; 0 when nothing was.
    pub position: Etag,
    /// The node that should serve it.
    pub mentor_node: Option<String>,
    /// Whether no other node may.
    pub is_pinned: bool,
    /// Whether no connection is accepted.
    pub is_disabled: bool,
    /// Whether archived documents are handed out.
    pub archived: ArchivedDocuments,
    /// Grows with each change of any subscription but acknowledgements; of this one's last.
    pub index: u64,
    /// When a batch was last acknowledged.
    pub last_acknowledged: Option<UnixTicks>,
    /// When a connection last began.
    pub last_connected: Option<UnixTicks>,
}

impl Subscription {
    /// Refuses what cannot be stored.
    pub(super) fn check(&self) -> Result<(), WriteError> {
        if self.name.is_empty() || self.name.len() > NAME_BYTES_MAX {
            return Err(WriteError::InvalidName {
                what: "subscription",
                name: self.name.clone(),
                max_bytes: NAME_BYTES_MAX,
            });
        }
        if self.query.len() > QUERY_BYTES_MAX {
            return Err(WriteError::TooLarge {
                len_bytes: self.query.len(),
                max_bytes: QUERY_BYTES_MAX,
            });
        }
        if let Some(node) = self
            .mentor_node
            .as_ref()
            .filter(|node| node.len() > NODE_BYTES_MAX)
        {
            return Err(WriteError::InvalidName {
                what: "node",
                name: node.clone(),
                max_bytes: NODE_BYTES_MAX,
            });
        }
        Ok(())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let node = self.mentor_node.as_deref().unwrap_or("");
        let short = |len: usize| u16::try_from(len).expect("checked before");
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.name.len() + self.query.len());
        let mut flags = 0;
        if self.is_disabled {
            flags |= DISABLED;
        }
        if self.is_pinned {
            flags |= PINNED;
        }
        bytes.extend_from_slice(&[VERSION, flags]);
        bytes.extend_from_slice(&short(self.name.len()).to_le_bytes());
        bytes.extend_from_slice(&short(node.len()).to_le_bytes());
        bytes.extend_from_slice(&[self.archived.byte(), 0]);
        bytes.extend_from_slice(&self.index.to_le_bytes());
        bytes.extend_from_slice(&self.position.0.to_le_bytes());
        for moment in [self.last_acknowledged, self.last_connected] {
            bytes.extend_from_slice(&moment.map_or(0, |moment| moment.0).to_le_bytes());
        }
        for text in [&self.name, node, &self.query] {
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }

    pub(super) fn decode(number: u64, bytes: &[u8]) -> Result<Subscription, ReadError> {
        Subscription::read(number, bytes).ok_or_else(|| ReadError::damaged("a subscription"))
    }

    fn read(number: u64, bytes: &[u8]) -> Option<Subscription> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        (head[0] == VERSION).then_some(())?;
        let length = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let (name, rest) = rest.split_at_checked(length(2))?;
        let (node, query) = rest.split_at_checked(length(4))?;
        let text = |bytes| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let moment = |at| {
            let ticks = number_at(head, at)?.cast_signed();
            Some((ticks != 0).then_some(UnixTicks(ticks)))
        };
        Some(Subscription {
            number,
            name: text(name)?,
            query: text(query)?,
            position: Etag(number_at(head, 16)?),
            mentor_node: text(node).filter(|node| !node.is_empty()),
            is_pinned: head[1] & PINNED != 0,
            is_disabled: head[1] & DISABLED != 0,
            archived: *ArchivedDocuments::ALL.get(usize::from(head[6]))?,
            index: number_at(head, 8)?,
            last_acknowledged: moment(24)?,
            last_connected: moment(32)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Subscription {
        Subscription {
            number: 7,
            name: "orders".to_owned(),
            query: "from Orders".to_owned(),
            position: Etag(258),
            mentor_node: Some("A".to_owned()),
            is_pinned: true,
            is_disabled: false,
            archived: ArchivedDocuments::Only,
            index: 9,
            last_acknowledged: Some(UnixTicks(5)),
            last_connected: None,
        }
    }

    #[test]
    fn the_bytes_are_the_documented_ones() {
        let bytes = sample().encode();
        assert_eq!(bytes[..2], [1, 2]);
        assert_eq!(bytes[2..4], 6u16.to_le_bytes());
        assert_eq!(bytes[4..6], 1u16.to_le_bytes());
        assert_eq!(bytes[6..8], [2, 0]);
        assert_eq!(bytes[8..16], 9u64.to_le_bytes());
        assert_eq!(bytes[16..24], 258u64.to_le_bytes());
        assert_eq!(bytes[24..32], 5i64.to_le_bytes());
        assert_eq!(bytes[32..40], 0i64.to_le_bytes());
        assert_eq!(&bytes[40..], b"ordersAfrom Orders");
        assert_eq!(Subscription::decode(7, &bytes).unwrap(), sample());
    }

    #[test]
    fn damaged_bytes_are_no_subscription() {
        let bytes = sample().encode();
        assert!(Subscription::decode(7, &bytes[..39]).is_err());
        for (at, value) in [(0, 2), (3, 255), (5, 255), (6, 3), (40, 255)] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            assert!(Subscription::decode(7, &damaged).is_err(), "byte {at}");
        }
    }
}
