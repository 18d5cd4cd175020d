//! The process behind a port of this machine: its memory and the time it computed.

use std::path::Path;

/// Linux counts processor time in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process, found by the port that it listens on.
pub(crate) struct Listener {
    id: u32,
}

impl Listener {
    /// None when the port is not of this machine, or of a process that we may not look at.
    pub(crate) fn find(url: &str) -> Option<Listener> {
        let port: u16 = url.rsplit(':').next()?.parse().ok()?;
        let inode = inode_of(port)?;
        let link = format!("socket:[{inode}]");
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let Ok(id) = entry.file_name().to_string_lossy().parse() else {
                continue;
            };
            if holds(&entry.path().join("fd"), &link) {
                return Some(Listener { id });
            }
        }
        None
    }

    /// Resident memory of its own, in KiB, without pages of files.
    pub(crate) fn own_memory_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id)).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Processor time so far, in seconds.
    pub(crate) fn processor_s(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id)).ok()?;
        // The name in parentheses may hold spaces; user and system time are the 12th and 13th
        // field behind it.
        let fields = stat.rsplit_once(") ")?.1;
        let ticks = fields.split(' ').skip(11).take(2);
        let ticks: f64 = ticks.filter_map(|text| text.parse::<f64>().ok()).sum();
        Some(ticks / TICKS_PER_SECOND)
    }
}

/// The inode of the socket that listens on a port.
fn inode_of(port: u16) -> Option<String> {
    const LISTENING: &str = "0A";
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, local, _, state, _, _, _, _, _, inode, ..] = fields[..] else {
                continue;
            };
            if state == LISTENING && local.ends_with(&format!(":{port:04X}")) {
                return Some(inode.to_owned());
            }
        }
    }
    None
}

fn holds(descriptors: &Path, link: &str) -> bool {
    let entries = std::fs::read_dir(descriptors)
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .any(|target| target.to_string_lossy() == link)
}
