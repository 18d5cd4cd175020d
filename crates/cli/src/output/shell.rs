//! Paths in commands that people copy into their shell.

use std::path::Path;

/// What no shell gives a meaning, beside letters and digits.
const PLAIN: &str = "/._-+,:@%";

/// A path as one word of a POSIX shell: in quotes where it needs them.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || PLAIN.contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_for_the_shell() {
        for (path, word) in [
            ("/srv/jackdaw-1/data", "/srv/jackdaw-1/data"),
            ("/srv/my data", "'/srv/my data'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(Path::new(path)), word);
        }
    }
}
