//! Functions without a receiver: of documents, texts, numbers and time.

use super::arithmetic::{self, Number, are_equal, sorting_order};
use super::convert;
use super::evaluate::{Outcome, Run, refuse};
use super::expression::{Function, SpanUnit};
use super::format::text_of;
use super::methods::ticks_of;
use super::time::{TICKS_TO_1970, date_of};
use super::value::{Date, Record, Value, copy_document, keep};
use crate::index::entry::special;
use crate::index::error::RunError;
use crate::index::host::Attachment;

const FIELD: [&str; 3] = [special::FIELD, special::VALUE, special::OPTIONS];
const SPATIAL: [&str; 1] = [special::SPATIAL];
const VECTOR: [&str; 1] = [special::VECTOR];
const POINT: [&str; 2] = ["Latitude", "Longitude"];
const ATTACHMENT: [&str; 4] = ["Name", "ContentType", "Hash", "Size"];
const STORAGE_AND_INDEXING: [&str; 2] = ["Storage", "Indexing"];
/// Numbers that `Enumerable.Range` makes at most.
const RANGE_MAX: i64 = 100_000;

impl<'a> Run<'a, '_> {
    /// Calls a function.
    pub(crate) fn function(
        &mut self,
        function: Function,
        arguments: &'a [Value<'a>],
    ) -> Outcome<'a> {
        use Function as F;
        let argument = |at: usize| arguments.get(at).copied().unwrap_or(Value::Missing);
        let (first, second) = (argument(0), argument(1));
        match function {
            F::LoadDocument => self.load(first, second.as_text()),
            F::LoadCompareExchange => self.compare_exchange(first),
            F::Id => Ok(match first {
                Value::Document(document) => Value::Text(document.id),
                Value::Text(_) => first,
                other => self.member(other, "@id")?,
            }),
            F::MetadataFor => Ok(match first {
                Value::Document(document) => Value::Metadata(document),
                other => self.member(other, jackdaw_document::METADATA)?,
            }),
            F::AsDocument => Ok(first),
            F::CreateField => self.create_field(arguments),
            F::CreateSpatialField => Ok(self.spatial(arguments)),
            F::CreateVector if first.is_nothing() => Ok(Value::Missing),
            F::CreateVector => {
                let values = self.arena.alloc_slice_copy(&[first]);
                Ok(Value::Record(Record::made(&VECTOR, values)))
            }
            F::AttachmentsFor | F::LoadAttachment => self.attachments(function, first, second),
            F::CounterNamesFor | F::TimeSeriesNamesFor => self.names(function, first),
            F::IsNullOrEmpty => Ok(Value::Bool(is_empty(first))),
            F::IsNullOrWhiteSpace => {
                let is_blank = first.as_text().is_some_and(|text| text.trim().is_empty());
                Ok(Value::Bool(first.is_nothing() || is_blank))
            }
            F::Join => self.join(arguments),
            F::Format => self.format(first, arguments.get(1..).unwrap_or(&[])),
            F::Concat => {
                let mut text = String::new();
                for argument in arguments {
                    match argument {
                        Value::List(_) | Value::Array(_) => {
                            let items = self.items(*argument)?;
                            for item in items {
                                text.push_str(&self.plain(*item)?);
                            }
                        }
                        other => text.push_str(&self.plain(*other)?),
                    }
                    self.charge(text.len())?;
                }
                self.text(&text)
            }
            F::Compare => Ok(Value::Long(sorting_order(first, second) as i64)),
            F::SameText => {
                self.weigh(first, usize::MAX)?;
                self.weigh(second, usize::MAX)?;
                let same = match (first, second, argument(2)) {
                    (Value::Text(left), Value::Text(right), Value::Text(option))
                        if option.ends_with("IgnoreCase") =>
                    {
                        left.to_lowercase() == right.to_lowercase()
                    }
                    _ => are_equal(first, second),
                };
                Ok(Value::Bool(same))
            }
            F::NewDate => new_date(arguments),
            F::NewSpan => new_span(arguments),
            F::SpanFrom(unit) => match Number::of(first) {
                None => Ok(Value::Missing),
                Some(number) => match ticks_of(unit, number) {
                    Some(ticks) => Ok(Value::Span(ticks)),
                    None => refuse("TimeSpan overflowed because the duration is too long"),
                },
            },
            F::Parse(target) => match convert::parse(first, target) {
                Some(value) if !first.is_nothing() => Ok(value),
                _ if arguments.len() > 1 => Ok(second),
                _ => Ok(Value::Null),
            },
            F::Convert(target) => {
                if first.is_nothing() {
                    return Ok(Value::Null);
                }
                let converted = convert::convert(first, target);
                let refused = || refuse(format!("'{}' is not {target:?}", text_of(first)));
                let value = converted.map_or_else(refused, Ok)?;
                convert::cast(value, target, self.arena).or_else(refuse)
            }
            F::Range | F::Repeat => self.repeated(function, first, second),
            _ => mathematics(function, first, second, argument(2)),
        }
    }

    fn load(&mut self, id: Value<'a>, collection: Option<&str>) -> Outcome<'a> {
        match id {
            Value::Text("") => Ok(Value::Null),
            Value::Text(id) => match self.host.load(id, collection)? {
                Some(loaded) => {
                    self.charge(loaded.body.len())?;
                    Ok(Value::Document(keep(&loaded, self.arena)))
                }
                None => Ok(Value::Null),
            },
            Value::Array(_) | Value::List(_) => {
                let mut found = Vec::new();
                for id in self.items(id)? {
                    self.step()?;
                    // Lists of lists are no ids.
                    found.push(match id {
                        Value::Text(_) => self.load(*id, collection)?,
                        _ => Value::Null,
                    });
                }
                self.list(&found)
            }
            _ => Ok(Value::Null),
        }
    }

    fn compare_exchange(&mut self, key: Value<'a>) -> Outcome<'a> {
        match key {
            Value::Text(key) => match self.host.compare_exchange(key)? {
                Some(value) => {
                    self.charge(value.len())?;
                    Ok(Value::of(copy_document(&value, self.arena)))
                }
                None => Ok(Value::Null),
            },
            Value::Array(_) | Value::List(_) => {
                let mut found = Vec::new();
                for key in self.items(key)? {
                    self.step()?;
                    found.push(match key {
                        Value::Text(_) => self.compare_exchange(*key)?,
                        _ => Value::Null,
                    });
                }
                self.list(&found)
            }
            _ => Ok(Value::Null),
        }
    }

    fn create_field(&mut self, arguments: &[Value<'a>]) -> Outcome<'a> {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or(Value::Missing);
        let name = self.plain(argument(0))?;
        let name = self.text(&name)?;
        let options = match (argument(2), argument(3)) {
            (Value::Bool(is_stored), is_analyzed) => {
                let storage = Value::Text(if is_stored { "Yes" } else { "No" });
                let indexing = match is_analyzed {
                    Value::Bool(true) => Value::Text("Search"),
                    Value::Bool(false) => Value::Text("Exact"),
                    _ => Value::Text("Default"),
                };
                let values = self.arena.alloc_slice_copy(&[storage, indexing]);
                Value::Record(Record::made(&STORAGE_AND_INDEXING, values))
            }
            (options, _) => options,
        };
        let values = self.arena.alloc_slice_copy(&[name, argument(1), options]);
        Ok(Value::Record(Record::made(&FIELD, values)))
    }

    fn spatial(&mut self, arguments: &[Value<'a>]) -> Value<'a> {
        let place = match arguments {
            [latitude, longitude] | [_, latitude, longitude, ..] => {
                // Texts are read as numbers where the place is indexed.
                let is_number = |value: Value<'a>| match value {
                    Value::Text(text) => text.trim().parse::<f64>().is_ok(),
                    value => arithmetic::is_number(value),
                };
                if !is_number(*latitude) || !is_number(*longitude) {
                    return Value::Missing;
                }
                let values = self.arena.alloc_slice_copy(&[*latitude, *longitude]);
                Value::Record(Record::made(&POINT, values))
            }
            [shape] if !shape.is_nothing() => *shape,
            _ => return Value::Missing,
        };
        let values = self.arena.alloc_slice_copy(&[place]);
        Value::Record(Record::made(&SPATIAL, values))
    }

    fn attachments(
        &mut self,
        function: Function,
        document: Value<'a>,
        name: Value<'a>,
    ) -> Outcome<'a> {
        let Value::Document(document) = document else {
            return Ok(Value::Null);
        };
        let attachments = self.host.attachments(document.id)?;
        if function == Function::AttachmentsFor {
            let all: Vec<Value<'a>> = attachments.iter().map(|one| self.attachment(one)).collect();
            return self.list(&all);
        }
        let name = name.as_text().unwrap_or_default();
        let found = attachments
            .iter()
            .find(|one| one.name.eq_ignore_ascii_case(name));
        Ok(found.map_or(Value::Null, |found| self.attachment(found)))
    }

    fn attachment(&self, attachment: &Attachment) -> Value<'a> {
        let text = |text: &str| Value::Text(&*self.arena.alloc_str(text));
        let values = self.arena.alloc_slice_copy(&[
            text(&attachment.name),
            text(&attachment.content_type),
            text(&attachment.hash),
            Value::Long(i64::try_from(attachment.len_bytes).unwrap_or(i64::MAX)),
        ]);
        Value::Record(Record::made(&ATTACHMENT, values))
    }

    fn names(&mut self, function: Function, document: Value<'a>) -> Outcome<'a> {
        let Value::Document(document) = document else {
            return Ok(Value::Null);
        };
        let names = match function {
            Function::CounterNamesFor => self.host.counter_names(document.id)?,
            _ => self.host.time_series_names(document.id)?,
        };
        let mut values = Vec::with_capacity(names.len());
        for name in &names {
            values.push(self.text(name)?);
        }
        self.list(&values)
    }

    fn join(&mut self, arguments: &'a [Value<'a>]) -> Outcome<'a> {
        let separator = self.plain(arguments.first().copied().unwrap_or(Value::Null))?;
        let rest = arguments.get(1..).unwrap_or(&[]);
        let items = match rest {
            [one] => self.items(*one)?,
            all => all,
        };
        let mut text = String::new();
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                text.push_str(&separator);
            }
            let item = self.plain(*item)?;
            self.charge(item.len() + separator.len())?;
            text.push_str(&item);
        }
        self.text(&text)
    }

    /// A text with `{0}`, `{1,5}` and `{2:00}` in it.
    fn format(&mut self, format: Value<'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
        let Some(format) = format.as_text() else {
            return Ok(Value::Missing);
        };
        let broken = || {
            let message = format!("Input string was not in a correct format: '{format}'");
            RunError::Document(message)
        };
        let mut text = String::new();
        let mut rest = format;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let is_doubled = rest[at + 1..].starts_with(&rest[at..=at]);
            if is_doubled {
                text.push_str(&rest[at..=at]);
                rest = &rest[at + 2..];
                continue;
            }
            let inside = rest[at..].strip_prefix('{').ok_or_else(broken)?;
            let end = inside.find('}').ok_or_else(broken)?;
            let (hole, shape) = match inside[..end].split_once(':') {
                Some((hole, shape)) => (hole, Some(shape)),
                None => (&inside[..end], None),
            };
            let (slot, width) = hole.split_once(',').unwrap_or((hole, "0"));
            let slot: usize = slot.trim().parse().map_err(|_| broken())?;
            let width: i32 = width.trim().parse().map_err(|_| broken())?;
            let value = arguments.get(slot).copied().ok_or_else(broken)?;
            self.push_formatted(value, width, shape, &mut text)?;
            rest = &inside[end + 1..];
        }
        text.push_str(rest);
        self.text(&text)
    }

    fn repeated(&mut self, function: Function, first: Value<'a>, second: Value<'a>) -> Outcome<'a> {
        let Value::Long(count @ 0..=RANGE_MAX) = second else {
            return refuse(format!("A range may have 0 to {RANGE_MAX} elements"));
        };
        let mut items = Vec::new();
        for at in 0..count {
            items.push(match (function, first) {
                (Function::Range, Value::Long(start)) => Value::Long(start.saturating_add(at)),
                _ => first,
            });
        }
        self.list(&items)
    }
}

