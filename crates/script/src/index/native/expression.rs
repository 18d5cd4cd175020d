//! Expressions as they are run: variables are slots, methods are known, chains are flat.
//!
//! Made by `linq`. Nesting is bounded by its parser, so recursion over expressions is too.

use std::sync::Arc;

use rust_decimal::Decimal;

/// An expression.
#[derive(Debug)]
pub(crate) enum Expression {
    Constant(Constant),
    /// A variable.
    Slot(usize),
    /// What the program goes over: a list of the one document, or the entries of a group.
    Root,
    /// The first operand, then operators with the next ones, from the left.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    /// The first that is something.
    Coalesce(Vec<Expression>),
    Not(Box<Expression>),
    Negate(Box<Expression>),
    /// Condition, value when it holds, value when not.
    Conditional(Box<[Expression; 3]>),
    Cast(Type, Box<Expression>),
    /// Members, calls and so on, from the left.
    Postfix(Box<Expression>, Vec<Suffix>),
    /// An object with these names.
    Record(Box<[Box<str>]>, Vec<Expression>),
    List(Vec<Expression>),
    /// An object of computed names.
    Dictionary(Vec<(Expression, Expression)>),
    Function(Function, Vec<Expression>),
    Recurse(Box<Expression>, Lambda),
    Query(Box<Query>),
    /// A variable for the second expression.
    Let(usize, Box<(Expression, Expression)>),
    Invoke(Arc<Routine>, Vec<Expression>),
    /// Parts of a text.
    Text(Vec<Part>),
}

/// A value that stands in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Constant {
    Null,
    Bool(bool),
    Long(i64),
    Double(f64),
    Decimal(Decimal),
    Text(Box<str>),
    /// Ticks since 1970, and whether they are of UTC.
    Date(i64, bool),
    Span(i64),
}

/// What follows a value.
#[derive(Debug)]
pub(crate) enum Suffix {
    Member(Box<str>),
    Index(Expression),
    Method(Method, Vec<Expression>),
    Sequence(Sequence, Vec<Argument>),
    /// An extension method of an additional source.
    Invoke(Arc<Routine>, Vec<Expression>),
}

/// What a method is given.
#[derive(Debug)]
pub(crate) enum Argument {
    Value(Expression),
    Lambda(Lambda),
}

/// A function inside an expression; its parameters are slots.
#[derive(Debug)]
pub(crate) struct Lambda {
    pub(crate) slots: Vec<usize>,
    pub(crate) body: Box<Expression>,
}

/// A function of an additional source. It calls no function that calls it.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) slots: Vec<usize>,
    /// Values of parameters that a call leaves out, the last ones.
    pub(crate) defaults: Vec<Option<Constant>>,
    pub(crate) body: Expression,
}

/// A query: clauses one inside the other.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) clauses: Vec<Clause>,
    pub(crate) end: QueryEnd,
}

#[derive(Debug)]
pub(crate) enum Clause {
    From(usize, Expression),
    Let(usize, Expression),
    Where(Expression),
}

#[derive(Debug)]
pub(crate) enum QueryEnd {
    Select(Expression),
    Group {
        element: Expression,
        key: Expression,
    },
}

/// A part of an interpolated text.
#[derive(Debug)]
pub(crate) enum Part {
    Text(Box<str>),
    /// A value, how wide it is at least (negative: blanks behind it), and its format.
    Value(Expression, i32, Option<Box<str>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitAnd,
    BitOr,
    BitXor,
}

/// Types that a cast or conversion may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Leaves the value as it is.
    Any,
    Bool,
    Int,
    Long,
    Double,
    Float,
    Decimal,
    Text,
    Date,
    Span,
}

/// Functions without a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    LoadDocument,
    LoadCompareExchange,
    Id,
    MetadataFor,
    AsDocument,
    CreateField,
    CreateSpatialField,
    CreateVector,
    AttachmentsFor,
    LoadAttachment,
    CounterNamesFor,
    TimeSeriesNamesFor,
    IsNullOrEmpty,
    IsNullOrWhiteSpace,
    Join,
    Format,
    Concat,
    Compare,
    Abs,
    Round,
    Floor,
    Ceiling,
    Truncate,
    Sign,
    Minimum,
    Maximum,
    Power,
    SquareRoot,
    Exponential,
    Logarithm,
    Logarithm10,
    NewDate,
    NewSpan,
    SpanFrom(SpanUnit),
    /// Converts, or gives the second argument when that cannot be done.
    Parse(Type),
    /// As it is converted by `Convert`.
    Convert(Type),
    Range,
    Repeat,
    SameText,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanUnit {
    Days,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
    Ticks,
}

/// Methods of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    ToString,
    ToLower,
    ToUpper,
    Trim,
    TrimStart,
    TrimEnd,
    Substring,
    IndexOf,
    LastIndexOf,
    Contains,
    StartsWith,
    EndsWith,
    Replace,
    Split,
    PadLeft,
    PadRight,
    Insert,
    Remove,
    ToCharArray,
    Equals,
    CompareTo,
    AddSpan(SpanUnit),
    AddMonths,
    AddYears,
    Add,
    Subtract,
    ToUniversalTime,
    GetValueOrDefault,
    ContainsKey,
    Boost,
    /// Gives the value itself: `ToLocalTime`, `AsEnumerable` and the like.
    Same,
}

/// Methods of sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    Select,
    SelectMany,
    Where,
    Any,
    All,
    Count,
    Sum,
    Min,
    Max,
    Average,
    First,
    Last,
    ElementAt,
    Distinct,
    Take,
    Skip,
    TakeWhile,
    SkipWhile,
    Reverse,
    Concat,
    Union,
    Intersect,
    Except,
    ToArray,
    OrderBy,
    OrderByDescending,
    ThenBy,
    ThenByDescending,
    GroupBy,
    Aggregate,
    DefaultIfEmpty,
    Append,
    Prepend,
    ToDictionary,
    MinBy,
    MaxBy,
    Zip,
}
