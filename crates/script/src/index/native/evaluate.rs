//! Evaluates native expressions: variables, operators, queries, calls.
//!
//! Invariants:
//! - Every list and text of a run is in its arena, so values are copied freely.
//! - Whatever repeats takes steps of the [`Budget`].

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;

use super::arithmetic;
use super::budget::Budget;
use super::convert;
use super::expression::{
    Clause, Constant, Expression, Lambda, Operator, Part, Query, QueryEnd, Routine, Suffix,
};
use super::format::format_value;
use super::value::{Date, Names, Record, Value};
use crate::host::HostError;
use crate::index::error::RunError;
use crate::index::host::IndexHost;
use crate::limits::ScriptLimits;

/// Values made at once that are charged for; fewer are part of a step.
const MANY: usize = 8;

/// What an expression gives.
pub(crate) type Outcome<'a> = Result<Value<'a>, RunError>;

/// One run of a program.
pub(crate) struct Run<'a, 'h> {
    pub(crate) arena: &'a Bump,
    pub(crate) host: &'h mut dyn IndexHost,
    pub(crate) budget: Budget<'a>,
    /// Variables.
    pub(crate) slots: &'a mut [Value<'a>],
    /// See [`Expression::Root`].
    pub(crate) root: Value<'a>,
}

/// The value of `program`, of which `slot_count` variables are used.
pub(crate) fn run<'a>(
    program: &'a Expression,
    slot_count: usize,
    root: Value<'a>,
    arena: &'a Bump,
    limits: ScriptLimits,
    host: &mut dyn IndexHost,
) -> Outcome<'a> {
    let slots = arena.alloc_slice_fill_copy(slot_count, Value::Missing);
    let mut run = Run {
        arena,
        host,
        budget: Budget::new(limits, arena),
        slots,
        root,
    };
    let results = run.value(program)?;
    // What is written out may be longer than what was made: parts may stand in it often.
    run.weigh(results, limits.memory_bytes_max)?;
    Ok(results)
}

/// The document fails with this message.
#[cold]
pub(crate) fn refuse<T>(message: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Document(message.into()))
}

impl From<HostError> for RunError {
    fn from(error: HostError) -> RunError {
        match error {
            HostError::Refused(message) => RunError::Document(message),
            HostError::Failed(error) => RunError::Fatal(error),
        }
    }
}

