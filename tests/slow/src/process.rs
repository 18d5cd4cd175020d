//! What a process takes, as Linux tells it.

use anyhow::{Context, Result};

/// Ticks a second in `/proc/PID/stat`: the same on every Linux that runs on x86-64 and ARM.
const TICKS_OF_SECOND: f64 = 100.0;

/// Resident memory of a process in bytes: all of it, and what is no part of a file.
///
/// # Errors
/// There is no such process, or the system is not Linux.
pub fn resident_bytes(id: u32) -> Result<(u64, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let of = |name: &str| {
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix(name));
        let words = line.and_then(|line| line.split_whitespace().next());
        words
            .and_then(|kib| kib.parse::<u64>().ok())
            .map(|kib| kib << 10)
            .with_context(|| format!("no {name} in its status"))
    };
    Ok((of("VmRSS:")?, of("RssAnon:")?))
}

/// Open files and sockets of a process.
///
/// # Errors
/// As [`resident_bytes`].
pub fn open_files(id: u32) -> Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{id}/fd"))?.count())
}

/// Threads of a process.
///
/// # Errors
/// As [`resident_bytes`].
pub fn threads(id: u32) -> Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{id}/task"))?.count())
}

/// Processor time of a process in seconds.
///
/// # Errors
/// As [`resident_bytes`].
pub fn processor_seconds(id: u32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    // The name, in parentheses, may hold spaces.
    let (_, rest) = text.rsplit_once(')').context("no name in its stat")?;
    let number = |slot: usize| rest.split_whitespace().nth(slot)?.parse::<f64>().ok();
    let (user, system) = number(11).zip(number(12)).context("no times in its stat")?;
    Ok((user + system) / TICKS_OF_SECOND)
}
