//! What sorters find of the library: members of texts, numbers, collections, and of Lucene.
//!
//! Called by `members`. A row of a table is one overload; the first that takes what is given
//! counts.
//!
//! Letters of types: `s` string, `i` int, `l` long, `f` float, `d` double, `c` char, `b` bool,
//! `k` StringComparison, `S` string[], `C` char[], `Q` IEnumerable of strings, `E` Document,
//! `t` IState, `v` nothing.

use super::classes::Translator;
use super::expressions::{Value, value};
use super::parser::{Read, refuse};
use super::tree::Given;
use super::types::Type;

/// Name, what it takes, what it gives, the helper of the prelude or `Math`.
type Row = (&'static str, &'static str, char, &'static str);

const TEXT: &[Row] = &[
    ("Substring", "i", 's', "S.cut"),
    ("Substring", "ii", 's', "S.part"),
    ("IndexOf", "c", 'i', "S.findLetter"),
    ("IndexOf", "ci", 'i', "S.findLetterFrom"),
    ("IndexOf", "s", 'i', "S.find"),
    ("IndexOf", "si", 'i', "S.findFrom"),
    ("IndexOf", "sk", 'i', "S.find"),
    ("LastIndexOf", "c", 'i', "S.findLastLetter"),
    ("LastIndexOf", "s", 'i', "S.findLast"),
    ("StartsWith", "c", 'b', "S.startsLetter"),
    ("StartsWith", "s", 'b', "S.starts"),
    ("StartsWith", "sk", 'b', "S.starts"),
    ("EndsWith", "c", 'b', "S.endsLetter"),
    ("EndsWith", "s", 'b', "S.ends"),
    ("EndsWith", "sk", 'b', "S.ends"),
    ("Contains", "c", 'b', "S.containsLetter"),
    ("Contains", "s", 'b', "S.contains"),
    ("Contains", "sk", 'b', "S.contains"),
    ("Split", "c", 'S', "S.split"),
    ("Split", "s", 'S', "S.splitText"),
    ("Trim", "", 's', "S.trim"),
    ("Trim", "c", 's', "S.trimLetter"),
    ("TrimStart", "", 's', "S.trimStart"),
    ("TrimEnd", "", 's', "S.trimEnd"),
    ("ToLower", "", 's', "S.lower"),
    ("ToLowerInvariant", "", 's', "S.lower"),
    ("ToUpper", "", 's', "S.upper"),
    ("ToUpperInvariant", "", 's', "S.upper"),
    ("Replace", "cc", 's', "S.replaceLetter"),
    ("Replace", "ss", 's', "S.replace"),
    ("PadLeft", "i", 's', "S.padStart"),
    ("PadLeft", "ic", 's', "S.padStartWith"),
    ("PadRight", "i", 's', "S.padEnd"),
    ("PadRight", "ic", 's', "S.padEndWith"),
    ("CompareTo", "s", 'i', "S.compareTo"),
    ("Equals", "s", 'b', "S.equalTo"),
    ("Equals", "sk", 'b', "S.equalTo"),
    ("ToCharArray", "", 'C', "S.letters"),
    ("ToString", "", 's', "S.there"),
];

const STATIC: &[(&str, Row)] = &[
    ("String", ("Compare", "ssb", 'i', "S.compareCase")),
    ("String", ("Compare", "ssk", 'i', "S.compareText")),
    ("String", ("Compare", "ss", 'i', "S.compareText")),
    ("String", ("CompareOrdinal", "ss", 'i', "S.ordinal")),
    ("String", ("Equals", "ss", 'b', "S.equal")),
    ("String", ("Equals", "ssk", 'b', "S.equal")),
    ("String", ("IsNullOrEmpty", "s", 'b', "S.isEmpty")),
    ("String", ("IsNullOrWhiteSpace", "s", 'b', "S.isBlank")),
    ("String", ("Concat", "ss", 's', "S.concat")),
    ("String", ("Concat", "sss", 's', "S.concat")),
    ("String", ("Join", "sQ", 's', "S.join")),
    ("String", ("Join", "cQ", 's', "S.joinLetter")),
    ("Math", ("Abs", "i", 'i', "S.iabs")),
    ("Math", ("Abs", "l", 'l', "S.labs")),
    ("Math", ("Abs", "f", 'f', "Math.abs")),
    ("Math", ("Abs", "d", 'd', "Math.abs")),
    ("Math", ("Min", "ii", 'i', "Math.min")),
    ("Math", ("Min", "ll", 'l', "S.lmin")),
    ("Math", ("Min", "ff", 'f', "Math.min")),
    ("Math", ("Min", "dd", 'd', "Math.min")),
    ("Math", ("Max", "ii", 'i', "Math.max")),
    ("Math", ("Max", "ll", 'l', "S.lmax")),
    ("Math", ("Max", "ff", 'f', "Math.max")),
    ("Math", ("Max", "dd", 'd', "Math.max")),
    ("Math", ("Sign", "i", 'i', "S.sign")),
    ("Math", ("Floor", "d", 'd', "Math.floor")),
    ("Math", ("Ceiling", "d", 'd', "Math.ceil")),
    ("Math", ("Truncate", "d", 'd', "Math.trunc")),
    ("Math", ("Round", "d", 'd', "S.round")),
    ("Math", ("Sqrt", "d", 'd', "Math.sqrt")),
    ("Math", ("Pow", "dd", 'd', "S.pow")),
    ("Char", ("IsDigit", "c", 'b', "S.isDigit")),
    ("Char", ("IsLetter", "c", 'b', "S.isLetter")),
    ("Char", ("IsLetterOrDigit", "c", 'b', "S.isLetterOrDigit")),
    ("Char", ("IsWhiteSpace", "c", 'b', "S.isWhite")),
    ("Char", ("IsUpper", "c", 'b', "S.isUpper")),
    ("Char", ("IsLower", "c", 'b', "S.isLower")),
    ("Char", ("ToLower", "c", 'c', "S.lowerLetter")),
    ("Char", ("ToLowerInvariant", "c", 'c', "S.lowerLetter")),
    ("Char", ("ToUpper", "c", 'c', "S.upperLetter")),
    ("Char", ("ToUpperInvariant", "c", 'c', "S.upperLetter")),
    ("Double", ("IsNaN", "d", 'b', "Number.isNaN")),
];

/// Names of types that may stand in front of a `.`, with the one that tables use.
const TYPES: &[(&str, &str)] = &[
    ("string", "String"),
    ("String", "String"),
    ("int", "Int32"),
    ("Int32", "Int32"),
    ("long", "Int64"),
    ("Int64", "Int64"),
    ("double", "Double"),
    ("Double", "Double"),
    ("float", "Single"),
    ("bool", "Boolean"),
    ("Boolean", "Boolean"),
    ("char", "Char"),
    ("Char", "Char"),
    ("object", "Object"),
    ("Math", "Math"),
    ("Array", "Array"),
    ("StringComparer", "StringComparer"),
    ("StringComparison", "StringComparison"),
    ("FieldCache_Fields", "FieldCache_Fields"),
];

/// Ways to compare texts, by their number.
const COMPARISONS: &[&str] = &[
    "CurrentCulture",
    "CurrentCultureIgnoreCase",
    "InvariantCulture",
    "InvariantCultureIgnoreCase",
    "Ordinal",
    "OrdinalIgnoreCase",
];

pub(super) fn is_type(name: &str) -> bool {
    TYPES.iter().any(|(own, _)| *own == name)
}

/// One name for `string` and `String`.
pub(super) fn common_name(name: &str) -> &str {
    let known = TYPES.iter().find(|(own, _)| *own == name);
    known.map_or(name, |(_, common)| common)
}

/// A constant of a type.
pub(super) fn constant(class: &str, name: &str) -> Option<(String, Type)> {
    Some(match (class, name) {
        ("String", "Empty") => ("\"\"".to_owned(), Type::Text),
        ("Int32", "MaxValue") => ("2147483647".to_owned(), Type::Int),
        ("Int32", "MinValue") => ("(-2147483648)".to_owned(), Type::Int),
        ("Int64", "MaxValue") => ("9223372036854775807n".to_owned(), Type::Long),
        ("Int64", "MinValue") => ("(-9223372036854775808n)".to_owned(), Type::Long),
        ("Double", "MaxValue") => ("Number.MAX_VALUE".to_owned(), Type::Double),
        ("Double", "MinValue") => ("(-Number.MAX_VALUE)".to_owned(), Type::Double),
        ("Double", "Epsilon") => ("Number.MIN_VALUE".to_owned(), Type::Double),
        ("Double", "NaN") => ("NaN".to_owned(), Type::Double),
        ("Double", "PositiveInfinity") => ("Infinity".to_owned(), Type::Double),
        ("Double", "NegativeInfinity") => ("(-Infinity)".to_owned(), Type::Double),
        ("Math", "PI") => ("Math.PI".to_owned(), Type::Double),
        ("Math", "E") => ("Math.E".to_owned(), Type::Double),
        ("Char", "MaxValue") => ("65535".to_owned(), Type::Char),
        ("Char", "MinValue") => ("0".to_owned(), Type::Char),
        ("FieldCache_Fields", "DEFAULT") => ("S".to_owned(), Type::Cache),
        ("StringComparer" | "StringComparison", name) => {
            let place = COMPARISONS.iter().position(|known| *known == name)?;
            let of = match class {
                "StringComparer" => Type::Comparer,
                _ => Type::Comparison,
            };
            (place.to_string(), of)
        }
        _ => return None,
    })
}

/// A property of a value of the library.
pub(super) fn property(of: &Value, name: &str) -> Option<Value> {
    let js = &of.js;
    Some(match (&of.of, name) {
        (Type::Text | Type::Array(_), "Length") | (Type::List(_), "Count") => {
            value(format!("{js}.length"), Type::Int)
        }
        (Type::Map(..) | Type::Set(_), "Count") => value(format!("{js}.map.size"), Type::Int),
        (Type::Map(key, _), "Keys") => value(format!("S.keys({js})"), Type::Sequence(key.clone())),
        (Type::Map(_, element), "Values") => {
            value(format!("S.values({js})"), Type::Sequence(element.clone()))
        }
        (Type::Pair(key, _), "Key") => value(format!("{js}[0]"), (**key).clone()),
        (Type::Pair(_, element), "Value") => value(format!("{js}[1]"), (**element).clone()),
        (Type::Reader, "MaxDoc") => value(format!("{js}.count"), Type::Int),
        _ => return None,
    })
}

/// The type of a letter.
fn type_of(letter: char) -> Type {
    let texts = || Box::new(Type::Text);
    match letter {
        's' => Type::Text,
        'i' => Type::Int,
        'l' => Type::Long,
        'f' => Type::Float,
        'd' => Type::Double,
        'c' => Type::Char,
        'b' => Type::Bool,
        'k' => Type::Comparison,
        'S' => Type::Array(texts()),
        'C' => Type::Array(Box::new(Type::Char)),
        'Q' => Type::Sequence(texts()),
        'E' => Type::Entry,
        't' => Type::State,
        _ => Type::Void,
    }
}

impl Translator {
    /// The values that are given, where nothing is `out`.
    fn plain(&mut self, given: &[Given], at: usize) -> Read<Vec<Value>> {
        let mut values = Vec::new();
        for one in given {
            match one {
                Given::Value(one) => values.push(self.value(one)?),
                _ => return refuse(at, "error: `out` is not understood here"),
            }
        }
        Ok(values)
    }

    /// A call of the overload that takes `given`; `of` goes in front.
    fn overload<'r>(
        &self,
        rows: impl Iterator<Item = &'r Row>,
        of: Option<&str>,
        given: &[Value],
        at: usize,
    ) -> Read<Option<Value>> {
        for (_, takes, gives, helper) in rows {
            let fits = takes.chars().count() == given.len()
                && takes
                    .chars()
                    .zip(given)
                    .all(|(letter, one)| self.fits(&one.of, &type_of(letter)));
            if !fits {
                continue;
            }
            let mut out: Vec<String> = of.map(str::to_owned).into_iter().collect();
            for (letter, one) in takes.chars().zip(given) {
                out.push(self.convert(one.clone(), &type_of(letter), at)?);
            }
            // Without a comparison `compareText` would take none of them.
            if *helper == "S.compareText" && given.len() == 2 {
                out.push("0".to_owned());
            }
            return Ok(Some(value(
                format!("{helper}({})", out.join(", ")),
                type_of(*gives),
            )));
        }
        Ok(None)
    }

    /// A static method of the library.
    pub(super) fn library_static(
        &mut self,
        class: &str,
        name: &str,
        given: &[Given],
        at: usize,
    ) -> Read<Value> {
        let parsed = match class {
            "Int32" => Some(("int", Type::Int)),
            "Int64" => Some(("long", Type::Long)),
            "Double" => Some(("double", Type::Double)),
            "Boolean" => Some(("bool", Type::Bool)),
            _ => None,
        };
        if let (Some((kind, of)), "TryParse", [Given::Value(text), target]) = (&parsed, name, given)
        {
            let text = self.typed(text, &Type::Text)?;
            let set = self.out(target, of, at)?;
            let js = format!(
                "S.tryParse(\"{kind}\", {text}, {set}, {})",
                of.default_value()
            );
            return Ok(value(js, Type::Bool));
        }
        let values = match (class, name, given) {
            ("Array", "Sort", [Given::Value(list), Given::Value(by)]) => {
                let list = self.value(list)?;
                return match &list.of {
                    Type::Array(inner) => self.sorted(&list.js, inner, Some(by), at),
                    of => self.no_member(of, "Array.Sort", at),
                };
            }
            _ => self.plain(given, at)?,
        };
        match (&parsed, name, values.as_slice()) {
            (Some((kind, of)), "Parse", [text]) if *kind != "bool" => {
                let text = self.convert(text.clone(), &Type::Text, at)?;
                return Ok(value(format!("S.parse(\"{kind}\", {text})"), of.clone()));
            }
            _ => {}
        }
        if let ("Array", [list, rest @ ..]) = (class, values.as_slice())
            && let Type::Array(inner) = &list.of
        {
            match (name, rest) {
                ("Sort", []) => return self.sorted(&list.js, inner, None, at),
                ("Reverse", []) => return Ok(value(format!("S.reverse({})", list.js), Type::Void)),
                ("IndexOf", [one]) => {
                    let one = self.convert(one.clone(), inner, at)?;
                    return Ok(value(format!("S.indexOf({}, {one})", list.js), Type::Int));
                }
                _ => {}
            }
        }
        let rows = STATIC
            .iter()
            .filter(|(of, row)| *of == class && row.0 == name);
        match self.overload(rows.map(|(_, row)| row), None, &values, at)? {
            Some(found) => Ok(found),
            None => {
                let types: Vec<String> = values.iter().map(|one| one.of.to_string()).collect();
                let message = format!(
                    "error: {class}.{name}({}) is not known to sorters",
                    types.join(", ")
                );
                refuse(at, message)
            }
        }
    }

    /// A method of a value of the library.
    pub(super) fn library_call(
        &mut self,
        of: Value,
        name: &str,
        given: &[Given],
        at: usize,
    ) -> Read<Value> {
        if let (Type::Map(key, element), "TryGetValue", [Given::Value(wanted), target]) =
            (&of.of, name, given)
        {
            let wanted = self.typed(wanted, key)?;
            let set = self.out(target, element, at)?;
            let js = format!(
                "S.tryGet({}, {wanted}, {set}, {})",
                of.js,
                element.default_value()
            );
            return Ok(value(js, Type::Bool));
        }
        if let (Type::List(inner), "Sort", [Given::Value(by)]) = (&of.of, name, given) {
            return self.sorted(&of.js, inner, Some(by), at);
        }
        let values = self.plain(given, at)?;
        let found = match &of.of {
            Type::Text => {
                let rows = TEXT.iter().filter(|row| row.0 == name);
                self.overload(rows, Some(&of.js), &values, at)?
            }
            Type::Reader | Type::Entry | Type::Cache => of_lucene(&of, name, &values),
            Type::Comparer => {
                let rows: &[Row] = &[
                    ("Compare", "ss", 'i', "S.by"),
                    ("Equals", "ss", 'b', "S.sameBy"),
                ];
                self.overload(
                    rows.iter().filter(|row| row.0 == name),
                    Some(&of.js),
                    &values,
                    at,
                )?
            }
            number if number.is_number() || *number == Type::Bool => {
                self.of_number(&of, name, &values, at)?
            }
            Type::Object => match (name, values.as_slice()) {
                ("ToString", []) => Some(value(
                    format!("S.objectText(S.there({}))", of.js),
                    Type::Text,
                )),
                _ => None,
            },
            _ => self.of_collection(&of, name, &values, at)?,
        };
        match found {
            Some(found) => Ok(found),
            None => {
                let types: Vec<String> = values.iter().map(|one| one.of.to_string()).collect();
                self.no_member(&of.of, &format!("{name}({})", types.join(", ")), at)
            }
        }
    }

    fn of_number(&self, of: &Value, name: &str, given: &[Value], at: usize) -> Read<Option<Value>> {
        Ok(match (name, given) {
            ("CompareTo", [other]) if self.fits(&other.of, &of.of) => {
                let other = self.convert(other.clone(), &of.of, at)?;
                Some(match of.of {
                    Type::Char => value(format!("({} - {other})", of.js), Type::Int),
                    _ => value(format!("S.compare({}, {other})", of.js), Type::Int),
                })
            }
            ("Equals", [other]) if self.fits(&other.of, &of.of) => {
                let other = self.convert(other.clone(), &of.of, at)?;
                Some(value(
                    format!("(S.compare({}, {other}) === 0)", of.js),
                    Type::Bool,
                ))
            }
            ("ToString", []) => Some(value(self.as_text(of.clone(), at)?, Type::Text)),
            _ => None,
        })
    }

    fn of_collection(
        &self,
        of: &Value,
        name: &str,
        given: &[Value],
        at: usize,
    ) -> Read<Option<Value>> {
        let js = &of.js;
        let one = |slot: usize, wanted: &Type| match given.get(slot) {
            Some(one) => self.convert(one.clone(), wanted, at),
            None => Ok(String::new()),
        };
        let made = |helper: &str, rest: &[String], gives: Type| {
            let rest: String = rest.iter().map(|one| format!(", {one}")).collect();
            Some(value(format!("S.{helper}({js}{rest})"), gives))
        };
        Ok(match (&of.of, name, given.len()) {
            (Type::List(inner), "Add", 1) => made("add", &[one(0, inner)?], Type::Void),
            (Type::List(inner), "AddRange", 1) => made(
                "addAll",
                &[one(0, &Type::Sequence(inner.clone()))?],
                Type::Void,
            ),
            (Type::List(_) | Type::Set(_) | Type::Map(..), "Clear", 0) => {
                made("clear", &[], Type::Void)
            }
            (Type::List(inner), "Contains", 1) => made("has", &[one(0, inner)?], Type::Bool),
            (Type::List(inner), "IndexOf", 1) => made("indexOf", &[one(0, inner)?], Type::Int),
            (Type::List(inner), "Insert", 2) => {
                made("insert", &[one(0, &Type::Int)?, one(1, inner)?], Type::Void)
            }
            (Type::List(inner), "Remove", 1) => made("remove", &[one(0, inner)?], Type::Bool),
            (Type::List(_), "RemoveAt", 1) => made("removeAt", &[one(0, &Type::Int)?], Type::Void),
            (Type::List(_), "Reverse", 0) => made("reverse", &[], Type::Void),
            (Type::List(inner), "ToArray", 0) => made("copy", &[], Type::Array(inner.clone())),
            (Type::List(inner), "Sort", 0) => Some(self.sorted_plain(js, inner, at)?),
            (Type::Map(key, _), "ContainsKey", 1) => {
                Some(value(format!("{js}.has({})", one(0, key)?), Type::Bool))
            }
            (Type::Map(key, element), "Add", 2) => {
                let (key, element) = (one(0, key)?, one(1, element)?);
                Some(value(format!("{js}.add({key}, {element})"), Type::Void))
            }
            (Type::Map(key, _), "Remove", 1) => {
                Some(value(format!("{js}.remove({})", one(0, key)?), Type::Bool))
            }
            (Type::Set(inner), "Add", 1) => Some(value(
                format!("{js}.insert({})", one(0, inner)?),
                Type::Bool,
            )),
            (Type::Set(inner), "Contains", 1) => {
                Some(value(format!("{js}.holds({})", one(0, inner)?), Type::Bool))
            }
            (Type::Set(inner), "Remove", 1) => {
                Some(value(format!("{js}.drop({})", one(0, inner)?), Type::Bool))
            }
            (Type::Function(takes, gives), "Invoke", count) if takes.len() == count => {
                let values = takes.iter().enumerate().map(|(slot, of)| one(slot, of));
                let values = values.collect::<Read<Vec<_>>>()?.join(", ");
                Some(value(format!("{js}({values})"), (**gives).clone()))
            }
            _ => None,
        })
    }

    /// Sorts a list or array, by a lambda or the order of its elements.
    fn sorted(
        &mut self,
        list: &str,
        inner: &Type,
        by: Option<&super::tree::Expr>,
        at: usize,
    ) -> Read<Value> {
        let Some(by) = by else {
            return self.sorted_plain(list, inner, at);
        };
        let wanted = Type::Function(vec![inner.clone(), inner.clone()], Box::new(Type::Int));
        if let super::tree::ExprKind::Lambda(..) = &*by.kind {
            let by = self.typed(by, &wanted)?;
            return Ok(value(format!("S.sort({list}, {by})"), Type::Void));
        }
        let by = self.value(by)?;
        match (&by.of, inner) {
            (of, _) if *of == wanted => Ok(value(format!("S.sort({list}, {})", by.js), Type::Void)),
            (Type::Comparer, Type::Text) => {
                let js = format!("S.sort({list}, (a, b) => S.by({}, a, b))", by.js);
                Ok(value(js, Type::Void))
            }
            (of, _) => self.no_member(of, "Sort", at),
        }
    }

    fn sorted_plain(&self, list: &str, inner: &Type, at: usize) -> Read<Value> {
        let by = match inner {
            Type::Text => "(a, b) => S.compareText(a, b, 0)",
            inner if inner.is_number() || *inner == Type::Bool => "S.compare",
            inner => return self.no_member(inner, "CompareTo", at),
        };
        Ok(value(format!("S.sort({list}, {by})"), Type::Void))
    }
}

