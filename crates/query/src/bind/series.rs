//! Binds queries of time series: whose series, which entries, and what is made of them.
//!
//! Called by `select`, for `timeseries(...)` and for calls of `declare timeseries`.

use jackdaw_base::number::Number;

use super::condition::Binder;
use super::filter::{Bind, constant};
use crate::error::QueryError;
use crate::fields::FieldPath;
use crate::filter::Constant;
use crate::parameters::Resolved;
use crate::series::{
    ALL, Aggregate, EntryOperand, Interpolation, Owner, Period, SeriesGrouping, SeriesKey,
    SeriesQuery, SeriesRange, TimeBound, null_time, parse_time,
};
use crate::syntax::{
    self, Argument, Call, Declaration, Expression, Path, PathPart, Query, TimeGroup, TimeRange,
    TimeSeriesQuery, Value,
};

const CLAUSE: &str = "a time series query";
/// Largest shift of times: no zone is further away.
const OFFSET_HOURS_MAX: i64 = 24;

/// Documents by the names that a time series query has for them.
type Names<'n> = Vec<(&'n str, Owner)>;

/// `timeseries(from ...)`.
pub(super) fn bind_series(
    binder: &Binder<'_, '_>,
    query: &Query,
    series: &TimeSeriesQuery,
) -> Result<SeriesQuery, QueryError> {
    let names = outer_names(binder, query);
    SeriesBinder {
        binder,
        names,
        series,
    }
    .bind()
}

/// A call of a declared time series query.
pub(super) fn bind_declared(
    binder: &Binder<'_, '_>,
    query: &Query,
    declaration: &Declaration,
    series: &TimeSeriesQuery,
    call: &Call,
) -> Result<SeriesQuery, QueryError> {
    let outer = outer_names(binder, query);
    let mut names = Names::new();
    for (name, argument) in declaration.parameters.iter().zip(&call.arguments) {
        let owner = match argument {
            Argument::Expression(Expression::Path(path)) => owner(&outer, path.as_name()),
            _ => None,
        };
        let owner = owner.ok_or_else(|| {
            QueryError::invalid(format!(
                "An argument of {}() must be the alias of the source or of a loaded document",
                call.name
            ))
        })?;
        names.push((name, owner));
    }
    names.extend(outer);
    SeriesBinder {
        binder,
        names,
        series,
    }
    .bind()
}

fn outer_names<'n>(binder: &Binder<'n, '_>, query: &'n Query) -> Names<'n> {
    let loaded = query.load.iter().enumerate();
    let loaded = loaded.map(|(slot, item)| (item.alias.as_str(), Owner::Loaded(slot)));
    let own = binder.alias.map(|alias| (alias, Owner::Document));
    own.into_iter().chain(loaded).collect()
}

fn owner(names: &Names<'_>, wanted: Option<&str>) -> Option<Owner> {
    let found = names.iter().find(|(name, _)| Some(*name) == wanted);
    found.map(|(_, owner)| *owner)
}

struct SeriesBinder<'b, 'q, 'p> {
    binder: &'b Binder<'q, 'p>,
    names: Names<'b>,
    series: &'b TimeSeriesQuery,
}

