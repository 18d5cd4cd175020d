//! Translates expressions; each gets its type, and conversions are written out.
//!
//! Calls and members are in `known` (of the library) and `members` (of the source).

use std::fmt::Write as _;

use super::classes::Translator;
use super::parser::{Read, refuse};
use super::tree::{Expr, ExprKind, Given, Piece, TypeName};
use super::types::{Type, exception};

/// A translated expression.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) js: String,
    pub(super) of: Type,
    /// The operator of a row `(a + b + c)`, to which the next goes without one more parenthesis:
    /// the stack of the engine is small.
    row: Option<&'static str>,
}

pub(super) fn value(js: impl Into<String>, of: Type) -> Value {
    Value {
        js: js.into(),
        of,
        row: None,
    }
}

/// `(left sign right)`, for an operator that JavaScript too reads from left to right.
fn row(sign: &'static str, left: Value, right: &str, of: Type) -> Value {
    let open = match left.row == Some(sign) {
        true => left.js[1..left.js.len() - 1].to_owned(),
        false => left.js,
    };
    Value {
        js: format!("({open} {sign} {right})"),
        of,
        row: Some(sign),
    }
}

/// A text as JavaScript.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() || byte == b' ' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out.push('"');
    out
}

/// Bytes of texts that are compared at no cost, as the prelude has it.
const PLAIN_BYTES_MAX: usize = 256;

impl Value {
    /// Whether it is a literal of no more letters than are compared at no cost.
    fn is_short_text(&self) -> bool {
        self.js.starts_with('"') && self.js.len() <= PLAIN_BYTES_MAX
    }
}

impl Translator {
    /// An expression where a value of `wanted` is needed.
    pub(super) fn typed(&mut self, expr: &Expr, wanted: &Type) -> Read<String> {
        if let (ExprKind::Lambda(..), Type::Function(..)) = (&*expr.kind, wanted) {
            return self.lambda(expr, wanted);
        }
        if let ExprKind::Choice(condition, then, otherwise) = &*expr.kind {
            let condition = self.typed(condition, &Type::Bool)?;
            let (then, otherwise) = (self.typed(then, wanted)?, self.typed(otherwise, wanted)?);
            return Ok(format!("({condition} ? {then} : {otherwise})"));
        }
        let given = self.value(expr)?;
        self.convert(given, wanted, expr.at)
    }

    /// The conversions that C# does by itself.
    pub(super) fn convert(&self, given: Value, wanted: &Type, at: usize) -> Read<String> {
        let js = given.js;
        if given.of == *wanted {
            return Ok(js);
        }
        Ok(match (&given.of, wanted) {
            (Type::Never, _) => js,
            (Type::Null, wanted) if wanted.may_be_null() => js,
            (Type::Char, Type::Int | Type::Float | Type::Double)
            | (Type::Int | Type::Float, Type::Double) => js,
            (Type::Int | Type::Char, Type::Long) => format!("BigInt({js})"),
            (Type::Int, Type::Float) => format!("Math.fround({js})"),
            (Type::Long, Type::Float) => format!("Math.fround(Number({js}))"),
            (Type::Long, Type::Double) => format!("Number({js})"),
            (
                Type::Int | Type::Long | Type::Double | Type::Bool | Type::Text | Type::Class(_),
                Type::Object,
            ) => js,
            (Type::List(inner) | Type::Array(inner), Type::Sequence(wanted)) if inner == wanted => {
                js
            }
            (Type::Set(inner), Type::Sequence(wanted)) if inner == wanted => {
                format!("S.keys({js})")
            }
            (of, wanted) => {
                let message =
                    format!("error CS0029: Cannot implicitly convert type '{of}' to '{wanted}'");
                return refuse(at, message);
            }
        })
    }

    /// Whether [`convert`](Translator::convert) would do it.
    pub(super) fn fits(&self, given: &Type, wanted: &Type) -> bool {
        let probe = value("", given.clone());
        self.convert(probe, wanted, 0).is_ok()
    }

