//! Methods of texts. Positions and lengths count UTF-16 units, as those of C# and JavaScript do.

use super::evaluate::{Outcome, Run, refuse};
use super::expression::Method;
use super::format::text_of;
use super::value::Value;

/// Characters that a method may widen a text to.
const WIDTH_MAX: i64 = 1 << 20;

/// Length in UTF-16 units.
pub(crate) fn length(text: &str) -> i64 {
    let units = match text.is_ascii() {
        true => text.len(),
        false => text.chars().map(char::len_utf16).sum(),
    };
    i64::try_from(units).unwrap_or(i64::MAX)
}

/// The byte at which the unit called `unit` begins; `None` beyond the end. A unit inside of a
/// character counts as its beginning.
fn byte_at(text: &str, unit: i64) -> Option<usize> {
    let unit = usize::try_from(unit).ok()?;
    if text.is_ascii() {
        return (unit <= text.len()).then_some(unit);
    }
    let mut units = 0;
    for (at, character) in text.char_indices() {
        if units + character.len_utf16() > unit {
            return Some(at);
        }
        units += character.len_utf16();
    }
    (units == unit).then_some(text.len())
}

fn unit_of(text: &str, byte: Option<usize>) -> i64 {
    byte.map_or(-1, |byte| length(&text[..byte]))
}

/// The character at a position.
pub(crate) fn character(text: &str, unit: i64) -> Option<&str> {
    let start = byte_at(text, unit)?;
    let character = text[start..].chars().next()?;
    Some(&text[start..start + character.len_utf8()])
}

impl<'a> Run<'a, '_> {
    /// A method of a text.
    pub(crate) fn text_method(
        &mut self,
        method: Method,
        text: &'a str,
        arguments: &'a [Value<'a>],
    ) -> Outcome<'a> {
        use Method as M;
        self.charge(text.len())?;
        let first = arguments.first().copied().unwrap_or(Value::Missing);
        let pattern = self.plain(first)?;
        let ignores_case = ignores_case(arguments);
        Ok(match method {
            M::ToLower => return self.text(&text.to_lowercase()),
            M::ToUpper => return self.text(&text.to_uppercase()),
            M::Trim | M::TrimStart | M::TrimEnd => Value::Text(trim(method, text, arguments)),
            M::Substring | M::Remove | M::Insert => return self.part(method, text, arguments),
            M::IndexOf => {
                let start = match arguments.get(1) {
                    Some(Value::Long(start)) => byte_at(text, *start),
                    _ => Some(0),
                };
                let found = start.and_then(|start| {
                    let found = find(&text[start..], &pattern, ignores_case);
                    found.map(|at| start + at)
                });
                Value::Long(unit_of(text, found))
            }
            M::LastIndexOf => Value::Long(unit_of(text, text.rfind(&pattern))),
            M::Contains => Value::Bool(find(text, &pattern, ignores_case).is_some()),
            M::StartsWith if ignores_case => {
                Value::Bool(text.to_lowercase().starts_with(&pattern.to_lowercase()))
            }
            M::StartsWith => Value::Bool(text.starts_with(&pattern)),
            M::EndsWith if ignores_case => {
                Value::Bool(text.to_lowercase().ends_with(&pattern.to_lowercase()))
            }
            M::EndsWith => Value::Bool(text.ends_with(&pattern)),
            M::Replace => {
                let with = arguments.get(1).copied().unwrap_or(Value::Missing);
                let with = self.plain(with)?;
                return self.replace(text, &pattern, &with);
            }
            M::Split => return self.split(text, arguments),
            M::PadLeft | M::PadRight => return self.pad(method, text, arguments),
            M::ToCharArray => return self.items(Value::Text(text)).map(Value::List),
            _ => return refuse(format!("A string has no method {method:?}")),
        })
    }

    fn part(&mut self, method: Method, text: &'a str, arguments: &[Value<'a>]) -> Outcome<'a> {
        let position = |at: usize| match arguments.get(at) {
            Some(Value::Long(position)) => Some(*position),
            _ => None,
        };
        let start = position(0).unwrap_or(-1);
        let end = match (method, position(1)) {
            (Method::Insert, _) => start,
            (_, Some(len)) => start.saturating_add(len),
            (_, None) => length(text),
        };
        let (Some(from), Some(to)) = (byte_at(text, start), byte_at(text, end)) else {
            return refuse(format!(
                "{method:?}: index and length must refer to a location within the string"
            ));
        };
        if to < from {
            return refuse(format!("{method:?}: length cannot be less than zero"));
        }
        match method {
            Method::Substring => Ok(Value::Text(&text[from..to])),
            Method::Remove => self.text(&format!("{}{}", &text[..from], &text[to..])),
            _ => {
                let inserted = arguments.get(1).copied().unwrap_or(Value::Missing);
                let inserted = self.plain(inserted)?;
                self.text(&format!("{}{inserted}{}", &text[..from], &text[from..]))
            }
        }
    }

    fn replace(&mut self, text: &'a str, pattern: &str, with: &str) -> Outcome<'a> {
        if pattern.is_empty() {
            return refuse("Replace: the text to replace is empty");
        }
        let count = text.matches(pattern).count();
        self.charge(count.saturating_mul(with.len()))?;
        self.text(&text.replace(pattern, with))
    }

    fn split(&mut self, text: &'a str, arguments: &'a [Value<'a>]) -> Outcome<'a> {
        let mut separators: Vec<&'a str> = Vec::new();
        let mut removes_empty = false;
        for argument in arguments {
            match argument {
                Value::Text("RemoveEmptyEntries") => removes_empty = true,
                Value::Text(separator) => separators.push(separator),
                Value::List(_) | Value::Array(_) => {
                    let items = self.items(*argument)?;
                    separators.extend(items.iter().filter_map(|item| item.as_text()));
                }
                _ => {}
            }
        }
        separators.retain(|separator| !separator.is_empty());
        let mut parts: Vec<Value<'a>> = Vec::new();
        let mut push = |part: &'a str| {
            if !(removes_empty && part.is_empty()) {
                parts.push(Value::Text(part));
            }
        };
        let mut start = 0;
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let found = match separators.is_empty() {
                // Without separators it is split at blanks.
                true => rest
                    .chars()
                    .next()
                    .filter(|c| c.is_whitespace())
                    .map(char::len_utf8),
                false => {
                    let found = separators
                        .iter()
                        .find(|separator| rest.starts_with(**separator));
                    found.map(|separator| separator.len())
                }
            };
            match found {
                Some(len) => {
                    push(&text[start..at]);
                    at += len;
                    start = at;
                }
                None => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
        push(&text[start..]);
        self.charge(text.len().saturating_mul(separators.len()))?;
        self.list(&parts)
    }

    fn pad(&mut self, method: Method, text: &'a str, arguments: &[Value<'a>]) -> Outcome<'a> {
        let Some(Value::Long(width)) = arguments.first() else {
            return refuse("PadLeft and PadRight need a width");
        };
        if *width > WIDTH_MAX {
            return refuse(format!(
                "A text may be padded to {WIDTH_MAX} characters at most"
            ));
        }
        let with = arguments
            .get(1)
            .copied()
            .map_or_else(|| " ".to_owned(), text_of);
        let missing = usize::try_from(width - length(text)).unwrap_or(0);
        self.charge(missing.saturating_mul(with.len()))?;
        let padding = with.repeat(missing);
        match method {
            Method::PadLeft => self.text(&format!("{padding}{text}")),
            _ => self.text(&format!("{text}{padding}")),
        }
    }
}

