//! The naive model: entries with plain values, and the values random entries are made of.
//!
//! Lower-casing is written anew here, so that the product's is not tested against itself.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jackdaw_base::number::Number;
use jackdaw_sim::Rng;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    Text(String),
    /// A number and its text.
    Number(Number, String),
}

impl Value {
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub(crate) fn number(&self) -> Option<Number> {
        match self {
            Value::Number(number, _) => Some(*number),
            _ => None,
        }
    }

    /// Whether the index cannot keep all of it.
    pub(crate) fn is_long(&self) -> bool {
        matches!(self, Value::Text(text) if text.len() > 504)
    }
}

pub(crate) fn fold(text: &str, folded: bool) -> String {
    match folded {
        true => text.chars().flat_map(char::to_lowercase).collect(),
        false => text.to_owned(),
    }
}

/// A text beyond what terms keep; those of different endings begin alike.
pub(crate) fn long_text(ending: &str) -> String {
    format!("{}{ending}", "pearl ".repeat(100))
}

/// The values random entries are made of, rare ones too.
pub(crate) fn universe() -> &'static [Known] {
    static VALUES: OnceLock<Vec<Known>> = OnceLock::new();
    VALUES.get_or_init(|| {
        let mut values = vec![Value::Null, Value::Boolean(true), Value::Boolean(false)];
        let texts = [
            "Pearl Jam",
            "PEARL JAM",
            "Pearl",
            "Jam",
            "",
            "\u{c4}rger",
            "\u{e4}RGER",
            "\u{65e5}\u{672c}",
            "true",
            "12",
            "zz top",
            "\u{39f}\u{394}\u{39f}\u{3a3}",
        ];
        values.extend(texts.map(|text| Value::Text(text.to_owned())));
        values.extend((0..60).map(|i| Value::Text(format!("Unique title {i}"))));
        values.extend(["a", "b", "B"].map(|ending| Value::Text(long_text(ending))));
        values.push(Value::Text(long_text("")[..504].to_owned()));
        let longs = [0, 1, -1, 12, 13, i64::MAX, i64::MIN, (1 << 53) + 1, 1 << 53];
        values.extend(longs.map(|long| Value::Number(Number::Long(long), long.to_string())));
        let doubles = ["12.5", "12.0", "1e300", "-0.0", "9007199254740992.0", "0.1"];
        values.extend(
            doubles
                .map(|text| Value::Number(Number::Double(text.parse().unwrap()), text.to_owned())),
        );
        values.into_iter().map(Known::new).collect()
    })
}

/// A value and what it is as text, folded and not.
pub(crate) struct Known {
    pub(crate) value: Value,
    texts: Option<[String; 2]>,
}

impl Known {
    pub(crate) fn text(&self, folded: bool) -> Option<&str> {
        self.texts
            .as_ref()
            .map(|texts| texts[usize::from(folded)].as_str())
    }

    fn new(value: Value) -> Known {
        let text = match &value {
            Value::Null => None,
            Value::Boolean(value) => Some(value.to_string()),
            Value::Text(text) | Value::Number(_, text) => Some(text.clone()),
        };
        Known {
            texts: text.map(|text| [fold(&text, false), fold(&text, true)]),
            value,
        }
    }
}

/// Entries by number, each with the values of its fields.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) entries: BTreeMap<u64, Vec<Vec<&'static Known>>>,
}

/// Draws entries out of the universe.
pub(crate) trait Draw {
    /// Values of one field: none, one, or an array of some.
    fn values(&mut self) -> Vec<&'static Known>;
}

impl Draw for Rng {
    fn values(&mut self) -> Vec<&'static Known> {
        let count = *self.pick(&[0, 1, 1, 1, 1, 3]);
        (0..count).map(|_| value(self)).collect()
    }
}

fn value(random: &mut Rng) -> &'static Known {
    let values = universe();
    // Half of all values are one of the first few, so that some lists grow long.
    let limit = if random.chance(2) { 5 } else { values.len() };
    random.pick(&values[..limit])
}
