//! Prints a syntax tree as RQL that parses to an equal tree.
//!
//! Called by `Display` of [`Query`] and [`Expression`] (explanations, logs, index definitions).
//! Names are quoted only where they must be; keywords are lower case; one line.

use std::fmt::{self, Display, Formatter};

use super::lexer::{is_metadata_word, is_plain_word};
use super::parser::{RESERVED, is_one_of};
use super::tree::{
    Argument, Call, Comparison, Declaration, DeclarationBody, Direction, Expression, Join, Limit,
    NullsPlace, OrderItem, Ordering, Paging, Path, PathPart, Period, Query, Select, SelectItems,
    SelectValue, SourceName, TimeRange, TimeSeriesQuery, Value,
};

/// Words that mean something else where a path may begin.
const QUOTED_FIRST: [&str; 5] = ["not", "true", "false", "null", "distinct"];
/// Words that mean something else where a source may begin.
const QUOTED_SOURCE: [&str; 3] = ["index", "filter", "filter_limit"];

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for declaration in &self.declarations {
            write!(f, "{declaration} ")?;
        }
        f.write_str("from ")?;
        match &self.from.source {
            SourceName::Collection(name) => write!(f, "{}", Name(name))?,
            SourceName::Index(name) => write!(f, "index {}", Name(name))?,
        }
        if let Some(options) = &self.from.options {
            write!(f, " ({options})")?;
        }
        print_alias(f, self.from.alias.as_deref())?;
        print_list(f, " group by ", &self.group_by, |f, item| {
            write!(f, "{}", item.expression)?;
            print_alias(f, item.alias.as_deref())
        })?;
        if let Some(condition) = &self.condition {
            write!(f, " where {condition}")?;
        }
        print_list(f, " order by ", &self.order_by, print_order_item)?;
        print_list(f, " load ", &self.load, |f, item| {
            print_item(f, &item.expression)?;
            write!(f, " as {}{}", item.alias, if item.many { "[]" } else { "" })
        })?;
        if let Some(filter) = &self.filter {
            write!(f, " filter {filter}")?;
        }
        if let Some(select) = &self.select {
            print_select(f, select)?;
        }
        print_list(f, " include ", &self.include, |f, item| write!(f, "{item}"))?;
        if let Some(script) = &self.update {
            write!(f, " update {{{}}}", script.0)?;
        }
        print_paging(f, &self.paging)
    }
}

impl Display for Declaration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parameters = self.parameters.join(", ");
        match &self.body {
            DeclarationBody::Function(script) => {
                write!(
                    f,
                    "declare function {}({parameters}) {{{}}}",
                    self.name, script.0
                )
            }
            DeclarationBody::TimeSeries(query) => {
                write!(
                    f,
                    "declare timeseries {}({parameters}) {{ {query} }}",
                    self.name
                )
            }
        }
    }
}

impl Display for TimeSeriesQuery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("from ")?;
        print_item(f, &self.from)?;
        match &self.range {
            Some(TimeRange::Between(low, high)) => {
                f.write_str(" between ")?;
                print_item(f, low)?;
                f.write_str(" and ")?;
                print_item(f, high)?;
            }
            Some(TimeRange::First(period)) => write!(f, " first {period}")?,
            Some(TimeRange::Last(period)) => write!(f, " last {period}")?,
            None => {}
        }
        if let Some(alias) = &self.load_tag {
            write!(f, " load tag as {alias}")?;
        }
        if let Some(condition) = &self.condition {
            write!(f, " where {condition}")?;
        }
        if let Some(group) = &self.group_by {
            write!(f, " group by {}", group.period)?;
            if let Some(key) = &group.key {
                write!(f, ", {key}")?;
            }
            if let Some(with) = &group.with {
                write!(f, " with {with}")?;
            }
        }
        print_list(f, " select ", &self.select, |f, item| write!(f, "{item}"))?;
        if let Some(scale) = &self.scale {
            write!(f, " scale {scale}")?;
        }
        match &self.offset {
            Some(offset) => write!(f, " offset {offset}"),
            None => Ok(()),
        }
    }
}

