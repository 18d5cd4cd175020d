//! Names of the simulated disk: what the running system sees, and what is durable of it.
//!
//! Paths are normalized texts such as `db/journal`; the root is the empty text.
//!
//! Invariants:
//! - A change of a name is durable after its directory was synced, in the order of the changes.
//! - In a crash image each un-synced change is there or not by itself, but a renaming is one
//!   change, and a name never outlives the directory that holds it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::choice::{Chooser, Decision, Subject};
use super::state::FileId;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    File(FileId),
    /// The number tells a directory from a later one of the same name.
    Directory(u64),
}

impl Entry {
    fn number(self) -> u64 {
        match self {
            Entry::File(file) => file.0,
            Entry::Directory(number) => number,
        }
    }
}

/// A change of names that is not durable yet.
#[derive(Clone, Debug)]
enum NameChange {
    Create {
        path: Arc<str>,
        entry: Entry,
    },
    Remove {
        path: Arc<str>,
        entry: Entry,
    },
    Rename {
        from: Arc<str>,
        to: Arc<str>,
        entry: Entry,
    },
}

impl NameChange {
    /// The name that the change is about; of a renaming, the new one.
    fn path(&self) -> &Arc<str> {
        match self {
            Self::Create { path, .. } | Self::Remove { path, .. } => path,
            Self::Rename { to, .. } => to,
        }
    }

    fn entry(&self) -> Entry {
        let (Self::Create { entry, .. } | Self::Remove { entry, .. } | Self::Rename { entry, .. }) =
            self;
        *entry
    }
}

#[derive(Clone, Debug)]
struct Pending {
    operation: u64,
    change: NameChange,
}

type NameMap = BTreeMap<Arc<str>, Entry>;

/// All names of a disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    live: NameMap,
    durable: NameMap,
    pending: Vec<Pending>,
}

/// The directory that holds `path`.
pub(crate) fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Whether `path` lies below `directory`, at any depth.
fn is_below(path: &str, directory: &str) -> bool {
    if directory.is_empty() {
        return !path.is_empty();
    }
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with('/'))
}

impl Names {
    /// What the running system finds under `path`; the root always exists.
    pub(crate) fn find(&self, path: &str) -> Option<Entry> {
        if path.is_empty() {
            Some(Entry::Directory(0))
        } else {
            self.live.get(path).copied()
        }
    }

    /// Names directly in `directory`, without the directory's own.
    pub(crate) fn list(&self, directory: &str) -> impl Iterator<Item = (&str, Entry)> {
        self.live
            .iter()
            .filter(move |(path, _)| !path.is_empty() && parent_of(path) == directory)
            .map(|(path, &entry)| {
                (
                    path.rsplit_once('/').map_or(&**path, |(_, name)| name),
                    entry,
                )
            })
    }

    /// All files that the running system can find.
    pub(crate) fn live_files(&self) -> impl Iterator<Item = FileId> {
        self.live.values().filter_map(|entry| match entry {
            Entry::File(file) => Some(*file),
            Entry::Directory(_) => None,
        })
    }

