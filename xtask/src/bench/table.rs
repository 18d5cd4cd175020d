//! Medians of repeated measurements, side by side.

use std::fmt::Write;

/// One JSON line of a run: what a table needs of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) engine: String,
    pub(crate) workload: String,
    pub(crate) mode: String,
    pub(crate) ops_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
    /// Bytes written to the disk per byte handed over.
    pub(crate) write_ratio: f64,
    /// Flushes of the disk's cache per operation.
    pub(crate) flush_ratio: f64,
    pub(crate) file_mib: f64,
}

/// The medians of all repetitions of one engine at one task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(super) engine: String,
    pub(super) task: String,
    repetitions: usize,
    pub(super) ops_per_s: f64,
    /// Lowest and highest rate.
    spread: (f64, f64),
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    write_ratio: f64,
    flush_ratio: f64,
    file_mib: f64,
}

/// One row for each engine and task, in the order in which tasks first appeared.
pub(crate) fn rows(samples: &[Sample]) -> Vec<Row> {
    let mut keys: Vec<(String, String)> = Vec::new();
    for sample in samples {
        let key = (task_of(sample), sample.engine.clone());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let first = |task: &str| samples.iter().position(|s| task_of(s) == task);
    keys.sort_by_key(|(task, _)| first(task));
    keys.into_iter()
        .map(|(task, engine)| row(samples, task, engine))
        .collect()
}

fn task_of(sample: &Sample) -> String {
    format!("{} {}", sample.workload, sample.mode)
}

fn row(samples: &[Sample], task: String, engine: String) -> Row {
    let own: Vec<&Sample> = samples
        .iter()
        .filter(|s| s.engine == engine && task_of(s) == task)
        .collect();
    let of = |value: fn(&Sample) -> f64| median(own.iter().map(|s| value(s)).collect());
    let rates = || own.iter().map(|s| s.ops_per_s);
    Row {
        repetitions: own.len(),
        ops_per_s: of(|s| s.ops_per_s),
        spread: (
            rates().fold(f64::INFINITY, f64::min),
            rates().fold(0.0, f64::max),
        ),
        p50_us: of(|s| s.p50_us),
        p99_us: of(|s| s.p99_us),
        p999_us: of(|s| s.p999_us),
        write_ratio: of(|s| s.write_ratio),
        flush_ratio: of(|s| s.flush_ratio),
        file_mib: of(|s| s.file_mib),
        engine,
        task,
    }
}

/// For each task, the rate of `own` over that of the fastest other engine.
pub(crate) fn best_of_peers(rows: &[Row], own: &str) -> String {
    let mut text = format!("| task | best peer | ops/s | {own} | ratio |\n|---|---|--:|--:|--:|\n");
    for row in rows.iter().filter(|row| row.engine == own) {
        let best = rows
            .iter()
            .filter(|peer| peer.task == row.task && peer.engine != own)
            .max_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s));
        if let Some(best) = best {
            let _ = writeln!(
                text,
                "| {} | {} | {:.0} | {:.0} | {:.2} |",
                row.task,
                best.engine,
                best.ops_per_s,
                row.ops_per_s,
                row.ops_per_s / best.ops_per_s
            );
        }
    }
    text
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The table as Markdown. `reference` is the engine whose rate the others' are divided by.
pub(crate) fn markdown(rows: &[Row], reference: &str) -> String {
    let head = [
        "workload",
        "engine",
        "ops/s",
        &format!("x {reference}"),
        "lowest to highest",
        "p50 us",
        "p99 us",
        "p99.9 us",
        "written/byte",
        "flushes/op",
        "MiB on disk",
        "n",
    ];
    let mut text = format!("| {} |\n|---|---|{}\n", head.join(" | "), "--:|".repeat(10));
    for row in rows {
        let own = rows
            .iter()
            .find(|r| r.task == row.task && r.engine == reference);
        let ratio = own.map_or_else(String::new, |own| {
            format!("{:.2}", row.ops_per_s / own.ops_per_s)
        });
        let cells = [
            row.task.clone(),
            row.engine.clone(),
            format!("{:.0}", row.ops_per_s),
            ratio,
            format!("{:.0} to {:.0}", row.spread.0, row.spread.1),
            format!("{:.1}", row.p50_us),
            format!("{:.1}", row.p99_us),
            format!("{:.1}", row.p999_us),
            format!("{:.2}", row.write_ratio),
            format!("{:.3}", row.flush_ratio),
            format!("{:.1}", row.file_mib),
            row.repetitions.to_string(),
        ];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(engine: &str, workload: &str, ops_per_s: f64) -> Sample {
        Sample {
            engine: engine.to_owned(),
            workload: workload.to_owned(),
            mode: "durable".to_owned(),
            ops_per_s,
            p50_us: 1.0,
            p99_us: 2.0,
            p999_us: 3.0,
            write_ratio: 3.0,
            flush_ratio: 1.0,
            file_mib: 4.0,
        }
    }

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn runs_in_turn_become_one_row_for_each_engine_and_task() {
        let samples = [
            sample("jackdaw", "seq", 100.0),
            sample("lmdb", "seq", 50.0),
            sample("jackdaw", "seq", 300.0),
            sample("lmdb", "seq", 70.0),
            sample("jackdaw", "scan", 5.0),
        ];
        let text = markdown(&rows(&samples), "jackdaw");
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("| seq durable | jackdaw | 200 | 1.00 | 100 to 300 |"));
        assert!(lines[1].starts_with("| seq durable | lmdb | 60 | 0.30 | 50 to 70 |"));
        assert!(lines[2].starts_with("| scan durable | jackdaw | 5 |"));
    }

    #[test]
    fn the_fastest_peer_of_a_task_is_the_measure() {
        let samples = [
            sample("jackdaw", "seq", 100.0),
            sample("redb", "seq", 40.0),
            sample("lmdb", "seq", 50.0),
            sample("jackdaw", "scan", 5.0),
        ];
        let text = best_of_peers(&rows(&samples), "jackdaw");
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines, ["| seq durable | lmdb | 50 | 100 | 2.00 |"]);
    }
}