impl Display for Period {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Period::Text(text) => Quoted(text).fmt(f),
            Period::Count(count, unit) => write!(f, "{count} {unit}"),
            Period::Parameter(name) => write!(f, "${name}"),
        }
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Value(value) => value.fmt(f),
            Expression::Path(path) => path.fmt(f),
            Expression::Call(call) => call.fmt(f),
            Expression::CallMember(call, path) => write!(f, "{call}.{path}"),
            Expression::Compare {
                left,
                operator,
                right,
            } => {
                write!(f, "{left} {operator} ")?;
                print_item(f, right)
            }
            Expression::Between { value, low, high } => {
                write!(f, "{value} between ")?;
                print_item(f, low)?;
                f.write_str(" and ")?;
                print_item(f, high)
            }
            Expression::In { value, all, items } => {
                write!(f, "{value} {}in (", if *all { "all " } else { "" })?;
                print_list(f, "", items, |f, item| write!(f, "{item}"))?;
                f.write_str(")")
            }
            Expression::Not(inner) => {
                f.write_str("not ")?;
                print_operand(f, inner, true)
            }
            Expression::And(operands) => print_joined(f, operands, " and ", true),
            Expression::Or(operands) => print_joined(f, operands, " or ", false),
        }
    }
}

fn print_joined(
    f: &mut Formatter<'_>,
    operands: &[Expression],
    join: &str,
    binds_tighter: bool,
) -> fmt::Result {
    for (position, operand) in operands.iter().enumerate() {
        if position > 0 {
            f.write_str(join)?;
        }
        match operand {
            Expression::And(_) => print_operand(f, operand, binds_tighter)?,
            Expression::Or(_) => print_operand(f, operand, true)?,
            _ => operand.fmt(f)?,
        }
    }
    Ok(())
}

fn print_operand(f: &mut Formatter<'_>, operand: &Expression, parentheses: bool) -> fmt::Result {
    let is_compound = matches!(
        operand,
        Expression::And(_) | Expression::Or(_) | Expression::Not(_)
    );
    if parentheses && is_compound {
        write!(f, "({operand})")
    } else {
        operand.fmt(f)
    }
}

/// Prints an expression where a string would be a literal, so that a lone path stays bare.
fn print_item(f: &mut Formatter<'_>, expression: &Expression) -> fmt::Result {
    match expression {
        Expression::Path(path) => match path.as_name() {
            Some(name) if is_bare(name) => f.write_str(name),
            _ => path.fmt(f),
        },
        _ => expression.fmt(f),
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        })
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        print_list(f, "", &self.arguments, |f, argument| {
            write!(f, "{argument}")
        })?;
        f.write_str(")")
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Expression(Expression::Path(path)) => match path.as_name() {
                Some(name) if is_bare(name) && !is_one_of(name, &["and", "or"]) => {
                    if is_one_of(name, &QUOTED_FIRST) || is_one_of(name, &RESERVED) {
                        write!(f, "({})", Quoted(name))
                    } else {
                        f.write_str(name)
                    }
                }
                // In parentheses a string is a path, not a literal.
                Some(name) => write!(f, "({})", Quoted(name)),
                None => path.fmt(f),
            },
            Argument::Expression(expression) => expression.fmt(f),
            Argument::Aliased(call, alias) => write!(f, "{call} as {}", Name(alias)),
            Argument::Join(Join::And) => f.write_str("and"),
            Argument::Join(Join::Or) => f.write_str("or"),
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (position, part) in self.parts.iter().enumerate() {
            match part {
                PathPart::Name(name) => {
                    if position > 0 {
                        f.write_str(".")?;
                    }
                    let is_soft = position == 0 && is_one_of(name, &QUOTED_FIRST);
                    match is_bare(name) && !is_soft && !is_one_of(name, &RESERVED) {
                        true => f.write_str(name)?,
                        false => Quoted(name).fmt(f)?,
                    }
                }
                PathPart::Each => f.write_str("[]")?,
                PathPart::At(slot) => write!(f, "[{slot}]")?,
            }
        }
        Ok(())
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Long(value) => write!(f, "{value}"),
            // Debug keeps a dot or an exponent, so the text stays a double.
            Value::Double(value) => write!(f, "{value:?}"),
            Value::String(value) => Quoted(value).fmt(f),
            Value::Parameter(name) => write!(f, "${name}"),
        }
    }
}

