//! Translates names, members, calls, indexes, assignments and creations.
//!
//! What belongs to the library is looked up in `known`.

use super::classes::Translator;
use super::expressions::{Value, value};
use super::known;
use super::parser::{DEPTH_MAX, Read, refuse};
use super::tree::{Element, Expr, ExprKind, Given, TypeName};
use super::types::Type;

const NO_TARGET: &str =
    "error: variables, fields of objects and elements are set here, nothing else";

impl Translator {
    /// A name that stands alone: a variable, or a member of the class.
    pub(super) fn name(&mut self, name: &str, at: usize) -> Read<Value> {
        if let Some(variable) = self.find(name) {
            return Ok(value(variable.own, variable.of));
        }
        let class = self.class.clone();
        match self.field(&class, name, None, at)? {
            Some(found) => Ok(found),
            None => {
                let message = format!(
                    "error CS0103: The name '{name}' does not exist in the current context"
                );
                refuse(at, message)
            }
        }
    }

    /// A field or property of a class of the source; `of` is the object, without one `this`.
    fn field(&self, class: &str, name: &str, of: Option<&str>, at: usize) -> Read<Option<Value>> {
        let field = self
            .known
            .get(class)
            .and_then(|known| known.fields.get(name));
        let Some(field) = field else {
            return Ok(None);
        };
        let js = match (field.is_static, of) {
            (true, _) => {
                let key = (class.to_owned(), name.to_owned());
                let waits = |ready: &Vec<_>| !ready.contains(&key) || field.is_computed;
                if self.ready.as_ref().is_some_and(waits) {
                    let message = format!("error: '{name}' is used before it has its value");
                    return refuse(at, message);
                }
                format!("C_{class}.f_{name}")
            }
            (false, Some(of)) => format!("{of}.f_{name}"),
            (false, None) if self.is_static => {
                let message = format!("error CS0120: '{name}' needs an object");
                return refuse(at, message);
            }
            (false, None) => format!("this.f_{name}"),
        };
        Ok(Some(value(js, field.of.clone())))
    }

