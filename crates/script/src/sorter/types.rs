//! Types of sorters: every expression has one, so that nothing runs with another meaning.
//!
//! Called by `classes`, `statements`, `expressions` and `known`.

use std::fmt;

use super::parser::{Read, refuse};
use super::tree::TypeName;

/// A type of C# as far as sorters know them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Void,
    /// Of `throw` as a value.
    Never,
    Null,
    Int,
    Long,
    Float,
    Double,
    Bool,
    Char,
    Text,
    /// `object` and `IComparable`: a value that is passed on.
    Object,
    Array(Box<Type>),
    List(Box<Type>),
    /// What can be gone over: `IEnumerable<T>`.
    Sequence(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Pair(Box<Type>, Box<Type>),
    Set(Box<Type>),
    /// A class of the source.
    Class(String),
    Function(Vec<Type>, Box<Type>),
    /// A number behind `?.`.
    Maybe(Box<Type>),
    Exception(&'static str),
    Reader,
    State,
    Entry,
    Cache,
    /// `StringComparer`
    Comparer,
    /// `StringComparison`
    Comparison,
}

/// Exceptions that sorters may throw, with what they say without a message.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "Exception",
        "System.Exception",
        "Exception of type 'System.Exception' was thrown.",
    ),
    (
        "ArgumentException",
        "System.ArgumentException",
        "Value does not fall within the expected range.",
    ),
    (
        "ArgumentNullException",
        "System.ArgumentNullException",
        "Value cannot be null.",
    ),
    (
        "ArgumentOutOfRangeException",
        "System.ArgumentOutOfRangeException",
        "Specified argument was out of the range of valid values.",
    ),
    (
        "DivideByZeroException",
        "System.DivideByZeroException",
        "Attempted to divide by zero.",
    ),
    (
        "FormatException",
        "System.FormatException",
        "One of the identified items was in an invalid format.",
    ),
    (
        "IndexOutOfRangeException",
        "System.IndexOutOfRangeException",
        "Index was outside the bounds of the array.",
    ),
    (
        "InvalidCastException",
        "System.InvalidCastException",
        "Specified cast is not valid.",
    ),
    (
        "InvalidOperationException",
        "System.InvalidOperationException",
        "Operation is not valid due to the current state of the object.",
    ),
    (
        "KeyNotFoundException",
        "System.Collections.Generic.KeyNotFoundException",
        "The given key was not present in the dictionary.",
    ),
    (
        "NotImplementedException",
        "System.NotImplementedException",
        "The method or operation is not implemented.",
    ),
    (
        "NotSupportedException",
        "System.NotSupportedException",
        "Specified method is not supported.",
    ),
    (
        "NullReferenceException",
        "System.NullReferenceException",
        "Object reference not set to an instance of an object.",
    ),
    (
        "OverflowException",
        "System.OverflowException",
        "Arithmetic operation resulted in an overflow.",
    ),
    (
        "TimeoutException",
        "System.TimeoutException",
        "The operation has timed out.",
    ),
];

/// The whole name of an exception and what it says without a message.
pub(super) fn exception(name: &str) -> Option<(&'static str, &'static str)> {
    let known = EXCEPTIONS.iter().find(|(short, ..)| *short == name);
    known.map(|(_, whole, message)| (*whole, *message))
}

impl Type {
    /// Whether it is a number or a character.
    pub(super) fn is_number(&self) -> bool {
        matches!(
            self,
            Type::Int | Type::Long | Type::Float | Type::Double | Type::Char
        )
    }

    /// Whether `null` is one of its values.
    pub(super) fn may_be_null(&self) -> bool {
        !self.is_number()
            && !matches!(
                self,
                Type::Bool | Type::Void | Type::Pair(..) | Type::Comparison
            )
    }

    /// How many `[]` follow.
    pub(super) fn ranks(&self) -> usize {
        let (mut ranks, mut of) = (0, self);
        while let Type::Array(inner) = of {
            ranks += 1;
            of = inner;
        }
        ranks
    }

    /// The type in which an operator computes with both.
    pub(super) fn common(&self, other: &Type) -> Option<Type> {
        if !self.is_number() || !other.is_number() {
            return None;
        }
        let has = |wanted: Type| *self == wanted || *other == wanted;
        Some(match () {
            () if has(Type::Double) => Type::Double,
            () if has(Type::Float) => Type::Float,
            () if has(Type::Long) => Type::Long,
            () => Type::Int,
        })
    }

