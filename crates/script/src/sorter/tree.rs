//! The tree of a sorter's source: what was written, with places, before it means anything.
//!
//! Made by `parser`, read by `classes`, `statements` and `expressions`.

/// The name of a type as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TypeName {
    pub(super) name: String,
    pub(super) arguments: Vec<TypeName>,
    /// How many `[]` follow.
    pub(super) ranks: usize,
    pub(super) at: usize,
}

/// A class and its members.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) base: Option<TypeName>,
    pub(super) members: Vec<Member>,
    pub(super) at: usize,
}

/// A member of a class.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) is_static: bool,
    pub(super) is_const: bool,
    pub(super) is_override: bool,
    /// What it gives, or is; of a constructor nothing.
    pub(super) type_name: Option<TypeName>,
    pub(super) kind: MemberKind,
    pub(super) at: usize,
}

/// What a member is.
#[derive(Debug)]
pub(super) enum MemberKind {
    /// A field, or a property that keeps a value.
    Field(Option<Expr>),
    /// A property that is computed.
    Property(Vec<Statement>),
    Method(Vec<Parameter>, Vec<Statement>),
    Constructor(Vec<Parameter>, Vec<Statement>),
    /// `this[int slot]`.
    Indexer(Vec<Parameter>, Vec<Statement>),
}

/// A parameter of a method.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) type_name: TypeName,
    pub(super) name: String,
}

/// A statement with its place.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) kind: StatementKind,
    pub(super) at: usize,
}

/// What a statement is.
#[derive(Clone, Debug)]
pub(super) enum StatementKind {
    Block(Vec<Statement>),
    /// Whether it is `const`; without a type, `var`.
    Local(bool, Option<TypeName>, Vec<(String, Option<Expr>, usize)>),
    Expression(Expr),
    /// Conditions with what is done, `else if` after `else if`, and what is done otherwise.
    If(Vec<(Expr, Statement)>, Option<Box<Statement>>),
    For(Vec<Statement>, Option<Expr>, Vec<Expr>, Box<Statement>),
    ForEach(Option<TypeName>, String, Expr, Box<Statement>),
    While(Expr, Box<Statement>),
    Do(Box<Statement>, Expr),
    /// Sections: labels, of which `None` is `default`, and statements.
    Switch(Expr, Vec<(Vec<Option<Expr>>, Vec<Statement>)>),
    Return(Option<Expr>),
    Throw(Expr),
    Break,
    Continue,
    Empty,
}

/// An expression with its place.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: Box<ExprKind>,
    pub(super) at: usize,
}

/// What is given to a call.
#[derive(Clone, Debug)]
pub(super) enum Given {
    Value(Expr),
    /// `out var name` and `out int name`.
    OutNew(Option<TypeName>, String, usize),
    /// `out name`.
    Out(Expr),
}

/// An element of a collection behind `new`.
#[derive(Clone, Debug)]
pub(super) enum Element {
    One(Expr),
    /// `{ key, value }`: no other may have the key.
    Add(Expr, Expr),
    /// `[key] = value`: the last one of a key counts.
    Put(Expr, Expr),
}

/// What an expression is.
#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Int(i64),
    Long(i64),
    Double(f64),
    Char(u16),
    Text(String),
    Bool(bool),
    Null,
    Interpolated(Vec<Piece>),
    Name(String),
    This,
    /// A type where a value could stand: `string.Compare`.
    Type(TypeName),
    Member(Expr, String),
    Call(Expr, Vec<Given>),
    Index(Expr, Expr),
    /// `a?.b`: the receiver, and what is done to [`ExprKind::Receiver`] when it is there.
    Safe(Expr, Expr),
    Receiver,
    New(TypeName, Vec<Given>, Vec<Element>),
    NewArray(Option<TypeName>, Option<Expr>, Option<Vec<Expr>>),
    Unary(&'static str, Expr),
    Binary(&'static str, Expr, Expr),
    /// `=`, or the operator in front of it.
    Assign(&'static str, Expr, Expr),
    /// Whether the new value is given, and whether it goes up.
    Step(bool, bool, Expr),
    Choice(Expr, Expr, Expr),
    Lambda(Vec<(Option<TypeName>, String)>, Vec<Statement>),
    Cast(TypeName, Expr),
    /// `is`, whether negated; without a type, `null`.
    Is(Expr, bool, Option<TypeName>),
    As(Expr, TypeName),
    NameOf(String),
    Throw(Expr),
}

/// A piece of an interpolated text.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(String),
    Hole(Expr),
}
