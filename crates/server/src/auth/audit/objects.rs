//! Names of what an audited request is about: databases, indexes, certificates, keys.
//!
//! `http::dispatch` adds those in the address, decoded; handlers add those in the body. The line of
//! the audit log has them, however long the address was.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

/// Characters of one name; no name that may be stored is longer.
const NAME_CHARS_MAX: usize = 512;
/// Names of one line; further ones are counted.
const NAMES_MAX: usize = 64;

/// See the file head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects(Arc<Mutex<Named>>);

#[derive(Debug, Default)]
struct Named {
    names: Vec<String>,
    more: usize,
}

impl Objects {
    /// Adds a name, once.
    pub(crate) fn add(&self, name: &str) {
        let mut named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        if name.is_empty() || named.names.contains(&name) {
            return;
        }
        match named.names.len() < NAMES_MAX {
            true => named.names.push(name),
            false => named.more += 1,
        }
    }

    /// The names, and as last element the number of those left out.
    pub(super) fn to_json(&self) -> Value {
        let named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<Value> = named.names.iter().map(|name| json!(name)).collect();
        if named.more > 0 {
            list.push(json!({ "More": named.more }));
        }
        Value::Array(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_the_rest_is_counted() {
        let objects = Objects::default();
        objects.add("");
        for number in 0..2 * NAMES_MAX {
            objects.add(&format!("n{number}"));
            objects.add("n0");
        }
        let list = objects.to_json();
        assert_eq!(list.as_array().unwrap().len(), NAMES_MAX + 1);
        assert_eq!(list[NAMES_MAX], json!({ "More": NAMES_MAX }));
        let long = Objects::default();
        long.add(&"\u{e9}".repeat(100_000));
        assert_eq!(
            long.to_json()[0].as_str().unwrap().chars().count(),
            NAME_CHARS_MAX
        );
    }
}
