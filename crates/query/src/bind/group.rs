//! Binds `group by`: names the fields of groups, and rewrites the query into one over groups.
//!
//! Called by `query`. After it `count()`, `sum(F)`, `key()`, keys and their aliases are plain
//! fields, so conditions, order and projection are bound as those of documents.

use super::select::is_scripted;
use crate::error::QueryError;
use crate::fields::FieldPath;
use crate::groups::{COUNT, Grouping, KEY};
use crate::syntax::{
    Argument, Call, Expression, GroupItem, OrderItem, Ordering, Path, PathPart, Query, Select,
    SelectItem, SelectItems, SelectValue, SourceName, Value,
};

/// The grouping of `query`, and the query over its groups.
pub(super) fn bind_group(query: &Query) -> Result<(Grouping, Query), QueryError> {
    let mut names = Names::new(query)?;
    names.find_sums(query)?;
    names.find_aliases(query);
    let condition = query.condition.as_ref().map(|c| names.rewrite(c));
    let filter = query.filter.as_ref().map(|filter| names.rewrite(filter));
    let order_by = query.order_by.iter().map(|item| names.order(item));
    let rewritten = Query {
        group_by: Vec::new(),
        condition: condition.transpose()?,
        filter: filter.transpose()?,
        order_by: order_by.collect::<Result<_, _>>()?,
        select: Some(names.select(query.select.as_ref())?),
        ..query.clone()
    };
    Ok((names.grouping(query), rewritten))
}

/// Fields of groups, by what the query calls them.
struct Names<'q> {
    query: &'q Query,
    alias: Option<&'q str>,
    keys: Vec<FieldPath>,
    contents: Vec<bool>,
    sums: Vec<FieldPath>,
    /// Aliases of keys and of selected fields.
    aliases: Vec<(&'q str, String)>,
}