impl SeriesBinder<'_, '_, '_> {
    fn bind(&self) -> Result<SeriesQuery, QueryError> {
        let (owner, name) = self.source()?;
        let range = match &self.series.range {
            None => SeriesRange::All,
            Some(TimeRange::Between(low, high)) => {
                SeriesRange::Between(self.time(low)?, self.time(high)?)
            }
            Some(TimeRange::First(period)) => SeriesRange::First(self.period(period)?),
            Some(TimeRange::Last(period)) => SeriesRange::Last(self.period(period)?),
        };
        let bind = Bind {
            parameters: self.binder.parameters,
            clause: CLAUSE,
            operand: &|expression, beside| self.operand(expression, beside),
        };
        let condition = self.series.condition.as_ref();
        let condition = condition
            .map(|condition| bind.condition(condition))
            .transpose()?;
        let group = self.series.group_by.as_ref();
        let grouping = group.map(|group| self.grouping(group)).transpose()?;
        let aggregates = match (self.series.select.as_slice(), &grouping) {
            ([], None) => None,
            ([], Some(_)) => Some(ALL.to_vec()),
            (select, _) => {
                let aggregates = select.iter().map(|item| self.aggregate(item));
                let aggregates: Result<Vec<_>, _> = aggregates.collect();
                Some(once_each(aggregates?.into_iter().flatten())?)
            }
        };
        Ok(SeriesQuery {
            owner,
            name,
            range,
            condition,
            grouping,
            aggregates,
            scale: self.scale()?,
            offset: self.offset()?,
        })
    }

    /// Whose series, and its name.
    fn source(&self) -> Result<(Owner, String), QueryError> {
        match &self.series.from {
            Expression::Path(path) => Ok(match self.split(path) {
                Some((owner, path)) => (owner, path.as_str().to_owned()),
                None => (
                    Owner::Document,
                    FieldPath::new(path, None).as_str().to_owned(),
                ),
            }),
            Expression::Value(value) => match self.binder.parameters.resolve(value)? {
                Resolved::Text(name) => Ok((Owner::Document, name.into_owned())),
                other => Err(QueryError::invalid(format!(
                    "Expected the name of a time series, but got: {}",
                    other.shown()
                ))),
            },
            other => Err(QueryError::invalid(format!(
                "Expected the name of a time series, but got: {other}"
            ))),
        }
    }

    /// A path that begins with the name of a document, less that name.
    fn split(&self, path: &Path) -> Option<(Owner, FieldPath)> {
        let [PathPart::Name(first), _, ..] = path.parts.as_slice() else {
            return None;
        };
        let owner = owner(&self.names, Some(first))?;
        Some((owner, FieldPath::new(path, Some(first))))
    }

    fn time(&self, expression: &Expression) -> Result<TimeBound, QueryError> {
        match expression {
            Expression::Value(value) => match self.binder.parameters.resolve(value)? {
                Resolved::Null => Err(null_time()),
                Resolved::Text(text) => Ok(TimeBound::At(parse_time(&text)?)),
                // A year.
                other => Ok(TimeBound::At(parse_time(&other.shown())?)),
            },
            Expression::Path(path) => Ok(match self.split(path) {
                Some((owner, path)) => TimeBound::Field(owner, path),
                None => TimeBound::Field(Owner::Document, FieldPath::new(path, None)),
            }),
            other => Err(QueryError::invalid(format!(
                "Expected a time, but got: {other}"
            ))),
        }
    }

    fn period(&self, period: &syntax::Period) -> Result<Period, QueryError> {
        match period {
            syntax::Period::Text(text) => Period::parse(text),
            syntax::Period::Count(count, unit) => Period::of(*count, unit),
            syntax::Period::Parameter(name) => {
                let value = Value::Parameter(name.clone());
                match self.binder.parameters.resolve(&value)? {
                    Resolved::Text(text) => Period::parse(&text),
                    other => Period::parse(&other.shown()),
                }
            }
        }
    }

    fn grouping(&self, group: &TimeGroup) -> Result<SeriesGrouping, QueryError> {
        let key = match &group.key {
            None => SeriesKey::None,
            Some(path)
                if path
                    .as_name()
                    .is_some_and(|name| name.eq_ignore_ascii_case("tag")) =>
            {
                SeriesKey::Tag
            }
            Some(path) => SeriesKey::TagDocument(self.of_tag(path).ok_or_else(|| {
                QueryError::invalid(format!(
                    "Time series are grouped by tag, or by a field of the document that the tag \
                     names (load Tag as t group by '1 hour', t.Name), but got: {path}"
                ))
            })?),
        };
        let interpolation = group.with.as_ref().map(interpolation).transpose()?;
        Ok(SeriesGrouping {
            period: self.period(&group.period)?,
            key,
            interpolation,
        })
    }

    /// A path into the document that the tag names.
    fn of_tag(&self, path: &Path) -> Option<FieldPath> {
        let alias = self.series.load_tag.as_deref()?;
        match path.parts.as_slice() {
            [PathPart::Name(first), _, ..] if first == alias => {
                Some(FieldPath::new(path, Some(alias)))
            }
            _ => None,
        }
    }

    /// `None` is the count, which is always given.
    fn aggregate(&self, item: &Expression) -> Result<Option<Aggregate>, QueryError> {
        let unknown = |shown: String| {
            QueryError::Argument(format!("Unknown method in timeseries query: {shown}"))
        };
        let call = match item {
            Expression::Call(call) => call,
            Expression::Path(path) => return Err(unknown(format!("<Field>: {path}"))),
            other => return Err(unknown(other.to_string())),
        };
        if call.is("count") {
            return Ok(None);
        }
        if call.is("percentile") {
            let percent = match call.arguments.as_slice() {
                [Argument::Expression(Expression::Value(value))] => {
                    self.binder.parameters.resolve(value)?
                }
                _ => Resolved::Null,
            };
            return match percent {
                Resolved::Number(percent) if (0.0..=100.0).contains(&percent.to_f64()) => {
                    Ok(Some(Aggregate::Percentile(percent.to_f64())))
                }
                _ => Err(QueryError::Argument(
                    "percentile() takes a number from 0 to 100".to_owned(),
                )),
            };
        }
        match Aggregate::named(&call.name) {
            Some(aggregate) => Ok(Some(aggregate)),
            None => Err(unknown(call.to_string())),
        }
    }

    fn scale(&self) -> Result<Option<f64>, QueryError> {
        let Some(value) = &self.series.scale else {
            return Ok(None);
        };
        match self.binder.parameters.resolve(value)? {
            Resolved::Number(number) => Ok(Some(number.to_f64())),
            other => Err(QueryError::invalid(format!(
                "Expected a number after SCALE, but got: {}",
                other.shown()
            ))),
        }
    }

    /// `'02:00'` in milliseconds.
    fn offset(&self) -> Result<Option<i64>, QueryError> {
        let Some(value) = &self.series.offset else {
            return Ok(None);
        };
        let value = self.binder.parameters.resolve(value)?;
        let text = match &value {
            Resolved::Text(text) => text,
            _ => "",
        };
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let parts: Option<Vec<i64>> = digits.split(':').map(|part| part.parse().ok()).collect();
        match parts.as_deref() {
            Some([hours, minutes, rest @ ..])
                if (0..=OFFSET_HOURS_MAX).contains(hours)
                    && (0..60).contains(minutes)
                    && rest.len() <= 1
                    && rest.iter().all(|seconds| (0..60).contains(seconds)) =>
            {
                let seconds = (hours * 60 + minutes) * 60 + rest.first().unwrap_or(&0);
                Ok(Some(sign * seconds * 1_000))
            }
            _ => Err(QueryError::Argument(format!(
                "Expected hours and minutes after OFFSET, such as '02:00', but got: {}",
                value.shown()
            ))),
        }
    }

    fn operand(
        &self,
        expression: &Expression,
        beside: &[&Expression],
    ) -> Result<EntryOperand, QueryError> {
        match expression {
            Expression::Path(path) => self.path_operand(path),
            Expression::Value(value) => {
                let value = self.binder.parameters.resolve(value)?;
                // A time compares with the time of an entry as one.
                if let Resolved::Text(text) = &value
                    && beside.iter().any(|other| is_timestamp(other))
                {
                    let at = Number::Long(parse_time(text)?);
                    return Ok(EntryOperand::Constant(Constant::Number(at)));
                }
                Ok(EntryOperand::Constant(constant(value, CLAUSE)?))
            }
            other => Err(QueryError::invalid(format!(
                "Expected a value in {CLAUSE}, but got: {other}"
            ))),
        }
    }

    fn path_operand(&self, path: &Path) -> Result<EntryOperand, QueryError> {
        let is = |name: &str, wanted: &str| name.eq_ignore_ascii_case(wanted);
        if let Some(path) = self.of_tag(path) {
            return Ok(EntryOperand::TagDocument(path));
        }
        Ok(match path.parts.as_slice() {
            [PathPart::Name(name)] if is(name, "Tag") => EntryOperand::Tag,
            [PathPart::Name(name)] if is(name, "Timestamp") => EntryOperand::Timestamp,
            [PathPart::Name(name)] if is(name, "Value") => EntryOperand::Value(0),
            [PathPart::Name(name), PathPart::At(slot)] if is(name, "Values") => {
                EntryOperand::Value(usize::try_from(*slot).unwrap_or(usize::MAX))
            }
            _ => match self.split(path) {
                Some((owner, path)) => EntryOperand::Field(owner, path),
                None => {
                    return Err(QueryError::Argument(format!(
                        "Unknown field '{path}' in {CLAUSE}: entries have Tag, Timestamp, Value \
                         and Values[n]"
                    )));
                }
            },
        })
    }
}

