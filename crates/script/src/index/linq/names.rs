//! Names of C# that the compiler knows: methods, static functions, types.

use crate::index::native::{Function, Method, Sequence, SpanUnit, Type};

/// A method that a call `value.Name(..)` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Called {
    Method(Method),
    Sequence(Sequence),
}

/// The method called `name`.
pub(super) fn method(name: &str) -> Option<Called> {
    use Sequence as S;
    let sequence = match name {
        "Select" => S::Select,
        "SelectMany" => S::SelectMany,
        "Where" => S::Where,
        "Any" => S::Any,
        "All" => S::All,
        "Count" | "LongCount" => S::Count,
        "Sum" => S::Sum,
        "Min" => S::Min,
        "Max" => S::Max,
        "Average" => S::Average,
        "First" | "FirstOrDefault" | "Single" | "SingleOrDefault" => S::First,
        "Last" | "LastOrDefault" => S::Last,
        "ElementAt" | "ElementAtOrDefault" => S::ElementAt,
        "Distinct" | "DistinctBy" => S::Distinct,
        "Take" => S::Take,
        "Skip" => S::Skip,
        "TakeWhile" => S::TakeWhile,
        "SkipWhile" => S::SkipWhile,
        "Reverse" => S::Reverse,
        "Concat" => S::Concat,
        "Union" => S::Union,
        "Intersect" => S::Intersect,
        "Except" => S::Except,
        "ToArray" | "ToList" | "ToHashSet" | "AsEnumerable" | "Cast" | "OfType" => S::ToArray,
        "OrderBy" => S::OrderBy,
        "OrderByDescending" => S::OrderByDescending,
        "ThenBy" => S::ThenBy,
        "ThenByDescending" => S::ThenByDescending,
        "GroupBy" => S::GroupBy,
        "Aggregate" => S::Aggregate,
        "DefaultIfEmpty" => S::DefaultIfEmpty,
        "Append" => S::Append,
        "Prepend" => S::Prepend,
        "ToDictionary" => S::ToDictionary,
        "MinBy" => S::MinBy,
        "MaxBy" => S::MaxBy,
        "Zip" => S::Zip,
        _ => return value_method(name).map(Called::Method),
    };
    Some(Called::Sequence(sequence))
}

fn value_method(name: &str) -> Option<Method> {
    use Method as M;
    Some(match name {
        "ToString" => M::ToString,
        "ToLower" | "ToLowerInvariant" => M::ToLower,
        "ToUpper" | "ToUpperInvariant" => M::ToUpper,
        "Trim" => M::Trim,
        "TrimStart" => M::TrimStart,
        "TrimEnd" => M::TrimEnd,
        "Substring" => M::Substring,
        "IndexOf" => M::IndexOf,
        "LastIndexOf" => M::LastIndexOf,
        "Contains" => M::Contains,
        "StartsWith" => M::StartsWith,
        "EndsWith" => M::EndsWith,
        "Replace" => M::Replace,
        "Split" => M::Split,
        "PadLeft" => M::PadLeft,
        "PadRight" => M::PadRight,
        "Insert" => M::Insert,
        "Remove" => M::Remove,
        "ToCharArray" => M::ToCharArray,
        "Equals" => M::Equals,
        "CompareTo" => M::CompareTo,
        "AddDays" => M::AddSpan(SpanUnit::Days),
        "AddHours" => M::AddSpan(SpanUnit::Hours),
        "AddMinutes" => M::AddSpan(SpanUnit::Minutes),
        "AddSeconds" => M::AddSpan(SpanUnit::Seconds),
        "AddMilliseconds" => M::AddSpan(SpanUnit::Milliseconds),
        "AddTicks" => M::AddSpan(SpanUnit::Ticks),
        "AddMonths" => M::AddMonths,
        "AddYears" => M::AddYears,
        "Add" => M::Add,
        "Subtract" => M::Subtract,
        "ToUniversalTime" => M::ToUniversalTime,
        "GetValueOrDefault" => M::GetValueOrDefault,
        "ContainsKey" => M::ContainsKey,
        "Boost" => M::Boost,
        _ => return None,
    })
}

/// A function of the index, as `this.Name(..)` or `Name(..)`. The last is how many arguments it
/// may have.
pub(super) fn index_function(name: &str) -> Option<(Function, std::ops::RangeInclusive<usize>)> {
    use Function as F;
    Some(match name {
        "LoadDocument" => (F::LoadDocument, 1..=2),
        "LoadCompareExchangeValue" => (F::LoadCompareExchange, 1..=1),
        "Id" => (F::Id, 1..=1),
        "MetadataFor" => (F::MetadataFor, 1..=1),
        "AsDocument" | "AsJson" => (F::AsDocument, 1..=1),
        "CreateField" => (F::CreateField, 2..=4),
        "CreateSpatialField" | "SpatialGenerate" => (F::CreateSpatialField, 1..=3),
        "CreateVector" => (F::CreateVector, 1..=1),
        "AttachmentsFor" | "LoadAttachments" => (F::AttachmentsFor, 1..=1),
        "LoadAttachment" => (F::LoadAttachment, 2..=2),
        "CounterNamesFor" => (F::CounterNamesFor, 1..=1),
        "TimeSeriesNamesFor" => (F::TimeSeriesNamesFor, 1..=1),
        "ParseInt" => (F::Parse(Type::Int), 1..=2),
        "ParseLong" => (F::Parse(Type::Long), 1..=2),
        "ParseDouble" => (F::Parse(Type::Double), 1..=2),
        "ParseDecimal" => (F::Parse(Type::Decimal), 1..=2),
        "ParseShort" => (F::Parse(Type::Int), 1..=2),
        _ => return None,
    })
}