    /// The name of a type that stands where a value could: of the source or the library.
    fn type_of(&self, expr: &Expr) -> Option<String> {
        match &*expr.kind {
            ExprKind::Type(written) => Some(known::common_name(&written.name).to_owned()),
            ExprKind::Name(name) => {
                let own = self.known.get(&self.class).map(|known| &known.fields);
                let is_value = self.find(name).is_some()
                    || own.is_some_and(|fields| fields.contains_key(name));
                let is_type = self.class_names.contains(name) || known::is_type(name);
                (!is_value && is_type).then(|| known::common_name(name).to_owned())
            }
            // `System.Math` and its like.
            ExprKind::Member(inner, name) => match &*inner.kind {
                ExprKind::Name(space) if space == "System" && self.find(space).is_none() => {
                    known::is_type(name).then(|| known::common_name(name).to_owned())
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn member(&mut self, inner: &Expr, name: &str, at: usize) -> Read<Value> {
        if let Some(class) = self.type_of(inner) {
            if let Some(found) = self.field(&class, name, Some(&format!("C_{class}")), at)? {
                let is_static = self.known[&class].fields[name].is_static;
                if is_static {
                    return Ok(found);
                }
            }
            if let Some((js, of)) = known::constant(&class, name) {
                return Ok(value(js, of));
            }
            let message =
                format!("error CS0117: '{class}' does not contain a definition for '{name}' here");
            return refuse(at, message);
        }
        let inner = self.value(inner)?;
        if let Type::Class(class) = &inner.of
            && let Some(found) = self.field(class, name, Some(&inner.js), at)?
        {
            return Ok(found);
        }
        match known::property(&inner, name) {
            Some(found) => Ok(found),
            None => self.no_member(&inner.of, name, at),
        }
    }

    pub(super) fn no_member<T>(&self, of: &Type, name: &str, at: usize) -> Read<T> {
        let message =
            format!("error CS1061: '{of}' does not contain a definition for '{name}' here");
        refuse(at, message)
    }

    pub(super) fn call(&mut self, callee: &Expr, given: &[Given], at: usize) -> Read<Value> {
        match &*callee.kind {
            ExprKind::Name(name) if self.find(name).is_none() => {
                let class = self.class.clone();
                if let Some(found) = self.own_call(&class, None, name, given, at)? {
                    return Ok(found);
                }
            }
            ExprKind::Member(inner, name) => {
                if let Some(class) = self.type_of(inner) {
                    let of = format!("C_{class}");
                    return match self.own_call(&class, Some((&of, true)), name, given, at)? {
                        Some(found) => Ok(found),
                        None => self.library_static(&class, name, given, callee.at),
                    };
                }
                let inner = self.value(inner)?;
                let Type::Class(class) = &inner.of else {
                    return self.library_call(inner, name, given, callee.at);
                };
                let of = Some((inner.js.as_str(), false));
                if let Some(found) = self.own_call(class, of, name, given, at)? {
                    return Ok(found);
                }
                // The object is translated once: twice at each call would double the work.
                return match self.field(class, name, Some(&inner.js), callee.at)? {
                    Some(function) => self.invoked(function, given, at),
                    None => self.no_member(&inner.of, name, callee.at),
                };
            }
            _ => {}
        }
        let function = self.value(callee)?;
        self.invoked(function, given, at)
    }

    /// A call of a delegate.
    fn invoked(&mut self, function: Value, given: &[Given], at: usize) -> Read<Value> {
        let Type::Function(takes, gives) = function.of else {
            return refuse(at, "error CS0149: a method is expected");
        };
        let given = self.given_as(given, &takes, at)?;
        Ok(value(format!("{}({given})", function.js), *gives))
    }

    /// A call of a method of the source. `of` is the object, or the class when that is set.
    fn own_call(
        &mut self,
        class: &str,
        of: Option<(&str, bool)>,
        name: &str,
        given: &[Given],
        at: usize,
    ) -> Read<Option<Value>> {
        let key = (name.to_owned(), given.len());
        let method = self
            .known
            .get(class)
            .and_then(|known| known.methods.get(&key));
        let Some(method) = method.cloned() else {
            return Ok(None);
        };
        if self.ready.is_some() {
            let message =
                "error: static fields get their values without methods of the source here";
            return refuse(at, message);
        }
        let object = match (method.is_static, of) {
            (true, _) => format!("C_{class}"),
            (false, Some((of, false))) => of.to_owned(),
            (false, None) if !self.is_static => "this".to_owned(),
            _ => {
                let message = format!("error CS0120: '{name}' needs an object");
                return refuse(at, message);
            }
        };
        let count = given.len();
        let given = self.given_as(given, &method.takes, at)?;
        Ok(Some(value(
            format!("{object}.m_{name}${count}({given})"),
            method.gives,
        )))
    }

    /// What is given, converted to what is taken.
    pub(super) fn given_as(&mut self, given: &[Given], takes: &[Type], at: usize) -> Read<String> {
        if given.len() != takes.len() {
            let message = format!("error CS1501: {} values are taken", takes.len());
            return refuse(at, message);
        }
        let mut out = Vec::new();
        for (one, of) in given.iter().zip(takes) {
            match one {
                Given::Value(one) => out.push(self.typed(one, of)?),
                _ => return refuse(at, "error: `out` is not understood here"),
            }
        }
        Ok(out.join(", "))
    }

    pub(super) fn index(&mut self, inner: &Expr, place: &Expr) -> Read<Value> {
        let (list, helper, key, of) = self.indexed(inner, place)?;
        Ok(match helper {
            "text" => value(format!("S.letter({list}, {key})"), of),
            "own" => value(format!("{list}.m_this$1({key})"), of),
            helper => value(
                format!("S.{}({list}, {key})", helper_name(helper, "at")),
                of,
            ),
        })
    }

    /// What is indexed, the kind of its helpers, the place, and the type of the element.
    fn indexed(
        &mut self,
        inner: &Expr,
        place: &Expr,
    ) -> Read<(String, &'static str, String, Type)> {
        let at = inner.at;
        let list = self.value(inner)?;
        let (helper, key, of) = match &list.of {
            Type::Array(of) => ("", Type::Int, (**of).clone()),
            Type::List(of) => ("list", Type::Int, (**of).clone()),
            Type::Map(key, of) => ("map", (**key).clone(), (**of).clone()),
            Type::Text => ("text", Type::Int, Type::Char),
            Type::Class(class) => match self
                .known
                .get(class)
                .and_then(|known| known.indexer.clone())
            {
                Some(indexer) if indexer.takes.len() == 1 => {
                    ("own", indexer.takes[0].clone(), indexer.gives)
                }
                _ => return self.no_member(&list.of, "this[]", at),
            },
            of => return self.no_member(of, "this[]", at),
        };
        let key = self.typed(place, &key)?;
        Ok((list.js, helper, key, of))
    }

    /// A variable or field that is set by its name; refuses what cannot be set.
    fn target(&mut self, target: &Expr) -> Read<Value> {
        let at = target.at;
        let (class, of, name) = match &*target.kind {
            ExprKind::Name(name) => match self.find(name) {
                Some(variable) => {
                    return match variable.fixed {
                        None => Ok(value(variable.own, variable.of)),
                        Some(why) => refuse(at, why),
                    };
                }
                None => (Type::Class(self.class.clone()), None, name),
            },
            ExprKind::Member(inner, name) if self.type_of(inner).is_none() => {
                let inner = self.value(inner)?;
                (inner.of, Some(inner.js), name)
            }
            _ => return refuse(at, NO_TARGET),
        };
        let Type::Class(class) = class else {
            return refuse(at, NO_TARGET);
        };
        let field = self
            .known
            .get(&class)
            .and_then(|known| known.fields.get(name));
        if field.is_some_and(|field| field.is_static || field.is_computed) {
            return refuse(at, NO_TARGET);
        }
        match self.field(&class, name, of.as_deref(), at)? {
            Some(found) => Ok(found),
            None => refuse(at, NO_TARGET),
        }
    }

    pub(super) fn assign(
        &mut self,
        sign: &str,
        target: &Expr,
        given: &Expr,
        at: usize,
    ) -> Read<Value> {
        if let ExprKind::Index(inner, place) = &*target.kind {
            let (list, helper, key, of) = self.indexed(inner, place)?;
            if matches!(helper, "text" | "own") || sign == "??" {
                return refuse(at, "error: this element cannot be set here");
            }
            if sign.is_empty() {
                let given = self.typed(given, &of)?;
                let put = helper_name(helper, "put");
                return Ok(value(format!("S.{put}({list}, {key}, {given})"), of));
            }
            let given = self.value(given)?;
            let new = self.changed(sign, value("old", of.clone()), given, at)?;
            let change = helper_name(helper, "change");
            return Ok(value(
                format!("S.{change}({list}, {key}, (old) => {new})"),
                of,
            ));
        }
        let variable = self.target(target)?;
        self.check_simple(sign, target)?;
        let of = variable.of.clone();
        let new = match sign {
            "" => self.typed(given, &of)?,
            sign => {
                let given = self.value(given)?;
                self.changed(sign, variable.clone(), given, at)?
            }
        };
        Ok(value(format!("({} = {new})", variable.js), of))
    }

    /// Operators in front of `=` read the object twice: it must be cheap and without effects.
    fn check_simple(&self, sign: &str, target: &Expr) -> Read<()> {
        let is_simple = match &*target.kind {
            ExprKind::Member(inner, _) => matches!(*inner.kind, ExprKind::Name(_) | ExprKind::This),
            _ => true,
        };
        match is_simple || sign.is_empty() {
            true => Ok(()),
            false => refuse(target.at, "error: put the object into a variable first"),
        }
    }

    /// The new value of `old sign= given`, cast back as C# does.
    fn changed(&self, sign: &str, old: Value, given: Value, at: usize) -> Read<String> {
        let of = old.of.clone();
        if of.is_number() && given.of.is_number() && !self.fits(&given.of, &of) {
            let message = format!("error CS0266: '{}' does not fit into '{of}'", given.of);
            return refuse(at, message);
        }
        let new = self.computed(sign, old, given, at)?;
        match (&new.of, &of) {
            (Type::Int, Type::Char) => Ok(format!("({} & 65535)", new.js)),
            _ => self.convert(new, &of, at),
        }
    }

    /// `++` and `--`.
    pub(super) fn step(
        &mut self,
        is_new: bool,
        goes_up: bool,
        target: &Expr,
        at: usize,
    ) -> Read<Value> {
        let sign = if goes_up { "+" } else { "-" };
        if let ExprKind::Index(inner, place) = &*target.kind {
            let (list, helper, key, of) = self.indexed(inner, place)?;
            if matches!(helper, "text" | "own") || !of.is_number() {
                return refuse(at, "error: this element cannot be counted here");
            }
            let new = self.changed(sign, value("old", of.clone()), one_of(&of), at)?;
            let name = helper_name(helper, if is_new { "change" } else { "step" });
            return Ok(value(
                format!("S.{name}({list}, {key}, (old) => {new})"),
                of,
            ));
        }
        let variable = self.target(target)?;
        self.check_simple(sign, target)?;
        let of = variable.of.clone();
        if !of.is_number() {
            let message = format!("error CS0023: '{sign}{sign}' cannot be applied to '{of}'");
            return refuse(at, message);
        }
        let new = self.changed(sign, variable.clone(), one_of(&of), at)?;
        let js = &variable.js;
        Ok(value(
            match is_new {
                true => format!("({js} = {new})"),
                false => format!("S.first({js}, {js} = {new})"),
            },
            of,
        ))
    }

    pub(super) fn array(
        &mut self,
        element: Option<&TypeName>,
        len: Option<&Expr>,
        values: Option<&[Expr]>,
        at: usize,
    ) -> Read<Value> {
        let mut values = values.unwrap_or_default().iter();
        let mut items = Vec::new();
        let of = match element {
            Some(written) => self.resolve(written)?,
            None => {
                let Some(first) = values.next() else {
                    return refuse(at, "error CS0826: the type of the array is not known");
                };
                let first = self.value(first)?;
                items.push(first.js);
                first.of
            }
        };
        if matches!(
            of,
            Type::Null | Type::Void | Type::Maybe(_) | Type::Pair(..)
        ) {
            return refuse(at, "error: this is no element of an array here");
        }
        // Arrays of variables that are arrays: no name of a type bounds how deep they are.
        if of.ranks() >= DEPTH_MAX {
            return refuse(at, "error: this is nested too deeply");
        }
        let js = match len {
            Some(len) => {
                let len = self.typed(len, &Type::Int)?;
                format!("S.array({len}, {})", of.default_value())
            }
            None => {
                for one in values {
                    items.push(self.typed(one, &of)?);
                }
                format!("[{}]", items.join(", "))
            }
        };
        Ok(value(js, Type::Array(Box::new(of))))
    }

    pub(super) fn creation(
        &mut self,
        written: &TypeName,
        given: &[Given],
        values: &[Element],
        at: usize,
    ) -> Read<Value> {
        let is_read_only = written.name.starts_with('I') && written.name != "IndexReader";
        let of = self.resolve(written)?;
        if let Type::Class(class) = &of {
            if self.ready.is_some() {
                let message =
                    "error: static fields get their values without classes of the source here";
                return refuse(at, message);
            }
            if !values.is_empty() {
                return refuse(at, "error: members are not set behind `new` here");
            }
            let takes = self
                .known
                .get(class)
                .and_then(|known| known.constructor.clone());
            let takes = takes.map_or_else(Vec::new, |constructor| constructor.takes);
            let given = self.given_as(given, &takes, at)?;
            return Ok(value(format!("(new C_{class}({given}))"), of));
        }
        let js = match &of {
            _ if is_read_only => None,
            Type::List(inner) => self.new_list(inner, given, values)?,
            Type::Set(inner) => {
                let how = self.comparer(inner, given)?;
                let elements = self.elements(inner, values)?;
                how.map(|how| format!("S.group({how}, [{elements}])"))
            }
            Type::Map(key, element) => match self.comparer(key, given)? {
                Some(how) => Some(self.new_map((key, element), &how, values)?),
                None => None,
            },
            Type::Text => match given {
                [Given::Value(one)] => {
                    let letters = Type::Array(Box::new(Type::Char));
                    Some(format!("S.ofLetters({})", self.typed(one, &letters)?))
                }
                _ => None,
            },
            _ => None,
        };
        match js {
            Some(js) => Ok(value(js, of)),
            None => refuse(at, format!("error: this `new {of}` is not understood")),
        }
    }

    fn new_list(
        &mut self,
        inner: &Type,
        given: &[Given],
        values: &[Element],
    ) -> Read<Option<String>> {
        let elements = self.elements(inner, values)?;
        Ok(match given {
            [] => Some(format!("[{elements}]")),
            [Given::Value(one)] if values.is_empty() => {
                let source = self.value(one)?;
                match source.of {
                    // How much room there is makes no difference.
                    Type::Int => Some(format!("S.first([], {})", source.js)),
                    _ => {
                        let wanted = Type::Sequence(Box::new(inner.clone()));
                        Some(format!(
                            "S.copy({})",
                            self.convert(source, &wanted, one.at)?
                        ))
                    }
                }
            }
            _ => None,
        })
    }

    fn new_map(&mut self, of: (&Type, &Type), how: &str, values: &[Element]) -> Read<String> {
        let mut pairs = Vec::new();
        for element in values {
            let (key, one, is_put) = match element {
                Element::One(one) => {
                    return refuse(one.at, "error: a dictionary has keys and values");
                }
                Element::Add(key, one) => (key, one, false),
                Element::Put(key, one) => (key, one, true),
            };
            let (key, one) = (self.typed(key, of.0)?, self.typed(one, of.1)?);
            pairs.push(format!("[{key}, {one}, {is_put}]"));
        }
        Ok(format!("S.table({how}, [{}])", pairs.join(", ")))
    }

    fn elements(&mut self, inner: &Type, values: &[Element]) -> Read<String> {
        let mut out = Vec::new();
        for element in values {
            match element {
                Element::One(one) => out.push(self.typed(one, inner)?),
                Element::Add(_, one) | Element::Put(_, one) => {
                    return refuse(one.at, "error: these elements have no keys");
                }
            }
        }
        Ok(out.join(", "))
    }

    /// How keys are compared; `None` when what is given is something else.
    fn comparer(&mut self, key: &Type, given: &[Given]) -> Read<Option<String>> {
        Ok(match given {
            [] => Some("null".to_owned()),
            [Given::Value(one)] => {
                let one = self.value(one)?;
                match (&one.of, key) {
                    (Type::Comparer, Type::Text) => Some(one.js),
                    _ => None,
                }
            }
            _ => None,
        })
    }

    /// What is told of a value that `out` names: a function that sets it.
    pub(super) fn out(&mut self, given: &Given, of: &Type, at: usize) -> Read<String> {
        let target = match given {
            Given::OutNew(written, name, at) => {
                let wanted = written
                    .as_ref()
                    .map(|written| self.resolve(written))
                    .transpose()?;
                if wanted.is_some_and(|wanted| wanted != *of) {
                    let message = format!("error CS1503: '{name}' must be of type '{of}'");
                    return refuse(*at, message);
                }
                let own = self.variable(name, of.clone(), None, *at)?;
                let Some(hoisted) = &mut self.hoisted else {
                    return refuse(*at, "error: `out` stands in a method here");
                };
                hoisted.push_str(&format!("let {own} = {};\n", of.default_value()));
                own
            }
            Given::Out(target) => {
                let variable = self.target(target)?;
                self.check_simple("out", target)?;
                if variable.of != *of {
                    let message = format!("error CS1503: `out` must be of type '{of}'");
                    return refuse(at, message);
                }
                variable.js
            }
            Given::Value(_) => return refuse(at, "error CS1620: `out` is missing"),
        };
        Ok(format!("(given) => {{ {target} = given; }}"))
    }
}

/// The number that `++` adds.
fn one_of(of: &Type) -> Value {
    match of {
        Type::Long => value("1n", Type::Long),
        Type::Char => value("1", Type::Char),
        _ => value("1", Type::Int),
    }
}

/// The name of a helper of the prelude: `at` and `listAt`.
fn helper_name(kind: &str, name: &str) -> String {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) if !kind.is_empty() => {
            format!("{kind}{}{}", first.to_ascii_uppercase(), letters.as_str())
        }
        _ => name.to_owned(),
    }
}