    pub(super) fn value(&mut self, expr: &Expr) -> Read<Value> {
        let at = expr.at;
        Ok(match &*expr.kind {
            ExprKind::Int(number) => match i32::try_from(*number) {
                Ok(number) => value(number.to_string(), Type::Int),
                // What does not fit into an int is a long; uint is not known.
                Err(_) if *number > i64::from(u32::MAX) => value(format!("{number}n"), Type::Long),
                Err(_) => return refuse(at, "error: write L behind this number"),
            },
            ExprKind::Long(number) => value(format!("{number}n"), Type::Long),
            ExprKind::Double(number) => value(format!("{number:?}"), Type::Double),
            ExprKind::Char(unit) => value(unit.to_string(), Type::Char),
            ExprKind::Text(text) => value(quoted(text), Type::Text),
            ExprKind::Bool(is) => value(is.to_string(), Type::Bool),
            ExprKind::Null => value("null", Type::Null),
            ExprKind::NameOf(name) => value(quoted(name), Type::Text),
            ExprKind::Interpolated(pieces) => self.interpolated(pieces)?,
            ExprKind::Name(name) => self.name(name, at)?,
            ExprKind::This if !self.is_static => value("this", Type::Class(self.class.clone())),
            ExprKind::This => {
                return refuse(at, "error CS0026: there is no `this` here");
            }
            ExprKind::Type(written) => {
                let message = format!("error: '{}' is a type, not a value", written.name);
                return refuse(at, message);
            }
            ExprKind::Member(inner, name) => self.member(inner, name, at)?,
            ExprKind::Call(callee, given) => self.call(callee, given, at)?,
            ExprKind::Index(inner, place) => self.index(inner, place)?,
            ExprKind::Safe(inner, rest) => self.safe(inner, rest, at)?,
            ExprKind::Receiver => match self.receivers.last() {
                Some((name, of)) => value(name.clone(), of.clone()),
                None => return refuse(at, "error: there is nothing in front"),
            },
            ExprKind::New(written, given, values) => self.creation(written, given, values, at)?,
            ExprKind::NewArray(element, len, values) => {
                self.array(element.as_ref(), len.as_ref(), values.as_deref(), at)?
            }
            ExprKind::Unary(sign, inner) => self.unary(sign, inner, at)?,
            ExprKind::Binary(sign, left, right) => self.binary(sign, left, right, at)?,
            ExprKind::Assign(sign, target, given) => self.assign(sign, target, given, at)?,
            ExprKind::Step(is_new, goes_up, target) => self.step(*is_new, *goes_up, target, at)?,
            ExprKind::Choice(condition, then, otherwise) => {
                let condition = self.typed(condition, &Type::Bool)?;
                let (then, otherwise) = (self.value(then)?, self.value(otherwise)?);
                let of = self.either(&then.of, &otherwise.of, at)?;
                let then = self.convert(then, &of, at)?;
                let otherwise = self.convert(otherwise, &of, at)?;
                value(format!("({condition} ? {then} : {otherwise})"), of)
            }
            ExprKind::Lambda(..) => {
                let message = "error: a lambda stands where its type is known";
                return refuse(at, message);
            }
            ExprKind::Cast(written, inner) => self.cast(written, inner, at)?,
            ExprKind::Is(inner, negated, tested) => {
                self.is(inner, *negated, tested.as_ref(), at)?
            }
            ExprKind::As(inner, written) => {
                let wanted = self.resolve(written)?;
                let inner = self.value(inner)?;
                match (&inner.of, &wanted) {
                    (of, wanted) if of == wanted && wanted.may_be_null() => inner,
                    (Type::Null, wanted) if wanted.may_be_null() => value("null", wanted.clone()),
                    (Type::Object, Type::Text) => {
                        value(format!("S.asText({})", inner.js), Type::Text)
                    }
                    (of, wanted) => {
                        let message = format!("error: '{of}' as '{wanted}' is not understood");
                        return refuse(at, message);
                    }
                }
            }
            ExprKind::Throw(inner) => value(format!("({})", self.thrown(inner)?), Type::Never),
        })
    }

    /// The type of a choice between two.
    fn either(&self, a: &Type, b: &Type, at: usize) -> Read<Type> {
        if self.fits(a, b) {
            return Ok(b.clone());
        }
        if self.fits(b, a) {
            return Ok(a.clone());
        }
        let message = format!("error CS0173: there is no common type of '{a}' and '{b}'");
        refuse(at, message)
    }

