//! Times, processor time, bytes and memory of one piece of work, and the line of JSON for them.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

/// Processor time is counted by the kernel in ticks of this many a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// Work under way.
pub(crate) struct Started {
    at: Instant,
    processor_seconds: f64,
    written_bytes: u64,
}

impl Started {
    pub(crate) fn now(directory: &Path) -> Started {
        Started {
            processor_seconds: processor_seconds(),
            written_bytes: jackdaw_workload::written_bytes(directory),
            at: Instant::now(),
        }
    }

    /// Prints what indexing so many rows took; `commits` are the times until each was visible.
    pub(crate) fn print(
        &self,
        engine: &str,
        work: &str,
        rows: u64,
        directory: &Path,
        commits: &[Duration],
    ) {
        let seconds = self.at.elapsed().as_secs_f64();
        let processor = (processor_seconds() - self.processor_seconds).max(0.01);
        let written = jackdaw_workload::written_bytes(directory).saturating_sub(self.written_bytes);
        let line = json!({
            "engine": engine,
            "work": work,
            "rows_per_second": rows as f64 / seconds,
            "rows_per_processor_second": rows as f64 / processor,
            "written_mib": written >> 20,
            "disk_mib": jackdaw_workload::disk_bytes(directory).unwrap_or(0) >> 20,
            "peak_memory_mib": jackdaw_workload::peak_rss_kib() >> 10,
            "p50_us": at(commits, 0.5),
            "p99_us": at(commits, 0.99),
        });
        println!("{line}");
    }
}

/// Prints the times of one class of `count` queries, which were asked in turn again and again.
pub(crate) fn print_queries(
    engine: &str,
    (class, count): (&str, usize),
    state: &str,
    times: &[Duration],
    rows: u64,
) {
    let of_query = |query| times.iter().skip(query).step_by(count).copied();
    let best: Vec<Duration> = (0..count)
        .filter_map(|query| of_query(query).min())
        .collect();
    let line = json!({
        "engine": engine,
        "work": class,
        "state": state,
        "p50_us": at(times, 0.5),
        "p99_us": at(times, 0.99),
        "best_us": at(&best, 0.5),
        "answered": times.len(),
        "rows": rows,
    });
    println!("{line}");
}

/// The time that this share of them stayed within, in microseconds; nothing without times.
fn at(times: &[Duration], share: f64) -> Option<f64> {
    let mut times = times.to_vec();
    times.sort_unstable();
    let last = times.len().checked_sub(1)?;
    let time = times[(last as f64 * share).round() as usize];
    Some(time.as_secs_f64() * 1e6)
}

/// Processor time of all threads so far.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |position: usize| {
        fields
            .get(position)
            .and_then(|n| n.parse().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / TICKS_PER_SECOND
}
