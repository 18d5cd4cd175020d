//! Translates statements.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::classes::{IS_CONST, Translator};
use super::parser::{Read, refuse};
use super::tree::{Expr, ExprKind, Statement, StatementKind, TypeName};
use super::types::Type;

/// Of the variable of a `foreach` that is set.
const IS_EACH: &str = "error CS1656: Cannot assign to a 'foreach iteration variable'";

/// Whether nothing behind these statements is ever run.
pub(super) fn ends(statements: &[Statement]) -> bool {
    statements.iter().any(ends_one)
}

fn ends_one(statement: &Statement) -> bool {
    let is_true = |condition: &Expr| matches!(*condition.kind, ExprKind::Bool(true));
    match &statement.kind {
        StatementKind::Return(_) | StatementKind::Throw(_) => true,
        StatementKind::Block(inner) => ends(inner),
        StatementKind::If(branches, Some(otherwise)) => {
            branches.iter().all(|(_, then)| ends_one(then)) && ends_one(otherwise)
        }
        StatementKind::While(condition, body) => is_true(condition) && !breaks(body),
        StatementKind::Do(body, condition) => {
            (is_true(condition) || ends_one(body) && !continues(body)) && !breaks(body)
        }
        StatementKind::For(_, condition, _, body) => {
            condition.as_ref().is_none_or(is_true) && !breaks(body)
        }
        StatementKind::Switch(_, sections) => {
            let has_default = sections
                .iter()
                .any(|(labels, _)| labels.iter().any(Option::is_none));
            has_default
                && sections
                    .iter()
                    .all(|(_, body)| ends(body) && !body.iter().any(breaks))
        }
        _ => false,
    }
}

/// Whether a `break` leaves the loop or switch that this is the body of.
fn breaks(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Break => true,
        StatementKind::Block(inner) => inner.iter().any(breaks),
        StatementKind::If(branches, otherwise) => {
            branches.iter().any(|(_, then)| breaks(then))
                || otherwise.as_ref().is_some_and(|other| breaks(other))
        }
        _ => false,
    }
}

/// Whether a `continue` goes on with the condition of the loop that this is the body of.
fn continues(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Continue => true,
        StatementKind::Block(inner) => inner.iter().any(continues),
        StatementKind::If(branches, otherwise) => {
            branches.iter().any(|(_, then)| continues(then))
                || otherwise.as_ref().is_some_and(|other| continues(other))
        }
        StatementKind::Switch(_, sections) => {
            sections.iter().any(|(_, body)| body.iter().any(continues))
        }
        _ => false,
    }
}

/// Whether a section of a switch goes on into the next, which C# refuses.
fn falls_through(body: &[Statement]) -> bool {
    fn leaves(statement: &Statement) -> bool {
        match &statement.kind {
            StatementKind::Break | StatementKind::Continue => true,
            StatementKind::Block(inner) => inner.iter().any(leaves),
            StatementKind::If(branches, Some(otherwise)) => {
                branches.iter().all(|(_, then)| leaves(then)) && leaves(otherwise)
            }
            _ => ends_one(statement),
        }
    }
    !body.iter().any(leaves)
}

impl Translator {
    /// Statements with a scope of their own, without braces.
    pub(super) fn block(&mut self, statements: &[Statement]) -> Read<String> {
        self.scopes.push(Vec::new());
        let mut out = String::new();
        for statement in statements {
            self.statement(statement, &mut out)?;
        }
        self.scopes.pop();
        Ok(out)
    }

    fn inner(&mut self, statement: &Statement) -> Read<String> {
        match &statement.kind {
            StatementKind::Block(inner) => self.block(inner),
            StatementKind::Local(..) => {
                let message = "error CS1023: a declaration stands in a block";
                refuse(statement.at, message)
            }
            _ => self.block(std::slice::from_ref(statement)),
        }
    }

    fn statement(&mut self, statement: &Statement, out: &mut String) -> Read<()> {
        let outer = self.hoisted.replace(String::new());
        let mut text = String::new();
        self.statement_text(statement, &mut text)?;
        let hoisted = std::mem::replace(&mut self.hoisted, outer);
        out.push_str(&hoisted.unwrap_or_default());
        out.push_str(&text);
        Ok(())
    }

