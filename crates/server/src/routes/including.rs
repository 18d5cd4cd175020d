//! What a query includes beside its rows: counters, time series, values of compare-exchange.
//!
//! Made from the clause `include` before the query runs, told the documents of rows while it runs,
//! read from a snapshot when it has ended.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use jackdaw_database::{BoxError, CounterValue, RowSink, Snapshot, StoredDocument};
use jackdaw_document::{Document, Value as JsonValue, write_object};
use jackdaw_query::syntax::{self, Argument, Call as Method, Expression, Value};
use jackdaw_query::{FieldPath, Leaf, visit_values};

use super::asked::Asked;
use super::{compare_exchange, counters, failure, series};
use crate::http::Sink;
use crate::wire::{WireError, kind};

/// What one item of the clause wants.
enum Wish {
    /// Counters by name; all without one.
    Counters(Vec<String>),
    /// A value of compare-exchange under the text at the path.
    Exchange,
    Series(series::Wanted),
}

struct Item {
    wish: Wish,
    /// Where in a row's document the id or key stands; the document itself without it.
    path: Option<FieldPath>,
    /// Ids or keys met so far, each once.
    named: Vec<String>,
}

/// See the file head.
pub(crate) struct Included {
    items: Vec<Item>,
}

impl Included {
    /// Reads the clause. A query that cannot be read includes nothing here: it is refused when it
    /// runs.
    pub(super) fn read(asked: &Asked) -> Result<Included, WireError> {
        let parameters = asked.parameters.as_ref();
        Included::of(
            &asked.text,
            parameters.map(|parameters| parameters.document()),
        )
    }

    /// As [`Included::read`], of a text with its parameters.
    pub(crate) fn of(text: &str, parameters: Option<Document<'_>>) -> Result<Included, WireError> {
        let mut items = Vec::new();
        if let Ok(query) = syntax::parse(text) {
            let alias = query.from.alias.as_deref();
            for item in &query.include {
                if let Expression::Call(method) = item {
                    items.extend(read_item(method, alias, parameters)?);
                }
            }
        }
        Ok(Included { items })
    }

