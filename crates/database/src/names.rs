//! What ids, collections and databases may be called, and how names are compared.
//!
//! Called when changes are prepared and databases created. Names are compared in lower case
//! (`base::lowercase`) and kept as they were given.

use std::borrow::Cow;

use jackdaw_base::lowercase::lowercase;

use crate::error::{SetError, WriteError};

/// Longest id in bytes, as given and in lower case: the longest key of a tree.
pub const ID_BYTES_MAX: usize = 1_024;
/// Longest name of a collection in bytes.
pub const COLLECTION_BYTES_MAX: usize = 256;
/// Longest name of a database in bytes.
pub const DATABASE_NAME_BYTES_MAX: usize = 128;
/// Collection of documents that name none.
pub const EMPTY_COLLECTION: &str = "@empty";
/// Longest part of a refused name that a message repeats.
const SHOWN_CHARACTERS_MAX: usize = 100;

fn shown(name: &str) -> String {
    name.chars().take(SHOWN_CHARACTERS_MAX).collect()
}

/// Checks an id and gives its lower case, under which it is found.
pub(crate) fn fold_id(id: &str) -> Result<Cow<'_, str>, WriteError> {
    let folded = lowercase(id);
    let why = if id.is_empty() {
        "it is empty"
    } else if id.len() > ID_BYTES_MAX || folded.len() > ID_BYTES_MAX {
        "it is longer than 1,024 bytes"
    } else {
        return Ok(folded);
    };
    let id = shown(id);
    Err(WriteError::InvalidId { id, why })
}

/// Checks the name of a collection.
pub(crate) fn check_collection(id: &str, collection: &str) -> Result<(), WriteError> {
    if collection.len() <= COLLECTION_BYTES_MAX {
        return Ok(());
    }
    Err(WriteError::InvalidCollection {
        id: shown(id),
        why: "its name is longer than 256 bytes",
    })
}

/// Checks the name of a database: 1 to 128 letters, digits, `_`, `-` and `.`, the first no dot.
pub(crate) fn check_database(name: &str) -> Result<(), SetError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > DATABASE_NAME_BYTES_MAX {
        "it is longer than 128 bytes"
    } else if name.starts_with('.') {
        "it begins with a dot"
    } else if !name.bytes().all(is_allowed) {
        "only letters, digits, '_', '-' and '.' are allowed"
    } else {
        return Ok(());
    };
    let name = shown(name);
    Err(SetError::InvalidName { name, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_folded_and_bounded() {
        assert_eq!(fold_id("Users/1-A").unwrap(), "users/1-a");
        assert!(fold_id("").is_err());
        assert!(fold_id(&"x".repeat(ID_BYTES_MAX)).is_ok());
        assert!(fold_id(&"x".repeat(ID_BYTES_MAX + 1)).is_err());
        // U+023A takes two bytes, its lower case three.
        assert!(fold_id(&"\u{23a}".repeat(ID_BYTES_MAX / 2)).is_err());
    }

    #[test]
    fn database_names_follow_the_grammar() {
        for name in ["a", "Music-2.0_x", &"n".repeat(128)] {
            assert!(check_database(name).is_ok(), "{name}");
        }
        for name in ["", ".a", "a/b", "a b", "\u{e4}", "..", &"n".repeat(129)] {
            assert!(check_database(name).is_err(), "{name}");
        }
    }
}
