//! `GET /jackdaw/metrics` and `GET /metrics`: numbers of the storage engine as Prometheus text.
//!
//! For each open database: times of its I/O by kind since it was opened, in seconds, with the
//! quantiles 0.5, 0.99 and 0.999; operations in a transaction, how long they waited for the writer
//! and until they were durable; pages that were scrubbed, and damage met; sizes of data, journal
//! and changed pages in memory; open snapshots, and how many transactions the oldest one is
//! behind. A database that nobody has used since the start has no lines: measuring opens none.

use std::fmt::Write;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderValue;
use jackdaw_base::metrics::HistogramSnapshot;
use jackdaw_database::{Database, MeterReport, StorageStatistics as Statistics};

use crate::http::{Call, Outcome, Reply};

/// Quantiles in thousandths, and as they are written.
const QUANTILES: [(u64, &str); 3] = [(500, "0.5"), (990, "0.99"), (999, "0.999")];

/// A family of lines: its name, what it is, its type, and the number.
type Family = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Statistics) -> u64,
);

const FAMILIES: [Family; 15] = [
    (
        "data_file_bytes",
        "Length of the data file.",
        "gauge",
        |s| s.file_bytes,
    ),
    ("scratch_bytes", "Changed pages in memory.", "gauge", |s| {
        s.scratch_bytes
    }),
    (
        "journal_live_bytes",
        "Journal that a restart would read.",
        "gauge",
        |s| s.journal_live_bytes,
    ),
    ("open_snapshots", "Open snapshots.", "gauge", |s| {
        s.reader_count
    }),
    (
        "oldest_snapshot_lag",
        "Transactions behind.",
        "gauge",
        |s| s.oldest_reader_lag,
    ),
    ("transactions_total", "Transactions.", "counter", |s| {
        s.transactions
    }),
    ("operations_total", "Operations in them.", "counter", |s| {
        s.operations
    }),
    (
        "journal_bytes_total",
        "Bytes written to the journal.",
        "counter",
        |s| s.journal_bytes,
    ),
    (
        "pages_flushed_total",
        "Pages written into the data file.",
        "counter",
        |s| s.pages_flushed,
    ),
    (
        "pages_validated_total",
        "Pages validated at first touch.",
        "counter",
        |s| s.pages_validated,
    ),
    (
        "bytes_given_back_total",
        "Free space made holes.",
        "counter",
        |s| s.bytes_given_back,
    ),
    (
        "in_place_bytes_total",
        "Bytes of large values written to their place at commit.",
        "counter",
        |s| s.in_place_bytes,
    ),
    (
        "pages_scrubbed_total",
        "Pages read again to find rot.",
        "counter",
        |s| s.pages_scrubbed,
    ),
    (
        "scrub_passes_total",
        "Times that the whole data file was read again.",
        "counter",
        |s| s.scrub_passes,
    ),
    (
        "scrub_damages_total",
        "Damaged places that scrubbing met.",
        "counter",
        |s| s.scrub_damages,
    ),
];

/// A family of quantiles: its name, what it is, and the times in nanoseconds.
type Times = (
    &'static str,
    &'static str,
    fn(&Statistics) -> &HistogramSnapshot,
);

const TIMES: [Times; 2] = [
    (
        "queue_wait_seconds",
        "Time that writes waited for the writer.",
        |s| &s.queue_wait_nanos,
    ),
    (
        "durable_seconds",
        "Time from queueing a write until it was durable.",
        |s| &s.durable_nanos,
    ),
];

struct Measured {
    name: String,
    statistics: Statistics,
    meters: Vec<MeterReport>,
}

/// `GET /jackdaw/metrics`, `GET /metrics`
pub(super) fn metrics(call: &Call) -> Outcome {
    let databases = &call.shared.databases;
    let open = databases
        .names()
        .into_iter()
        .filter_map(|name| databases.peek_open(&name));
    let measured: Vec<Measured> = open.map(|database| measure(&database)).collect();
    let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let body = Bytes::from(text(&measured));
    Ok(Reply::bytes(StatusCode::OK, content_type, body))
}