/// Whether an argument is a comparison without regard to case.
fn ignores_case(arguments: &[Value<'_>]) -> bool {
    let options = arguments
        .iter()
        .skip(1)
        .filter_map(|argument| argument.as_text());
    options
        .into_iter()
        .any(|option| option.ends_with("IgnoreCase"))
}

fn find(text: &str, pattern: &str, ignores_case: bool) -> Option<usize> {
    if !ignores_case {
        return text.find(pattern);
    }
    // Lowering may change lengths: the position is that in the text as it is.
    let mut lowered = String::with_capacity(text.len());
    let mut starts = Vec::new();
    for (at, character) in text.char_indices() {
        starts.push((lowered.len(), at));
        lowered.extend(character.to_lowercase());
    }
    let found = lowered.find(&pattern.to_lowercase())?;
    let slot = starts.partition_point(|(lowered_at, _)| *lowered_at <= found);
    Some(slot.checked_sub(1).map_or(0, |slot| starts[slot].1))
}

fn trim<'a>(method: Method, text: &'a str, arguments: &[Value<'a>]) -> &'a str {
    let mut characters = String::new();
    for argument in arguments {
        match argument {
            Value::Text(text) => characters.push_str(text),
            Value::List(list) => {
                let texts = list.iter().filter_map(|item| item.as_text());
                texts.for_each(|text| characters.push_str(text));
            }
            _ => {}
        }
    }
    let is_trimmed = |c: char| match characters.is_empty() {
        true => c.is_whitespace(),
        false => characters.contains(c),
    };
    match method {
        Method::TrimStart => text.trim_start_matches(is_trimmed),
        Method::TrimEnd => text.trim_end_matches(is_trimmed),
        _ => text.trim_matches(is_trimmed),
    }
}