/// A static function `Class.Name(..)`.
pub(super) fn static_function(class: &str, name: &str) -> Option<Function> {
    use Function as F;
    if let Some(target) = type_called(class)
        && name == "Parse"
        && target != Type::Any
    {
        return Some(F::Convert(target));
    }
    Some(match (class, name) {
        ("string" | "String", "IsNullOrEmpty") => F::IsNullOrEmpty,
        ("string" | "String", "IsNullOrWhiteSpace") => F::IsNullOrWhiteSpace,
        ("string" | "String", "Join") => F::Join,
        ("string" | "String", "Format") => F::Format,
        ("string" | "String", "Concat") => F::Concat,
        ("string" | "String", "Compare" | "CompareOrdinal") => F::Compare,
        ("string" | "String" | "object" | "Object", "Equals") => F::SameText,
        ("Math", "Abs") => F::Abs,
        ("Math", "Round") | ("decimal" | "Decimal", "Round") => F::Round,
        ("Math", "Floor") | ("decimal" | "Decimal", "Floor") => F::Floor,
        ("Math", "Ceiling") | ("decimal" | "Decimal", "Ceiling") => F::Ceiling,
        ("Math", "Truncate") | ("decimal" | "Decimal", "Truncate") => F::Truncate,
        ("Math", "Sign") => F::Sign,
        ("Math", "Min") => F::Minimum,
        ("Math", "Max") => F::Maximum,
        ("Math", "Pow") => F::Power,
        ("Math", "Sqrt") => F::SquareRoot,
        ("Math", "Exp") => F::Exponential,
        ("Math", "Log") => F::Logarithm,
        ("Math", "Log10") => F::Logarithm10,
        ("TimeSpan", "FromDays") => F::SpanFrom(SpanUnit::Days),
        ("TimeSpan", "FromHours") => F::SpanFrom(SpanUnit::Hours),
        ("TimeSpan", "FromMinutes") => F::SpanFrom(SpanUnit::Minutes),
        ("TimeSpan", "FromSeconds") => F::SpanFrom(SpanUnit::Seconds),
        ("TimeSpan", "FromMilliseconds") => F::SpanFrom(SpanUnit::Milliseconds),
        ("TimeSpan", "FromTicks") => F::SpanFrom(SpanUnit::Ticks),
        ("Convert", "ToInt32" | "ToInt16" | "ToByte") => F::Convert(Type::Int),
        ("Convert", "ToInt64") => F::Convert(Type::Long),
        ("Convert", "ToDouble") => F::Convert(Type::Double),
        ("Convert", "ToSingle") => F::Convert(Type::Float),
        ("Convert", "ToDecimal") => F::Convert(Type::Decimal),
        ("Convert", "ToString") => F::Convert(Type::Text),
        ("Convert", "ToBoolean") => F::Convert(Type::Bool),
        ("Convert", "ToDateTime") => F::Convert(Type::Date),
        ("Enumerable", "Range") => F::Range,
        ("Enumerable", "Repeat") => F::Repeat,
        ("SpatialIndex", "Generate") => F::CreateSpatialField,
        _ => return None,
    })
}

/// The type called `name`; [`Type::Any`] for those that say nothing of the value.
pub(super) fn type_called(name: &str) -> Option<Type> {
    Some(match name {
        "bool" | "Boolean" => Type::Bool,
        "int" | "short" | "byte" | "uint" | "ushort" | "sbyte" | "Int32" | "Int16" | "Byte"
        | "UInt32" => Type::Int,
        "long" | "ulong" | "Int64" | "UInt64" => Type::Long,
        "double" | "Double" => Type::Double,
        "float" | "Single" => Type::Float,
        "decimal" | "Decimal" => Type::Decimal,
        "string" | "String" | "char" | "Char" => Type::Text,
        "DateTime" | "DateTimeOffset" => Type::Date,
        "TimeSpan" => Type::Span,
        "object"
        | "Object"
        | "dynamic"
        | "var"
        | "IEnumerable"
        | "IList"
        | "List"
        | "ICollection"
        | "IDictionary"
        | "Dictionary"
        | "Func"
        | "Expression"
        | "IGrouping"
        | "HashSet"
        | "KeyValuePair"
        | "DynamicArray"
        | "DynamicBlittableJson"
        | "IReadOnlyList"
        | "BlittableJsonReaderObject"
        | "Guid"
        | "Enum" => Type::Any,
        _ => return None,
    })
}

/// Classes whose members are functions or constants here.
pub(super) fn is_class(name: &str) -> bool {
    type_called(name).is_some_and(|target| target != Type::Any)
        || matches!(
            name,
            "Math"
                | "Enumerable"
                | "Convert"
                | "FieldStorage"
                | "FieldIndexing"
                | "SpatialIndex"
                | "FieldTermVector"
                | "StringComparison"
                | "StringSplitOptions"
                | "MidpointRounding"
                | "CultureInfo"
                | "DateTimeKind"
                | "DynamicEnumerable"
                | "StringComparer"
                | "object"
                | "Object"
        )
}