fn measure(database: &Database) -> Measured {
    Measured {
        name: escaped(database.name()),
        statistics: database.documents().statistics(),
        meters: database.documents().meters(),
    }
}

fn text(measured: &[Measured]) -> String {
    let mut out = String::new();
    for (name, what, kind, number) in FAMILIES {
        head(&mut out, name, what, kind);
        for Measured {
            name: database,
            statistics,
            ..
        } in measured
        {
            let value = number(statistics);
            line(
                &mut out,
                &format!("jackdaw_{name}{{database=\"{database}\"}} {value}"),
            );
        }
    }
    head(
        &mut out,
        "batch_operations",
        "Operations in a transaction.",
        "summary",
    );
    for Measured {
        name, statistics, ..
    } in measured
    {
        let sizes = &statistics.batch_operations;
        let labels = format!("database=\"{name}\"");
        for (per_mille, quantile) in QUANTILES {
            let value = sizes.quantile(per_mille);
            line(
                &mut out,
                &format!("jackdaw_batch_operations{{{labels},quantile=\"{quantile}\"}} {value}"),
            );
        }
        line(
            &mut out,
            &format!("jackdaw_batch_operations_sum{{{labels}}} {}", sizes.sum),
        );
        line(
            &mut out,
            &format!("jackdaw_batch_operations_count{{{labels}}} {}", sizes.count),
        );
    }
    for (family, what, times) in TIMES {
        head(&mut out, family, what, "summary");
        for Measured {
            name, statistics, ..
        } in measured
        {
            summary(
                &mut out,
                family,
                &format!("database=\"{name}\""),
                times(statistics),
            );
        }
    }
    head(&mut out, "io_seconds", "Time of I/O by kind.", "summary");
    for Measured { name, meters, .. } in measured {
        for MeterReport { kind, nanos, .. } in meters {
            let labels = format!("database=\"{name}\",kind=\"{kind}\"");
            summary(&mut out, "io_seconds", &labels, nanos);
        }
    }
    out
}

/// Quantiles, sum and count of times.
fn summary(out: &mut String, family: &str, labels: &str, nanos: &HistogramSnapshot) {
    for (per_mille, quantile) in QUANTILES {
        let value = seconds(nanos.quantile(per_mille));
        line(
            out,
            &format!("jackdaw_{family}{{{labels},quantile=\"{quantile}\"}} {value}"),
        );
    }
    let sum = seconds(nanos.sum);
    line(out, &format!("jackdaw_{family}_sum{{{labels}}} {sum}"));
    let count = nanos.count;
    line(out, &format!("jackdaw_{family}_count{{{labels}}} {count}"));
}

fn head(out: &mut String, name: &str, what: &str, kind: &str) {
    line(out, &format!("# HELP jackdaw_{name} {what}"));
    line(out, &format!("# TYPE jackdaw_{name} {kind}"));
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Nanoseconds as seconds, exactly.
fn seconds(nanos: u64) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "{}.{:09}",
        nanos / 1_000_000_000,
        nanos % 1_000_000_000
    );
    text
}

/// A label's value: backslashes, quotes and line ends escaped.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_comment_or_a_sample() {
        let measured = Measured {
            name: escaped("a\"b"),
            statistics: Statistics::default(),
            meters: Vec::new(),
        };
        let text = text(&[measured]);
        assert!(
            text.contains("jackdaw_scratch_bytes{database=\"a\\\"b\"} 0\n"),
            "{text}"
        );
        for line in text.lines() {
            assert!(
                line.starts_with("# ") || line.starts_with("jackdaw_"),
                "{line}"
            );
        }
        assert_eq!(seconds(1_000_000_007), "1.000000007");
    }
}
