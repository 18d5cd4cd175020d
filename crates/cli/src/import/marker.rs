//! How far an import has come, kept in the database itself.
//!
//! The marker is written in the transaction of each batch, so after any end of the process it says
//! exactly which entries are in: the same command then goes on behind them.

use jackdaw_base::hash::xxh3_64_parts;
use serde::{Deserialize, Serialize};

/// How far an import has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Marker {
    /// Entries of the input that are dealt with, in its order.
    pub entries: u64,
    /// Documents written for them.
    pub documents: u64,
    /// Entries left out among them.
    pub skipped: u64,
    /// Those of them that held something, see `SkipReason::is_loss`.
    #[serde(default)]
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
