//! Paths into documents: `Address.City`, `Lines[].Product`, `Lines[0].Price`.
//!
//! Called by query evaluation, index maps and projections. A path is compiled once and applied to
//! many documents; following it allocates only when two or more `[]` are in flight at once.

use crate::container::ArrayIter;
use crate::error::PathError;
use crate::value::Value;

/// Longest chain of steps: deeper values cannot exist.
const STEPS_MAX: usize = crate::form::DEPTH_MAX;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The field of this name; case matters.
    Field(Box<str>),
    /// The element at this place, counted from 0.
    Element(usize),
    /// Every element.
    Each,
}

/// A compiled path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    steps: Vec<Step>,
    fans_out_by_itself: bool,
}

impl Path {
    /// A path of these steps.
    pub fn new(steps: Vec<Step>) -> Path {
        Path {
            steps,
            fans_out_by_itself: false,
        }
    }

    /// Compiles a text: names separated by points, each followed by any number of `[]` and `[n]`.
    /// A name that holds a point or a bracket is put in `'` or `"`, in which that quote is doubled.
    ///
    /// # Errors
    /// The place at which the text stops being a path.
    pub fn parse(text: &str) -> Result<Path, PathError> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            if !rest.starts_with('[') {
                let (name, behind) = take_name(rest, text)?;
                steps.push(Step::Field(name));
                rest = behind;
            }
            while let Some(inner) = rest.strip_prefix('[') {
                let Some((slot, behind)) = inner.split_once(']') else {
                    return Err(error(rest, text));
                };
                steps.push(if slot.is_empty() {
                    Step::Each
                } else if slot.bytes().all(|b| b.is_ascii_digit()) {
                    Step::Element(slot.parse().map_err(|_| error(inner, text))?)
                } else {
                    return Err(error(inner, text));
                });
                rest = behind;
            }
            if steps.len() > STEPS_MAX {
                return Err(error(rest, text));
            }
            match rest.strip_prefix('.') {
                Some(behind) if !behind.starts_with('[') => rest = behind,
                _ if rest.is_empty() => return Ok(Path::new(steps)),
                _ => return Err(error(rest, text)),
            }
        }
    }

    /// Makes a field step that meets an array go into every element, so that `Lines.Product` finds
    /// what `Lines[].Product` finds.
    #[must_use]
    pub fn fanning_out(mut self) -> Path {
        self.fans_out_by_itself = true;
        self
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether it may reach several values of one document.
    pub fn is_multiple(&self) -> bool {
        self.fans_out_by_itself || self.steps.contains(&Step::Each)
    }

    /// Every value the path reaches, in document order; an explicit null counts, a missing field
    /// does not.
    pub fn values<'p, 'a>(&'p self, from: Value<'a>) -> PathValues<'p, 'a> {
        PathValues {
            path: self,
            start: Some(from),
            inner: None,
            outer: Vec::new(),
        }
    }

    /// The first value the path reaches.
    pub fn first<'a>(&self, from: Value<'a>) -> Option<Value<'a>> {
        self.values(from).next()
    }

    /// Follows the steps from `slot` on as far as they lead to one value.
    fn walk<'a>(&self, mut value: Value<'a>, slot: usize) -> Reached<'a> {
        for (done, step) in self.steps.iter().enumerate().skip(slot) {
            let next = match (step, value) {
                (Step::Field(name), Value::Object(object)) => object.get(name),
                (Step::Field(_), Value::Array(array)) if self.fans_out_by_itself => {
                    return Reached::Several(array.iter(), done);
                }
                (Step::Element(slot), Value::Array(array)) => array.get(*slot),
                (Step::Each, Value::Array(array)) => {
                    return Reached::Several(array.iter(), done + 1);
                }
                _ => None,
            };
            match next {
                Some(next) => value = next,
                None => return Reached::Nothing,
            }
        }
        Reached::One(value)
    }
}

fn error(rest: &str, text: &str) -> PathError {
    PathError {
        offset: text.len() - rest.len(),
    }
}

