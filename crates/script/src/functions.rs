//! Functions that scripts find everywhere and that need no host: distances, and values as text.
//!
//! Called by `machine` before the host is asked. Arguments come as JSON, answers go as JSON.

use jackdaw_base::time::TICKS_PER_SECOND;
use jackdaw_document::{Array, Value as Json};

use crate::host::HostError;
use crate::index::native::{Value, as_date, format_span, format_value, text_of};

/// Names of the functions.
pub(crate) const NAMES: [&str; 5] = [
    "compareDates",
    "convertJsTimeToTimeSpanString",
    "convertToTimeSpanString",
    "spatial.distance",
    "toStringWithFormat",
];

/// Minutes of a degree, each a nautical mile of the sphere that is measured on.
const MINUTES_A_DEGREE: f64 = 60.0;
/// Miles of a nautical mile.
const MILES_A_MINUTE: f64 = 1.151_5;
/// Kilometers of a mile, with the digits that clients compute with.
const KILOMETERS_A_MILE: f64 = 1.0 / 0.621_371_192;
const TICKS_PER_MILLISECOND: i64 = TICKS_PER_SECOND / 1_000;
/// The format of dates without one.
const DATE_FORMAT: &str = "MM/dd/yyyy HH:mm:ss";
/// Cultures that write numbers and dates as the invariant one does.
const CULTURES: [&str; 2] = ["", "en-us"];

/// The answer of `function`; `None` when it is not one of [`NAMES`].
pub(crate) fn call(function: &str, arguments: Array<'_>) -> Option<Result<Vec<u8>, HostError>> {
    let answer = match function {
        "compareDates" => compared(arguments),
        "spatial.distance" => distance(arguments),
        "toStringWithFormat" => formatted(arguments).map(|text| json(Json::String(&text))),
        "convertJsTimeToTimeSpanString" => span(function, arguments, TICKS_PER_MILLISECOND),
        "convertToTimeSpanString" => span(function, arguments, 1),
        _ => return None,
    };
    Some(answer)
}

fn json(value: Json<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    value.write_json(&mut out);
    out
}

fn refused(message: &str) -> HostError {
    HostError::Refused(message.to_owned())
}

/// `spatial.distance(lat1, lng1, lat2, lng2, units)`: null when a coordinate is no number.
fn distance(arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
    if !matches!(arguments.len(), 4 | 5) {
        return Err(refused(
            "spatial.distance(lat1, lng1, lat2, lng2, kilometers | miles | cartesian) takes four \
             or five arguments",
        ));
    }
    let numbers = arguments.iter().take(4).map(|number| match number {
        Json::String(_) => None,
        number => number.as_f64(),
    });
    let numbers: Option<Vec<f64>> = numbers.collect();
    let units = match arguments.get(4) {
        None | Some(Json::Null) => "kilometers".to_owned(),
        Some(units) => units.as_str().unwrap_or_default().to_ascii_lowercase(),
    };
    let measured = match (numbers.as_deref(), units.as_str()) {
        (Some([lat1, lng1, lat2, lng2]), "cartesian") => (lat1 - lat2).hypot(lng1 - lng2),
        (Some([lat1, lng1, lat2, lng2]), "miles") => miles((*lat1, *lng1), (*lat2, *lng2)),
        (Some([lat1, lng1, lat2, lng2]), "kilometers") => {
            miles((*lat1, *lng1), (*lat2, *lng2)) * KILOMETERS_A_MILE
        }
        (_, "cartesian" | "miles" | "kilometers") => return Ok(json(Json::Null)),
        _ => {
            return Err(refused(
                "units of spatial.distance() are 'kilometers', 'miles' or 'cartesian'",
            ));
        }
    };
    Ok(json(match measured {
        0.0 => Json::Long(0),
        measured => Json::Double(measured),
    }))
}