fn print_order_item(f: &mut Formatter<'_>, item: &OrderItem) -> fmt::Result {
    write!(f, "{}", item.expression)?;
    f.write_str(match item.ordering {
        Some(Ordering::String) => " as string",
        Some(Ordering::Long) => " as long",
        Some(Ordering::Double) => " as double",
        Some(Ordering::AlphaNumeric) => " as alphaNumeric",
        None => "",
    })?;
    f.write_str(match item.direction {
        Some(Direction::Ascending) => " asc",
        Some(Direction::Descending) => " desc",
        None => "",
    })?;
    f.write_str(match item.nulls {
        Some(NullsPlace::First) => " nulls first",
        Some(NullsPlace::Last) => " nulls last",
        None => "",
    })
}

fn print_select(f: &mut Formatter<'_>, select: &Select) -> fmt::Result {
    f.write_str(if select.distinct {
        " select distinct "
    } else {
        " select "
    })?;
    match &select.items {
        SelectItems::All => f.write_str("*"),
        SelectItems::Object(script) => write!(f, "{{{}}}", script.0),
        SelectItems::List(items) => print_list(f, "", items, |f, item| {
            match &item.value {
                SelectValue::Expression(expression) => print_item(f, expression)?,
                SelectValue::TimeSeries(query) => write!(f, "timeseries({query})")?,
            }
            print_alias(f, item.alias.as_deref())
        }),
    }
}

fn print_paging(f: &mut Formatter<'_>, paging: &Paging) -> fmt::Result {
    match &paging.limit {
        Some(Limit::Take(take)) => write!(f, " limit {take}")?,
        Some(Limit::SkipTake(skip, take)) => write!(f, " limit {skip}, {take}")?,
        None => {}
    }
    if let Some(offset) = &paging.offset {
        write!(f, " offset {offset}")?;
    }
    match &paging.filter_limit {
        Some(limit) => write!(f, " filter_limit {limit}"),
        None => Ok(()),
    }
}

fn print_alias(f: &mut Formatter<'_>, alias: Option<&str>) -> fmt::Result {
    match alias {
        Some(alias) => write!(f, " as {}", Name(alias)),
        None => Ok(()),
    }
}

fn print_list<T>(
    f: &mut Formatter<'_>,
    before: &str,
    items: &[T],
    print: impl Fn(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        f.write_str(if position == 0 { before } else { ", " })?;
        print(f, item)?;
    }
    Ok(())
}

/// Whether a name may stand without quotes as far as its characters go.
fn is_bare(name: &str) -> bool {
    match name.strip_prefix('@') {
        Some(word) => is_metadata_word(word),
        None => is_plain_word(name),
    }
}

/// A source or alias, quoted when it must be.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let means_other = is_one_of(self.0, &RESERVED) || is_one_of(self.0, &QUOTED_SOURCE);
        if is_bare(self.0) && !means_other {
            f.write_str(self.0)
        } else {
            Quoted(self.0).fmt(f)
        }
    }
}

/// A string literal.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        for character in self.0.chars() {
            match character {
                '\'' => f.write_str("\\'")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if u32::from(c) < 0x20 => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("'")
    }
}
