//! Translates classes: members, constructors, and what a sorter has to have.
//!
//! Called by `Sorter::compile`. Names of the source get prefixes, so that none means anything to
//! JavaScript: `C_` classes, `f_` fields and properties, `m_name$count` methods, `v_` variables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::parser::{Read, refuse};
use super::tree::{Class, Expr, Member, MemberKind, Parameter, Statement};
use super::types::Type;

/// A field or property.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) of: Type,
    pub(super) is_static: bool,
    pub(super) is_computed: bool,
    pub(super) is_const: bool,
}

/// A variable in scope.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    name: String,
    /// Its name in JavaScript.
    pub(super) own: String,
    pub(super) of: Type,
    /// Why it cannot be set.
    pub(super) fixed: Option<&'static str>,
}

/// Of a constant that is set.
pub(super) const IS_CONST: &str =
    "error CS0131: The left-hand side of an assignment must be a variable, property or indexer";

/// A method, constructor or indexer.
#[derive(Clone, Debug)]
pub(super) struct Method {
    pub(super) takes: Vec<Type>,
    pub(super) gives: Type,
    pub(super) is_static: bool,
}

/// What is known of a class before its bodies are translated.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) fields: BTreeMap<String, Field>,
    pub(super) methods: BTreeMap<(String, usize), Method>,
    pub(super) constructor: Option<Method>,
    pub(super) indexer: Option<Method>,
}

/// See the file head.
pub(super) struct Translator {
    pub(super) class_names: Vec<String>,
    pub(super) known: BTreeMap<String, Known>,
    pub(super) class: String,
    pub(super) is_static: bool,
    /// Static fields that have their values; `None` outside of their initial values.
    pub(super) ready: Option<Vec<(String, String)>>,
    pub(super) scopes: Vec<Vec<Variable>>,
    pub(super) name_count: usize,
    /// Types that the methods and lambdas around give.
    pub(super) gives: Vec<Type>,
    /// What is in front of `?.`.
    pub(super) receivers: Vec<(String, Type)>,
    /// Declarations that belong in front of the present statement; `None` where there is none.
    pub(super) hoisted: Option<String>,
}

/// What `FieldComparator` has, with parameters; a state at the end may be left out of some.
const OVERRIDES: &[(&str, &[Type], Type, bool)] = &[
    ("Compare", &[Type::Int, Type::Int], Type::Int, false),
    ("SetBottom", &[Type::Int], Type::Void, false),
    ("CompareBottom", &[Type::Int, Type::State], Type::Int, true),
    (
        "Copy",
        &[Type::Int, Type::Int, Type::State],
        Type::Void,
        true,
    ),
    (
        "SetNextReader",
        &[Type::Reader, Type::Int, Type::State],
        Type::Void,
        true,
    ),
];

/// Translates `classes`; gives the function that makes the class `name`.
pub(super) fn translate(classes: &[Class], name: &str) -> Read<String> {
    let class_names: Vec<String> = classes.iter().map(|class| class.name.clone()).collect();
    let mut translator = Translator {
        class_names,
        known: BTreeMap::new(),
        class: String::new(),
        is_static: false,
        ready: None,
        scopes: Vec::new(),
        name_count: 0,
        gives: Vec::new(),
        receivers: Vec::new(),
        hoisted: None,
    };
    for class in classes {
        let known = translator.declare(class)?;
        if translator.known.insert(class.name.clone(), known).is_some() {
            let message = format!("error CS0101: there is a second class '{}'", class.name);
            return refuse(class.at, message);
        }
        match &class.base {
            Some(base) if base.name == "FieldComparator" => {}
            Some(base) => {
                let message = "error: classes derive from FieldComparator or from nothing here";
                return refuse(base.at, message);
            }
            None if class.name == name => {
                let message = "error: a sorter derives from FieldComparator";
                return refuse(class.at, message);
            }
            None => {}
        }
        if class.base.is_some() {
            translator.check_overrides(class)?;
        }
    }
    let mut out = String::from("(function (S) {\n'use strict';\n");
    for class in classes {
        translator.class.clone_from(&class.name);
        translator.class_text(class, &mut out)?;
    }
    translator.statics(classes, &mut out)?;
    let _ = write!(out, "return C_{name};\n}})");
    Ok(out)
}

impl Translator {
    pub(super) fn resolve(&self, written: &super::tree::TypeName) -> Read<Type> {
        Type::resolve(written, &self.class_names)
    }

