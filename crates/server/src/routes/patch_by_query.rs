//! `PATCH /databases/*/queries`: runs a script over whatever a query finds, as an operation.

use std::sync::Arc;

use jackdaw_database::{
    Command, CommandResult, Database, Foresight, Patch, PatchScript, PatchStatus, PatchWork,
    QueryError, ScriptContext,
};
use jackdaw_query::syntax::{self, Query};

use super::asked::Asked;
use super::by_query::{Done, Options, change_each, find, finish, refuse_filter, refuse_snapshot};
use super::operations::{Detail, Progress};
use super::{failure, input, patches};
use crate::http::{Call, Outcome};
use crate::wire::WireError;

/// Documents patched by one transaction: others wait for it.
const BATCH_DOCUMENTS: usize = 128;

/// `PATCH /databases/*/queries?allowStale=&staleTimeout=&maxOpsPerSec=&details=`
pub(super) fn start(call: &Call) -> Outcome {
    refuse_snapshot(call)?;
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let query = body.get("Query").and_then(|query| query.as_object());
    let mut asked = Asked::from_object(call, query.unwrap_or(body))?;
    let parsed = syntax::parse_patch(&asked.text);
    let parsed = parsed.map_err(|error| failure::query(&QueryError::Syntax(error), &asked))?;
    refuse_filter(&parsed)?;
    let work = Arc::new(work_of(&asked, &parsed)?);
    work.check().map_err(|why| {
        let message = format!("Update clause contains invalid script: {why}");
        failure::query(&QueryError::Invalid(message), &asked)
    })?;
    let options = Options::read(call, &mut asked);
    let description = format!("Patches what is found by: {}", asked.text);
    options.begin(call, &database, description, move |database, progress| {
        finish(progress, patch(database, &asked, &work, options, progress));
    })
}

/// Finds and patches; `None` when the operation was cancelled.
fn patch(
    database: &Database,
    asked: &Asked,
    work: &Arc<PatchWork>,
    options: Options,
    progress: &Progress,
) -> Result<Option<Done>, WireError> {
    let ids = find(database, asked, true)?;
    let mut foresight = Foresight::new(work);
    let commands = |ids: &[String]| {
        let seen = foresight.as_mut();
        let seen = seen.map_or_else(Vec::new, |foresight| foresight.see(database, ids));
        let mut seen = seen.into_iter();
        let command = |id: &String| {
            Command::Patch(Box::new(Patch {
                id: id.clone(),
                expected: None,
                skips_mismatch: false,
                work: work.clone(),
                foreseen: seen.next().flatten().map(Arc::new),
                tells_document: false,
                told_bytes_max: usize::MAX,
                debug: false,
                tag: 0,
            }))
        };
        ids.iter().map(command).collect()
    };
    let mut details = Vec::new();
    let note = |result| {
        if options.details {
            details.extend(detail(result));
        }
    };
    let is_done = change_each(
        database,
        &ids,
        BATCH_DOCUMENTS,
        options,
        progress,
        commands,
        note,
    )?;
    Ok(is_done.then_some((ids.len(), details)))
}

/// The script of the `update` clause with what surrounds it.
fn work_of(asked: &Asked, query: &Query) -> Result<PatchWork, WireError> {
    let loads = query.load_statements();
    let mut text = loads.map_err(|why| failure::query(&QueryError::Invalid(why), asked))?;
    if let Some(script) = &query.update {
        text.push_str(&script.0);
    }
    Ok(PatchWork::Script {
        script: PatchScript {
            text,
            parameters: asked.parameters.clone(),
        },
        context: ScriptContext {
            declarations: query.functions(),
            alias: query.from.alias.clone(),
        },
        if_missing: None,
        create_if_missing: None,
    })
}

fn detail(result: CommandResult) -> Option<Detail> {
    let CommandResult::Patch(outcome) = result else {
        return None;
    };
    if outcome.status == PatchStatus::DocumentDoesNotExist {
        return None;
    }
    Some(Detail::Patched {
        id: outcome.id,
        change_vector: outcome.stored.map(|stored| stored.change_vector),
        status: patches::status_name(outcome.status),
    })
}