impl<'a> Run<'a, '_> {
    /// The value of an expression.
    pub(crate) fn value(&mut self, expression: &'a Expression) -> Outcome<'a> {
        match expression {
            Expression::Slot(slot) => Ok(self.slots.get(*slot).copied().unwrap_or(Value::Null)),
            Expression::Constant(constant) => Ok(of_constant(constant)),
            Expression::Root => Ok(self.root),
            Expression::Postfix(base, suffixes) => self.postfix(base, suffixes),
            Expression::Record(names, values) => self.record(names, values),
            Expression::Chain(first, rest) => self.chain(first, rest),
            Expression::And(list) => self.all_of(list),
            Expression::Or(list) => self.any_of(list),
            Expression::Coalesce(list) => self.coalesce(list),
            Expression::Not(operand) => {
                let value = self.value(operand)?;
                Ok(Value::Bool(!value.is_true()))
            }
            Expression::Negate(operand) => {
                let value = self.value(operand)?;
                let negated = arithmetic::operate(Operator::Subtract, Value::Long(0), value);
                match value {
                    Value::Span(ticks) => Ok(Value::Span(ticks.saturating_neg())),
                    _ => negated.or_else(refuse),
                }
            }
            Expression::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                match self.value(condition)?.is_true() {
                    true => self.value(then),
                    false => self.value(otherwise),
                }
            }
            Expression::Cast(target, operand) => {
                let value = self.value(operand)?;
                convert::cast(value, *target, self.arena).or_else(refuse)
            }
            Expression::List(items) => {
                let items = self.values(items)?;
                Ok(Value::List(items))
            }
            Expression::Dictionary(entries) => self.dictionary(entries),
            Expression::Function(function, arguments) => {
                let arguments = self.values(arguments)?;
                self.function(*function, arguments)
            }
            Expression::Recurse(start, step) => self.recurse(start, step),
            Expression::Query(query) => self.query(query),
            Expression::Let(slot, both) => {
                let value = self.value(&both.0)?;
                self.set(*slot, value);
                self.value(&both.1)
            }
            Expression::Invoke(routine, arguments) => {
                let arguments = self.values(arguments)?;
                self.invoke(routine, arguments)
            }
            Expression::Text(parts) => self.text_of_parts(parts),
        }
    }

    /// The values of some expressions, in the arena.
    pub(crate) fn values(
        &mut self,
        expressions: &'a [Expression],
    ) -> Result<&'a [Value<'a>], RunError> {
        if expressions.len() >= MANY {
            self.charge(expressions.len() * std::mem::size_of::<Value<'_>>())?;
        }
        let mut values = ArenaVec::with_capacity_in(expressions.len(), self.arena);
        for expression in expressions {
            values.push(self.value(expression)?);
        }
        Ok(values.into_bump_slice())
    }

    pub(crate) fn set(&mut self, slot: usize, value: Value<'a>) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = value;
        }
    }

    /// The value of a function inside an expression.
    pub(crate) fn apply(&mut self, lambda: &'a Lambda, arguments: &[Value<'a>]) -> Outcome<'a> {
        self.step()?;
        for (slot, argument) in lambda.slots.iter().zip(arguments) {
            self.set(*slot, *argument);
        }
        self.value(&lambda.body)
    }

    pub(crate) fn step(&mut self) -> Result<(), RunError> {
        self.budget.step(&mut *self.host)
    }

    /// Takes the steps of going through, or making, so many bytes.
    pub(crate) fn charge(&mut self, len_bytes: usize) -> Result<(), RunError> {
        self.budget.charge(len_bytes, &mut *self.host)
    }

    /// A text that was made, in the arena.
    pub(crate) fn text(&mut self, text: &str) -> Outcome<'a> {
        self.charge(text.len())?;
        Ok(Value::Text(self.arena.alloc_str(text)))
    }

    /// A list that was made, in the arena.
    pub(crate) fn list(&mut self, items: &[Value<'a>]) -> Outcome<'a> {
        self.charge(std::mem::size_of_val(items))?;
        Ok(Value::List(self.arena.alloc_slice_copy(items)))
    }

    pub(crate) fn invoke(&mut self, routine: &'a Routine, arguments: &[Value<'a>]) -> Outcome<'a> {
        self.step()?;
        for (at, slot) in routine.slots.iter().enumerate() {
            let value = match (arguments.get(at), routine.defaults.get(at)) {
                (Some(value), _) => *value,
                (None, Some(Some(default))) => of_constant(default),
                _ => Value::Missing,
            };
            self.set(*slot, value);
        }
        self.value(&routine.body)
    }

    fn postfix(&mut self, base: &'a Expression, suffixes: &'a [Suffix]) -> Outcome<'a> {
        let mut value = self.value(base)?;
        for suffix in suffixes {
            value = match suffix {
                Suffix::Member(name) => self.member(value, name)?,
                Suffix::Index(index) => {
                    let index = self.value(index)?;
                    self.element(value, index)?
                }
                Suffix::Method(method, arguments) => {
                    let arguments = self.values(arguments)?;
                    self.method(*method, value, arguments)?
                }
                Suffix::Sequence(method, arguments) => self.sequence(*method, value, arguments)?,
                Suffix::Invoke(routine, arguments) => {
                    let mut all = ArenaVec::with_capacity_in(arguments.len() + 1, self.arena);
                    all.push(value);
                    for argument in arguments {
                        all.push(self.value(argument)?);
                    }
                    self.invoke(routine, &all)?
                }
            };
        }
        Ok(value)
    }

    fn record(&mut self, names: &'a [Box<str>], values: &'a [Expression]) -> Outcome<'a> {
        let values = self.values(values)?;
        let names = Names::Known(names);
        Ok(Value::Record(Record { names, values }))
    }

    fn dictionary(&mut self, entries: &'a [(Expression, Expression)]) -> Outcome<'a> {
        let mut names = ArenaVec::new_in(self.arena);
        let mut values = ArenaVec::new_in(self.arena);
        for (key, value) in entries {
            let key = self.value(key)?;
            let key = self.plain(key)?;
            let name: &'a str = self.arena.alloc_str(&key);
            names.push(name);
            values.push(self.value(value)?);
        }
        let record = Record::made(names.into_bump_slice(), values.into_bump_slice());
        Ok(Value::Record(record))
    }

    fn chain(&mut self, first: &'a Expression, rest: &'a [(Operator, Expression)]) -> Outcome<'a> {
        let mut value = self.value(first)?;
        for (operator, operand) in rest {
            let operand = self.value(operand)?;
            value = self.operate(*operator, value, operand)?;
        }
        Ok(value)
    }

    pub(crate) fn operate(
        &mut self,
        operator: Operator,
        left: Value<'a>,
        right: Value<'a>,
    ) -> Outcome<'a> {
        let has_text = matches!(left, Value::Text(_)) || matches!(right, Value::Text(_));
        if operator == Operator::Add && has_text {
            let is_time = |value| matches!(value, Value::Date(_) | Value::Span(_));
            if !(is_time(left) || is_time(right))
                || arithmetic::operate(operator, left, right).is_err()
            {
                return self.concatenate(left, right);
            }
        }
        self.weigh(left, usize::MAX)?;
        self.weigh(right, usize::MAX)?;
        arithmetic::operate(operator, left, right).or_else(refuse)
    }

    fn concatenate(&mut self, left: Value<'a>, right: Value<'a>) -> Outcome<'a> {
        let (left, right) = match (left, right) {
            (Value::Text(left), Value::Text(right)) => {
                self.charge(left.len() + right.len())?;
                let mut both = bumpalo::collections::String::with_capacity_in(
                    left.len() + right.len(),
                    self.arena,
                );
                both.push_str(left);
                both.push_str(right);
                return Ok(Value::Text(both.into_bump_str()));
            }
            (left, right) => (self.plain(left)?, self.plain(right)?),
        };
        self.text(&(left + &right))
    }

    fn all_of(&mut self, list: &'a [Expression]) -> Outcome<'a> {
        for condition in list {
            if !self.value(condition)?.is_true() {
                return Ok(Value::Bool(false));
            }
        }
        Ok(Value::Bool(true))
    }

    fn any_of(&mut self, list: &'a [Expression]) -> Outcome<'a> {
        for condition in list {
            if self.value(condition)?.is_true() {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }

    fn coalesce(&mut self, list: &'a [Expression]) -> Outcome<'a> {
        let mut value = Value::Null;
        for one in list {
            value = self.value(one)?;
            if !value.is_nothing() {
                break;
            }
        }
        Ok(value)
    }

    /// Everything that `step` reaches from `start`, `start` first, each once.
    fn recurse(&mut self, start: &'a Expression, step: &'a Lambda) -> Outcome<'a> {
        let start = self.value(start)?;
        let mut found: Vec<Value<'a>> = Vec::new();
        let mut known = super::sequences::Known::default();
        let mut open = vec![start];
        while let Some(value) = open.pop() {
            self.weigh(value, usize::MAX)?;
            if value.is_nothing() || !known.insert(value) {
                continue;
            }
            found.push(value);
            let next = self.apply(step, &[value])?;
            match next {
                Value::Array(_) | Value::List(_) => {
                    let items = self.items(next)?;
                    open.extend(items.iter().rev());
                }
                other => open.push(other),
            }
        }
        self.list(&found)
    }

    fn query(&mut self, query: &'a Query) -> Outcome<'a> {
        let mut results: Vec<Value<'a>> = Vec::new();
        // Keys and elements, when they are grouped at the end.
        let mut keys: Vec<Value<'a>> = Vec::new();
        self.clauses(&query.clauses, &query.end, &mut results, &mut keys)?;
        match query.end {
            QueryEnd::Select(_) => self.list(&results),
            QueryEnd::Group { .. } => self.groups(&keys, &results),
        }
    }

    /// Runs the clauses that are left. Recursion is as deep as there are clauses.
    fn clauses(
        &mut self,
        clauses: &'a [Clause],
        end: &'a QueryEnd,
        results: &mut Vec<Value<'a>>,
        keys: &mut Vec<Value<'a>>,
    ) -> Result<(), RunError> {
        let Some((clause, rest)) = clauses.split_first() else {
            match end {
                QueryEnd::Select(result) => results.push(self.value(result)?),
                QueryEnd::Group { element, key } => {
                    results.push(self.value(element)?);
                    keys.push(self.value(key)?);
                }
            }
            return Ok(());
        };
        match clause {
            Clause::From(slot, source) => {
                let source = self.value(source)?;
                for item in self.items(source)? {
                    self.step()?;
                    self.set(*slot, *item);
                    self.clauses(rest, end, results, keys)?;
                }
                Ok(())
            }
            Clause::Let(slot, value) => {
                let value = self.value(value)?;
                self.set(*slot, value);
                self.clauses(rest, end, results, keys)
            }
            Clause::Where(condition) => match self.value(condition)?.is_true() {
                true => self.clauses(rest, end, results, keys),
                false => Ok(()),
            },
        }
    }

    fn text_of_parts(&mut self, parts: &'a [Part]) -> Outcome<'a> {
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Value(value, width, format) => {
                    let value = self.value(value)?;
                    self.push_formatted(value, *width, format.as_deref(), &mut text)?;
                }
            }
        }
        self.text(&text)
    }

    /// Appends a value at least `width` wide; negative: blanks behind it.
    pub(crate) fn push_formatted(
        &mut self,
        value: Value<'a>,
        width: i32,
        format: Option<&str>,
        text: &mut String,
    ) -> Result<(), RunError> {
        let formatted = match format {
            None => self.plain(value)?,
            Some(format) => match format_value(value, format) {
                Some(text) => text,
                None => return refuse(format!("{} has no format '{format}'", value.kind())),
            },
        };
        self.charge(formatted.len() + width.unsigned_abs() as usize)?;
        let blanks = (width.unsigned_abs() as usize).saturating_sub(formatted.chars().count());
        if width > 0 {
            text.extend(std::iter::repeat_n(' ', blanks));
        }
        text.push_str(&formatted);
        if width < 0 {
            text.extend(std::iter::repeat_n(' ', blanks));
        }
        Ok(())
    }
}

pub(crate) fn of_constant(constant: &Constant) -> Value<'_> {
    match constant {
        Constant::Null => Value::Null,
        Constant::Bool(is_true) => Value::Bool(*is_true),
        Constant::Long(long) => Value::Long(*long),
        Constant::Double(double) => Value::Double(*double),
        Constant::Decimal(decimal) => Value::Decimal(*decimal),
        Constant::Text(text) => Value::Text(text),
        Constant::Date(ticks, is_utc) => Value::Date(Date {
            ticks: *ticks,
            is_utc: *is_utc,
        }),
        Constant::Span(ticks) => Value::Span(*ticks),
    }
}