/// The way between two points, by the law of cosines.
fn miles(from: (f64, f64), to: (f64, f64)) -> f64 {
    if from == to {
        return 0.0;
    }
    let (from_latitude, to_latitude) = (from.0.to_radians(), to.0.to_radians());
    let turn = (from.1 - to.1).to_radians();
    let cosine = from_latitude.sin() * to_latitude.sin()
        + from_latitude.cos() * to_latitude.cos() * turn.cos();
    cosine.clamp(-1.0, 1.0).acos().to_degrees() * MINUTES_A_DEGREE * MILES_A_MINUTE
}

/// `toStringWithFormat(value, format, culture)`; format and culture may be left out.
fn formatted(arguments: Array<'_>) -> Result<String, HostError> {
    let value = arguments.get(0);
    let mut texts = Vec::new();
    for argument in arguments.iter().skip(1) {
        let text = argument.as_str();
        texts.push(
            text.ok_or_else(|| refused("toStringWithFormat(): format and culture must be texts"))?,
        );
    }
    let is_known = |name: &str| CULTURES.contains(&name.to_ascii_lowercase().as_str());
    let (format, culture) = match texts.as_slice() {
        [] => ("", ""),
        [culture] if is_known(culture) => ("", *culture),
        [format] => (*format, ""),
        [format, culture] => (*format, *culture),
        _ => return Err(refused("toStringWithFormat() takes one to three arguments")),
    };
    if !is_known(culture) {
        return Err(HostError::Refused(format!(
            "toStringWithFormat() writes as the invariant culture does, not as '{culture}'"
        )));
    }
    let (value, format) = match value {
        Some(Json::String(text)) => {
            let date = as_date(Value::Text(text)).ok_or_else(|| {
                HostError::Refused(format!("toStringWithFormat(): '{text}' is not a date"))
            })?;
            let is_bare = format.is_empty();
            (
                Value::Date(date),
                if is_bare { DATE_FORMAT } else { format },
            )
        }
        Some(Json::Bool(value)) => (Value::Bool(value), ""),
        None | Some(Json::Null | Json::Array(_) | Json::Object(_)) => {
            return Err(refused(
                "toStringWithFormat() writes numbers, booleans and dates",
            ));
        }
        Some(number) => (Value::of(number), format),
    };
    match format {
        "" => Ok(text_of(value)),
        format => format_value(value, format).ok_or_else(|| {
            HostError::Refused(format!(
                "toStringWithFormat(): '{format}' is no format of such a value"
            ))
        }),
    }
}

/// `compareDates(first, second, operation)`: the span between them, or whether they compare so.
fn compared(arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
    let date = |slot: usize| {
        let text = arguments.get(slot).and_then(|date| date.as_str());
        let date = text.and_then(|text| as_date(Value::Text(text)));
        let wrong = || refused("compareDates(first, second, operation) takes two dates");
        date.map(|date| date.ticks).ok_or_else(wrong)
    };
    let (first, second) = (date(0)?, date(1)?);
    let operation = match arguments.get(2) {
        None | Some(Json::Null) => "Subtract",
        Some(operation) => operation.as_str().unwrap_or_default(),
    };
    let holds = match operation {
        "Subtract" => {
            let span = format_span(first.saturating_sub(second));
            return Ok(json(Json::String(&span)));
        }
        "Equal" => first == second,
        "NotEqual" => first != second,
        "LessThan" => first < second,
        "LessThanOrEqual" => first <= second,
        "GreaterThan" => first > second,
        "GreaterThanOrEqual" => first >= second,
        _ => return Err(refused("compareDates() knows no such operation")),
    };
    Ok(json(Json::Bool(holds)))
}

/// A number of units of time as a span: `1.01:01:01.0010000`.
fn span(function: &str, arguments: Array<'_>, ticks: i64) -> Result<Vec<u8>, HostError> {
    let units = arguments.get(0).and_then(|number| match number {
        Json::String(_) => None,
        number => number.as_f64(),
    });
    let Some(units) = units.filter(|_| arguments.len() == 1) else {
        return Err(HostError::Refused(format!("{function}() takes one number")));
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a span beyond what fits is the longest one"
    )]
    let units = units as i64;
    Ok(json(Json::String(&format_span(
        units.saturating_mul(ticks),
    ))))
}