    fn statement_text(&mut self, statement: &Statement, out: &mut String) -> Read<()> {
        match &statement.kind {
            StatementKind::Empty => {}
            StatementKind::Break => out.push_str("break;\n"),
            StatementKind::Continue => out.push_str("continue;\n"),
            StatementKind::Block(inner) => {
                let inner = self.block(inner)?;
                let _ = writeln!(out, "{{\n{inner}}}");
            }
            StatementKind::Local(is_const, type_name, names) => {
                let fixed = is_const.then_some(IS_CONST);
                self.locals(fixed, type_name.as_ref(), names, out)?;
            }
            StatementKind::Expression(value) => {
                let value = self.effect(value)?;
                let _ = writeln!(out, "{value};");
            }
            StatementKind::If(branches, otherwise) => {
                self.branches(branches, otherwise.as_deref(), out)?;
            }
            StatementKind::While(condition, body) => {
                let condition = self.typed(condition, &Type::Bool)?;
                let body = self.inner(body)?;
                let _ = writeln!(out, "while ({condition}) {{\n{body}}}");
            }
            StatementKind::Do(body, condition) => {
                let body = self.inner(body)?;
                let condition = self.typed(condition, &Type::Bool)?;
                let _ = writeln!(out, "do {{\n{body}}} while ({condition});");
            }
            StatementKind::For(first, condition, steps, body) => {
                // One variable for all turns, as lambdas of C# see it.
                self.scopes.push(Vec::new());
                out.push_str("{\n");
                for one in first {
                    self.statement(one, out)?;
                }
                let condition = match condition {
                    Some(condition) => self.typed(condition, &Type::Bool)?,
                    None => String::new(),
                };
                let steps = steps.iter().map(|step| self.effect(step));
                let steps = steps.collect::<Read<Vec<_>>>()?.join(", ");
                let body = self.inner(body)?;
                self.scopes.pop();
                let _ = writeln!(out, "for (; {condition}; {steps}) {{\n{body}}}\n}}");
            }
            StatementKind::ForEach(type_name, name, list, body) => {
                self.for_each((type_name.as_ref(), name), list, body, out, statement.at)?;
            }
            StatementKind::Switch(value, sections) => self.switch(value, sections, out)?,
            StatementKind::Return(value) => {
                let gives = self.gives.last().cloned().unwrap_or(Type::Void);
                let value = match (value, gives) {
                    (None, Type::Void) => String::new(),
                    (Some(value), gives) if gives != Type::Void => self.typed(value, &gives)?,
                    _ => {
                        let message = "error CS0127: what is returned does not fit the method";
                        return refuse(statement.at, message);
                    }
                };
                let _ = writeln!(out, "return {value};");
            }
            StatementKind::Throw(value) => {
                let thrown = self.thrown(value)?;
                let _ = writeln!(out, "{thrown};");
            }
        }
        Ok(())
    }

    /// Branches one after the other in a block that each leaves: an `else` in an `else` would take
    /// the stack of the engine.
    fn branches(
        &mut self,
        branches: &[(Expr, Statement)],
        otherwise: Option<&Statement>,
        out: &mut String,
    ) -> Read<()> {
        self.name_count += 1;
        let label = format!("b${}", self.name_count);
        let _ = writeln!(out, "{label}: {{");
        for (slot, (condition, then)) in branches.iter().enumerate() {
            // What the first condition declares is seen behind the statement, too.
            let outer = (slot > 0).then(|| self.hoisted.replace(String::new()));
            let condition = self.typed(condition, &Type::Bool)?;
            if slot == 0 {
                self.scopes.push(Vec::new());
            }
            if let Some(outer) = outer {
                let hoisted = std::mem::replace(&mut self.hoisted, outer);
                out.push_str(&hoisted.unwrap_or_default());
            }
            let then = self.inner(then)?;
            let _ = writeln!(out, "if ({condition}) {{\n{then}break {label};\n}}");
        }
        if let Some(otherwise) = otherwise {
            out.push_str(&self.inner(otherwise)?);
        }
        self.scopes.pop();
        out.push_str("}\n");
        Ok(())
    }

    fn locals(
        &mut self,
        fixed: Option<&'static str>,
        type_name: Option<&TypeName>,
        names: &[(String, Option<Expr>, usize)],
        out: &mut String,
    ) -> Read<()> {
        for (name, value, at) in names {
            let (of, value) = match (type_name, value) {
                (Some(written), Some(value)) => {
                    let of = self.resolve(written)?;
                    let value = self.typed(value, &of)?;
                    (of, value)
                }
                (Some(written), None) => {
                    let of = self.resolve(written)?;
                    let value = of.default_value().to_owned();
                    (of, value)
                }
                (None, Some(value)) => {
                    let value = self.value(value)?;
                    if matches!(
                        value.of,
                        Type::Null | Type::Void | Type::Never | Type::Maybe(_)
                    ) {
                        let message = format!("error CS0815: the type of '{name}' is not known");
                        return refuse(*at, message);
                    }
                    (value.of, value.js)
                }
                (None, None) => {
                    return refuse(*at, "error CS0818: `var` needs a value");
                }
            };
            let own = self.variable(name, of, fixed, *at)?;
            let _ = writeln!(out, "let {own} = {value};");
        }
        Ok(())
    }