    fn method(&self, member: &Member, parameters: &[Parameter]) -> Read<Method> {
        let takes = parameters.iter().map(|one| self.resolve(&one.type_name));
        Ok(Method {
            takes: takes.collect::<Read<_>>()?,
            gives: match &member.type_name {
                Some(written) => self.resolve(written)?,
                None => Type::Void,
            },
            is_static: member.is_static,
        })
    }

    /// The members of a class.
    fn declare(&self, class: &Class) -> Read<Known> {
        let mut known = Known::default();
        for member in &class.members {
            let is_second = match &member.kind {
                MemberKind::Field(_) | MemberKind::Property(_) => {
                    let of = match &member.type_name {
                        Some(written) => self.resolve(written)?,
                        None => Type::Object,
                    };
                    let field = Field {
                        of,
                        is_static: member.is_static,
                        is_computed: matches!(member.kind, MemberKind::Property(_)),
                        is_const: member.is_const,
                    };
                    known.fields.insert(member.name.clone(), field).is_some()
                }
                MemberKind::Method(parameters, _) => {
                    let key = (member.name.clone(), parameters.len());
                    let method = self.method(member, parameters)?;
                    known.methods.insert(key, method).is_some()
                }
                MemberKind::Constructor(parameters, _) if !member.is_static => {
                    let method = self.method(member, parameters)?;
                    known.constructor.replace(method).is_some()
                }
                MemberKind::Constructor(..) => {
                    return refuse(member.at, "error: static constructors are not understood");
                }
                MemberKind::Indexer(parameters, _) => {
                    let method = self.method(member, parameters)?;
                    known.indexer.replace(method).is_some()
                }
            };
            if is_second {
                let message = format!(
                    "error: '{}' has another member of this name with as many parameters, which \
                     is not understood",
                    class.name
                );
                return refuse(member.at, message);
            }
        }
        Ok(known)
    }

    /// A comparator has every member of its base, with the right types.
    fn check_overrides(&self, class: &Class) -> Read<()> {
        let known = &self.known[&class.name];
        let absent = |what: &str| {
            let message = format!(
                "error CS0534: '{}' does not implement inherited abstract member \
                 'FieldComparator.{what}'",
                class.name
            );
            refuse(class.at, message)
        };
        for (name, takes, gives, state_may_miss) in OVERRIDES {
            let own = |count| known.methods.get(&((*name).to_owned(), count));
            let found = own(takes.len());
            let short = own(takes.len() - 1).filter(|_| *state_may_miss);
            match found.or(short) {
                Some(method)
                    if method.gives == *gives
                        && !method.is_static
                        && method.takes == takes[..method.takes.len()] => {}
                _ => return absent(name),
            }
        }
        match &known.indexer {
            Some(indexer) if indexer.takes == [Type::Int] && indexer.gives == Type::Object => {}
            _ => return absent("this[int]"),
        }
        let expected = [
            Type::Text,
            Type::Int,
            Type::Int,
            Type::Bool,
            Type::List(Box::new(Type::Text)),
        ];
        match &known.constructor {
            Some(constructor) if constructor.takes == expected => {}
            _ => {
                let message = format!(
                    "error: '{}' needs the constructor (string fieldName, int numHits, int \
                     sortPos, bool reversed, List<string> diagnostics)",
                    class.name
                );
                return refuse(class.at, message);
            }
        }
        let overridden = class.members.iter().filter(|member| member.is_override);
        for member in overridden {
            let is_known =
                member.name == "this" || OVERRIDES.iter().any(|(name, ..)| *name == member.name);
            if !is_known {
                let message = format!(
                    "error CS0115: '{}': there is nothing to override",
                    member.name
                );
                return refuse(member.at, message);
            }
        }
        Ok(())
    }

    fn class_text(&mut self, class: &Class, out: &mut String) -> Read<()> {
        let _ = writeln!(out, "class C_{} {{", class.name);
        self.constructor(class, out)?;
        for member in &class.members {
            let (head, parameters, body) = match &member.kind {
                MemberKind::Method(parameters, body) => (
                    format!("m_{}${}", member.name, parameters.len()),
                    parameters.as_slice(),
                    body,
                ),
                MemberKind::Indexer(parameters, body) => {
                    ("m_this$1".to_owned(), parameters.as_slice(), body)
                }
                MemberKind::Property(body) => (format!("get f_{}", member.name), &[][..], body),
                MemberKind::Field(_) | MemberKind::Constructor(..) => continue,
            };
            let gives = match &member.type_name {
                Some(written) => self.resolve(written)?,
                None => Type::Void,
            };
            self.is_static = member.is_static;
            let (names, body) = self.function(parameters, gives, body, member.at)?;
            let modifier = if member.is_static { "static " } else { "" };
            let _ = writeln!(out, "{modifier}{head}({names}) {{\n{body}}}");
        }
        out.push_str("}\n");
        Ok(())
    }

