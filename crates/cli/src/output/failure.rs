//! Errors as one sentence: each cause once, and what to do about it.
//!
//! Called where a command ends. Many errors already quote their cause; saying the chain as it is
//! would repeat it.

use std::io::{self, ErrorKind};

/// The error with all its causes as one sentence.
#[must_use]
pub fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let part = cause.to_string();
        if text.contains(&part) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&part);
    }
    if let Some(advice) = error.chain().find_map(advice_for) {
        text.push_str(": ");
        text.push_str(advice);
    }
    text
}

/// What to do about an answer of the system that gives no hint itself.
fn advice_for(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    match cause.downcast_ref::<io::Error>()?.kind() {
        ErrorKind::ReadOnlyFilesystem => {
            Some("make the file system writable, or choose another directory")
        }
        ErrorKind::PermissionDenied => {
            Some("run as the owner of that file or directory, or choose another one")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("free disk space, then run the same command again")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn each_cause_is_told_once_and_advice_follows() {
        let inner = io::Error::from(ErrorKind::ReadOnlyFilesystem);
        let text = inner.to_string();
        let quoting = io::Error::new(inner.kind(), format!("cannot lock LOCK: {inner}"));
        let error = Err::<(), _>(quoting)
            .context("cannot open data")
            .unwrap_err();
        assert_eq!(
            sentence(&error),
            format!(
                "cannot open data: cannot lock LOCK: {text}: make the file system writable, or \
                 choose another directory"
            )
        );
        assert_eq!(sentence(&anyhow::anyhow!("plain")), "plain");
    }
}
