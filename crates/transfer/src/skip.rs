//! Why an entry of an import was left out.
//!
//! A skip never ends an import: it is counted by kind, the first ones are shown, and all of them
//! go to the file that `--skipped` names.

use std::fmt;

/// Why one entry was not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// Nothing but white space.
    Empty,
    /// A comment.
    Comment,
    /// Not an album: neither a disc id nor a title.
    NotXmcd,
    /// The entry is longer than the importer takes into memory.
    TooLong {
        /// Length of the entry, when it is known before reading it.
        len_bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// One value is longer than any real one.
    ValueTooLong {
        /// Key of the value.
        key: String,
        /// The limit.
        limit: usize,
    },
    /// Continued keys take turns so often that joining them would not end.
    TooManyContinuations {
        /// Bytes of joined values allowed in one file.
        limit: usize,
    },
    /// A track number beyond any disc.
    TooManyTracks {
        /// The limit.
        limit: usize,
    },
    /// The document id would be empty or too long for the database.
    BadId {
        /// What is wrong with it.
        what: String,
    },
    /// The text is not the format it should be.
    Malformed {
        /// Parser's sentence, with line and column where it has them.
        what: String,
    },
    /// The database has a document of its id in another collection.
    OtherCollection {
        /// The id.
        id: String,
        /// Its collection.
        from: String,
        /// The collection of the entry.
        to: String,
    },
    /// Part of the archive could not be read; the importer went on after it.
    Damaged {
        /// What was lost, and where.
        what: String,
    },
}

impl SkipReason {
    /// A few words that stay the same for every skip of this kind; the summary counts by them.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Comment => "comment",
            Self::NotXmcd => "not an album",
            Self::TooLong { .. } => "entry too long",
            Self::ValueTooLong { .. } => "value too long",
            Self::TooManyContinuations { .. } => "too many continued lines",
            Self::TooManyTracks { .. } => "too many tracks",
            Self::BadId { .. } => "unusable id",
            Self::Malformed { .. } => "malformed",
            Self::OtherCollection { .. } => "id in another collection",
            Self::Damaged { .. } => "damaged archive",
        }
    }
}

impl SkipReason {
    /// The id of the entry is in another collection.
    #[must_use]
    pub fn other_collection(id: &str, from: &str, to: &str) -> SkipReason {
        Self::OtherCollection {
            id: id.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }

    /// Whether the entry held something that the database now lacks. Blank lines, comments, empty
    /// files and the notes that come with albums do not.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        !matches!(self, Self::Empty | Self::Comment | Self::NotXmcd)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Comment => f.write_str("it is a comment"),
            Self::NotXmcd => f.write_str("it has neither DISCID nor DTITLE, so it is not an album"),
            Self::TooLong { len_bytes, limit } => {
                write!(f, "it has {len_bytes} bytes; at most {limit} are read")
            }
            Self::ValueTooLong { key, limit } => {
                write!(f, "the value of {key} is longer than {limit} bytes")
            }
            Self::TooManyContinuations { limit } => {
                write!(f, "its continued lines add up to more than {limit} bytes")
            }
            Self::TooManyTracks { limit } => write!(f, "it names a track beyond {limit}"),
            Self::OtherCollection { id, from, to } => write!(
                f,
                "its id '{id}' is in collection '{from}' and cannot move to '{to}'"
            ),
            Self::BadId { what } | Self::Malformed { what } | Self::Damaged { what } => {
                f.write_str(what)
            }
        }
    }
}
