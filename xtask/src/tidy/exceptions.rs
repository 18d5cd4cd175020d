//! Known offenders: `xtask/tidy-exceptions.txt`, one `rule path [limit]` a line, `#` for comments.

use super::Finding;
use crate::repository::Repository;

const PATH: &str = "xtask/tidy-exceptions.txt";

#[derive(Clone, Debug)]
struct Exception {
    rule: String,
    path: String,
    limit: Option<usize>,
    line: usize,
    used: bool,
}

/// The exceptions of a repository, and which of them were needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exceptions(Vec<Exception>);

impl Exceptions {
    /// Reads the list; lines that make no sense are findings.
    pub(crate) fn load(repository: &Repository) -> (Exceptions, Vec<Finding>) {
        let mut exceptions = Exceptions::default();
        let mut findings = Vec::new();
        let Some(file) = repository.texts.iter().find(|f| f.path == PATH) else {
            return (exceptions, findings);
        };
        for (number, line) in (1..).zip(file.text.lines()) {
            let content = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = content.split_whitespace().collect();
            let (rule, path, limit) = match words.as_slice() {
                [] => continue,
                [rule, path] => (rule, path, Ok(None)),
                [rule, path, limit] => (rule, path, limit.parse().map(Some)),
                _ => {
                    findings.push(Finding::new("exception", PATH, number, "cannot be read"));
                    continue;
                }
            };
            let (rule, path) = ((*rule).to_owned(), (*path).to_owned());
            match limit {
                Ok(limit) => {
                    let exception = Exception {
                        rule,
                        path,
                        limit,
                        line: number,
                        used: false,
                    };
                    exceptions.0.push(exception);
                }
                Err(_) => findings.push(Finding::new("exception", PATH, number, "bad limit")),
            }
        }
        (exceptions, findings)
    }

    /// Whether `path` may break `rule`.
    pub(crate) fn allow(&mut self, rule: &str, path: &str) -> bool {
        self.find(rule, path).is_some()
    }

    /// The limit that stands for `path` in place of the rule's own.
    pub(crate) fn limit(&mut self, rule: &str, path: &str) -> Option<usize> {
        self.find(rule, path).and_then(|e| e.limit)
    }

    fn find(&mut self, rule: &str, path: &str) -> Option<&Exception> {
        let exception = self
            .0
            .iter_mut()
            .find(|e| e.rule == rule && e.path == path)?;
        exception.used = true;
        Some(exception)
    }

    /// Exceptions that nothing needed.
    pub(crate) fn unused(&self) -> Vec<Finding> {
        let text =
            |e: &Exception| format!("`{} {}` is no longer needed: remove it", e.rule, e.path);
        let unused = self.0.iter().filter(|e| !e.used);
        unused
            .map(|e| Finding::new("exception", PATH, e.line, text(e)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::repository_of;

    #[test]
    fn an_exception_holds_for_its_rule_and_path_alone() {
        let list = "# reason\nlength crates/a/src/x.rs 1200\nascii crates/a/src/y.rs  # names\n";
        let (mut exceptions, findings) = Exceptions::load(&repository_of(&[(PATH, list)]));
        assert_eq!(findings, []);
        assert_eq!(exceptions.limit("length", "crates/a/src/x.rs"), Some(1200));
        assert!(!exceptions.allow("ascii", "crates/a/src/x.rs"));
        assert!(exceptions.allow("ascii", "crates/a/src/y.rs"));
        assert_eq!(exceptions.unused(), []);
    }

    #[test]
    fn an_exception_without_need_is_a_finding() {
        let list = "ascii crates/a/src/y.rs\n";
        let (exceptions, _) = Exceptions::load(&repository_of(&[(PATH, list)]));
        assert_eq!(exceptions.unused().len(), 1);
    }

    #[test]
    fn a_line_that_makes_no_sense_is_a_finding() {
        let list = "length a.rs many\nlength a.rs 1 2 3\n";
        let (_, findings) = Exceptions::load(&repository_of(&[(PATH, list)]));
        assert_eq!(findings.len(), 2);
    }
}
