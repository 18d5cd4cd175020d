//! Lengths of time as clients write them: `[d.]hh:mm:ss[.fffffff]`, or a number of milliseconds.

use std::time::Duration;

/// Reads a length of time; `None` when the text is not one. Negative lengths are not lengths.
pub(crate) fn parse_time_span(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (days, clock) = match text.split_once(':')?.0.split_once('.') {
        Some((days, _)) => (days.parse::<u64>().ok()?, &text[days.len() + 1..]),
        None => (0, text),
    };
    let mut parts = clock.splitn(3, ':');
    let hours: u64 = parts.next()?.parse().ok()?;
    let minutes: u64 = parts.next()?.parse().ok()?;
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(part) => {
            let (seconds, fraction) = part.split_once('.').unwrap_or((part, "0"));
            (seconds.parse().ok()?, nanos(fraction)?)
        }
    };
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let whole = days
        .checked_mul(86_400)?
        .checked_add(hours * 3600 + minutes * 60 + seconds)?;
    Some(Duration::new(whole, fraction))
}

fn nanos(fraction: &str) -> Option<u32> {
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let digits: u32 = fraction.parse().ok()?;
    Some(digits * 10u32.pow(9 - u32::try_from(fraction.len()).ok()?))
}

/// Prints a length of time as the reference does: the fraction only when there is one.
pub(crate) fn format_time_span(span: Duration) -> String {
    let seconds = span.as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let days = if days > 0 {
        format!("{days}.")
    } else {
        String::new()
    };
    let ticks = span.subsec_nanos() / 100;
    let fraction = if ticks > 0 {
        format!(".{ticks:07}")
    } else {
        String::new()
    };
    format!(
        "{days}{:02}:{:02}:{:02}{fraction}",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_back() {
        for (text, expected) in [
            ("00:00:15", Duration::from_secs(15)),
            ("1.02:03:04.5000000", Duration::from_millis(93_784_500)),
            ("00:00:00.0000001", Duration::from_nanos(100)),
        ] {
            assert_eq!(parse_time_span(text), Some(expected));
            assert_eq!(format_time_span(expected), text);
        }
        assert_eq!(parse_time_span("00:01"), Some(Duration::from_secs(60)));
        for text in [
            "",
            "15",
            "a:b:c",
            "00:60:00",
            "-00:00:01",
            "99999999999999999999.00:00:00",
            "18446744073709551615.00:00:00",
            "0.:0",
        ] {
            assert_eq!(parse_time_span(text), None, "{text}");
        }
    }
}
