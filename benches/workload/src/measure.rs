//! Times, bytes and memory of one measurement, and the JSON line that shows them.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::device::{self, DeviceCounters};
use crate::engine::Error;

/// What one measurement found. One JSON line in the output.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Name of the engine.
    pub engine: &'static str,
    /// Name of the workload.
    pub workload: &'static str,
    /// Durability of what writes; for reads, how they were grouped into transactions.
    pub mode: &'static str,
    /// Items written, read or deleted.
    pub ops: u64,
    /// Wall time of all of them.
    pub time: Duration,
    /// Time of one transaction, or of one read.
    pub latencies: Latencies,
    /// Key and value bytes that the caller handed over or got.
    pub logical_bytes: u64,
    /// Bytes that reached the disk from the beginning until everything was in its place.
    pub write_bytes: u64,
    /// Cache flushes that the disk did meanwhile.
    pub flushes: u64,
    /// Space that the directory takes on disk afterwards.
    pub file_bytes: u64,
    /// Largest resident memory of the process so far.
    pub peak_rss_kib: u64,
}

impl Measurement {
    /// The measurement as one line of JSON.
    pub fn to_json(&self) -> String {
        let seconds = self.time.as_secs_f64();
        let per_second = self.ops as f64 / seconds.max(f64::MIN_POSITIVE);
        let micros = |per_mille| self.latencies.at(per_mille).as_secs_f64() * 1e6;
        format!(
            "{{\"engine\":\"{}\",\"workload\":\"{}\",\"mode\":\"{}\",\"ops\":{},\
             \"seconds\":{seconds:.6},\"ops_per_s\":{per_second:.1},\"p50_us\":{:.3},\
             \"p99_us\":{:.3},\"p999_us\":{:.3},\"max_us\":{:.3},\"logical_bytes\":{},\
             \"write_bytes\":{},\"flushes\":{},\"file_bytes\":{},\"peak_rss_kib\":{}}}",
            self.engine,
            self.workload,
            self.mode,
            self.ops,
            micros(500),
            micros(990),
            micros(999),
            micros(1_000),
            self.logical_bytes,
            self.write_bytes,
            self.flushes,
            self.file_bytes,
            self.peak_rss_kib,
        )
    }
}

/// Times of single operations.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub(crate) fn append(&mut self, mut other: Latencies) {
        self.0.append(&mut other.0);
    }

    /// The time that so many of a thousand operations stayed within: 500 gives the median, 1,000
    /// the longest.
    pub fn at(&self, per_mille: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let at = (last * per_mille + 500) / 1_000;
        sorted.get(at).copied().unwrap_or_default()
    }
}

/// A measurement under way: what the disk had done when it began.
pub(crate) struct Started {
    at: Instant,
    counters: DeviceCounters,
}

impl Started {
    pub(crate) fn now(directory: &Path) -> Started {
        Started {
            counters: device::counters(directory),
            at: Instant::now(),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.at.elapsed()
    }

    /// What the disk did since.
    pub(crate) fn device(&self, directory: &Path) -> DeviceCounters {
        let now = device::counters(directory);
        DeviceCounters {
            write_bytes: now.write_bytes.saturating_sub(self.counters.write_bytes),
            flushes: now.flushes.saturating_sub(self.counters.flushes),
        }
    }
}

/// Largest resident memory of this process so far.
pub fn peak_rss_kib() -> u64 {
    field_of("/proc/self/status", "VmHWM:")
}

fn field_of(path: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Space on disk of everything below a directory; holes do not count.
///
/// # Errors
/// When a file or directory cannot be looked at.
pub fn disk_bytes(directory: &Path) -> Result<u64, Error> {
    use std::os::unix::fs::MetadataExt;
    let mut sum = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        sum += match metadata.is_dir() {
            true => disk_bytes(&entry.path())?,
            false => metadata.blocks() * 512,
        };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_the_latencies() {
        let mut latencies = Latencies::default();
        (0..=100)
            .rev()
            .for_each(|n| latencies.push(Duration::from_micros(n)));
        assert_eq!(latencies.at(500), Duration::from_micros(50));
        assert_eq!(latencies.at(990), Duration::from_micros(99));
        assert_eq!(latencies.at(1_000), Duration::from_micros(100));
        assert_eq!(Latencies::default().at(500), Duration::ZERO);
    }

    #[test]
    fn the_line_has_the_promised_fields() {
        let measurement = Measurement {
            engine: "jackdaw",
            workload: "seq",
            mode: "durable",
            ops: 100,
            time: Duration::from_millis(500),
            latencies: Latencies(vec![Duration::from_micros(7)]),
            logical_bytes: 14_400,
            write_bytes: 4_096,
            flushes: 2,
            file_bytes: 8_192,
            peak_rss_kib: 1_000,
        };
        assert_eq!(
            measurement.to_json(),
            "{\"engine\":\"jackdaw\",\"workload\":\"seq\",\"mode\":\"durable\",\"ops\":100,\
             \"seconds\":0.500000,\"ops_per_s\":200.0,\"p50_us\":7.000,\"p99_us\":7.000,\
             \"p999_us\":7.000,\"max_us\":7.000,\"logical_bytes\":14400,\
             \"write_bytes\":4096,\"flushes\":2,\"file_bytes\":8192,\"peak_rss_kib\":1000}"
        );
    }
}