    /// The value of a field or element that was given none.
    pub(super) fn default_value(&self) -> &'static str {
        match self {
            Type::Long => "0n",
            Type::Bool => "false",
            _ if self.is_number() || *self == Type::Comparison => "0",
            _ => "null",
        }
    }

    /// What `foreach` gives of it.
    pub(super) fn element(&self) -> Option<Type> {
        match self {
            Type::Array(inner) | Type::List(inner) | Type::Sequence(inner) | Type::Set(inner) => {
                Some((**inner).clone())
            }
            Type::Text => Some(Type::Char),
            Type::Map(key, value) => Some(Type::Pair(key.clone(), value.clone())),
            _ => None,
        }
    }

    /// The type that a name stands for.
    pub(super) fn resolve(written: &TypeName, classes: &[String]) -> Read<Type> {
        let mut arguments = Vec::new();
        for argument in &written.arguments {
            arguments.push(Type::resolve(argument, classes)?);
        }
        let boxed = |slot: usize| Box::new(arguments[slot].clone());
        let name = written.name.as_str();
        let plain = match (name, arguments.len()) {
            ("void", 0) => Type::Void,
            ("int" | "Int32", 0) => Type::Int,
            ("long" | "Int64", 0) => Type::Long,
            ("float" | "Single", 0) => Type::Float,
            ("double" | "Double", 0) => Type::Double,
            ("bool" | "Boolean", 0) => Type::Bool,
            ("char" | "Char", 0) => Type::Char,
            ("string" | "String", 0) => Type::Text,
            ("object" | "Object" | "IComparable", 0) => Type::Object,
            ("List" | "IList" | "IReadOnlyList", 1) => Type::List(boxed(0)),
            ("IEnumerable", 1) => Type::Sequence(boxed(0)),
            ("HashSet" | "ISet", 1) => Type::Set(boxed(0)),
            ("Dictionary" | "IDictionary" | "IReadOnlyDictionary", 2) => {
                Type::Map(boxed(0), boxed(1))
            }
            ("KeyValuePair", 2) => Type::Pair(boxed(0), boxed(1)),
            ("Comparison", 1) => Type::Function(
                vec![arguments[0].clone(), arguments[0].clone()],
                Box::new(Type::Int),
            ),
            ("Predicate", 1) => Type::Function(vec![arguments[0].clone()], Box::new(Type::Bool)),
            ("Action", _) => Type::Function(arguments, Box::new(Type::Void)),
            ("Func", 1..) => {
                let given = arguments.pop().unwrap_or(Type::Void);
                Type::Function(arguments, Box::new(given))
            }
            ("IndexReader", 0) => Type::Reader,
            ("IState", 0) => Type::State,
            ("Document", 0) => Type::Entry,
            ("StringComparer", 0) => Type::Comparer,
            ("StringComparison", 0) => Type::Comparison,
            (name, 0) if classes.iter().any(|class| class == name) => Type::Class(name.to_owned()),
            (name, 0) if exception(name).is_some() => {
                Type::Exception(exception(name).map_or("", |(whole, _)| whole))
            }
            (name, _) => {
                let message = format!("error: the type '{name}' is not known to sorters");
                return refuse(written.at, message);
            }
        };
        Ok((0..written.ranks).fold(plain, |inner, _| Type::Array(Box::new(inner))))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Void => f.write_str("void"),
            Type::Never => f.write_str("throw"),
            Type::Null => f.write_str("null"),
            Type::Int => f.write_str("int"),
            Type::Long => f.write_str("long"),
            Type::Float => f.write_str("float"),
            Type::Double => f.write_str("double"),
            Type::Bool => f.write_str("bool"),
            Type::Char => f.write_str("char"),
            Type::Text => f.write_str("string"),
            Type::Object => f.write_str("object"),
            Type::Array(inner) => write!(f, "{inner}[]"),
            Type::List(inner) => write!(f, "List<{inner}>"),
            Type::Sequence(inner) => write!(f, "IEnumerable<{inner}>"),
            Type::Map(key, value) => write!(f, "Dictionary<{key}, {value}>"),
            Type::Pair(key, value) => write!(f, "KeyValuePair<{key}, {value}>"),
            Type::Set(inner) => write!(f, "HashSet<{inner}>"),
            Type::Class(name) => f.write_str(name),
            Type::Function(..) => f.write_str("delegate"),
            Type::Maybe(inner) => write!(f, "{inner}?"),
            Type::Exception(name) => f.write_str(name),
            Type::Reader => f.write_str("IndexReader"),
            Type::State => f.write_str("IState"),
            Type::Entry => f.write_str("Document"),
            Type::Cache => f.write_str("FieldCache"),
            Type::Comparer => f.write_str("StringComparer"),
            Type::Comparison => f.write_str("StringComparison"),
        }
    }
}