    /// A value as text, as `+` and interpolated texts show it.
    pub(super) fn as_text(&self, given: Value, at: usize) -> Read<String> {
        let js = given.js;
        Ok(match given.of {
            Type::Text => format!("({js} ?? \"\")"),
            Type::Null => "\"\"".to_owned(),
            Type::Int | Type::Long => format!("String({js})"),
            Type::Double => format!("S.numberText({js})"),
            Type::Char => format!("String.fromCharCode({js})"),
            Type::Bool => format!("({js} ? \"True\" : \"False\")"),
            Type::Object => format!("S.objectText({js})"),
            of => {
                let message = format!("error: '{of}' has no text here");
                return refuse(at, message);
            }
        })
    }

    fn interpolated(&mut self, pieces: &[Piece]) -> Read<Value> {
        let mut parts = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) if text.is_empty() => {}
                Piece::Text(text) => parts.push(quoted(text)),
                Piece::Hole(inner) => {
                    let given = self.value(inner)?;
                    parts.push(self.as_text(given, inner.at)?);
                }
            }
        }
        let js = match parts.is_empty() {
            true => "\"\"".to_owned(),
            false => format!("({})", parts.join(" + ")),
        };
        Ok(value(js, Type::Text))
    }

    fn safe(&mut self, inner: &Expr, rest: &Expr, at: usize) -> Read<Value> {
        let inner = self.value(inner)?;
        if !inner.of.may_be_null() || matches!(inner.of, Type::Maybe(_) | Type::Null) {
            let message = format!("error CS0023: '?.' does not go with '{}'", inner.of);
            return refuse(at, message);
        }
        self.name_count += 1;
        let name = format!("r${}", self.name_count);
        self.receivers.push((name.clone(), inner.of));
        let rest = self.value(rest);
        self.receivers.pop();
        let rest = rest?;
        let of = match rest.of {
            of @ (Type::Void | Type::Maybe(_)) => of,
            of if of.may_be_null() => of,
            of => Type::Maybe(Box::new(of)),
        };
        Ok(value(
            format!("S.safe({}, ({name}) => {})", inner.js, rest.js),
            of,
        ))
    }

    fn lambda(&mut self, expr: &Expr, wanted: &Type) -> Read<String> {
        let (ExprKind::Lambda(names, body), Type::Function(takes, gives)) = (&*expr.kind, wanted)
        else {
            return refuse(expr.at, "error: a lambda is expected");
        };
        if names.len() != takes.len() {
            let message = format!("error CS1593: the lambda takes {} values", takes.len());
            return refuse(expr.at, message);
        }
        self.scopes.push(Vec::new());
        let mut parameters = Vec::new();
        for ((written, name), of) in names.iter().zip(takes) {
            if let Some(written) = written
                && self.resolve(written)? != *of
            {
                let message = format!("error CS1678: '{name}' is of type '{of}'");
                return refuse(expr.at, message);
            }
            parameters.push(self.variable(name, of.clone(), None, expr.at)?);
        }
        let text = match body.as_slice() {
            [only] if **gives == Type::Void && only.given_value().is_some() => {
                let outer = self.hoisted.replace(String::new());
                let text = match only.given_value() {
                    Some(effect) => self.effect(effect)?,
                    None => String::new(),
                };
                let hoisted = std::mem::replace(&mut self.hoisted, outer);
                format!("{}{text};\n", hoisted.unwrap_or_default())
            }
            body => {
                if **gives != Type::Void && !super::statements::ends(body) {
                    let message = "error CS1643: not all code paths return a value";
                    return refuse(expr.at, message);
                }
                self.gives.push((**gives).clone());
                let text = self.block(body)?;
                self.gives.pop();
                text
            }
        };
        self.scopes.pop();
        Ok(format!("(({}) => {{\n{text}}})", parameters.join(", ")))
    }

    fn unary(&mut self, sign: &str, inner: &Expr, at: usize) -> Read<Value> {
        if sign == "-" {
            // The least int and long are no numbers without their sign.
            match *inner.kind {
                ExprKind::Int(2_147_483_648) => return Ok(value("(-2147483648)", Type::Int)),
                ExprKind::Int(number) if i32::try_from(number).is_ok() => {
                    return Ok(value(format!("({})", -number), Type::Int));
                }
                _ => {}
            }
        }
        let inner = self.value(inner)?;
        let js = &inner.js;
        Ok(match (sign, &inner.of) {
            ("!", Type::Bool) => value(format!("(!{js})"), Type::Bool),
            ("-", Type::Int | Type::Char) => value(format!("(-{js} | 0)"), Type::Int),
            ("-", Type::Long) => value(format!("BigInt.asIntN(64, -{js})"), Type::Long),
            ("-", Type::Float | Type::Double) => value(format!("(-{js})"), inner.of.clone()),
            ("+", Type::Int | Type::Char) => value(inner.js, Type::Int),
            ("+", Type::Long | Type::Float | Type::Double) => inner,
            ("~", Type::Int | Type::Char) => value(format!("(~{js})"), Type::Int),
            ("~", Type::Long) => value(format!("(~{js})"), Type::Long),
            (_, of) => {
                let message =
                    format!("error CS0023: Operator '{sign}' cannot be applied to '{of}'");
                return refuse(at, message);
            }
        })
    }

    fn binary(&mut self, sign: &str, left: &Expr, right: &Expr, at: usize) -> Read<Value> {
        let left = self.value(left)?;
        let right = self.value(right)?;
        self.computed(sign, left, right, at)
    }

    /// What an operator makes of two values.
    pub(super) fn computed(&self, sign: &str, left: Value, right: Value, at: usize) -> Read<Value> {
        let unknown = |left: &Type, right: &Type| {
            let message = format!(
                "error CS0019: Operator '{sign}' cannot be applied to operands of type '{left}' \
                 and '{right}'"
            );
            refuse(at, message)
        };
        match (sign, &left.of, &right.of) {
            ("&&", Type::Bool, Type::Bool) => {
                return Ok(row("&&", left, &right.js, Type::Bool));
            }
            ("||", Type::Bool, Type::Bool) => {
                return Ok(row("||", left, &right.js, Type::Bool));
            }
            ("&" | "|" | "^", Type::Bool, Type::Bool) => {
                return Ok(value(
                    format!("!!({} {sign} {})", left.js, right.js),
                    Type::Bool,
                ));
            }
            ("??", ..) => return self.coalesced(left, right, at),
            ("==" | "!=", ..) => {
                let of = match (&left.of, &right.of) {
                    (a, b) if a.common(b).is_some() => a.common(b),
                    (Type::Null, b) if b.may_be_null() => Some(b.clone()),
                    (a, Type::Null) if a.may_be_null() => Some(a.clone()),
                    (Type::Maybe(a), b) if **a == *b => Some(left.of.clone()),
                    (Type::Object | Type::Pair(..) | Type::Void, _) => None,
                    (a, b) if a == b => Some(a.clone()),
                    _ => None,
                };
                let Some(of) = of else {
                    return unknown(&left.of, &right.of);
                };
                // What is compared with null or a few letters is no way around the limit of steps.
                let is_short = [&left, &right]
                    .iter()
                    .any(|one| one.of == Type::Null || one.is_short_text());
                if of == Type::Text && !is_short {
                    let not = if sign == "!=" { "!" } else { "" };
                    let js = format!("({not}S.same({}, {}))", left.js, right.js);
                    return Ok(value(js, Type::Bool));
                }
                let (a, b) = match of.is_number() {
                    true => (self.convert(left, &of, at)?, self.convert(right, &of, at)?),
                    false => (left.js, right.js),
                };
                return Ok(value(format!("({a} {sign}= {b})"), Type::Bool));
            }
            ("+", Type::Text, _) | ("+", _, Type::Text) => {
                let left = match left.row {
                    Some("+") => left,
                    _ => value(self.as_text(left, at)?, Type::Text),
                };
                return Ok(row("+", left, &self.as_text(right, at)?, Type::Text));
            }
            _ => {}
        }
        let Some(of) = left.of.common(&right.of) else {
            return unknown(&left.of, &right.of);
        };
        let whole = matches!(of, Type::Int | Type::Long);
        if !whole && matches!(sign, "&" | "|" | "^") {
            return unknown(&left.of, &right.of);
        }
        let (a, b) = (self.convert(left, &of, at)?, self.convert(right, &of, at)?);
        if matches!(sign, "<" | ">" | "<=" | ">=") {
            return Ok(value(format!("({a} {sign} {b})"), Type::Bool));
        }
        let js = match (sign, &of) {
            ("*", Type::Int) => format!("Math.imul({a}, {b})"),
            ("/", Type::Int) => format!("S.idiv({a}, {b})"),
            ("%", Type::Int) => format!("S.imod({a}, {b})"),
            ("+" | "-", Type::Int) => format!("({a} {sign} {b} | 0)"),
            ("/", Type::Long) => format!("S.ldiv({a}, {b})"),
            ("%", Type::Long) => format!("S.lmod({a}, {b})"),
            ("+" | "-" | "*", Type::Long) => format!("BigInt.asIntN(64, {a} {sign} {b})"),
            ("&" | "|" | "^", _) => format!("({a} {sign} {b})"),
            (_, Type::Float) => format!("Math.fround({a} {sign} {b})"),
            _ => format!("({a} {sign} {b})"),
        };
        Ok(value(js, of))
    }

    fn coalesced(&self, left: Value, right: Value, at: usize) -> Read<Value> {
        let of = match &left.of {
            Type::Maybe(inner) if self.fits(&right.of, inner) => (**inner).clone(),
            of if of.may_be_null() && self.fits(&right.of, of) => of.clone(),
            of => {
                let message = format!(
                    "error CS0019: Operator '??' cannot be applied to operands of type '{of}' and \
                     '{}'",
                    right.of
                );
                return refuse(at, message);
            }
        };
        let right = self.convert(right, &of, at)?;
        Ok(value(format!("({} ?? {right})", left.js), of))
    }

    fn cast(&mut self, written: &TypeName, inner: &Expr, at: usize) -> Read<Value> {
        let wanted = self.resolve(written)?;
        let inner = self.value(inner)?;
        let js = &inner.js;
        let cast = match (&inner.of, &wanted) {
            (of, wanted) if of == wanted => js.clone(),
            (Type::Int, Type::Char) => format!("({js} & 65535)"),
            (Type::Long, Type::Int) => format!("Number(BigInt.asIntN(32, {js}))"),
            (Type::Float | Type::Double, Type::Int) => format!("S.toInt({js})"),
            (Type::Float | Type::Double, Type::Long) => format!("S.toLong({js})"),
            (Type::Double, Type::Float) => format!("Math.fround({js})"),
            (Type::Object, Type::Text) => format!("S.castText({js})"),
            _ => self.convert(inner, &wanted, at)?,
        };
        Ok(value(cast, wanted))
    }

    fn is(
        &mut self,
        inner: &Expr,
        negated: bool,
        tested: Option<&TypeName>,
        at: usize,
    ) -> Read<Value> {
        let inner = self.value(inner)?;
        let test = match tested.map(|written| self.resolve(written)).transpose()? {
            None if inner.of.may_be_null() => format!("({} === null)", inner.js),
            Some(Type::Text) if matches!(inner.of, Type::Object | Type::Text) => {
                format!("(typeof {} === \"string\")", inner.js)
            }
            tested => {
                let tested = tested.map_or_else(|| "null".to_owned(), |of| of.to_string());
                let message = format!("error: '{}' is '{tested}' is not understood", inner.of);
                return refuse(at, message);
            }
        };
        Ok(value(
            format!("({}{test})", if negated { "!" } else { "" }),
            Type::Bool,
        ))
    }

    /// What `throw` does.
    pub(super) fn thrown(&mut self, inner: &Expr) -> Read<String> {
        let ExprKind::New(written, given, values) = &*inner.kind else {
            return refuse(inner.at, "error: `throw new ..` is understood");
        };
        let Some((whole, default)) = exception(&written.name).filter(|_| values.is_empty()) else {
            let message = format!(
                "error: the exception '{}' is not known to sorters",
                written.name
            );
            return refuse(inner.at, message);
        };
        let mut texts = Vec::new();
        for one in given {
            let Given::Value(one) = one else {
                return refuse(inner.at, "error: exceptions take texts");
            };
            texts.push(self.typed(one, &Type::Text)?);
        }
        let named = |message: &str, name: &str| {
            format!("({message} ?? \"\") + \" (Parameter '\" + ({name} ?? \"\") + \"')\"")
        };
        let default = quoted(default);
        let takes_name = matches!(
            written.name.as_str(),
            "ArgumentNullException" | "ArgumentOutOfRangeException"
        );
        let message = match texts.as_slice() {
            [] => default,
            [name] if takes_name => named(&default, name),
            [message] => message.clone(),
            [name, message] if takes_name => named(message, name),
            [message, name] if written.name == "ArgumentException" => named(message, name),
            _ => return refuse(inner.at, "error: this exception takes a message"),
        };
        Ok(format!("S.raise({}, {message})", quoted(whole)))
    }
}
