//! The files of the repository, as Git sees them: tracked ones and new ones that are not ignored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// Extensions read as text; anything else is known by its path alone.
const TEXT_EXTENSIONS: &[&str] = &[
    "css", "html", "java", "json", "lock", "md", "mjs", "py", "rql", "rs", "sh", "stderr", "toml",
    "ts", "tsx", "txt", "xml", "yml",
];

/// A text file with its path relative to the root, separated by `/`.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }
}

/// All files of the repository.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repository {
    pub(crate) paths: BTreeSet<String>,
    pub(crate) texts: Vec<TextFile>,
}

/// The root of the checkout this program was built from.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent()
        .expect("xtask lies one folder below the root")
        .to_path_buf()
}

/// Names of the Rust files in a folder, in order: each is a separate program.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn rust_file_names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let entries = std::fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(
                path.file_stem()
                    .map(|name| name.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    Ok(names)
}

impl Repository {
    /// Reads the checkout.
    ///
    /// # Errors
    /// When Git cannot list it, or a listed text file cannot be read.
    pub(crate) fn load(root: &Path) -> Result<Repository> {
        let listing = process::output_of(Command::new("git").current_dir(root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        let mut repository = Repository::default();
        for path in listing.split('\0').filter(|p| !p.is_empty()) {
            let full = root.join(path);
            if !full.is_file() {
                continue; // removed in the work tree, not yet in the index
            }
            repository.paths.insert(path.to_owned());
            let extension = path
                .rsplit('/')
                .next()
                .and_then(|name| name.rsplit_once('.'));
            let is_text = extension.is_some_and(|(_, e)| TEXT_EXTENSIONS.contains(&e))
                || path.starts_with(".ci/");
            if is_text {
                let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
                let Ok(text) = String::from_utf8(bytes) else {
                    continue;
                };
                repository.texts.push(TextFile {
                    path: path.to_owned(),
                    text,
                });
            }
        }
        Ok(repository)
    }

    /// Whether a path names a file, or a folder that holds files.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.paths.contains(path)
            || self
                .paths
                .range(folder.clone()..)
                .next()
                .is_some_and(|p| p.starts_with(&folder))
    }
}
