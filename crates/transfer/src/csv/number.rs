//! Cells that are numbers.

/// Digits of a whole number that surely fits 64 bits; longer ones are rather ids than quantities.
const NUMBER_BYTES_MAX: usize = 18;

/// Which numbers a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumberForm {
    pub(super) decimal_comma: bool,
    pub(super) thousands: Option<u8>,
}

impl NumberForm {
    /// Whether numbers stand in the file as JSON writes them.
    pub(super) fn is_plain(self) -> bool {
        !self.decimal_comma && self.thousands.is_none()
    }

    /// Appends the number with a decimal point and without groups; `false` when it has another
    /// form, and `out` is to be dropped.
    pub(super) fn normalize(self, field: &[u8], out: &mut Vec<u8>) -> bool {
        let point = if self.decimal_comma { b',' } else { b'.' };
        let unsigned = field.strip_prefix(b"-").unwrap_or(field);
        out.extend_from_slice(&field[..field.len() - unsigned.len()]);
        let whole_len = unsigned
            .iter()
            .position(|&byte| byte == point)
            .unwrap_or(unsigned.len());
        let (whole, fraction) = unsigned.split_at(whole_len);
        match self.thousands {
            Some(mark) if whole.contains(&mark) => {
                for (slot, group) in whole.split(|&byte| byte == mark).enumerate() {
                    let fits = match slot {
                        0 => (1..=3).contains(&group.len()),
                        _ => group.len() == 3,
                    };
                    if !fits {
                        return false;
                    }
                    out.extend_from_slice(group);
                }
            }
            _ => out.extend_from_slice(whole),
        }
        if let Some(digits) = fraction.get(1..) {
            out.push(b'.');
            out.extend_from_slice(digits);
        }
        // A point that divides nothing here would be taken for the decimal one.
        out.iter().filter(|&&byte| byte == b'.').count() <= 1
            && !(self.decimal_comma && whole.contains(&b'.') && self.thousands != Some(b'.'))
    }
}

/// The text of a field that is a number and means nothing else: `-12`, `0.50`, not `007`, `1e5`,
/// `+1` or a row of nineteen digits.
pub(super) fn number_text(field: &[u8]) -> Option<&str> {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    if digits.is_empty() || digits.len() > NUMBER_BYTES_MAX {
        return None;
    }
    let whole_len = digits
        .iter()
        .position(|&byte| byte == b'.')
        .unwrap_or(digits.len());
    let (whole, fraction) = digits.split_at(whole_len);
    let all_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let zero_led = whole.len() > 1 && whole[0] == b'0';
    let fraction_good = fraction.is_empty() || all_digits(&fraction[1..]);
    (all_digits(whole) && !zero_led && fraction_good)
        .then(|| std::str::from_utf8(field).ok())
        .flatten()
}

/// The number of a column of numbers as JSON: leading zeros and a plus sign are dropped, a missing
/// whole part is 0. `None` when it is no number.
pub(super) fn typed_number(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_digits = exponent.get(1..).unwrap_or("");
    let exponent_digits = exponent_digits
        .strip_prefix(['+', '-'])
        .unwrap_or(exponent_digits);
    let is_number = (!whole.is_empty() || !fraction.is_empty())
        && all_digits(whole)
        && all_digits(fraction)
        && (exponent.is_empty() || !exponent_digits.is_empty() && all_digits(exponent_digits));
    if !is_number {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}{exponent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_numbers_are_numbers() {
        for text in ["0", "-1", "10", "0.5", "-0.50", "123456789012345678"] {
            assert_eq!(number_text(text.as_bytes()), Some(text));
        }
        for text in [
            "",
            "-",
            "007",
            "1e5",
            "+1",
            ".5",
            "5.",
            "1.2.3",
            "1234567890123456789",
            " 1",
            "1,5",
        ] {
            assert_eq!(number_text(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn columns_of_numbers_take_every_form() {
        for (text, expected) in [
            ("007", "7"),
            ("+1", "1"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1e5", "1e5"),
            ("-0", "-0"),
            ("-1.50E-7", "-1.50E-7"),
            ("1234567890123456789012", "1234567890123456789012"),
        ] {
            assert_eq!(typed_number(text.as_bytes()).as_deref(), Some(expected));
        }
        for text in [
            "", "-", ".", "e5", "1e", "1e+", "1.2.3", "1,5", "x", "0x10", "NaN",
        ] {
            assert_eq!(typed_number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn commas_and_groups_are_normalized() {
        let normal = |decimal_comma, thousands, text: &str| {
            let mut out = Vec::new();
            let form = NumberForm {
                decimal_comma,
                thousands,
            };
            form.normalize(text.as_bytes(), &mut out)
                .then(|| String::from_utf8(out).unwrap())
        };
        let german = |text| normal(true, Some(b'.'), text);
        assert_eq!(german("1.234.567,50").as_deref(), Some("1234567.50"));
        assert_eq!(german("-12,5").as_deref(), Some("-12.5"));
        assert_eq!(german("12").as_deref(), Some("12"));
        assert_eq!(german("1.5"), None);
        assert_eq!(german("1234.567,0"), None);
        assert_eq!(normal(true, None, "1.5"), None);
        assert_eq!(normal(true, None, "1,5").as_deref(), Some("1.5"));
        assert_eq!(
            normal(false, Some(b','), "1,234.5").as_deref(),
            Some("1234.5")
        );
        assert_eq!(normal(false, Some(b'\''), "1'234").as_deref(), Some("1234"));
    }
}
