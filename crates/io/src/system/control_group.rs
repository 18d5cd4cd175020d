//! Limits of the control group (container, systemd unit) that this process lives in.
//!
//! Both hierarchies are read: version 1 (one tree per controller) and version 2 (one tree).
//!
//! Invariants: the tightest limit of the group and its ancestors wins; no limit is `None`.

use std::fs;
use std::path::{Path, PathBuf};

/// Where every distribution mounts the hierarchies.
const MOUNT: &str = "/sys/fs/cgroup";

/// Version 1 has no word for "unlimited" memory: it shows the largest page-aligned `i64`.
const UNLIMITED_MIN: u64 = 1 << 60;

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    /// Number of threads.
    Pids,
    /// Bytes of memory.
    Memory,
}

impl Controller {
    /// Name of the version 1 tree.
    fn name(self) -> &'static str {
        match self {
            Controller::Pids => "pids",
            Controller::Memory => "memory",
        }
    }

    /// Files of the limit and of the present use, in either version.
    fn files(self) -> [(&'static str, &'static str); 2] {
        match self {
            Controller::Pids => [("pids.max", "pids.current"); 2],
            Controller::Memory => [
                ("memory.max", "memory.current"),
                ("memory.limit_in_bytes", "memory.usage_in_bytes"),
            ],
        }
    }
}

/// A limit and how much of it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) max: u64,
    pub(super) current: u64,
}

/// The limit that binds this process, if any.
pub(super) fn limit(controller: Controller) -> Option<Limit> {
    let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
    limit_below(Path::new(MOUNT), &membership, controller)
}

/// As [`limit`], for any mount point and membership text.
fn limit_below(mount: &Path, membership: &str, controller: Controller) -> Option<Limit> {
    let mut tightest: Option<Limit> = None;
    for (tree, group) in trees(mount, membership, controller) {
        // A container may see its group's path from outside, where only the root exists here.
        for ancestor in Path::new(group.trim_start_matches('/')).ancestors() {
            if let Some(found) = read_limit(&tree.join(ancestor), controller) {
                let room = |limit: &Limit| limit.max.saturating_sub(limit.current);
                if tightest.is_none_or(|known| room(&found) < room(&known)) {
                    tightest = Some(found);
                }
            }
        }
    }
    tightest
}

/// Trees that may limit the controller, each with the path of this process's group in it.
fn trees<'a>(mount: &Path, membership: &'a str, controller: Controller) -> Vec<(PathBuf, &'a str)> {
    let mut found = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if controllers.is_empty() {
            found.push((mount.to_path_buf(), group));
        } else if controllers.split(',').any(|name| name == controller.name()) {
            found.push((mount.join(controllers), group));
        }
    }
    found
}

fn read_limit(directory: &Path, controller: Controller) -> Option<Limit> {
    controller
        .files()
        .into_iter()
        .find_map(|(max_file, current_file)| {
            let number = |name: &str| -> Option<u64> {
                fs::read_to_string(directory.join(name))
                    .ok()?
                    .trim()
                    .parse()
                    .ok()
            };
            let max = number(max_file).filter(|&max| max < UNLIMITED_MIN)?;
            Some(Limit {
                max,
                current: number(current_file).unwrap_or(0),
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_directory::TestDirectory;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn tightest_ancestor_wins_in_version_two() {
        let directory = TestDirectory::new();
        let root = directory.path();
        write(root, "a/pids.max", "100\n");
        write(root, "a/pids.current", "90\n");
        write(root, "a/b/pids.max", "50\n");
        write(root, "a/b/pids.current", "7\n");
        write(root, "a/b/c/pids.max", "max\n");
        let found = limit_below(root, "0::/a/b/c\n", Controller::Pids);
        assert_eq!(
            found,
            Some(Limit {
                max: 100,
                current: 90
            })
        );
        assert_eq!(limit_below(root, "0::/elsewhere\n", Controller::Pids), None);
    }

    #[test]
    fn version_one_tree_and_its_unlimited_value_are_understood() {
        let directory = TestDirectory::new();
        let root = directory.path();
        write(root, "memory/g/memory.limit_in_bytes", "268435456\n");
        write(root, "memory/g/memory.usage_in_bytes", "1000\n");
        write(
            root,
            "memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        );
        let membership = "4:memory:/g\n3:cpu,cpuacct:/\n0::/\nbroken\n";
        let found = limit_below(root, membership, Controller::Memory);
        assert_eq!(
            found,
            Some(Limit {
                max: 268_435_456,
                current: 1000
            })
        );
        assert_eq!(limit_below(root, membership, Controller::Pids), None);
    }
}