impl<'q> Names<'q> {
    fn new(query: &'q Query) -> Result<Names<'q>, QueryError> {
        let mut names = Names {
            query,
            alias: query.from.alias.as_deref(),
            keys: Vec::new(),
            contents: Vec::new(),
            sums: Vec::new(),
            aliases: Vec::new(),
        };
        for GroupItem { expression, alias } in &query.group_by {
            let (path, is_content) = match expression {
                Expression::Path(path) => (FieldPath::new(path, names.alias), false),
                Expression::Value(Value::String(name)) => {
                    (FieldPath::new(&Path::name(name), None), false)
                }
                Expression::Call(call) if call.is("array") => (names.argument(call)?, true),
                other => return Err(QueryError::invalid(format!("Unable to group by: {other}"))),
            };
            if let Some(alias) = alias {
                names.aliases.push((alias, path.as_str().to_owned()));
            }
            names.keys.push(path);
            names.contents.push(is_content);
        }
        names.check_arrays()?;
        Ok(names)
    }

    /// Elements of two arrays at once would be every pair of them.
    fn check_arrays(&self) -> Result<(), QueryError> {
        let prefix = |path: &FieldPath| {
            let at = path
                .parts()
                .iter()
                .position(|part| *part == PathPart::Each)?;
            Some(path.parts()[..at].to_vec())
        };
        let fanned = self.keys.iter().zip(&self.contents);
        let mut prefixes = fanned
            .filter(|(_, is_content)| !**is_content)
            .filter_map(|(key, _)| prefix(key));
        let first = prefixes.next();
        if prefixes.any(|other| Some(&other) != first.as_ref()) {
            return Err(QueryError::not_executed(
                "`group by` over the elements of two arrays",
                "Group by one of them.",
            ));
        }
        Ok(())
    }

    fn argument(&self, call: &Call) -> Result<FieldPath, QueryError> {
        match call.arguments.as_slice() {
            [Argument::Expression(Expression::Path(path))] => Ok(FieldPath::new(path, self.alias)),
            _ => Err(QueryError::invalid(format!(
                "{}() takes one field",
                call.name
            ))),
        }
    }

    /// Collects the sums that any clause asks for.
    fn find_sums(&mut self, query: &'q Query) -> Result<(), QueryError> {
        let mut calls: Vec<&Call> = Vec::new();
        let conditions = query.condition.iter().chain(&query.filter);
        conditions.for_each(|condition| calls_in(condition, &mut calls));
        for item in &query.order_by {
            calls_in(&item.expression, &mut calls);
        }
        if let Some(SelectItems::List(items)) = query.select.as_ref().map(|select| &select.items) {
            for item in items {
                if let SelectValue::Expression(expression) = &item.value {
                    calls_in(expression, &mut calls);
                }
            }
        }
        for call in calls.into_iter().filter(|call| call.is("sum")) {
            let path = self.argument(call)?;
            if !self.sums.contains(&path) {
                self.sums.push(path);
            }
        }
        Ok(())
    }

    fn find_aliases(&mut self, query: &'q Query) {
        let Some(SelectItems::List(items)) = query.select.as_ref().map(|select| &select.items)
        else {
            return;
        };
        for item in items {
            if let (SelectValue::Expression(expression), Some(alias)) = (&item.value, &item.alias)
                && let Some(name) = self.field(expression)
            {
                self.aliases.push((alias, name));
            }
        }
    }

    fn sum_name(&self, path: &FieldPath) -> String {
        let text = path.as_str();
        let is_taken = text == COUNT || self.keys.iter().any(|key| key.as_str() == text);
        if is_taken {
            format!("sum({text})")
        } else {
            text.to_owned()
        }
    }

    /// The field of groups that an expression stands for.
    fn field(&self, expression: &Expression) -> Option<String> {
        match expression {
            Expression::Call(call) if call.is("count") => Some(COUNT.to_owned()),
            Expression::Call(call) if call.is("sum") => {
                self.argument(call).ok().map(|path| self.sum_name(&path))
            }
            Expression::Call(call) if call.is("key") => match self.keys.as_slice() {
                [key] => Some(key.as_str().to_owned()),
                _ => Some(KEY.to_owned()),
            },
            Expression::Call(call) if call.is("array") => {
                let path = self.argument(call).ok()?;
                self.keys.contains(&path).then(|| path.as_str().to_owned())
            }
            Expression::Path(path) => {
                let field = FieldPath::new(path, self.alias);
                if self.keys.iter().any(|key| key.as_str() == field.as_str()) {
                    return Some(field.as_str().to_owned());
                }
                let name = field.as_str();
                let mut aliases = self.aliases.iter();
                let alias = aliases.find(|(alias, _)| *alias == name);
                let sum = self.sums.iter().find(|sum| sum.as_str() == name);
                match (alias, sum) {
                    (Some((_, name)), _) => Some(name.clone()),
                    (None, Some(sum)) => Some(self.sum_name(sum)),
                    (None, None) => (name == COUNT).then(|| COUNT.to_owned()),
                }
            }
            _ => None,
        }
    }

    fn known(&self, expression: &Expression) -> Result<Expression, QueryError> {
        match self.field(expression) {
            Some(name) => Ok(Expression::Path(Path::name(name))),
            None => Err(QueryError::invalid(format!(
                "Field '{expression}' isn't neither an aggregation operation nor part of the \
                 group by key"
            ))),
        }
    }

    fn rewrite(&self, expression: &Expression) -> Result<Expression, QueryError> {
        if let Some(name) = self.field(expression) {
            return Ok(Expression::Path(Path::name(name)));
        }
        let boxed = |expression: &Expression| self.rewrite(expression).map(Box::new);
        let all = |list: &[Expression]| -> Result<Vec<Expression>, QueryError> {
            list.iter().map(|one| self.rewrite(one)).collect()
        };
        Ok(match expression {
            Expression::Path(path) if self.is_group(path) => expression.clone(),
            Expression::Path(_) => self.known(expression)?,
            Expression::Compare {
                left,
                operator,
                right,
            } => Expression::Compare {
                left: boxed(left)?,
                operator: *operator,
                right: boxed(right)?,
            },
            Expression::Between { value, low, high } => Expression::Between {
                value: boxed(value)?,
                low: boxed(low)?,
                high: boxed(high)?,
            },
            Expression::In { value, all, items } => Expression::In {
                value: boxed(value)?,
                all: *all,
                items: items.clone(),
            },
            Expression::Not(inner) => Expression::Not(boxed(inner)?),
            Expression::And(list) => Expression::And(all(list)?),
            Expression::Or(list) => Expression::Or(all(list)?),
            Expression::Call(call) => Expression::Call(self.call(call)?),
            Expression::CallMember(call, member) => {
                Expression::CallMember(self.call(call)?, member.clone())
            }
            Expression::Value(_) => expression.clone(),
        })
    }

    fn call(&self, call: &Call) -> Result<Call, QueryError> {
        let arguments = call.arguments.iter().map(|argument| match argument {
            Argument::Expression(inner) => self.rewrite(inner).map(Argument::Expression),
            other => Ok(other.clone()),
        });
        Ok(Call {
            name: call.name.clone(),
            arguments: arguments.collect::<Result<_, QueryError>>()?,
        })
    }

    /// Whether a path stands for the whole group.
    fn is_group(&self, path: &Path) -> bool {
        path.as_name().is_some() && path.as_name() == self.alias
    }

    /// Counts and sums order as numbers.
    fn order(&self, item: &OrderItem) -> Result<OrderItem, QueryError> {
        let expression = self.rewrite(&item.expression)?;
        let is_number = matches!(&expression, Expression::Path(path)
            if path.as_name().is_some_and(|name| self.is_number(name)));
        Ok(OrderItem {
            expression,
            ordering: item.ordering.or(is_number.then_some(Ordering::Double)),
            ..item.clone()
        })
    }

    fn is_number(&self, name: &str) -> bool {
        name == COUNT || self.sums.iter().any(|sum| self.sum_name(sum) == name)
    }

    fn select(&self, select: Option<&Select>) -> Result<Select, QueryError> {
        let field = |name: &str, alias: Option<String>| SelectItem {
            value: SelectValue::Expression(Expression::Path(Path::name(name))),
            alias: Some(alias.unwrap_or_else(|| name.to_owned())),
        };
        let everything = || {
            let keys = self.keys.iter().map(|key| field(key.as_str(), None));
            let sums = self.sums.iter().map(|sum| field(&self.sum_name(sum), None));
            SelectItems::List(keys.chain(sums).chain([field(COUNT, None)]).collect())
        };
        let Some(select) = select else {
            return Ok(Select {
                distinct: false,
                items: everything(),
            });
        };
        let items = match &select.items {
            SelectItems::All => everything(),
            SelectItems::List(items)
                if matches!(items.as_slice(), [SelectItem {
                    value: SelectValue::Expression(Expression::Path(path)),
                    ..
                }] if self.is_group(path)) =>
            {
                everything()
            }
            SelectItems::Object(script) => SelectItems::Object(script.clone()),
            SelectItems::List(items) => {
                let mut fields = Vec::with_capacity(items.len());
                for item in items {
                    let SelectValue::Expression(expression) = &item.value else {
                        return Err(QueryError::not_executed("`select timeseries(...)`", ""));
                    };
                    fields.push(match (self.field(expression), expression) {
                        (Some(name), Expression::Path(path)) => {
                            let written = FieldPath::new(path, self.alias).as_str().to_owned();
                            field(&name, item.alias.clone().or(Some(written)))
                        }
                        (Some(name), _) => field(&name, item.alias.clone()),
                        (None, Expression::Value(_)) => item.clone(),
                        (None, Expression::Call(call)) if is_scripted(self.query, call) => {
                            SelectItem {
                                value: SelectValue::Expression(self.rewrite(expression)?),
                                alias: item.alias.clone(),
                            }
                        }
                        (None, Expression::Call(call)) => {
                            return Err(QueryError::invalid(format!(
                                "Unknown aggregation method in SELECT clause of the group by \
                                 query: '{}'",
                                call.name
                            )));
                        }
                        (None, other) => {
                            return Err(self.known(other).err().unwrap_or_else(|| {
                                QueryError::invalid("A group has no such field")
                            }));
                        }
                    });
                }
                SelectItems::List(fields)
            }
        };
        Ok(Select {
            distinct: select.distinct,
            items,
        })
    }

    fn grouping(&self, query: &Query) -> Grouping {
        let source = match &query.from.source {
            SourceName::Collection(name) if name.eq_ignore_ascii_case("@all_docs") => "AllDocs",
            SourceName::Collection(name) | SourceName::Index(name) => name,
        };
        let mut fields: Vec<&str> = self.sums.iter().map(FieldPath::as_str).collect();
        fields.push(COUNT);
        fields.sort_unstable();
        fields.dedup();
        let keys = self.keys.iter().zip(&self.contents);
        let mut keys: Vec<String> = keys
            .map(|(key, is_content)| match is_content {
                true => format!("Array({key})"),
                false => key.as_str().to_owned(),
            })
            .collect();
        keys.sort_unstable();
        Grouping {
            index_name: format!(
                "Auto/{source}/By{}ReducedBy{}",
                fields.join("And"),
                keys.join("And")
            ),
            sum_names: self.sums.iter().map(|sum| self.sum_name(sum)).collect(),
            keys: self.keys.clone(),
            contents: self.contents.clone(),
            sums: self.sums.clone(),
        }
    }
}

/// Adds the calls inside an expression.
fn calls_in<'q>(expression: &'q Expression, calls: &mut Vec<&'q Call>) {
    match expression {
        Expression::Call(call) | Expression::CallMember(call, _) => {
            calls.push(call);
            for argument in &call.arguments {
                if let Argument::Expression(inner) = argument {
                    calls_in(inner, calls);
                }
            }
        }
        Expression::Compare { left, right, .. } => {
            calls_in(left, calls);
            calls_in(right, calls);
        }
        Expression::Between { value, low, high } => {
            for inner in [value, low, high] {
                calls_in(inner, calls);
            }
        }
        Expression::In { value, .. } => calls_in(value, calls),
        Expression::Not(inner) => calls_in(inner, calls),
        Expression::And(list) | Expression::Or(list) => {
            list.iter().for_each(|inner| calls_in(inner, calls));
        }
        Expression::Value(_) | Expression::Path(_) => {}
    }
}
