//! How much there is in a value, before something goes through all of it.
//!
//! Parts of values are shared, so that what is written or compared may be far longer than what was
//! made. Comparing deeply, hashing, and writing out are charged for beforehand.

use super::evaluate::{Run, refuse};
use super::format::text_of;
use super::value::Value;
use crate::index::error::RunError;

/// What a number or a truth value weighs; also an element besides what it holds.
const SCALAR_BYTES: usize = 16;
/// Bytes that are charged for at once.
const CHARGED_BYTES: usize = 4096;
/// The longest text that an object or array becomes.
const TEXT_BYTES_MAX: usize = 64 << 10;

impl<'a> Run<'a, '_> {
    /// The value as text.
    pub(crate) fn plain(&mut self, value: Value<'a>) -> Result<String, RunError> {
        self.weigh(value, TEXT_BYTES_MAX)?;
        Ok(text_of(value))
    }

    /// Takes the steps of going through `value`; scalars are free.
    pub(crate) fn weigh(&mut self, value: Value<'a>, limit_bytes: usize) -> Result<(), RunError> {
        if !is_container(value) {
            return Ok(());
        }
        let (mut weight, mut charged) = (0_usize, 0);
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            let before = open.len();
            weight += SCALAR_BYTES;
            match value {
                Value::Text(text) => weight += text.len(),
                Value::Number(text) => weight += text.as_str().len(),
                Value::List(list) => open.extend(list),
                Value::Group(group) => open.extend(group.elements),
                Value::Record(record) => open.extend(record.values),
                Value::Array(array) => open.extend(array.iter().map(Value::of)),
                Value::Object(_) | Value::Document(_) | Value::Metadata(_) => {
                    let fields = self.fields(value);
                    weight += fields.iter().map(|(name, _)| name.len()).sum::<usize>();
                    open.extend(fields.into_iter().map(|(_, value)| value));
                }
                _ => {}
            }
            let added = open.len().saturating_sub(before) * SCALAR_BYTES;
            if weight.saturating_add(added) > limit_bytes {
                return refuse(format!(
                    "An object or array is longer than the {limit_bytes} bytes that it may be here"
                ));
            }
            if weight - charged >= CHARGED_BYTES {
                self.charge(weight - charged)?;
                charged = weight;
            }
        }
        self.charge(weight - charged)
    }
}

fn is_container(value: Value<'_>) -> bool {
    matches!(
        value,
        Value::Array(_)
            | Value::Object(_)
            | Value::Document(_)
            | Value::Metadata(_)
            | Value::List(_)
            | Value::Record(_)
            | Value::Group(_)
    )
}
