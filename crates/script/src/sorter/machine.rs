//! Orders hits by clauses, some of which are sorters, in a realm of its own.
//!
//! Called by the query crate once for a query. Steps grow with the number of hits; memory and stack
//! are limits of the realm; time is the host's matter, as for other scripts.

use std::fmt::Write as _;
use std::rc::Rc;

use jackdaw_document::{Array, DocumentBuf, Limits};
use rquickjs::function::{Func, Function};
use rquickjs::{Ctx, Exception, Object};

use super::Sorter;
use crate::error::{BoxError, ScriptError};
use crate::host::{HOST, Host, HostError};
use crate::limits::ScriptLimits;
use crate::machine::{Budget, realm, thrown};
use crate::turns::{self, Lane};

const PRELUDE: &str = include_str!("prelude.js");

/// Steps that a sorter has for each hit, beside those that every script has: some hundred compares.
const STEPS_A_HIT: u64 = 4_000;

/// One clause of an order.
#[derive(Clone, Debug)]
pub enum Clause<'c> {
    /// The rank of each hit, smaller first; equal ranks are equal.
    Ranks(Vec<u32>),
    /// A sorter compares.
    Custom {
        /// It.
        sorter: &'c Sorter,
        /// The field that it is told.
        field: &'c str,
        /// Whether its order is reversed.
        is_descending: bool,
    },
}

/// What a sorter may ask of the query.
pub trait SorterHost {
    /// The value of a field for sorting, for each hit.
    ///
    /// # Errors
    /// The query cannot go on.
    fn values(&mut self, field: &str) -> Result<Vec<Option<String>>, BoxError>;

    /// Whether the query must end now.
    fn is_over(&mut self) -> bool;
}

/// Why hits have no order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SortError {
    /// The sorter threw.
    #[error("{message}")]
    Thrown {
        /// The exception, such as `System.InvalidOperationException`.
        exception: String,
        /// What it says.
        message: String,
    },
    /// It met a limit.
    #[error("{}", limit_text(.0))]
    Limit(ScriptError),
    /// The host failed.
    #[error("{0}")]
    Host(#[source] BoxError),
}

fn limit_text(error: &ScriptError) -> String {
    match error {
        ScriptError::Steps { limit } => format!(
            "The sorter took more than the {limit} steps that it has for so many results: is there \
             an end to its loops?"
        ),
        other => other.to_string().replace("The script", "The sorter"),
    }
}

/// The host of a realm.
struct Asked<'h> {
    host: &'h mut dyn SorterHost,
}

impl Host for Asked<'_> {
    fn call(&mut self, function: &str, _arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
        let values = self.host.values(function).map_err(HostError::Failed)?;
        let mut json = String::from("[");
        for (slot, value) in values.iter().enumerate() {
            if slot > 0 {
                json.push(',');
            }
            match value {
                Some(text) => write_json(text, &mut json),
                None => json.push_str("null"),
            }
        }
        json.push(']');
        Ok(json.into_bytes())
    }

    fn is_over(&mut self) -> bool {
        self.host.is_over()
    }
}

