//! Dates of a given form as ISO 8601.

use std::fmt::Write;

/// A form of dates such as `dd.MM.yyyy HH:mm`.
///
/// `yyyy` and `yy` (1970 to 2069) are years, `MM` and `M` months, `dd` and `d` days, `HH` and `H`
/// hours, `mm` minutes, `ss` seconds, `fff` fractions of one to seven digits. Doubled letters want
/// two digits, single ones take one or two. Everything else stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatePattern(Vec<Part>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Digits {
        field: Field,
        min: usize,
        max: usize,
    },
    Text(char),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Year,
    ShortYear,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Fraction,
}

impl DatePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// A sentence for the user: no year, month or day, or one of them twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let run = rest.chars().take_while(|&c| c == letter).count();
            let digits = |field, min, max| Part::Digits { field, min, max };
            let part = match (letter, run) {
                ('y', 4) => digits(Field::Year, 4, 4),
                ('y', 2) => digits(Field::ShortYear, 2, 2),
                ('M', 1 | 2) => digits(Field::Month, run, 2),
                ('d', 1 | 2) => digits(Field::Day, run, 2),
                ('H', 1 | 2) => digits(Field::Hour, run, 2),
                ('m', 1 | 2) => digits(Field::Minute, run, 2),
                ('s', 1 | 2) => digits(Field::Second, run, 2),
                ('f', 1..=7) => digits(Field::Fraction, 1, 7),
                ('a'..='z' | 'A'..='Z', _) if letter != 'T' && letter != 'Z' => {
                    return Err(format!(
                        "{:?} is no part of a date; use yyyy, MM, dd, HH, mm, ss and fff",
                        letter.to_string().repeat(run)
                    ));
                }
                _ => {
                    parts.push(Part::Text(letter));
                    rest = &rest[letter.len_utf8()..];
                    continue;
                }
            };
            parts.push(part);
            rest = &rest[run..];
        }
        let pattern = Self(parts);
        let years = pattern.count(Field::Year) + pattern.count(Field::ShortYear);
        let rest = [Field::Hour, Field::Minute, Field::Second, Field::Fraction];
        let is_complete = years == 1
            && pattern.count(Field::Month) == 1
            && pattern.count(Field::Day) == 1
            && rest.iter().all(|&field| pattern.count(field) <= 1);
        if is_complete {
            return Ok(pattern);
        }
        Err(format!(
            "{text:?} is no form of dates: it needs a year, a month and a day, as in dd.MM.yyyy"
        ))
    }

    fn count(&self, wanted: Field) -> usize {
        let is_it = |part: &&Part| matches!(part, Part::Digits { field, .. } if *field == wanted);
        self.0.iter().filter(is_it).count()
    }

    /// Appends the date that `text` is as `2024-01-31T00:00:00.0000000` to `out`, with a `Z` when
    /// the pattern ends with one; `false` when it is none, and nothing is appended.
    pub fn convert(&self, text: &str, out: &mut String) -> bool {
        let (mut year, mut month, mut day) = (0, 0, 0);
        let (mut hour, mut minute, mut second, mut fraction) = (0, 0, 0, 0);
        let mut rest = text;
        for part in &self.0 {
            match part {
                Part::Text(wanted) => match rest.strip_prefix(*wanted) {
                    Some(behind) => rest = behind,
                    None => return false,
                },
                Part::Digits { field, min, max } => {
                    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                    let len = digits.min(*max);
                    if len < *min {
                        return false;
                    }
                    let Ok(number) = rest[..len].parse::<u32>() else {
                        return false;
                    };
                    rest = &rest[len..];
                    match field {
                        Field::Year => year = number,
                        Field::ShortYear if number < 70 => year = 2000 + number,
                        Field::ShortYear => year = 1900 + number,
                        Field::Month => month = number,
                        Field::Day => day = number,
                        Field::Hour => hour = number,
                        Field::Minute => minute = number,
                        Field::Second => second = number,
                        // At most seven digits.
                        Field::Fraction => fraction = (len..7).fold(number, |sum, _| sum * 10),
                    }
                }
            }
        }
        let exists = year > 0 && (1..=days_of(year, month)).contains(&day);
        if !rest.is_empty() || !exists || hour > 23 || minute > 59 || second > 59 {
            return false;
        }
        let zone = match self.0.last() {
            Some(Part::Text('Z')) => "Z",
            _ => "",
        };
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}{zone}"
        );
        true
    }
}

/// Days of a month; 0 when there is no such month.
fn days_of(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(pattern: &str, text: &str) -> Option<String> {
        let mut out = String::new();
        let converted = DatePattern::parse(pattern).unwrap().convert(text, &mut out);
        assert_eq!(converted, !out.is_empty());
        converted.then_some(out)
    }

    #[test]
    fn dates_of_a_form_become_iso() {
        let day = |text: &str| Some(format!("{text}T00:00:00.0000000"));
        assert_eq!(convert("dd.MM.yyyy", "31.01.2024"), day("2024-01-31"));
        assert_eq!(convert("d.M.yyyy", "1.2.2024"), day("2024-02-01"));
        assert_eq!(convert("d.M.yyyy", "11.12.2024"), day("2024-12-11"));
        assert_eq!(convert("M/d/yy", "2/29/00"), day("2000-02-29"));
        assert_eq!(convert("M/d/yy", "1/1/70"), day("1970-01-01"));
        assert_eq!(
            convert("yyyy-MM-ddTHH:mm:ss.fffZ", "2024-01-31T23:59:58.25Z").unwrap(),
            "2024-01-31T23:59:58.2500000Z"
        );
        assert_eq!(
            convert("yyyy\u{5e74}MM\u{6708}dd", "2024\u{5e74}01\u{6708}31"),
            day("2024-01-31")
        );
    }

    #[test]
    fn what_is_no_date_is_left_alone() {
        for text in [
            "",
            "31.1.2024",
            "32.01.2024",
            "30.02.2024",
            "29.02.2023",
            "01.13.2024",
            "00.01.2024",
            "31.01.24",
            "31.01.2024 ",
            "31-01-2024",
            "31.01.0000",
            "xx.yy.zzzz",
        ] {
            assert_eq!(convert("dd.MM.yyyy", text), None, "{text}");
        }
        assert_eq!(convert("dd.MM.yyyy HH:mm", "31.01.2024 24:00"), None);
    }

    #[test]
    fn patterns_need_a_whole_date() {
        for pattern in [
            "",
            "dd.MM",
            "yyyy",
            "dd.dd.yyyy",
            "yyy-MM-dd",
            "dd MMM yyyy",
            "date",
        ] {
            assert!(DatePattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
