//! Patterns with `*`, `?`, `[a-z]`, `[^a]` and `\`, matched byte by byte as Redis does.
//!
//! Invariants: no recursion, and at most `pattern x text` steps: only the last `*` is gone back to.

/// Whether `text` matches `pattern` as a whole.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    matches_with(pattern, text, false)
}

/// The same, upper and lower case alike when `ignore_case`.
pub(crate) fn matches_with(pattern: &[u8], text: &[u8], ignore_case: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            while pattern.get(p) == Some(&b'*') {
                p += 1;
            }
            if p == pattern.len() {
                return true;
            }
            back = Some((p, t));
            continue;
        }
        let step = match (pattern.get(p), text.get(t)) {
            (None, None) => return true,
            (Some(_), Some(&byte)) => one(pattern, p, byte, ignore_case),
            _ => None,
        };
        if let Some(next) = step {
            (p, t) = (next, t + 1);
            continue;
        }
        match back {
            Some((after_star, from)) if from < text.len() => {
                back = Some((after_star, from + 1));
                (p, t) = (after_star, from + 1);
            }
            _ => return false,
        }
    }
}

/// Matches one byte; gives where the pattern goes on.
fn one(pattern: &[u8], p: usize, byte: u8, ignore_case: bool) -> Option<usize> {
    let fold = |b: u8| {
        if ignore_case {
            b.to_ascii_lowercase()
        } else {
            b
        }
    };
    match pattern[p] {
        b'?' => Some(p + 1),
        b'[' => class(pattern, p + 1, fold(byte), fold),
        b'\\' if p + 1 < pattern.len() => (fold(pattern[p + 1]) == fold(byte)).then_some(p + 2),
        plain => (fold(plain) == fold(byte)).then_some(p + 1),
    }
}

/// Matches a class whose content starts at `p`; a class without an end reaches to the end.
fn class(pattern: &[u8], mut p: usize, byte: u8, fold: impl Fn(u8) -> u8) -> Option<usize> {
    let is_negated = pattern.get(p) == Some(&b'^');
    p += usize::from(is_negated);
    let mut is_member = false;
    while let Some(&first) = pattern.get(p) {
        match first {
            b']' => break,
            b'\\' if p + 1 < pattern.len() => {
                is_member |= fold(pattern[p + 1]) == byte;
                p += 2;
            }
            low if pattern.get(p + 1) == Some(&b'-') && p + 2 < pattern.len() => {
                let (low, high) = (fold(low), fold(pattern[p + 2]));
                is_member |= (low.min(high)..=low.max(high)).contains(&byte);
                p += 3;
            }
            plain => {
                is_member |= fold(plain) == byte;
                p += 1;
            }
        }
    }
    (is_member != is_negated).then_some((p + 1).min(pattern.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_redis_does() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("h?llo", "hello", true),
            ("h*llo", "heeeello", true),
            ("h[ae]llo", "hallo", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hello", false),
            ("h[a-b]llo", "hbllo", true),
            ("h[b-a]llo", "hallo", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("[abc", "a", true),
            ("", "", true),
            ("", "a", false),
            ("foo*", "fo", false),
            ("[\\]]", "]", true),
        ] {
            let found = matches(pattern.as_bytes(), text.as_bytes());
            assert_eq!(found, expected, "{pattern} {text}");
        }
        assert!(matches_with(b"MAX*", b"maxmemory", true));
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = "a*".repeat(200);
        let text = "a".repeat(5_000);
        assert!(!matches(format!("{pattern}b").as_bytes(), text.as_bytes()));
    }
}