fn is_empty(value: Value<'_>) -> bool {
    value.is_nothing() || value.as_text() == Some("")
}

fn wholes<const N: usize>(arguments: &[Value<'_>]) -> Option<[i64; N]> {
    let mut numbers = [0; N];
    for (at, number) in numbers.iter_mut().enumerate() {
        match arguments.get(at) {
            Some(Value::Long(whole)) => *number = *whole,
            Some(_) => return None,
            None => {}
        }
    }
    Some(numbers)
}

/// A date of a year, month and day, perhaps hour, minute, second and millisecond; or of ticks.
fn new_date<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    if arguments.iter().any(|argument| argument.is_nothing()) {
        return Ok(Value::Missing);
    }
    let is_utc = arguments.last().and_then(|last| last.as_text()) == Some("Utc");
    let arguments = match arguments.split_last() {
        Some((Value::Text(_), rest)) => rest,
        _ => arguments,
    };
    let outside = "Year, Month, and Day parameters describe an un-representable DateTime";
    let date = match arguments {
        [] => date_of(1, 1, 1, is_utc),
        [Value::Long(ticks)] => {
            let zero = Date { ticks: 0, is_utc };
            ticks
                .checked_sub(TICKS_TO_1970)
                .and_then(|ticks| zero.plus(ticks))
        }
        _ => wholes::<7>(arguments).and_then(|[year, month, day, hour, minute, second, ms]| {
            let date = date_of(year, month, day, is_utc)?;
            let of_day = span_of(0, hour, minute, second, ms)?;
            date.plus(of_day)
        }),
    };
    date.map_or_else(|| refuse(outside), |date| Ok(Value::Date(date)))
}

