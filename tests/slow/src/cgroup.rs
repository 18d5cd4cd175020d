//! A memory cgroup for one process: what it takes, pages of the kernel included, is bounded, and
//! one that takes more is killed. Version 1 of cgroups, as root; elsewhere there is none.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

const ROOT: &str = "/sys/fs/cgroup/memory";

/// A cgroup without processes of its own; removed when dropped, once they have ended.
#[derive(Debug)]
pub struct MemoryCgroup(PathBuf);

impl MemoryCgroup {
    /// Makes one that may take so many bytes.
    ///
    /// # Errors
    /// Why that is not possible here, for people.
    pub fn new(name: &str, bytes_max: u64) -> Result<MemoryCgroup> {
        let path = PathBuf::from(ROOT).join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let made = MemoryCgroup(path);
        made.write("memory.limit_in_bytes", bytes_max)?;
        Ok(made)
    }

    /// The file that takes the number of a process which is to belong to it.
    pub fn processes(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    /// Memory of its processes that is no part of a file, in bytes.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn anonymous_bytes(&self) -> Result<u64> {
        self.member("memory.stat", "rss")
    }

    /// Processes that were killed because they wanted more.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn killed(&self) -> Result<u64> {
        self.member("memory.oom_control", "oom_kill")
    }

    fn write(&self, name: &str, value: u64) -> Result<()> {
        let path = self.0.join(name);
        fs::write(&path, value.to_string()).with_context(|| format!("cannot set {name}"))
    }

    fn member(&self, file: &str, name: &str) -> Result<u64> {
        let text = fs::read_to_string(self.0.join(file))?;
        let mut members = text.lines().filter_map(|line| line.split_once(' '));
        let found = members.find(|(known, _)| *known == name);
        let (_, value) = found.with_context(|| format!("no {name} in {file}"))?;
        Ok(value.trim().parse()?)
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
