//! The text of a script and how it becomes one function.

use crate::error::ScriptError;
use crate::lenient;
use crate::limits::ScriptLimits;

/// A script: functions declared before it, names of the documents it is given, and its body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// Functions in front of it, each `function name(parameters) { ... }`.
    pub declarations: String,
    /// Names of the documents; the first is also `this`. Without a name for it, use `$this`.
    pub parameters: Vec<String>,
    /// Statements; `return` gives a value.
    pub body: String,
}

/// One way to compile a program, with where its lines stand.
pub(crate) struct Compiled {
    pub(crate) text: String,
    positions: Positions,
}

/// From places in the compiled text back to places in the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Positions {
    /// Lines before the body.
    body_line: u32,
    /// Line and column, in the compiled text, of each character that was put in.
    inserted: Vec<(u32, u32)>,
}

impl Program {
    /// A patch: statements over `this` and `args`.
    #[must_use]
    pub fn patch(body: &str) -> Program {
        Program {
            declarations: String::new(),
            parameters: vec!["$this".to_owned()],
            body: body.to_owned(),
        }
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.declarations.len() + self.body.len()
    }

    pub(crate) fn check(&self, limits: &ScriptLimits) -> Result<(), ScriptError> {
        let (len_bytes, limit_bytes) = (self.len_bytes(), limits.text_bytes_max);
        if len_bytes > limit_bytes {
            return Err(ScriptError::TooLong {
                len_bytes,
                limit_bytes,
            });
        }
        // Else the text could end the function that is made of it.
        for text in [&self.declarations, &self.body] {
            if let Some(at) = lenient::unopened(text) {
                let before = &text[..at];
                let line_start = before.rfind('\n').map_or(0, |at| at + 1);
                let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
                return Err(ScriptError::Syntax {
                    message: format!("'{}' closes nothing", &text[at..=at]),
                    line: count(before.matches('\n').count() + 1),
                    column: count(before[line_start..].chars().count() + 1),
                });
            }
        }
        Ok(())
    }

    /// Names in the program that nothing in it needs to declare.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = lenient::names(&self.declarations);
        names.extend(lenient::names(&self.body));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether it adds no global by another way than by its name. `globalThis` does, and so may the
    /// `this` of a function that is called without an object.
    pub(crate) fn is_closed(&self) -> bool {
        let in_declarations = lenient::names(&self.declarations);
        let in_body = lenient::names(&self.body);
        let has = |names: &[String], wanted: &str| names.iter().any(|name| name == wanted);
        !has(&in_declarations, "this")
            && !has(&in_declarations, "globalThis")
            && !has(&in_body, "globalThis")
            && !lenient::has_function(&self.body)
    }

    /// The whole program as an expression that is a function. With `is_lenient`, members of what
    /// is not there are `undefined` instead of errors.
    pub(crate) fn compile(&self, is_lenient: bool) -> Compiled {
        let (declarations, body, inserted) = match is_lenient {
            true => {
                let declarations = lenient::soften(&self.declarations);
                let body = lenient::soften(&self.body);
                (declarations.text, body.text, body.inserted)
            }
            false => (self.declarations.clone(), self.body.clone(), Vec::new()),
        };
        let head = format!(
            "{declarations}\n(function ({}, args) {{\n",
            self.parameters.join(", ")
        );
        let body_line = u32::try_from(head.matches('\n').count()).unwrap_or(u32::MAX);
        Compiled {
            text: format!("{head}{body}\n}})"),
            positions: Positions {
                body_line,
                inserted,
            },
        }
    }
}

impl Compiled {
    pub(crate) fn into_positions(self) -> Positions {
        self.positions
    }

    pub(crate) fn positions(&self) -> &Positions {
        &self.positions
    }
}

impl Positions {
    /// The place in the body, for a place in the compiled text; what stands before the body keeps
    /// its own lines.
    pub(crate) fn original(&self, line: u32, column: u32) -> (u32, u32) {
        let Some(line) = line.checked_sub(self.body_line).filter(|line| *line > 0) else {
            return (line.max(1), column.max(1));
        };
        let before = self
            .inserted
            .iter()
            .filter(|(at_line, at_column)| *at_line == line && *at_column < column);
        let count = u32::try_from(before.count()).unwrap_or(0);
        (line, column.saturating_sub(count).max(1))
    }
}
