//! Syntax tree of RQL: what was written, nothing resolved.
//!
//! Built by `parser`, printed by `print`, given a meaning by `bind`. Scripts stay text. Chains of
//! `and` and of `or` are flat lists, so the depth of a tree is bounded by the nesting of
//! parentheses, `not` and calls ([`DEPTH_MAX`](super::DEPTH_MAX)), not by the number of clauses.
//!
//! Invariant: `parse(&query.to_string())` gives an equal tree.

/// A whole query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// `declare function` and `declare timeseries`, in written order.
    pub declarations: Vec<Declaration>,
    /// The source.
    pub from: From,
    /// Items of `group by`; empty without the clause.
    pub group_by: Vec<GroupItem>,
    /// The `where` condition.
    pub condition: Option<Expression>,
    /// Items of `order by`; empty without the clause.
    pub order_by: Vec<OrderItem>,
    /// Items of `load`; empty without the clause.
    pub load: Vec<LoadItem>,
    /// The `filter` condition.
    pub filter: Option<Expression>,
    /// The projection.
    pub select: Option<Select>,
    /// Items of `include`; empty without the clause.
    pub include: Vec<Expression>,
    /// Body of `update`, without its braces.
    pub update: Option<Script>,
    /// `limit`, `offset` and `filter_limit`.
    pub paging: Paging,
}

/// A declared function or time series query.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Name, case-sensitive.
    pub name: String,
    /// Parameter names.
    pub parameters: Vec<String>,
    /// What the name stands for.
    pub body: DeclarationBody,
}

/// Body of a [`Declaration`].
#[derive(Clone, Debug, PartialEq)]
pub enum DeclarationBody {
    /// JavaScript, without its braces.
    Function(Script),
    /// A time series query.
    TimeSeries(Box<TimeSeriesQuery>),
}

/// JavaScript text between (and without) its outer braces, byte for byte as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script(pub String);

/// The `from` clause.
#[derive(Clone, Debug, PartialEq)]
pub struct From {
    /// What is read.
    pub source: SourceName,
    /// Expression in parentheses after the collection (`Users(Revisions = true)`).
    pub options: Option<Box<Expression>>,
    /// Name that paths may be prefixed with.
    pub alias: Option<String>,
}

/// What a query reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceName {
    /// A collection; `@all_docs` and `@empty` included.
    Collection(String),
    /// An index.
    Index(String),
}

/// One key of `group by`.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupItem {
    /// A path, `array(path)`, or a value.
    pub expression: Expression,
    /// Output name.
    pub alias: Option<String>,
}

/// One key of `order by`.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// A path or a call.
    pub expression: Expression,
    /// `as string` and so on.
    pub ordering: Option<Ordering>,
    /// Direction, when written.
    pub direction: Option<Direction>,
    /// `nulls first` or `nulls last`, when written.
    pub nulls: Option<NullsPlace>,
}

/// How values of an order key compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering {
    /// By lower-cased text.
    String,
    /// By number.
    Long,
    /// By number.
    Double,
    /// By text in which runs of digits compare as numbers.
    AlphaNumeric,
}

/// Direction of an order key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Small to large.
    Ascending,
    /// Large to small.
    Descending,
}

/// Where documents without a value go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullsPlace {
    /// Before all others, in either direction.
    First,
    /// After all others, in either direction.
    Last,
}

/// One item of `load`.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadItem {
    /// Path or value holding the document ids.
    pub expression: Expression,
    /// Name of the loaded document.
    pub alias: String,
    /// Whether the name was marked `[]`.
    pub many: bool,
}

/// The `select` clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Whether equal rows are given once.
    pub distinct: bool,
    /// What a row holds.
    pub items: SelectItems,
}

/// What a row of the result holds.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItems {
    /// `*`: the whole document.
    All,
    /// A JavaScript object literal, without its braces.
    Object(Script),
    /// Fields, calls, values and time series.
    List(Vec<SelectItem>),
}

/// One field of a projection.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectItem {
    /// Where the value comes from.
    pub value: SelectValue,
    /// Output name.
    pub alias: Option<String>,
}

/// Source of a projected field.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectValue {
    /// A path, call or value.
    Expression(Expression),
    /// `timeseries(from ...)`.
    TimeSeries(Box<TimeSeriesQuery>),
}

/// `limit`, `offset`, `filter_limit`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paging {
    /// `limit`.
    pub limit: Option<Limit>,
    /// `offset`.
    pub offset: Option<Value>,
    /// `filter_limit`.
    pub filter_limit: Option<Value>,
}

/// The two forms of `limit`.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// `limit take`.
    Take(Value),
    /// `limit skip, take`.
    SkipTake(Value, Value),
}

