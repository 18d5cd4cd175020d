//! How far an import has come, kept in the database itself.
//!
//! The marker is written in the transaction of each batch, so after any end of the process it says
//! exactly which entries are in: the same command then goes on behind them.

use jackdaw_base::hash::xxh3_64_parts;
use jackdaw_document::{DocumentBuf, Limits, ObjectWriter, write_object};

/// How far an import has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marker {
    /// Entries of the input that are dealt with, in its order.
    pub entries: u64,
    /// Documents written for them.
    pub documents: u64,
    /// Entries left out among them.
    pub skipped: u64,
    /// Those of them that held something, see `SkipReason::is_loss`.
    pub lost: u64,
    /// Whether the end of the input was reached.
    pub finished: bool,
}

impl Marker {
    /// The marker where this many of its documents were left out by the database.
    #[must_use]
    pub fn without(&self, left_out: u64) -> Marker {
        Marker {
            documents: self.documents.saturating_sub(left_out),
            skipped: self.skipped + left_out,
            lost: self.lost + left_out,
            ..self.clone()
        }
    }

    /// The marker as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_object(&mut out, |fields| self.write_fields(fields));
        out
    }

    /// Appends the marker's fields to an object.
    pub fn write_fields(&self, fields: &mut ObjectWriter<'_>) {
        let long = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        fields.long("Entries", long(self.entries));
        fields.long("Documents", long(self.documents));
        fields.long("Skipped", long(self.skipped));
        fields.long("Lost", long(self.lost));
        fields.bool("Finished", self.finished);
    }

    /// Reads a JSON object that has the fields of [`Marker::to_json`], and perhaps others.
    /// `None` when one is missing; `Lost`, which earlier versions did not write, counts as 0.
    #[must_use]
    pub fn from_json(json: &[u8]) -> Option<Self> {
        let document = DocumentBuf::from_json(json, &Limits::default()).ok()?;
        let number = |name| u64::try_from(document.root().get(name)?.as_i64()?).ok();
        Some(Self {
            entries: number("Entries")?,
            documents: number("Documents")?,
            skipped: number("Skipped")?,
            lost: number("Lost").unwrap_or(0),
            finished: document.root().get("Finished")?.as_bool()?,
        })
    }
}

/// Names an import: the same input, read the same way, gives the same name.
///
/// `settings` are the options that decide what documents come out.
#[must_use]
pub fn marker_name(kind: &str, identity: u64, settings: &[&str]) -> String {
    let mut parts: Vec<&[u8]> = vec![kind.as_bytes()];
    for setting in settings {
        parts.push(b"\0");
        parts.push(setting.as_bytes());
    }
    format!("{kind}-{:016x}", xxh3_64_parts(&parts, identity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_read_back_as_they_were_written() {
        let marker = Marker {
            entries: 10,
            documents: 8,
            skipped: 2,
            lost: 1,
            finished: true,
        };
        assert_eq!(Marker::from_json(&marker.to_json()), Some(marker));
        let earlier = br#"{"Entries":3,"Documents":3,"Skipped":0,"Finished":false}"#;
        assert_eq!(Marker::from_json(earlier).unwrap().documents, 3);
        for damaged in [b"".as_slice(), b"{}", br#"{"Entries":-1}"#, b"[]"] {
            assert_eq!(Marker::from_json(damaged), None);
        }
    }

    #[test]
    fn names_tell_inputs_and_settings_apart() {
        let name = marker_name("freedb", 1, &["Albums", ""]);
        assert_eq!(name, marker_name("freedb", 1, &["Albums", ""]));
        for other in [
            marker_name("freedb", 2, &["Albums", ""]),
            marker_name("csv", 1, &["Albums", ""]),
            marker_name("freedb", 1, &["Album", "s"]),
        ] {
            assert_ne!(other, name);
        }
    }
}
