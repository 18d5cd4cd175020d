//! Calls: methods behind a value, their arguments, functions of additional sources.

use super::names::{self, Called};
use super::parser::Parser;
use crate::index::error::CompileError;
use crate::index::native::{Argument, Expression, Lambda, Method, Sequence, Suffix};

/// Arguments of one call.
const ARGUMENTS_MAX: usize = 256;
/// Members and calls behind one value.
const SUFFIXES_MAX: usize = 500;

impl Parser<'_> {
    /// What follows a dot: a member or a call.
    pub(super) fn member(
        &mut self,
        base: &Expression,
        suffixes: &mut Vec<Suffix>,
    ) -> Result<(), CompileError> {
        let start = self.at;
        if suffixes.len() >= SUFFIXES_MAX {
            return self.refuse(&format!(
                "more than {SUFFIXES_MAX} members and calls in a row"
            ));
        }
        let name = self.name()?;
        self.skip_generic_arguments();
        if name == "Value" && self.is_sign(0, "(") {
            // `metadata.Value<string>("Name")`.
            self.advance();
            suffixes.push(Suffix::Index(self.expression()?));
            return self.expect(")");
        }
        if !self.is_sign(0, "(") {
            suffixes.push(Suffix::Member(Box::from(name)));
            return Ok(());
        }
        if self.library.has_routine(name) {
            let routine = self.routine(name, start)?;
            let mut arguments = self.values()?;
            self.check_routine(&routine, arguments.len() + 1, start)?;
            arguments.shrink_to_fit();
            suffixes.push(Suffix::Invoke(routine, arguments));
            return Ok(());
        }
        let is_same = matches!(
            name,
            "ToLocalTime" | "AsQueryable" | "Normalize" | "ToDateTime"
        );
        let called = match is_same {
            true => Some(Called::Method(Method::Same)),
            false => names::method(name),
        };
        match called {
            Some(Called::Sequence(method)) => {
                let arguments = self.arguments()?;
                self.check_sequence(method, &arguments, start)?;
                self.check_order(method, base, suffixes, start)?;
                push_sequence(method, arguments, suffixes);
            }
            Some(Called::Method(method)) => {
                let arguments = self.values()?;
                suffixes.push(Suffix::Method(method, arguments));
            }
            None => return Err(self.error_at(start, "this method is not supported")),
        }
        Ok(())
    }

    /// `Enumerable.Sum(sequence, x => ..)` and the like.
    pub(super) fn sequence_function(
        &mut self,
        name: &str,
        start: usize,
    ) -> Result<Expression, CompileError> {
        let Some(Called::Sequence(method)) = names::method(name) else {
            return Err(self.error_at(start, "this function is not supported"));
        };
        let mut arguments = self.arguments()?;
        if !matches!(arguments.first(), Some(Argument::Value(_))) {
            return Err(self.error_at(start, "its first argument is the sequence"));
        }
        let Argument::Value(source) = arguments.remove(0) else {
            return Err(self.error_at(start, "its first argument is the sequence"));
        };
        self.check_sequence(method, &arguments, start)?;
        self.check_order(method, &source, &[], start)?;
        let mut suffixes = Vec::new();
        push_sequence(method, arguments, &mut suffixes);
        Ok(match source {
            Expression::Postfix(base, mut before) => {
                before.append(&mut suffixes);
                Expression::Postfix(base, before)
            }
            source => Expression::Postfix(Box::new(source), suffixes),
        })
    }

    /// Documents are not ordered by an index.
    fn check_order(
        &self,
        method: Sequence,
        base: &Expression,
        before: &[Suffix],
        start: usize,
    ) -> Result<(), CompileError> {
        let is_order =
            is_order(method) || matches!(method, Sequence::ThenBy | Sequence::ThenByDescending);
        if !is_order {
            return Ok(());
        }
        let is_sequence = |suffix: &Suffix| matches!(suffix, Suffix::Sequence(..));
        let is_over_documents = match base {
            Expression::Root => before.iter().all(is_sequence),
            Expression::Postfix(base, inner) => {
                matches!(**base, Expression::Root) && inner.iter().chain(before).all(is_sequence)
            }
            _ => false,
        };
        match is_over_documents {
            true => Err(self.order_error(start)),
            false => Ok(()),
        }
    }

    /// The error of an order by `start` up to here.
    pub(super) fn order_error(&self, start: usize) -> CompileError {
        let from = self.tokens[start].start;
        let to = self.tokens[self.at.max(start + 1) - 1].end;
        let construct = &self.text[from..to];
        let message = format!(
            "OrderBy calls are not valid during map or reduce phase, but the following was \
             found:\r\n'{construct}'\r\nOrderBy calls modify the indexing output, but doesn't \
             actually impact the order of results returned from the database.\r\nYou should be \
             calling OrderBy on the QUERY, not on the index, if you want to specify ordering."
        );
        let position = super::lexer::position(self.text, from);
        CompileError::new(message, construct, position)
    }

    fn check_sequence(
        &self,
        method: Sequence,
        arguments: &[Argument],
        start: usize,
    ) -> Result<(), CompileError> {
        use Sequence as S;
        let lambda = |at: usize| matches!(arguments.get(at), Some(Argument::Lambda(_)));
        let is_right = match method {
            S::Select
            | S::Where
            | S::All
            | S::TakeWhile
            | S::SkipWhile
            | S::OrderBy
            | S::OrderByDescending
            | S::ThenBy
            | S::ThenByDescending
            | S::MinBy
            | S::MaxBy => arguments.len() == 1 && lambda(0),
            S::SelectMany | S::GroupBy | S::ToDictionary => {
                let rest = arguments.get(1..).unwrap_or(&[]);
                let are_lambdas = rest.iter().all(|one| matches!(one, Argument::Lambda(_)));
                lambda(0) && arguments.len() <= 3 && are_lambdas
            }
            S::Any | S::Count | S::Sum | S::Min | S::Max | S::Average | S::First | S::Last => {
                arguments.is_empty() || arguments.len() == 1 && lambda(0)
            }
            S::Distinct => arguments.len() <= 1,
            S::Reverse | S::ToArray => arguments.is_empty(),
            S::Take
            | S::Skip
            | S::ElementAt
            | S::Concat
            | S::Union
            | S::Intersect
            | S::Except
            | S::Append
            | S::Prepend => arguments.len() == 1 && !lambda(0),
            S::DefaultIfEmpty => arguments.len() <= 1 && !lambda(0),
            S::Zip => arguments.len() == 2 && !lambda(0) && lambda(1),
            S::Aggregate => match arguments.len() {
                1 => lambda(0),
                2 => !lambda(0) && lambda(1),
                3 => !lambda(0) && lambda(1) && lambda(2),
                _ => false,
            },
        };
        match is_right {
            true => Ok(()),
            false => Err(self.error_at(
                start,
                "this is not supported with these arguments; write functions as x => ..",
            )),
        }
    }

    /// Arguments in brackets.
    pub(super) fn arguments(&mut self) -> Result<Vec<Argument>, CompileError> {
        self.expect("(")?;
        let mut arguments = Vec::new();
        while !self.take(")") {
            if arguments.len() >= ARGUMENTS_MAX {
                return self.refuse("there are too many arguments");
            }
            arguments.push(match self.lambda_argument()? {
                Some(lambda) => Argument::Lambda(lambda),
                None => Argument::Value(self.expression()?),
            });
            if !self.take(",") && !self.is_sign(0, ")") {
                return self.refuse("',' or ')' is expected here");
            }
        }
        Ok(arguments)
    }

    /// Arguments of which none is a lambda.
    pub(super) fn values(&mut self) -> Result<Vec<Expression>, CompileError> {
        let start = self.at;
        let arguments = self.arguments()?;
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                Argument::Value(value) => values.push(value),
                Argument::Lambda(_) => {
                    return Err(self.error_at(start, "a function cannot be an argument here"));
                }
            }
        }
        Ok(values)
    }

    /// A lambda, perhaps behind a cast to its type, if one begins here.
    pub(super) fn lambda_argument(&mut self) -> Result<Option<Lambda>, CompileError> {
        if self.is_lambda() {
            return self.deeper(Self::lambda).map(Some);
        }
        let start = self.at;
        if self.cast().is_some() && self.take("(") && self.is_lambda() {
            let lambda = self.deeper(Self::lambda)?;
            self.expect(")")?;
            return Ok(Some(lambda));
        }
        self.at = start;
        Ok(None)
    }
}

fn is_order(method: Sequence) -> bool {
    matches!(method, Sequence::OrderBy | Sequence::OrderByDescending)
}

/// Appends a method. Sorting is stable, so what an order is refined by is sorted by before it.
fn push_sequence(method: Sequence, arguments: Vec<Argument>, suffixes: &mut Vec<Suffix>) {
    let method = match method {
        Sequence::ThenBy | Sequence::ThenByDescending => {
            let orders = suffixes.iter().rev().take_while(
                |suffix| matches!(suffix, Suffix::Sequence(method, _) if is_order(*method)),
            );
            let at = suffixes.len() - orders.count();
            let method = match method {
                Sequence::ThenBy => Sequence::OrderBy,
                _ => Sequence::OrderByDescending,
            };
            suffixes.insert(at, Suffix::Sequence(method, arguments));
            return;
        }
        other => other,
    };
    suffixes.push(Suffix::Sequence(method, arguments));
}
