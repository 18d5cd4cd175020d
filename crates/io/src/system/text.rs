//! Parsing of the kernel's small text files. Pure functions; used by `system` alone.
//!
//! Invariants: unexpected text gives `None`, never a panic.

/// The number that a file consists of.
pub(super) fn file_number(path: &str) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Value of the line `name: value` in the manner of `/proc/self/status`.
pub(super) fn field_value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
}

/// Bytes of a line `name: 123 kB`.
pub(super) fn field_kib(text: &str, name: &str) -> Option<u64> {
    let kib: u64 = field_value(text, name)?
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    kib.checked_mul(1024)
}

/// Number of threads from `/proc/loadavg`: `0.40 0.30 0.21 3/117 15152` has 117.
pub(super) fn thread_count_of_loadavg(text: &str) -> Option<u64> {
    text.split_whitespace()
        .nth(3)?
        .split_once('/')?
        .1
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_whole_name() {
        let text = "VmRSSX:\t 1 kB\nVmRSS:\t  1560 kB\nUid:\t1000\t1000\nBroken\n";
        assert_eq!(field_kib(text, "VmRSS"), Some(1560 * 1024));
        assert_eq!(field_value(text, "Uid"), Some("1000\t1000"));
        assert_eq!(field_kib(text, "Uid"), None);
        assert_eq!(field_value(text, "Broken"), None);
    }

    #[test]
    fn load_average_tells_the_threads() {
        assert_eq!(
            thread_count_of_loadavg("0.40 0.30 0.21 3/117 15152\n"),
            Some(117)
        );
        assert_eq!(thread_count_of_loadavg("0.40"), None);
    }
}