/// The first `wanted` of `count` hits in the order of `clauses`, by their places from 0. Hits that
/// no clause tells apart come in the order of their places.
///
/// # Errors
/// See [`SortError`].
pub fn sort(
    clauses: &[Clause<'_>],
    (count, wanted): (u32, u32),
    memory_bytes_max: usize,
    host: &mut dyn SorterHost,
) -> Result<Vec<u32>, SortError> {
    let defaults = ScriptLimits::default();
    let limits = ScriptLimits {
        steps_max: defaults.steps_max + STEPS_A_HIT.saturating_mul(count.into()),
        memory_bytes_max: memory_bytes_max.min(Lane::Reads.memory_bytes()),
        ..defaults
    };
    let sorters: Vec<&Sorter> = clauses
        .iter()
        .filter_map(|clause| match clause {
            Clause::Custom { sorter, .. } => Some(*sorter),
            Clause::Ranks(_) => None,
        })
        .collect();
    let scripts: Vec<&str> = sorters
        .iter()
        .map(|sorter| sorter.script.as_str())
        .collect();
    let task = task(clauses, count, wanted);
    let turn = turns::wait(Lane::Reads, limits.memory_bytes_max, &mut || host.is_over());
    let _turn = turn.map_err(SortError::Limit)?;
    let left = run(&scripts, &task, &limits, host)?;
    let damaged = || {
        let message = "its order cannot be read".to_owned();
        SortError::Limit(ScriptError::Result(message))
    };
    match (left.get(..1), left.get(1..)) {
        (Some("o"), Some("")) => Ok(Vec::new()),
        (Some("o"), Some(order)) => {
            let order = order.split(',').map(str::parse);
            order.collect::<Result<_, _>>().map_err(|_| damaged())
        }
        (Some("e"), Some(error)) => {
            let (exception, message) = error.split_once('\n').unwrap_or((error, ""));
            Err(SortError::Thrown {
                exception: exception.to_owned(),
                message: message.to_owned(),
            })
        }
        _ => Err(damaged()),
    }
}

/// The clauses as JSON.
fn task(clauses: &[Clause<'_>], count: u32, wanted: u32) -> String {
    let mut json = format!(
        "{{\"count\":{count},\"wanted\":{},\"clauses\":[",
        wanted.min(count)
    );
    let mut sorter_count = 0;
    for (slot, clause) in clauses.iter().enumerate() {
        if slot > 0 {
            json.push(',');
        }
        match clause {
            Clause::Ranks(ranks) => {
                json.push_str("{\"ranks\":");
                let mut sign = '[';
                for rank in ranks {
                    let _ = write!(json, "{sign}{rank}");
                    sign = ',';
                }
                json.push_str(if ranks.is_empty() { "[]}" } else { "]}" });
            }
            Clause::Custom {
                field,
                is_descending,
                ..
            } => {
                json.push_str("{\"field\":");
                write_json(field, &mut json);
                json.push_str(&format!(
                    ",\"desc\":{is_descending},\"sorter\":{sorter_count}}}"
                ));
                sorter_count += 1;
            }
        }
    }
    json.push_str("]}");
    json
}

fn run(
    scripts: &[&str],
    task: &str,
    limits: &ScriptLimits,
    host: &mut dyn SorterHost,
) -> Result<String, SortError> {
    let (context, budget, _) = realm(limits).map_err(SortError::Limit)?;
    let mut asked = Asked { host };
    let outcome = HOST.set(&mut asked, || {
        context.with(|ctx| {
            let outcome = drive(&ctx, scripts, task, &budget);
            outcome.map_err(|error| thrown(&ctx, error, &budget, limits, None))
        })
    });
    if let Some(failure) = budget.failure() {
        return Err(SortError::Host(failure));
    }
    outcome.map_err(|error| {
        SortError::Limit(match error {
            // The longest text that the engine makes is longer than most memories.
            ScriptError::Thrown { message, .. } if message.contains("string too long") => {
                ScriptError::Memory {
                    limit_bytes: limits.memory_bytes_max,
                }
            }
            other => other,
        })
    })
}

fn drive<'js>(
    ctx: &Ctx<'js>,
    scripts: &[&str],
    task: &str,
    budget: &Rc<Budget>,
) -> rquickjs::Result<String> {
    let open: Function<'js> = ctx.eval(PRELUDE)?;
    let (asking, charged) = (Rc::clone(budget), Rc::clone(budget));
    let nothing = DocumentBuf::from_json(b"[]", &Limits::default()).expect("this is JSON");
    let ask = move |ctx: Ctx<'_>, field: String| -> rquickjs::Result<String> {
        let nothing = nothing.root().as_array().expect("it is an array");
        let json = HOST
            .with(|host| host.call(&field, nothing))
            .and_then(|json| {
                String::from_utf8(json).map_err(|error| HostError::Failed(Box::new(error)))
            });
        match json {
            Ok(json) => Ok(json),
            Err(HostError::Refused(message)) => Err(Exception::throw_message(&ctx, &message)),
            Err(HostError::Failed(error)) => {
                let message = error.to_string();
                asking.fail(error);
                Err(Exception::throw_message(&ctx, &message))
            }
        }
    };
    let charge = move |ctx: Ctx<'_>, length: f64| -> rquickjs::Result<()> {
        match charged.is_charged(length) {
            true => Ok(()),
            false => Err(Exception::throw_message(&ctx, "too many steps")),
        }
    };
    let prelude: Object<'js> = open.call((Func::from(ask), Func::from(charge)))?;
    let makers = scripts
        .iter()
        .map(|script| ctx.eval::<Function<'js>, _>(*script));
    let makers = makers.collect::<rquickjs::Result<Vec<_>>>()?;
    let drive: Function<'js> = prelude.get("drive")?;
    drive.call((makers, task))
}

/// Whether the engine takes a translated sorter; nothing of it is run.
pub(super) fn check(script: &str) -> Result<(), ScriptError> {
    let limits = ScriptLimits::default();
    let _turn = turns::wait(Lane::Reads, limits.memory_bytes_max, &mut || false)?;
    let (context, budget, _) = realm(&limits)?;
    context.with(|ctx| {
        let function = ctx.eval::<Function<'_>, _>(script).map(drop);
        function.map_err(|error| thrown(&ctx, error, &budget, &limits, None))
    })
}

/// A text as JSON.
fn write_json(text: &str, json: &mut String) {
    json.push('"');
    for letter in text.chars() {
        match letter {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            letter if letter < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => json.push(letter),
        }
    }
    json.push('"');
}
