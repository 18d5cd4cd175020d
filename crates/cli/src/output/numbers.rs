//! Numbers as people read them.
//!
//! Called wherever the command line prints one. JSON output keeps plain numbers.

use std::time::Duration;

/// A count with a comma between thousands: `3,328,488`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 document`, `2 documents`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        count(number),
        if number == 1 { "" } else { "s" }
    )
}

/// Bytes in the largest decimal unit that leaves a number of at least 1: `147.6 MB`.
#[must_use]
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if number < 1000 {
        return format!("{number} B");
    }
    let mut unit = 0;
    let mut divisor = 1000u64;
    while unit + 1 < UNITS.len() && number / divisor >= 1000 {
        divisor *= 1000;
        unit += 1;
    }
    let tenths = u128::from(number) * 10 / u128::from(divisor);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A duration with three digits or so: `8 us`, `1.25 ms`, `12.3 s`, `4 min 05 s`, `2 h 07 min`.
#[must_use]
pub fn duration(time: Duration) -> String {
    let micros = time.as_micros();
    match micros {
        0..1_000 => format!("{micros} us"),
        1_000..100_000 => format!("{:.2} ms", time.as_secs_f64() * 1e3),
        100_000..1_000_000 => format!("{:.0} ms", time.as_secs_f64() * 1e3),
        1_000_000..60_000_000 => format!("{:.1} s", time.as_secs_f64()),
        60_000_000..3_600_000_000 => {
            format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60)
        }
        _ => format!(
            "{} h {:02} min",
            time.as_secs() / 3600,
            time.as_secs() / 60 % 60
        ),
    }
}

/// A duration in whole seconds, for estimates: `18 s`, `4 min 05 s`.
#[must_use]
pub fn rough_duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => duration(Duration::from_secs(seconds)),
    }
}

/// How many a second, as a whole number with commas; 0 when no time has passed.
#[must_use]
pub fn per_second(number: u64, time: Duration) -> u64 {
    let nanos = time.as_nanos();
    if nanos == 0 {
        return 0;
    }
    u64::try_from(u128::from(number) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [count(0), count(999), count(1000), count(3_328_488)],
            ["0", "999", "1,000", "3,328,488"]
        );
        assert_eq!(
            [counted(1, "album"), counted(0, "album")],
            ["1 album", "0 albums"]
        );
        assert_eq!(
            [bytes(999), bytes(1000), bytes(147_584_512)],
            ["999 B", "1.0 kB", "147.5 MB"]
        );
        assert_eq!(bytes(u64::MAX), "18446.7 PB");
        let shown: Vec<String> = [8, 1_250, 250_000, 12_345_678, 245_000_000, 7_620_000_000]
            .map(|us| duration(Duration::from_micros(us)))
            .to_vec();
        assert_eq!(
            shown,
            [
                "8 us",
                "1.25 ms",
                "250 ms",
                "12.3 s",
                "4 min 05 s",
                "2 h 07 min"
            ]
        );
        assert_eq!(per_second(500, Duration::from_millis(250)), 2000);
        assert_eq!(per_second(500, Duration::ZERO), 0);
    }
}
