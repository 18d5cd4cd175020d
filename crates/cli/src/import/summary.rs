//! What an import says at its end: the stages, the time, what was left out and why.

use std::fmt::Write;
use std::time::Duration;

use crate::output::numbers::{bytes, count, duration, per_second};
use crate::output::table::{Align, Table, printable};
use jackdaw_transfer::counters::Counts;
use jackdaw_transfer::skip_log::SkipLog;

/// What entries are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be stored.
    Import,
    /// To be counted.
    Check,
}

/// The summary as text of several lines.
#[must_use]
pub fn summary(counts: Counts, skips: &SkipLog, time: Duration, purpose: Purpose) -> String {
    let mut table = Table::new(&[
        ("Stage", Align::Left),
        ("Count", Align::Right),
        ("Per second", Align::Right),
    ]);
    for (stage, number) in [
        ("read", counts.read),
        ("parsed", counts.parsed),
        ("written", counts.written),
    ] {
        if stage == "written" && purpose == Purpose::Check {
            continue;
        }
        table.row([stage, &count(number), &count(per_second(number, time))]);
    }
    table.row(["skipped", &count(skips.total())]);
    for (kind, number) in skips.by_kind() {
        table.row([&format!("  {kind}"), &count(*number)]);
    }
    let mut out = table.render(None);
    if !skips.first().is_empty() {
        out.push_str("First entries left out:\n");
    }
    for skip in skips.first() {
        let _ = writeln!(
            out,
            "  {}: {}",
            printable(&skip.name),
            printable(&skip.reason.to_string())
        );
    }
    let read = if counts.bytes > 0 {
        let rate = bytes(per_second(counts.bytes, time));
        format!(", {} read, {rate} per second", bytes(counts.bytes))
    } else {
        String::new()
    };
    let _ = writeln!(out, "{}{read}", duration(time));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use jackdaw_transfer::chunk::Skipped;
    use jackdaw_transfer::skip::SkipReason;

    #[test]
    fn the_summary_tells_stages_skips_and_time() {
        let mut skips = SkipLog::default();
        skips.add(Skipped {
            name: "rock/1".into(),
            reason: SkipReason::Empty,
        });
        skips.add(Skipped {
            name: "COPYING".into(),
            reason: SkipReason::NotXmcd,
        });
        let counts = Counts {
            read: 5002,
            parsed: 5000,
            written: 5000,
            skipped: 2,
            bytes: 7_000_000,
        };
        assert_eq!(
            summary(counts, &skips, Duration::from_secs(2), Purpose::Import),
            "Stage           Count  Per second\n\
             --------------  -----  ----------\n\
             read            5,002       2,501\n\
             parsed          5,000       2,500\n\
             written         5,000       2,500\n\
             skipped             2\n\
             \u{20}\u{20}empty             1\n\
             \u{20}\u{20}not an album      1\n\
             First entries left out:\n\
             \u{20}\u{20}rock/1: it is empty\n\
             \u{20}\u{20}COPYING: it has neither DISCID nor DTITLE, so it is not an album\n\
             2.0 s, 7.0 MB read, 3.5 MB per second\n"
        );
    }
}