    /// The names of parameters and the text of a body.
    fn function(
        &mut self,
        parameters: &[Parameter],
        gives: Type,
        body: &[Statement],
        at: usize,
    ) -> Read<(String, String)> {
        self.scopes.push(Vec::new());
        let mut names = Vec::new();
        for parameter in parameters {
            let of = self.resolve(&parameter.type_name)?;
            names.push(self.variable(&parameter.name, of, None, parameter.type_name.at)?);
        }
        if gives != Type::Void && !super::statements::ends(body) {
            return refuse(at, "error CS0161: not all code paths return a value");
        }
        self.gives.push(gives);
        let text = self.block(body)?;
        self.gives.pop();
        self.scopes.pop();
        Ok((names.join(", "), text))
    }

    fn constructor(&mut self, class: &Class, out: &mut String) -> Read<()> {
        let mut fields = String::new();
        self.is_static = true;
        for member in class.members.iter().filter(|member| !member.is_static) {
            if let MemberKind::Field(_) = &member.kind {
                let of = &self.known[&class.name].fields[&member.name].of;
                let _ = writeln!(fields, "this.f_{} = {};", member.name, of.default_value());
            }
        }
        for member in class.members.iter().filter(|member| !member.is_static) {
            if let MemberKind::Field(Some(value)) = &member.kind {
                let value = self.initial(class, member, value)?;
                let _ = writeln!(fields, "this.f_{} = {value};", member.name);
            }
        }
        self.is_static = false;
        let own = class.members.iter().find_map(|member| match &member.kind {
            MemberKind::Constructor(parameters, body) => Some((parameters, body, member.at)),
            _ => None,
        });
        let (names, body) = match own {
            Some((parameters, body, at)) => self.function(parameters, Type::Void, body, at)?,
            None => (String::new(), String::new()),
        };
        let _ = writeln!(out, "constructor({names}) {{\n{fields}{body}}}");
        Ok(())
    }

    fn initial(&mut self, class: &Class, member: &Member, value: &Expr) -> Read<String> {
        let of = self.known[&class.name].fields[&member.name].of.clone();
        self.scopes.push(Vec::new());
        let value = self.typed(value, &of)?;
        self.scopes.pop();
        Ok(value)
    }

    /// Static fields: first all defaults, then values in the order of the source.
    fn statics(&mut self, classes: &[Class], out: &mut String) -> Read<()> {
        self.is_static = true;
        let mut values = String::new();
        self.ready = Some(Vec::new());
        for class in classes {
            self.class.clone_from(&class.name);
            for member in class.members.iter().filter(|member| member.is_static) {
                let MemberKind::Field(value) = &member.kind else {
                    continue;
                };
                let (class_name, name) = (&class.name, &member.name);
                let default = self.known[class_name].fields[name].of.default_value();
                let _ = writeln!(out, "C_{class_name}.f_{name} = {default};");
                if let Some(value) = value {
                    let value = self.initial(class, member, value)?;
                    let _ = writeln!(values, "C_{class_name}.f_{name} = {value};");
                }
                if let Some(ready) = &mut self.ready {
                    ready.push((class_name.clone(), name.clone()));
                }
            }
        }
        self.ready = None;
        out.push_str(&values);
        Ok(())
    }

    /// Declares a variable; its name in JavaScript.
    pub(super) fn variable(
        &mut self,
        name: &str,
        of: Type,
        fixed: Option<&'static str>,
        at: usize,
    ) -> Read<String> {
        if self.find(name).is_some() {
            let message = format!("error CS0128: a variable named '{name}' is already defined");
            return refuse(at, message);
        }
        if of == Type::Void {
            return refuse(at, "error CS1547: a variable cannot be void");
        }
        self.name_count += 1;
        let own = format!("v_{name}${}", self.name_count);
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Variable {
                name: name.to_owned(),
                own: own.clone(),
                of,
                fixed,
            });
        }
        Ok(own)
    }

    /// A variable in scope.
    pub(super) fn find(&self, name: &str) -> Option<Variable> {
        let all = self.scopes.iter().flatten();
        all.rev().find(|one| one.name == name).cloned()
    }
}
