//! Tags of nodes: the letters that begin each part of a change vector.

use std::fmt;
use std::str::FromStr;

/// Tag of a node: one to four capital letters, `A` to `ZZZZ`.
///
/// Four-letter words that the parts of change vectors use for something else (`TRXN`, `MOVE`,
/// `RAFT`, `SINK`) are no tags of nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeTag {
    /// Padded with zeros, so that tags compare as their texts do.
    letters: [u8; NodeTag::LEN_MAX],
}

/// Words in the place of a tag that name no node.
const RESERVED: [&str; 4] = ["TRXN", "MOVE", "RAFT", "SINK"];

/// Why a text is no tag of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeTagError {
    /// Empty, longer than four letters, or with something other than `A` to `Z`.
    #[error("a node tag has one to four capital letters, A to ZZZZ; `{0}` does not")]
    Letters(String),
    /// A word that change vectors use for something else.
    #[error("`{0}` is not the tag of a node: change vectors use it for something else")]
    Reserved(String),
}

impl NodeTag {
    /// The longest tag, in letters.
    pub const LEN_MAX: usize = 4;
    /// The tag of a node that was given none.
    pub const FIRST: NodeTag = NodeTag {
        letters: [b'A', 0, 0, 0],
    };

    /// One to four capital letters, reserved words too.
    pub(crate) fn word(text: &str) -> Option<NodeTag> {
        let is_word = (1..=NodeTag::LEN_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_uppercase());
        is_word.then(|| {
            let mut letters = [0; NodeTag::LEN_MAX];
            letters[..text.len()].copy_from_slice(text.as_bytes());
            NodeTag { letters }
        })
    }

    /// Whether it is one of the words that name no node.
    pub(crate) fn is_reserved(self) -> bool {
        RESERVED.contains(&self.as_str())
    }

    /// The letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let len = self.letters.iter().take_while(|byte| **byte != 0).count();
        // Only capital letters of ASCII come in.
        std::str::from_utf8(&self.letters[..len]).unwrap_or_default()
    }
}

impl Default for NodeTag {
    fn default() -> NodeTag {
        NodeTag::FIRST
    }
}

impl FromStr for NodeTag {
    type Err = NodeTagError;

    fn from_str(text: &str) -> Result<NodeTag, NodeTagError> {
        match NodeTag::word(text) {
            None => Err(NodeTagError::Letters(text.to_owned())),
            Some(tag) if tag.is_reserved() => Err(NodeTagError::Reserved(text.to_owned())),
            Some(tag) => Ok(tag),
        }
    }
}

impl fmt::Display for NodeTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for NodeTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_one_to_four_capital_letters() {
        for text in ["A", "Z", "AB", "ZZZZ"] {
            let tag: NodeTag = text.parse().unwrap();
            assert_eq!(tag.to_string(), text);
        }
        for text in ["", "a", "ABCDE", "A1", "Ä", " A", "A:"] {
            let error = text.parse::<NodeTag>().unwrap_err();
            assert_eq!(error, NodeTagError::Letters(text.to_owned()));
        }
        for text in RESERVED {
            let error = text.parse::<NodeTag>().unwrap_err();
            assert_eq!(error, NodeTagError::Reserved(text.to_owned()));
        }
        assert_eq!(NodeTag::default().as_str(), "A");
    }
}
