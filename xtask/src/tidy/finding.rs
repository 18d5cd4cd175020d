//! What a rule of tidy reports: a place, a rule, and what to do.

use std::fmt;

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// 1-based; 0 when the finding is about the whole file.
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    pub(crate) text: String,
}

impl Finding {
    pub(super) fn new(
        rule: &'static str,
        path: &str,
        line: usize,
        text: impl Into<String>,
    ) -> Finding {
        Finding {
            path: path.to_owned(),
            line,
            rule,
            text: text.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding {
            path,
            line,
            rule,
            text,
        } = self;
        match line {
            0 => write!(f, "{path}: [{rule}] {text}"),
            _ => write!(f, "{path}:{line}: [{rule}] {text}"),
        }
    }
}
