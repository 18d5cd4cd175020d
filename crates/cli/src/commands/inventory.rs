//! What `jackdaw check` and `jackdaw doctor` expect in a directory, and what is missing there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use jackdaw_database::{Inventory, UnknownDirectory};
use jackdaw_io::Vfs;
use jackdaw_storage::Damage;

/// Parts of a data directory and of a database in it.
const CATALOG: &str = "catalog";
const DATABASES: &str = "databases";
const DOCUMENTS: &str = "documents";
const INDEXES: &str = "indexes";
/// What every environment has.
const FILES: [&str; 3] = ["meta", Damage::DATA_FILE, "journal"];
/// Directories with one of them are completed or removed by the next opening.
const MARKS: [&str; 2] = ["creating.tmp", "deleting.tmp"];
/// Inside an environment: an interrupted compaction, which is looked at with the environment.
const COMPACT_DIRECTORY: &str = "compact";
/// Directories below the one given; more means that it is not a data directory.
const DEPTH_MAX: usize = 8;

/// Environments that are or have to be somewhere.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Environments whose files are there.
    pub(super) complete: Vec<PathBuf>,
    /// Files and directories that have to be there and are not.
    pub(super) missing: Vec<PathBuf>,
    /// Directories that nothing names.
    pub(super) unknown: Vec<UnknownDirectory>,
    /// Indexes that the next opening builds.
    pub(super) unbuilt_indexes: u64,
}

/// Looks what is in and below `root`, and what its catalog or its documents name.
pub(super) fn places(root: &Path, disk: &Arc<dyn Vfs>) -> anyhow::Result<Places> {
    let mut found = Vec::new();
    find_environments(root, 0, &mut found)
        .with_context(|| format!("cannot look into {}", root.display()))?;
    let mut all: BTreeSet<PathBuf> = found.into_iter().collect();
    let mut places = Places::default();
    let is_data = root.join(DATABASES).is_dir() || root.join(CATALOG).is_dir();
    let is_database = root.join(DOCUMENTS).is_dir() || root.join(INDEXES).is_dir();
    // What an environment that cannot be opened would name is left out; the reason is found later.
    let inventory = match (is_data, is_database) {
        (true, _) => Inventory::of(disk, root).ok(),
        (false, true) => Inventory::of_database(disk, root).ok(),
        (false, false) => None,
    };
    match inventory {
        Some(inventory) => {
            all.extend(inventory.expected);
            places.unknown = inventory.unknown;
            places.unbuilt_indexes = inventory.unbuilt_indexes;
        }
        None if is_data => {
            all.insert(root.join(CATALOG));
        }
        None if is_database => {
            all.insert(root.join(DOCUMENTS));
        }
        None => {}
    }
    for environment in all {
        let missing = missing_of(&environment);
        match missing.is_empty() {
            true => places.complete.push(environment),
            false => places.missing.extend(missing),
        }
    }
    anyhow::ensure!(
        !(places.complete.is_empty() && places.missing.is_empty()),
        "{} holds no Jackdaw database: name a data directory, or one below it",
        root.display()
    );
    Ok(places)
}

/// What is missing of an environment; itself when all is.
fn missing_of(environment: &Path) -> Vec<PathBuf> {
    if !environment.is_dir() {
        return vec![environment.to_owned()];
    }
    let is_compacting = environment.join(COMPACT_DIRECTORY).is_dir();
    let paths = FILES.iter().map(|name| environment.join(name));
    paths
        .filter(|path| !path.exists() && !is_compacting)
        .collect()
}

/// Environments in and below `root`, in the order of their names; at least one.
pub(super) fn environments_below(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    find_environments(root, 0, &mut directories)
        .with_context(|| format!("cannot look into {}", root.display()))?;
    anyhow::ensure!(
        !directories.is_empty(),
        "{} holds no Jackdaw database: name a data directory, or one below it",
        root.display()
    );
    Ok(directories)
}

/// Environments in and below `directory`, in the order of their names.
fn find_environments(
    directory: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> std::io::Result<()> {
    let mut below = Vec::new();
    let (mut has_data, mut has_meta, mut has_journal) = (false, false, false);
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_being_made = name == COMPACT_DIRECTORY;
        if MARKS.iter().any(|mark| name == *mark) {
            return Ok(());
        } else if entry.file_type()?.is_dir() {
            has_journal |= name == FILES[2];
            if !is_being_made {
                below.push(entry.path());
            }
        } else {
            has_data |= name == Damage::DATA_FILE;
            has_meta |= name == FILES[0];
        }
    }
    if has_data || has_meta && has_journal {
        found.push(directory.to_owned());
    }
    below.sort_unstable();
    if depth < DEPTH_MAX {
        for path in below {
            find_environments(&path, depth + 1, found)?;
        }
    }
    Ok(())
}