fn new_span<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    if arguments.iter().any(|argument| argument.is_nothing()) {
        return Ok(Value::Missing);
    }
    let ticks = match arguments {
        [Value::Long(ticks)] => Some(*ticks),
        [_, _, _] => wholes::<3>(arguments).and_then(|[h, m, s]| span_of(0, h, m, s, 0)),
        _ => wholes::<5>(arguments).and_then(|[d, h, m, s, ms]| span_of(d, h, m, s, ms)),
    };
    match ticks {
        Some(ticks) => Ok(Value::Span(ticks)),
        None => refuse("TimeSpan overflowed because the duration is too long"),
    }
}

fn span_of(days: i64, hours: i64, minutes: i64, seconds: i64, milliseconds: i64) -> Option<i64> {
    let units = [
        (SpanUnit::Days, days),
        (SpanUnit::Hours, hours),
        (SpanUnit::Minutes, minutes),
        (SpanUnit::Seconds, seconds),
        (SpanUnit::Milliseconds, milliseconds),
    ];
    units.into_iter().try_fold(0_i64, |total, (unit, count)| {
        total.checked_add(ticks_of(unit, Number::Long(count))?)
    })
}

fn mathematics<'a>(
    function: Function,
    first: Value<'a>,
    second: Value<'a>,
    third: Value<'a>,
) -> Outcome<'a> {
    use Function as F;
    if matches!(function, F::Minimum | F::Maximum) {
        if first.is_nothing() || second.is_nothing() {
            return Ok(Value::Null);
        }
        let order = sorting_order(first, second);
        let is_first = if function == F::Minimum {
            order.is_le()
        } else {
            order.is_ge()
        };
        return Ok(if is_first { first } else { second });
    }
    let Some(number) = Number::of(first) else {
        if first.is_nothing() {
            return Ok(Value::Null);
        }
        return refuse(format!(
            "{} is no number: '{}'",
            first.kind(),
            text_of(first)
        ));
    };
    let double = number.to_f64();
    Ok(match function {
        F::Abs | F::Round | F::Floor | F::Ceiling | F::Truncate => {
            rounded(function, number, [second, third])
        }
        F::Sign => Value::Long(match number {
            Number::Long(long) => long.signum(),
            _ if double > 0.0 => 1,
            _ if double < 0.0 => -1,
            _ => 0,
        }),
        F::Power => match Number::of(second) {
            Some(exponent) => arithmetic::power(number, exponent).to_value(),
            None => Value::Null,
        },
        F::SquareRoot => Value::Double(double.sqrt()),
        F::Exponential => Value::Double(double.exp()),
        F::Logarithm => match Number::of(second) {
            Some(base) => Value::Double(double.log(base.to_f64())),
            None => Value::Double(double.ln()),
        },
        F::Logarithm10 => Value::Double(double.log10()),
        _ => return refuse(format!("{function:?} is no function of numbers")),
    })
}

