//! Random JSON for the tests of this crate: a model that keeps number texts, and its text.

use proptest::prelude::*;

/// JSON with exact number texts and fields in order, perhaps of equal names.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The text as the product writes it, without regard to duplicates.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.push(&mut out);
        out
    }

    fn push(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Json::Number(n) => out.push_str(n),
            Json::String(s) => push_string(out, s),
            Json::Array(a) => {
                out.push('[');
                for (i, value) in a.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    value.push(out);
                }
                out.push(']');
            }
            Json::Object(o) => {
                out.push('{');
                for (i, (name, value)) in o.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    push_string(out, name);
                    out.push(':');
                    value.push(out);
                }
                out.push('}');
            }
        }
    }

    /// Of fields with equal names the last wins, at the place of the first.
    pub(crate) fn without_duplicates(&self) -> Json {
        match self {
            Json::Array(a) => Json::Array(a.iter().map(Json::without_duplicates).collect()),
            Json::Object(o) => {
                let mut fields: Vec<(String, Json)> = Vec::new();
                for (name, value) in o {
                    let value = value.without_duplicates();
                    match fields.iter_mut().find(|f| f.0 == *name) {
                        Some(field) => field.1 = value,
                        None => fields.push((name.clone(), value)),
                    }
                }
                Json::Object(fields)
            }
            other => other.clone(),
        }
    }
}

fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Number texts of every sort.
pub(crate) fn number_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        (-300i64..300).prop_map(|n| n.to_string()),
        any::<f64>()
            .prop_filter("finite", |x| x.is_finite())
            .prop_map(|x| format!("{x:?}")),
        (any::<i32>(), 0u32..8)
            .prop_map(|(n, k)| (f64::from(n) / 10f64.powi(k as i32)).to_string()),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,4})?",
    ]
}

/// Texts with every sort of character.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z ]{0,20}",
        any::<String>(),
        proptest::collection::vec(any::<char>(), 100..300).prop_map(String::from_iter),
        "[\\x00-\\x1f\"\\\\]{0,12}",
    ]
}

/// Documents: few names, so that shapes are shared and duplicates occur; sometimes many fields.
pub(crate) fn json() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number_text().prop_map(Json::Number),
        text().prop_map(Json::String),
    ];
    scalar.prop_recursive(6, 120, 10, |inner| {
        let name = prop_oneof![4 => "[a-c]{1,3}", 1 => text()];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..10).prop_map(Json::Array),
            proptest::collection::vec((name, inner.clone()), 0..8).prop_map(Json::Object),
            proptest::collection::vec(("[a-e]{1,3}", inner), 60..90).prop_map(Json::Object),
        ]
    })
}