    /// All files that a name leads to or may lead to after power loss, ascending.
    pub(crate) fn referenced_files(&self) -> Vec<FileId> {
        let pending = self.pending.iter().map(|pending| pending.change.entry());
        let named = self.live.values().chain(self.durable.values()).copied();
        let mut files: Vec<FileId> = named
            .chain(pending)
            .filter_map(|entry| match entry {
                Entry::File(file) => Some(file),
                Entry::Directory(_) => None,
            })
            .collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Paths of all files that the running system can find, ascending.
    pub(crate) fn live_paths(&self) -> Vec<String> {
        let files = self
            .live
            .iter()
            .filter(|(_, entry)| matches!(entry, Entry::File(_)));
        files.map(|(path, _)| path.to_string()).collect()
    }

    /// Whether power loss would change no name.
    pub(crate) fn is_settled(&self) -> bool {
        self.pending.is_empty()
    }

    pub(crate) fn create(&mut self, operation: u64, path: &Arc<str>, entry: Entry) {
        self.push(
            operation,
            NameChange::Create {
                path: path.clone(),
                entry,
            },
        );
    }

    pub(crate) fn rename(&mut self, operation: u64, from: &Arc<str>, to: &Arc<str>) {
        if let Some(entry) = self.find(from) {
            let (from, to) = (from.clone(), to.clone());
            self.push(operation, NameChange::Rename { from, to, entry });
        }
    }

    /// Removes a file, or a directory with everything below it.
    pub(crate) fn remove(&mut self, operation: u64, path: &Arc<str>) {
        let Some(entry) = self.find(path) else { return };
        let mut below: Vec<(Arc<str>, Entry)> = self
            .live
            .iter()
            .filter(|(other, _)| is_below(other, path))
            .map(|(other, &entry)| (other.clone(), entry))
            .collect();
        below.reverse(); // What lies in a directory goes before the directory.
        below.push((path.clone(), entry));
        for (path, entry) in below {
            self.push(operation, NameChange::Remove { path, entry });
        }
    }

    /// Makes the changes in `directory` durable. A renaming between two directories takes the
    /// changes of the other one along.
    pub(crate) fn sync(&mut self, directory: &str) {
        let mut directories = vec![directory.to_owned()];
        for pending in &self.pending {
            if let NameChange::Rename { from, to, .. } = &pending.change {
                let ends = [parent_of(from), parent_of(to)];
                if ends
                    .iter()
                    .any(|end| directories.iter().any(|known| known == end))
                {
                    directories.extend(ends.map(str::to_owned));
                }
            }
        }
        let is_synced = |path: &str| directories.iter().any(|known| known == parent_of(path));
        for pending in std::mem::take(&mut self.pending) {
            if is_synced(pending.change.path()) {
                apply(&mut self.durable, &pending.change);
                if let NameChange::Remove {
                    path: gone,
                    entry: Entry::Directory(_),
                } = &pending.change
                {
                    self.pending
                        .retain(|earlier| !is_below(earlier.change.path(), gone));
                }
            } else {
                self.pending.push(pending);
            }
        }
        self.forget_orphans();
    }

    /// The names that power loss may leave.
    pub(crate) fn crash(&self, chooser: &mut dyn Chooser) -> Self {
        let mut names = self.durable.clone();
        for Pending { operation, change } in &self.pending {
            let decision = Decision {
                subject: Subject::Name,
                file: change.entry().number(),
                operations: std::slice::from_ref(operation),
            };
            if chooser.choose(decision) == 1 {
                apply(&mut names, change);
            }
        }
        remove_orphans(&mut names);
        Self {
            live: names.clone(),
            durable: names,
            pending: Vec::new(),
        }
    }

    fn push(&mut self, operation: u64, change: NameChange) {
        apply(&mut self.live, &change);
        self.pending.push(Pending { operation, change });
    }

    /// Drops pending changes in directories that are durably gone, and durable names there.
    fn forget_orphans(&mut self) {
        remove_orphans(&mut self.durable);
        let (live, durable) = (&self.live, &self.durable);
        self.pending.retain(|pending| {
            let parent = parent_of(pending.change.path());
            parent.is_empty() || live.contains_key(parent) || durable.contains_key(parent)
        });
    }
}

/// Applies one change where it makes sense: what was never created cannot be removed or renamed.
fn apply(names: &mut NameMap, change: &NameChange) {
    match change {
        NameChange::Create { path, entry } => {
            let old = names.insert(path.clone(), *entry);
            if matches!(old, Some(Entry::Directory(_))) && old != Some(*entry) {
                remove_below(names, path);
            }
        }
        NameChange::Remove { path, entry } => {
            if names.get(path) == Some(entry) {
                names.remove(path);
                if matches!(entry, Entry::Directory(_)) {
                    remove_below(names, path);
                }
            }
        }
        NameChange::Rename { from, to, entry } => {
            if names.get(from) == Some(entry) {
                names.remove(from);
                names.insert(to.clone(), *entry);
            }
        }
    }
}

/// Removes everything that lay in a directory that is gone.
fn remove_below(names: &mut NameMap, directory: &str) {
    names.retain(|path, _| !is_below(path, directory));
}

/// Removes names whose directory does not exist.
fn remove_orphans(names: &mut NameMap) {
    // Ascending order visits a directory before what lies in it.
    let paths: Vec<Arc<str>> = names.keys().cloned().collect();
    for path in paths {
        let parent = parent_of(&path);
        let has_parent =
            parent.is_empty() || matches!(names.get(parent), Some(Entry::Directory(_)));
        if !has_parent {
            names.remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::{KeepAll, LoseAll, Script};
    use super::*;

    fn path(text: &str) -> Arc<str> {
        text.into()
    }

    fn shown(names: &Names) -> Vec<&str> {
        names.live.keys().map(|path| &**path).collect()
    }

    fn names_with(paths: &[&str]) -> Names {
        let mut names = Names::default();
        names.create(1, &path("d"), Entry::Directory(1));
        names.sync("");
        for (number, text) in paths.iter().enumerate() {
            names.create(
                number as u64 + 2,
                &path(text),
                Entry::File(FileId(number as u64 + 2)),
            );
        }
        names
    }

    #[test]
    fn unsynced_creations_are_lost_or_kept_one_by_one() {
        let mut names = names_with(&["d/a", "d/b"]);
        assert_eq!(shown(&names.crash(&mut LoseAll)), ["d"]);
        assert_eq!(shown(&names.crash(&mut KeepAll)), ["d", "d/a", "d/b"]);
        let mut second = Script {
            answers: &[0, 1],
            position: 0,
        };
        assert_eq!(shown(&names.crash(&mut second)), ["d", "d/b"]);
        names.sync("");
        assert_eq!(shown(&names.crash(&mut LoseAll)), ["d"]);
        names.sync("d");
        assert_eq!(shown(&names.crash(&mut LoseAll)), ["d", "d/a", "d/b"]);
        assert!(names.is_settled());
    }

    #[test]
    fn renaming_is_one_change() {
        let mut names = names_with(&["d/a", "d/b"]);
        names.sync("d");
        names.rename(9, &path("d/a"), &path("d/b"));
        assert_eq!(names.find("d/b"), Some(Entry::File(FileId(2))));
        let lost = names.crash(&mut LoseAll);
        assert_eq!(lost.find("d/b"), Some(Entry::File(FileId(3))));
        assert_eq!(lost.find("d/a"), Some(Entry::File(FileId(2))));
        let kept = names.crash(&mut KeepAll);
        assert_eq!(
            (kept.find("d/a"), kept.find("d/b")),
            (None, names.find("d/b"))
        );
    }

    #[test]
    fn renaming_of_a_lost_file_leaves_the_target_alone() {
        let mut names = names_with(&["d/old"]);
        names.sync("d");
        names.create(8, &path("d/new"), Entry::File(FileId(8)));
        names.rename(9, &path("d/new"), &path("d/old"));
        let image = names.crash(&mut Script {
            answers: &[0, 1],
            position: 0,
        });
        assert_eq!(shown(&image), ["d", "d/old"]);
        assert_eq!(image.find("d/old"), Some(Entry::File(FileId(2))));
    }

    #[test]
    fn removed_directory_takes_everything_along() {
        let mut names = names_with(&["d/a", "d/b"]);
        names.sync("d");
        names.remove(9, &path("d"));
        assert_eq!(shown(&names), Vec::<&str>::new());
        assert_eq!(shown(&names.crash(&mut LoseAll)), ["d", "d/a", "d/b"]);
        // The directory itself is gone, the removal of a file in it was lost: no orphan stays.
        let image = names.crash(&mut Script {
            answers: &[0, 1, 1],
            position: 0,
        });
        assert_eq!(shown(&image), Vec::<&str>::new());
        names.sync("");
        assert!(names.is_settled());
        assert_eq!(shown(&names.crash(&mut KeepAll)), Vec::<&str>::new());
    }

    #[test]
    fn recreated_directory_does_not_show_the_old_content() {
        let mut names = names_with(&["d/a"]);
        names.sync("d");
        names.remove(8, &path("d"));
        names.create(9, &path("d"), Entry::Directory(9));
        names.sync("");
        for image in [names.crash(&mut LoseAll), names.crash(&mut KeepAll)] {
            assert_eq!(image.find("d"), Some(Entry::Directory(9)));
            assert_eq!(image.find("d/a"), None);
        }
    }

    #[test]
    fn lists_only_what_lies_directly_inside() {
        let mut names = names_with(&["d/a"]);
        names.create(5, &path("d/sub"), Entry::Directory(5));
        names.create(6, &path("d/sub/x"), Entry::File(FileId(6)));
        names.create(7, &path("da"), Entry::File(FileId(7)));
        let listed: Vec<&str> = names.list("d").map(|(name, _)| name).collect();
        assert_eq!(listed, ["a", "sub"]);
        let top: Vec<&str> = names.list("").map(|(name, _)| name).collect();
        assert_eq!(top, ["d", "da"]);
        assert_eq!(names.live_files().count(), 3);
    }

    #[test]
    fn renaming_between_directories_is_durable_with_either() {
        let mut names = names_with(&["d/a"]);
        names.create(5, &path("e"), Entry::Directory(5));
        names.sync("");
        names.sync("d");
        names.rename(6, &path("d/a"), &path("e/a"));
        let mut other = names.clone();
        names.sync("d");
        other.sync("e");
        for names in [names, other] {
            assert_eq!(shown(&names.crash(&mut LoseAll)), ["d", "e", "e/a"]);
        }
    }
}
