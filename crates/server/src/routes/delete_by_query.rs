//! `DELETE /databases/*/queries`: deletes whatever a query finds, as an operation.

use jackdaw_database::{Command, CommandResult, Database, QueryError};
use jackdaw_query::syntax;

use super::asked::Asked;
use super::by_query::{Done, Options, change_each, find, finish, refuse_filter, refuse_snapshot};
use super::failure;
use super::operations::{Detail, Progress};
use crate::http::{Call, Outcome};
use crate::wire::WireError;

/// Documents deleted by one transaction.
const BATCH_DOCUMENTS: usize = 1024;

/// `DELETE /databases/*/queries?allowStale=&staleTimeout=&maxOpsPerSec=&details=`
pub(super) fn start(call: &Call) -> Outcome {
    refuse_snapshot(call)?;
    let database = super::database(call)?;
    let mut asked = Asked::from_body(call)?;
    let parsed = syntax::parse(&asked.text);
    let parsed = parsed.map_err(|error| failure::query(&QueryError::Syntax(error), &asked))?;
    refuse_filter(&parsed)?;
    let options = Options::read(call, &mut asked);
    let description = format!("Deletes what is found by: {}", asked.text);
    options.begin(call, &database, description, move |database, progress| {
        finish(progress, delete(database, &asked, options, progress));
    })
}

/// Finds and deletes; `None` when the operation was cancelled.
fn delete(
    database: &Database,
    asked: &Asked,
    options: Options,
    progress: &Progress,
) -> Result<Option<Done>, WireError> {
    let ids = find(database, asked, false)?;
    let delete = |id: &String| Command::Delete {
        id: id.clone(),
        expected: None,
    };
    let commands = |ids: &[String]| ids.iter().map(delete).collect();
    let mut total = 0;
    let mut details = Vec::new();
    let note = |result| {
        if let CommandResult::Delete { id, deleted: true } = result {
            total += 1;
            if options.details {
                details.push(Detail::Deleted { id });
            }
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
    Ok(is_done.then_some((total, details)))
}
