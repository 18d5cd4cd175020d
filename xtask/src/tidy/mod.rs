//! `cargo xtask tidy`: house rules that no compiler checks, each a function from files to findings.
//!
//! Each rule is a module with tests that see it fail. Known offenders stand in
//! `xtask/tidy-exceptions.txt`; an exception may shrink or go, never grow, and one that is no
//! longer needed is itself a finding. Figures of whole crates stand in `xtask/tidy-ratchets.txt`.

mod decisions;
mod dialect;
mod direction;
mod edges;
mod exceptions;
mod finding;
mod formats;
mod functions;
mod links;
mod markdown;
mod measure;
mod ratchet;
mod rust_text;
mod shape;
mod unsafety;
mod words;

use anyhow::{Result, bail};

use crate::repository::{self, Repository};
use exceptions::Exceptions;
pub(crate) use finding::Finding;

pub(crate) const SUMMARY: &str = "house rules: heads, layers, unsafe, limits, formats, links";

pub(crate) const HELP: &str = "\
cargo xtask tidy [--figures [CRATE..]]

Checks every file that Git knows or would add:
  head        a Rust file opens with a `//!` head that says what it is
  length      at most 1,000 lines without tests; 100 columns
  ascii       ASCII source outside tests and listed data files
  word        no unfinished markers, no paths or names of a machine, no foreign registries
  mention     a page named in a comment exists
  edge        a crate depends only on layers below it; runtimes and system calls stay where allowed
  unsafe      unsafe code only in the modules of docs/unsafe.md; forbidden elsewhere
  format      tables of docs/format.md are contiguous, sum up, and are compared with the code
  link        relative links and anchors of every page lead somewhere
  decision    decision records are numbered without gaps and complete
  circle      the largest circle of imports inside a crate does not grow
  dialect     words that plain English does without do not grow in comments
  function    functions over 70 lines do not grow in number
Exceptions: xtask/tidy-exceptions.txt. The last three are ratchets: xtask/tidy-ratchets.txt holds
today's figures. --figures prints that table, and what a named crate's figures count.";

/// # Errors
/// When a rule is broken, or the repository cannot be read.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let root = repository::root();
    let repository = Repository::load(&root)?;
    match arguments {
        [] => {}
        [first, detailed @ ..] if first == "--figures" => {
            return match ratchet::figures(&repository, detailed) {
                Ok(text) => {
                    print!("{text}");
                    Ok(())
                }
                Err(name) => bail!("there is no crate `{name}`: name a folder of crates/"),
            };
        }
        [other, ..] => bail!("`{other}` is no option; --help lists them"),
    }
    let packages = edges::packages(&root)?;
    let findings = check(&repository, &packages);
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!(
            "{} findings in {} files",
            findings.len(),
            repository.paths.len()
        );
    }
    println!("tidy: {} files, no findings", repository.paths.len());
    Ok(())
}

/// Every rule over every file, sorted, without those that the exceptions allow.
fn check(repository: &Repository, packages: &[edges::Package]) -> Vec<Finding> {
    let (mut exceptions, mut findings) = Exceptions::load(repository);
    findings.extend(shape::check(repository, &mut exceptions));
    findings.extend(words::check(repository, &mut exceptions));
    findings.extend(edges::check(packages));
    findings.extend(unsafety::check(repository));
    findings.extend(formats::check(repository));
    findings.extend(links::check(repository));
    findings.extend(decisions::check(repository));
    findings.extend(ratchet::check(repository));
    findings.extend(exceptions.unused());
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::TextFile;

    /// A repository of the given files; tests of the rules build their cases with it.
    pub(super) fn repository_of(files: &[(&str, &str)]) -> Repository {
        let mut repository = Repository::default();
        for (path, text) in files {
            repository.paths.insert((*path).to_owned());
            let file = TextFile {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            };
            repository.texts.push(file);
        }
        repository
    }
}