/// Takes a field name off `rest`.
fn take_name<'r>(rest: &'r str, text: &str) -> Result<(Box<str>, &'r str), PathError> {
    let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.is_empty() || name.contains([']', '\'', '"']) {
            return Err(error(rest, text));
        }
        return Ok((name.into(), behind));
    };
    let mut name = String::new();
    let mut inner = &rest[1..];
    loop {
        let Some((piece, behind)) = inner.split_once(quote) else {
            return Err(error(rest, text));
        };
        name.push_str(piece);
        match behind.strip_prefix(quote) {
            Some(more) => {
                name.push(quote);
                inner = more;
            }
            None => return Ok((name.into(), behind)),
        }
    }
}

/// Where some steps of a path lead.
enum Reached<'a> {
    Nothing,
    One(Value<'a>),
    /// Elements, from each of which to go on with the step at this place.
    Several(ArrayIter<'a>, usize),
}

/// Iterator over the values a [`Path`] reaches.
#[derive(Clone, Debug)]
pub struct PathValues<'p, 'a> {
    path: &'p Path,
    start: Option<Value<'a>>,
    /// The array being gone through last.
    inner: Option<(ArrayIter<'a>, usize)>,
    /// The arrays around it.
    outer: Vec<(ArrayIter<'a>, usize)>,
}

impl<'a> Iterator for PathValues<'_, 'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        loop {
            let (value, slot) = match self.start.take() {
                Some(start) => (start, 0),
                None => {
                    let (elements, slot) = self.inner.as_mut()?;
                    match elements.next() {
                        Some(element) => (element, *slot),
                        None => {
                            self.inner = self.outer.pop();
                            continue;
                        }
                    }
                }
            };
            match self.path.walk(value, slot) {
                Reached::Nothing => {}
                Reached::One(value) => return Some(value),
                Reached::Several(elements, slot) => {
                    if let Some(around) = self.inner.replace((elements, slot)) {
                        self.outer.push(around);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DocumentBuf, Limits};

    fn find(json: &str, path: Path) -> String {
        let document = DocumentBuf::from_json(json.as_bytes(), &Limits::default()).unwrap();
        let found: Vec<_> = path.values(document.root()).map(|v| v.to_json()).collect();
        found.join(" ")
    }

    #[test]
    fn paths_reach_what_they_name() {
        let json = r#"{"A":{"B":1,"b":2},"L":[{"P":1,"T":["x","y"]},{"Q":0},{"P":null,"T":[]},
            {"P":3,"T":["z"]}],"a.b":{"it's":7},"M":[[1,2],[3]],"S":"text"}"#;
        for (path, found) in [
            ("A.B", "1"),
            ("A.b", "2"),
            ("A.C", ""),
            ("L[].P", "1 null 3"),
            ("L[3].P", "3"),
            ("L[4].P", ""),
            ("L[].T[]", r#""x" "y" "z""#),
            ("L[].T[0]", r#""x" "z""#),
            ("L.P", ""),
            ("M[][]", "1 2 3"),
            ("M[]", "[1,2] [3]"),
            ("M[0][1]", "2"),
            ("S[]", ""),
            ("S.length", ""),
            ("'a.b'.'it''s'", "7"),
            (r#""a.b"["#, "error at 5"),
        ] {
            let compiled = Path::parse(path);
            let got = match compiled {
                Ok(path) => find(json, path),
                Err(e) => format!("error at {}", e.offset),
            };
            assert_eq!(got, found, "{path}");
        }
        let implicit = |path| find(json, Path::parse(path).unwrap().fanning_out());
        assert_eq!(implicit("L.P"), "1 null 3");
        assert_eq!(implicit("L.T[]"), r#""x" "y" "z""#);
    }

    #[test]
    fn texts_that_are_no_paths_are_refused() {
        for text in [
            "", ".", "A.", "A..B", ".A", "A[", "A[x]", "A[-1]", "A]", "A.[]", "'A", "A'b'",
        ] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
        assert!(Path::parse("A[99999999999999999999999]").is_err());
        assert!(Path::parse(&"[0]".repeat(STEPS_MAX + 1)).is_err());
    }
}
