//! What a document has beside its body, as two bytes of its record and as the text clients see.
//!
//! Stored by `record`; kept true by `store::beside`. Bytes: docs/format.md, "Document record".

/// A set of flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// There are revisions of it.
    pub const HAS_REVISIONS: Flags = Flags(1);
    /// It is a revision itself.
    pub const REVISION: Flags = Flags(2);
    /// It is the revision that says that the document was deleted.
    pub const DELETE_REVISION: Flags = Flags(4);
    /// It has attachments.
    pub const HAS_ATTACHMENTS: Flags = Flags(8);
    /// It has counters.
    pub const HAS_COUNTERS: Flags = Flags(16);
    /// It has time series.
    pub const HAS_TIME_SERIES: Flags = Flags(32);
    /// It is a revision that somebody asked for.
    pub const FORCE_CREATED: Flags = Flags(64);
    /// Its metadata has dates at which something happens. Clients do not see it.
    pub(crate) const HAS_DATES: Flags = Flags(128);
    /// A cluster-wide transaction was the last to change it.
    pub const FROM_CLUSTER_TRANSACTION: Flags = Flags(256);
    /// An index wrote it: nobody stored it by hand.
    pub const ARTIFICIAL: Flags = Flags(512);
    /// It is a result of a reduce, or lists such results.
    pub const FROM_INDEX: Flags = Flags(1024);
    /// Where its last change comes from.
    pub(crate) const ORIGINS: Flags = Flags(256 | 512 | 1024);
    /// Everything whose names are kept in the metadata of the document.
    pub const BESIDE: Flags = Flags(8 | 16 | 32);

    /// Names on the wire, in the order in which they are written.
    const NAMES: [(Flags, &'static str); 10] = [
        (Flags::ARTIFICIAL, "Artificial"),
        (Flags::FROM_INDEX, "FromIndex"),
        (Flags::HAS_REVISIONS, "HasRevisions"),
        (Flags::REVISION, "Revision"),
        (Flags::DELETE_REVISION, "DeleteRevision"),
        (Flags::HAS_ATTACHMENTS, "HasAttachments"),
        (Flags::HAS_COUNTERS, "HasCounters"),
        (Flags::HAS_TIME_SERIES, "HasTimeSeries"),
        (Flags::FORCE_CREATED, "ForceCreated"),
        (Flags::FROM_CLUSTER_TRANSACTION, "FromClusterTransaction"),
    ];

    /// From the two bytes of a record.
    pub(crate) fn from_bytes(bytes: [u8; 2]) -> Flags {
        Flags(u16::from_le_bytes(bytes))
    }

    /// The two bytes of a record, which do not stand next to each other there.
    pub(crate) fn bytes(self) -> [u8; 2] {
        self.0.to_le_bytes()
    }

    /// Those that are set in both.
    pub(crate) fn and(self, others: Flags) -> Flags {
        Flags(self.0 & others.0)
    }

    /// Whether one of `others` is set.
    #[must_use]
    pub fn has(self, others: Flags) -> bool {
        self.0 & others.0 != 0
    }

    /// With `others`.
    #[must_use]
    pub fn with(self, others: Flags) -> Flags {
        Flags(self.0 | others.0)
    }

    /// Without `others`.
    #[must_use]
    pub fn without(self, others: Flags) -> Flags {
        Flags(self.0 & !others.0)
    }

    /// With or without `others`.
    #[must_use]
    pub fn set(self, others: Flags, is_set: bool) -> Flags {
        if is_set {
            self.with(others)
        } else {
            self.without(others)
        }
    }

    /// The text clients see, such as `HasRevisions, HasCounters`; empty when none is set.
    #[must_use]
    pub fn text(self) -> String {
        let set = Flags::NAMES.iter().filter(|(flag, _)| self.has(*flag));
        let names: Vec<&str> = set.map(|(_, name)| *name).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_read_as_clients_expect_them() {
        let flags = Flags::default()
            .with(Flags::HAS_COUNTERS)
            .with(Flags::HAS_REVISIONS)
            .set(Flags::HAS_ATTACHMENTS, true);
        assert_eq!(flags.text(), "HasRevisions, HasAttachments, HasCounters");
        assert_eq!(
            flags.without(Flags::BESIDE),
            Flags::default().with(Flags::HAS_REVISIONS)
        );
        assert_eq!(Flags::from_bytes(flags.bytes()), flags);
        assert_eq!(Flags::default().text(), "");
        let cluster_wide = Flags::FROM_CLUSTER_TRANSACTION;
        assert_eq!(cluster_wide.bytes(), [0, 1]);
        assert_eq!(cluster_wide.text(), "FromClusterTransaction");
    }
}