    /// Includes values of compare-exchange that the query itself asked for.
    pub(super) fn add_keys(&mut self, keys: &BTreeSet<String>) {
        if !keys.is_empty() {
            self.items.push(Item {
                wish: Wish::Exchange,
                path: None,
                named: keys.iter().cloned().collect(),
            });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn note(&mut self, document: &StoredDocument<'_>) {
        for item in &mut self.items {
            let named = &mut item.named;
            let mut note = |name: &str| {
                if !name.is_empty() && !named.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                    named.push(name.to_owned());
                }
            };
            match &item.path {
                None => note(document.id),
                Some(path) => {
                    let _ = visit_values(document, path, &mut |leaf| {
                        if let Leaf::Text(text) = leaf {
                            note(text);
                        }
                        ControlFlow::Continue(())
                    });
                }
            }
        }
    }

    /// Appends the members of the answer that hold what is included.
    pub(super) fn push(&self, snapshot: &Snapshot, out: &mut dyn Sink) -> Result<(), WireError> {
        self.push_counters(snapshot, out)?;
        let mut wants_exchange = false;
        let mut keys = Vec::new();
        for item in &self.items {
            if matches!(item.wish, Wish::Exchange) {
                wants_exchange = true;
                keys.extend(item.named.iter().cloned());
            }
        }
        if wants_exchange {
            compare_exchange::push_includes(snapshot, keys, false, out)?;
        }
        self.push_series(snapshot, out)
    }

    /// Appends `,"TimeSeriesIncludes":{..}` when series are included.
    pub(crate) fn push_series(
        &self,
        snapshot: &Snapshot,
        out: &mut dyn Sink,
    ) -> Result<(), WireError> {
        let mut wishes = Vec::new();
        for item in &self.items {
            if let Wish::Series(wanted) = &item.wish {
                wishes.push((wanted, item.named.as_slice()));
            }
        }
        if !wishes.is_empty() {
            series::push_includes(snapshot, &wishes, out)?;
        }
        Ok(())
    }

    /// Appends `,"CounterIncludes":{..},"IncludedCounterNames":{..}` when counters are included.
    pub(crate) fn push_counters(
        &self,
        snapshot: &Snapshot,
        out: &mut dyn Sink,
    ) -> Result<(), WireError> {
        let mut found: Vec<(&str, Vec<Option<CounterValue>>)> = Vec::new();
        let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut is_wanted = false;
        for item in &self.items {
            let Wish::Counters(wanted) = &item.wish else {
                continue;
            };
            is_wanted = true;
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            for id in &item.named {
                let read = |error| failure::read(&error);
                let values = match (snapshot.number(id).map_err(read)?, wanted.is_empty()) {
                    (None, _) => vec![None; wanted.len()],
                    (Some(number), true) => {
                        let all = snapshot.all_counters(number).map_err(read)?;
                        all.into_iter().map(Some).collect()
                    }
                    (Some(number), false) => snapshot.counters(number, &wanted).map_err(read)?,
                };
                entry(&mut found, id).extend(values);
                entry(&mut names, id).extend(&wanted);
            }
        }
        if !is_wanted {
            return Ok(());
        }
        counters::push_includes(out, &found)?;
        out.buffer()
            .extend_from_slice(b",\"IncludedCounterNames\":");
        write_object(out.buffer(), |members| {
            for (id, names) in &names {
                members.array(id, |list| names.iter().for_each(|name| list.string(name)));
            }
        });
        Ok(out.checkpoint()?)
    }
}

/// The list of an id, made when it is new.
fn entry<'l, 'i, T>(list: &'l mut Vec<(&'i str, Vec<T>)>, id: &'i str) -> &'l mut Vec<T> {
    let slot = match list
        .iter()
        .position(|(known, _)| known.eq_ignore_ascii_case(id))
    {
        Some(slot) => slot,
        None => {
            list.push((id, Vec::new()));
            list.len() - 1
        }
    };
    &mut list[slot].1
}

/// An item that is about something beside documents; `None` for any other call.
fn read_item(
    method: &Method,
    alias: Option<&str>,
    parameters: Option<Document<'_>>,
) -> Result<Option<Item>, WireError> {
    let mut arguments = method.arguments.as_slice();
    let mut path = None;
    if let Some((Argument::Expression(Expression::Path(first)), rest)) = arguments.split_first() {
        let is_row = first.as_name().is_some() && first.as_name() == alias;
        path = (!is_row).then(|| FieldPath::new(first, alias));
        arguments = rest;
    }
    let texts = texts(arguments, parameters);
    let wish = if method.is("counters") {
        Wish::Counters(texts.into_iter().flatten().collect())
    } else if method.is("cmpxchg") {
        if let Some(Some(text)) = texts.first() {
            path = Some(FieldPath::parse(text));
        }
        if path.is_none() {
            let message = "cmpxchg() of include needs the path of a field with a key.";
            return Err(WireError::new(kind::INVALID_QUERY, message));
        }
        Wish::Exchange
    } else if method.is("timeseries") {
        let last = arguments.iter().find_map(|argument| match argument {
            Argument::Expression(Expression::Call(call)) if call.is("last") => Some(call),
            _ => None,
        });
        let last = last.map(|call| self::texts(&call.arguments, parameters));
        Wish::Series(series::Wanted::from_texts(&texts, last.as_deref())?)
    } else {
        return Ok(None);
    };
    Ok(Some(Item {
        wish,
        path,
        named: Vec::new(),
    }))
}

/// Literals and parameters as text; lists are spread, what is no value is left out.
fn texts(arguments: &[Argument], parameters: Option<Document<'_>>) -> Vec<Option<String>> {
    let mut texts = Vec::new();
    let mut push = |value: JsonValue<'_>| {
        texts.push(match value {
            JsonValue::Null => None,
            JsonValue::String(text) => Some(text.to_owned()),
            other => Some(other.to_json()),
        });
    };
    for argument in arguments {
        let Argument::Expression(Expression::Value(value)) = argument else {
            continue;
        };
        match value {
            Value::Null => push(JsonValue::Null),
            Value::String(text) => push(JsonValue::String(text)),
            Value::Parameter(name) => {
                match parameters.and_then(|parameters| parameters.root().get(name)) {
                    Some(JsonValue::Array(list)) => list.iter().for_each(&mut push),
                    Some(value) => push(value),
                    None => push(JsonValue::Null),
                }
            }
            other => push(JsonValue::String(&other.to_string())),
        }
    }
    texts
}

/// Gives rows on and notes their documents.
pub(super) struct Noting<'n, S> {
    pub(super) sink: &'n mut S,
    pub(super) included: &'n mut Included,
}

impl<S: RowSink> RowSink for Noting<'_, S> {
    fn row(&mut self, document: &StoredDocument<'_>, json: &[u8]) -> Result<(), BoxError> {
        self.included.note(document);
        self.sink.row(document, json)
    }

    fn include(&mut self, id: &str, json: &[u8]) -> Result<(), BoxError> {
        self.sink.include(id, json)
    }
}
