//! Values of compare-exchange in conditions: `where Name = cmpxchg('vip')`.
//!
//! Put into the syntax tree before it is bound, so that a condition compares with a plain value.

use jackdaw_document::{DocumentBuf, Value as Json};

use crate::error::{BoxError, QueryError};
use crate::fields::to_number;
use crate::parameters::{Parameters, Resolved};
use crate::syntax::{Argument, Call, Expression, Path, PathPart, Query, Value};
use jackdaw_base::number::Number;

/// Finds the object that holds the value under a key; `None` when there is none.
type Find<'f> = &'f mut dyn FnMut(&str) -> Result<Option<DocumentBuf>, BoxError>;

/// Puts values in the place of `cmpxchg(key)` and `cmpxchg(key).Member` on the right of
/// comparisons; whether there were any. Without a value it is null.
///
/// # Errors
/// A key that is no text, a value that no field compares with, or what `find` says.
pub fn resolve_exchange(
    query: &mut Query,
    parameters: Parameters<'_>,
    find: Find<'_>,
) -> Result<bool, QueryError> {
    match &mut query.condition {
        Some(condition) => resolve(condition, parameters, find),
        None => Ok(false),
    }
}

fn resolve(
    expression: &mut Expression,
    parameters: Parameters<'_>,
    find: Find<'_>,
) -> Result<bool, QueryError> {
    let mut is_found = false;
    match expression {
        Expression::Not(inner) => is_found = resolve(inner, parameters, find)?,
        Expression::And(list) | Expression::Or(list) => {
            for inner in list {
                is_found |= resolve(inner, parameters, find)?;
            }
        }
        Expression::Call(call) => {
            for argument in &mut call.arguments {
                if let Argument::Expression(inner) = argument {
                    is_found |= resolve(inner, parameters, find)?;
                }
            }
        }
        Expression::Compare { right, .. } => is_found = replace(right, parameters, find)?,
        Expression::Between { low, high, .. } => {
            is_found = replace(low, parameters, find)?;
            is_found |= replace(high, parameters, find)?;
        }
        Expression::Value(_)
        | Expression::Path(_)
        | Expression::CallMember(..)
        | Expression::In { .. } => {}
    }
    Ok(is_found)
}

fn replace(
    expression: &mut Expression,
    parameters: Parameters<'_>,
    find: Find<'_>,
) -> Result<bool, QueryError> {
    let (call, path) = match &*expression {
        Expression::Call(call) => (call, None),
        Expression::CallMember(call, path) => (call, Some(path)),
        _ => return Ok(false),
    };
    if !call.is("cmpxchg") {
        return Ok(false);
    }
    let holder = find(&key(call, parameters)?).map_err(QueryError::Source)?;
    let value = holder
        .as_ref()
        .and_then(|holder| holder.root().get("Object"));
    let value = match path {
        Some(path) => value.and_then(|value| member(value, path)),
        None => value,
    };
    let value = match value.unwrap_or(Json::Null) {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::String(text) => Value::String(text.to_owned()),
        other => match to_number(other) {
            Some(Number::Long(long)) => Value::Long(long),
            Some(Number::Double(double)) => Value::Double(double),
            None => {
                return Err(QueryError::invalid(format!(
                    "The value of {expression} is no text, number or boolean: name one of its \
                     members, as in cmpxchg('key').Name"
                )));
            }
        },
    };
    *expression = Expression::Value(value);
    Ok(true)
}

fn key(call: &Call, parameters: Parameters<'_>) -> Result<String, QueryError> {
    if let [Argument::Expression(Expression::Value(value))] = call.arguments.as_slice()
        && let Resolved::Text(key) = parameters.resolve(value)?
    {
        return Ok(key.into_owned());
    }
    Err(QueryError::invalid(format!(
        "cmpxchg() takes a key, which is a text, but got: {call}"
    )))
}

fn member<'v>(value: Json<'v>, path: &Path) -> Option<Json<'v>> {
    path.parts.iter().try_fold(value, |value, part| match part {
        PathPart::Name(name) => value.get(name),
        PathPart::At(slot) => value.as_array()?.get(usize::try_from(*slot).ok()?),
        PathPart::Each => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;
    use crate::test_source::json;

    fn resolved(text: &str) -> Result<String, QueryError> {
        let mut query = parse(text).unwrap();
        let parameters = json(r#"{"k":"vip"}"#);
        let parameters = Parameters::new(parameters.document()).unwrap();
        resolve_exchange(&mut query, parameters, &mut |key| {
            Ok((key == "vip").then(|| json(r#"{"Object":{"Name":"Ann","Age":[3]}}"#)))
        })?;
        Ok(query.to_string())
    }

    #[test]
    fn values_take_the_place_of_calls() {
        for (written, meant) in [
            ("N = cmpxchg($k).Name", "N = 'Ann'"),
            ("exact(N = cmpxchg('vip').Age[0])", "exact(N = 3)"),
            (
                "A = 1 or B between cmpxchg('no') and 4",
                "A = 1 or B between null and 4",
            ),
        ] {
            let meant = parse(&format!("from C where {meant}")).unwrap().to_string();
            assert_eq!(resolved(&format!("from C where {written}")).unwrap(), meant);
        }
        let refused = resolved("from C where N = cmpxchg('vip')").unwrap_err();
        assert!(
            refused.to_string().contains("name one of its members"),
            "{refused}"
        );
        assert!(resolved("from C where N = cmpxchg(7)").is_err());
    }
}