/// A method of a reader, an entry or the cache of fields.
fn of_lucene(of: &Value, name: &str, given: &[Value]) -> Option<Value> {
    let js = &of.js;
    let is = |slot: usize, wanted: &Type| given.get(slot).is_some_and(|one| one.of == *wanted);
    let has_state = given
        .last()
        .is_some_and(|one| matches!(one.of, Type::State | Type::Null));
    let count = given.len() - usize::from(has_state && given.len() > 1);
    match (&of.of, name, count) {
        (Type::Reader, "Document", 1) if is(0, &Type::Int) => Some(value(
            format!("({{ reader: {js}, doc: {} }})", given[0].js),
            Type::Entry,
        )),
        (Type::Entry, "Get", 1) if is(0, &Type::Text) => Some(value(
            format!(
                "S.safe({js}, (entry) => S.fieldOf(entry.reader, {}, entry.doc))",
                given[0].js
            ),
            Type::Text,
        )),
        (Type::Cache, name, 2) if is(0, &Type::Reader) && is(1, &Type::Text) => {
            let (kind, element) = match name {
                "GetStrings" => ("text", Type::Text),
                "GetInts" => ("int", Type::Int),
                "GetLongs" => ("long", Type::Long),
                "GetDoubles" => ("double", Type::Double),
                "GetFloats" => ("float", Type::Float),
                _ => return None,
            };
            Some(value(
                format!("S.cached({}, {}, \"{kind}\")", given[0].js, given[1].js),
                Type::Array(Box::new(element)),
            ))
        }
        _ => None,
    }
}