/// Rounds exactly, by decimals; of two nearest ones to the even, as C# does unless told.
fn rounded<'a>(function: Function, number: Number, arguments: [Value<'a>; 2]) -> Value<'a> {
    use rust_decimal::RoundingStrategy as R;
    let is_away = arguments
        .iter()
        .any(|one| one.as_text() == Some("AwayFromZero"));
    let digits = match arguments[0] {
        Value::Long(digits) => u32::try_from(digits.clamp(0, 28)).unwrap_or(0),
        _ => 0,
    };
    let decimal = match number {
        Number::Long(long) if function == Function::Abs => {
            return Value::Long(long.checked_abs().unwrap_or(i64::MAX));
        }
        Number::Long(long) => return Value::Long(long),
        Number::Double(double) if function == Function::Abs => return Value::Double(double.abs()),
        Number::Double(_) | Number::Decimal(_) => match number.to_decimal() {
            Some(decimal) => decimal,
            None => return number.to_value(),
        },
    };
    let result = match function {
        Function::Abs => decimal.abs(),
        Function::Floor => decimal.floor(),
        Function::Ceiling => decimal.ceil(),
        Function::Truncate => decimal.trunc(),
        _ if is_away => decimal.round_dp_with_strategy(digits, R::MidpointAwayFromZero),
        _ => decimal.round_dp_with_strategy(digits, R::MidpointNearestEven),
    };
    match number {
        Number::Decimal(_) => Value::Decimal(result),
        _ => Value::Double(Number::Decimal(result).to_f64()),
    }
}