fn is_timestamp(expression: &Expression) -> bool {
    let Expression::Path(path) = expression else {
        return false;
    };
    path.as_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("Timestamp"))
}

/// `interpolation(linear)`.
fn interpolation(call: &Call) -> Result<Interpolation, QueryError> {
    let name = match call.arguments.as_slice() {
        [Argument::Expression(Expression::Path(path))] if call.is("interpolation") => {
            path.as_name().unwrap_or("")
        }
        _ => "",
    };
    match name.to_ascii_lowercase().as_str() {
        "linear" => Ok(Interpolation::Linear),
        "nearest" => Ok(Interpolation::Nearest),
        "last" => Ok(Interpolation::Last),
        "next" => Ok(Interpolation::Next),
        _ => Err(QueryError::Argument(format!(
            "Expected interpolation(linear), nearest, last or next after WITH, but got: {call}"
        ))),
    }
}

/// The aggregates without those that are asked for again; results have one member of each name.
fn once_each(all: impl Iterator<Item = Aggregate>) -> Result<Vec<Aggregate>, QueryError> {
    let mut kept: Vec<Aggregate> = Vec::new();
    for aggregate in all {
        let name = aggregate.output_name();
        match kept.iter().find(|other| other.output_name() == name) {
            None => kept.push(aggregate),
            Some(same) if *same == aggregate => {}
            Some(_) => {
                let message = format!("A timeseries query can give one {name}: ask for two in two");
                return Err(QueryError::Argument(message));
            }
        }
    }
    Ok(kept)
}