/// An expression. The parser restricts which form may stand where; `bind` checks the rest.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A literal or parameter.
    Value(Value),
    /// A document or index field.
    Path(Path),
    /// A method call.
    Call(Call),
    /// `call().path`.
    CallMember(Call, Path),
    /// `left operator right`.
    Compare {
        /// Path, call, or (inside `when`) parameter.
        left: Box<Expression>,
        /// The comparison.
        operator: Comparison,
        /// Value, call, or path.
        right: Box<Expression>,
    },
    /// `value between low and high`.
    Between {
        /// Path or call.
        value: Box<Expression>,
        /// Inclusive lower end.
        low: Box<Expression>,
        /// Inclusive upper end.
        high: Box<Expression>,
    },
    /// `value in (items)` and `value all in (items)`.
    In {
        /// Path, call, or (inside `when`) parameter.
        value: Box<Expression>,
        /// Whether every item must be present.
        all: bool,
        /// Literals and parameters.
        items: Vec<Value>,
    },
    /// `not operand`.
    Not(Box<Expression>),
    /// Two or more operands that must all hold.
    And(Vec<Expression>),
    /// Two or more operands of which one must hold.
    Or(Vec<Expression>),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=` or `==`.
    Equal,
    /// `!=` or `<>`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

/// A method call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Name as written, parts joined by dots (`spatial.within`).
    pub name: String,
    /// Arguments.
    pub arguments: Vec<Argument>,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Anything that has a value.
    Expression(Expression),
    /// A call with a name (`sum(Price) as Total`, in facets).
    Aliased(Call, String),
    /// The bare word `and` or `or`, third argument of `search`.
    Join(Join),
}

/// The word that joins the terms of `search`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Every term.
    And,
    /// Any term.
    Or,
}

/// A path into a document, or the name of an index field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// Parts, at least one; the first is a [`PathPart::Name`].
    pub parts: Vec<PathPart>,
}

/// A part of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathPart {
    /// A property.
    Name(String),
    /// `[]`: every element.
    Each,
    /// `[n]`: one element.
    At(u32),
}

/// A literal or parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without a dot or exponent that fits 64 bits.
    Long(i64),
    /// Any other number; finite.
    Double(f64),
    /// A quoted string, escapes resolved.
    String(String),
    /// `$name`, without the dollar sign.
    Parameter(String),
}

/// A time series query.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSeriesQuery {
    /// Path or name of the series.
    pub from: Expression,
    /// Part of the series that is read.
    pub range: Option<TimeRange>,
    /// Alias of the document named by the tag (`load Tag as x`).
    pub load_tag: Option<String>,
    /// Condition on entries.
    pub condition: Option<Expression>,
    /// Buckets.
    pub group_by: Option<TimeGroup>,
    /// Aggregates; empty without the clause.
    pub select: Vec<Expression>,
    /// Factor of the output values.
    pub scale: Option<Value>,
    /// Shift of the output times.
    pub offset: Option<Value>,
}

/// Part of a time series.
#[derive(Clone, Debug, PartialEq)]
pub enum TimeRange {
    /// `between low and high`, both inclusive.
    Between(Expression, Expression),
    /// `first 3 days`.
    First(Period),
    /// `last 3 days`.
    Last(Period),
}

/// A span of time as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Period {
    /// `'1 hour'`.
    Text(String),
    /// `1h`, `3 days`.
    Count(i64, String),
    /// `$period`.
    Parameter(String),
}

/// Buckets of a time series query.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeGroup {
    /// Width of a bucket.
    pub period: Period,
    /// Second key: `tag`, or a property of the loaded tag document.
    pub key: Option<Path>,
    /// `with interpolation(...)`.
    pub with: Option<Call>,
}

impl Query {
    /// The declared functions as JavaScript, in written order.
    pub fn functions(&self) -> String {
        let functions = self.declarations.iter().filter_map(|declaration| {
            let DeclarationBody::Function(script) = &declaration.body else {
                return None;
            };
            let (name, parameters) = (&declaration.name, declaration.parameters.join(", "));
            Some(format!("function {name}({parameters}) {{{}}}\n", script.0))
        });
        functions.collect()
    }
}

impl Path {
    /// A path of one property.
    pub fn name(name: impl Into<String>) -> Path {
        Path {
            parts: vec![PathPart::Name(name.into())],
        }
    }

    /// The property name when the path is just one.
    pub fn as_name(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [PathPart::Name(name)] => Some(name),
            _ => None,
        }
    }
}

impl Call {
    /// Whether the method has this name (built-in names ignore case).
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}
