//! The `load` clause of an update as statements of its script.
//!
//! A patch reads documents inside its transaction, so what it loads is read there too, by the
//! script's own `load()`.

use std::fmt::Write;

use jackdaw_document::Value as Json;

use super::tree::{Expression, LoadItem, Path, PathPart, Query, Value};

impl Query {
    /// JavaScript that declares each alias of `load`: a document or null, or for `alias[]` an array
    /// of the documents that are there. Empty without the clause.
    ///
    /// # Errors
    /// What cannot be loaded, as text.
    pub fn load_statements(&self) -> Result<String, String> {
        let mut script = String::new();
        for (position, item) in self.load.iter().enumerate() {
            let earlier = &self.load[..position];
            let is_taken = self.from.alias.as_deref() == Some(&item.alias)
                || earlier.iter().any(|earlier| earlier.alias == item.alias);
            if is_taken {
                return Err(format!(
                    "Duplicate alias '{}' detected: give each loaded document a name of its own",
                    item.alias
                ));
            }
            let ids = match &item.expression {
                Expression::Path(path) => self.values_at(path, earlier),
                Expression::Value(value) => format!("[{}]", literal(value)?),
                other => return Err(format!("Unable to load: {other}")),
            };
            let ids = format!("{ids}.flat(32).filter(id => typeof id === 'string' && id)");
            // A whole statement on the line of the script, whose lines keep their numbers.
            let _ = match item.many {
                true => write!(
                    script,
                    "var {} = {ids}.map(id => load(id)).filter(found => found !== null); ",
                    item.alias
                ),
                false => write!(
                    script,
                    "var {} = {ids}.slice(0, 1).map(id => load(id))[0] ?? null; ",
                    item.alias
                ),
            };
        }
        Ok(script)
    }

    /// An expression for the array of values at a path of the document, or of one loaded before.
    fn values_at(&self, path: &Path, earlier: &[LoadItem]) -> String {
        let first = match path.parts.first() {
            Some(PathPart::Name(name)) if path.parts.len() > 1 => Some(name.as_str()),
            _ => None,
        };
        let loaded = earlier
            .iter()
            .find(|item| Some(item.alias.as_str()) == first);
        let (mut values, rest) = match (loaded, first) {
            (Some(item), _) if item.many => (item.alias.clone(), &path.parts[1..]),
            (Some(item), _) => (format!("[{}]", item.alias), &path.parts[1..]),
            (None, Some(name)) if self.from.alias.as_deref() == Some(name) => {
                ("[this]".to_owned(), &path.parts[1..])
            }
            _ => ("[this]".to_owned(), path.parts.as_slice()),
        };
        for part in rest {
            values.push_str(&match part {
                PathPart::Name(name) => format!(".map(value => value?.[{}])", js_text(name)),
                PathPart::Each => ".flat()".to_owned(),
                PathPart::At(slot) => format!(".map(value => value?.[{slot}])"),
            });
        }
        values
    }
}

fn literal(value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => js_text(text),
        Value::Parameter(name) => format!("args[{}]", js_text(name)),
        other => return Err(format!("load needs the id of a document, but got {other}")),
    })
}

fn js_text(text: &str) -> String {
    Json::String(text).to_json()
}