    fn for_each(
        &mut self,
        variable: (Option<&TypeName>, &str),
        list: &Expr,
        body: &Statement,
        out: &mut String,
        at: usize,
    ) -> Read<()> {
        let list = self.value(list)?;
        let Some(element) = list.of.element() else {
            let message = format!("error CS1579: foreach cannot go over '{}'", list.of);
            return refuse(at, message);
        };
        let of = match variable.0 {
            Some(written) => self.resolve(written)?,
            None => element.clone(),
        };
        if of != element {
            let message = format!("error: the elements are '{element}', not '{of}'");
            return refuse(at, message);
        }
        let values = match &list.of {
            Type::Text => format!("S.letters({})", list.js),
            Type::Map(..) => format!("S.pairs({})", list.js),
            Type::Set(_) => format!("S.keys({})", list.js),
            _ => list.js,
        };
        self.scopes.push(Vec::new());
        let own = self.variable(variable.1, of, Some(IS_EACH), at)?;
        let body = self.inner(body)?;
        self.scopes.pop();
        let _ = writeln!(out, "for (const {own} of S.each({values})) {{\n{body}}}");
        Ok(())
    }

    fn switch(
        &mut self,
        value: &Expr,
        sections: &[(Vec<Option<Expr>>, Vec<Statement>)],
        out: &mut String,
    ) -> Read<()> {
        let at = value.at;
        let value = self.value(value)?;
        if !matches!(
            value.of,
            Type::Int | Type::Long | Type::Char | Type::Text | Type::Bool
        ) {
            let message = format!("error: switch over '{}' is not understood", value.of);
            return refuse(at, message);
        }
        let _ = writeln!(out, "switch ({}) {{", value.js);
        let mut cases = BTreeSet::new();
        for (labels, body) in sections {
            for label in labels {
                let case = match label {
                    None => "default".to_owned(),
                    Some(label) if self.is_constant(label) => {
                        format!("case {}", self.typed(label, &value.of)?)
                    }
                    Some(label) => {
                        let message = "error CS9135: a constant is expected: a literal or a const";
                        return refuse(label.at, message);
                    }
                };
                let _ = writeln!(out, "{case}:");
                if !cases.insert(case) {
                    let at = label.as_ref().map_or(at, |label| label.at);
                    return refuse(at, "error CS0152: the switch has this label twice");
                }
            }
            if falls_through(body) {
                let at = body.first().map_or(at, |first| first.at);
                let message = "error CS0163: a section of a switch ends with break or return";
                return refuse(at, message);
            }
            let body = self.block(body)?;
            let _ = writeln!(out, "{{\n{body}}}");
        }
        out.push_str("}\n");
        Ok(())
    }

    /// Whether it is a literal, one with a sign in front, or the name of a constant.
    fn is_constant(&self, label: &Expr) -> bool {
        let is_const = |class: &str, name: &str| {
            let fields = self.known.get(class).map(|known| &known.fields);
            fields.is_some_and(|fields| fields.get(name).is_some_and(|field| field.is_const))
        };
        match &*label.kind {
            ExprKind::Int(_)
            | ExprKind::Long(_)
            | ExprKind::Char(_)
            | ExprKind::Text(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::NameOf(_) => true,
            ExprKind::Unary("-" | "+", inner) => {
                matches!(*inner.kind, ExprKind::Int(_) | ExprKind::Long(_))
            }
            ExprKind::Name(name) => match self.find(name) {
                Some(variable) => variable.fixed == Some(IS_CONST),
                None => is_const(&self.class, name),
            },
            ExprKind::Member(inner, name) => match &*inner.kind {
                ExprKind::Name(class) => self.find(class).is_none() && is_const(class, name),
                _ => false,
            },
            _ => false,
        }
    }

    /// An expression that stands for what it does.
    pub(super) fn effect(&mut self, value: &Expr) -> Read<String> {
        match &*value.kind {
            ExprKind::Call(..)
            | ExprKind::Assign(..)
            | ExprKind::Step(..)
            | ExprKind::New(..)
            | ExprKind::Safe(..) => self.value(value).map(|value| value.js),
            _ => refuse(
                value.at,
                "error CS0201: only assignments, calls, ++, -- and new stand as statements",
            ),
        }
    }
}
