//! The lines of JSON that a task ends with, which `cargo xtask bench http` reads.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

/// One kind of request that was repeated: how often a second, and its latencies. `computed_s` are
/// the seconds of processor time of the server, where they are known.
///
/// # Errors
/// When nothing was answered.
pub(crate) fn repeated(
    task: &str,
    mut times: Vec<Duration>,
    elapsed: Duration,
    computed_s: Option<f64>,
) -> Result<()> {
    times.sort_unstable();
    let at = |part: f64| -> Result<f64> {
        let slot = (times.len() as f64 * part) as usize;
        let time = times.get(slot.min(times.len().saturating_sub(1)));
        Ok(time.context("nothing was answered in time")?.as_secs_f64() * 1e6)
    };
    let count = times.len() as f64;
    println!(
        "{}",
        json!({
            "task": task, "value": count / elapsed.as_secs_f64(), "unit": "/s",
            "p50_us": at(0.5)?, "p99_us": at(0.99)?,
            "processor_us": computed_s.map(|seconds| seconds * 1e6 / count),
        })
    );
    Ok(())
}

/// `count` things in the time that they took.
pub(crate) fn counted(
    task: &str,
    count: usize,
    unit: &str,
    elapsed: Duration,
    computed_s: Option<f64>,
) {
    println!(
        "{}",
        json!({
            "task": task, "value": count as f64 / elapsed.as_secs_f64(), "unit": unit,
            "processor_us": computed_s.map(|seconds| seconds * 1e6 / count as f64),
        })
    );
}

pub(crate) fn memory(task: &str, kib: u64) {
    let mib = kib as f64 / 1024.0;
    println!("{}", json!({ "task": task, "value": mib, "unit": "MiB" }));
}
