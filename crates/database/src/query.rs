//! Running queries: parse, choose or make an index, read two snapshots, execute.
//!
//! A result is of the moment of its documents' snapshot: changes that the index has not seen are
//! evaluated beside it. Only when they are many does a query wait for the index, and when that
//! takes too long it answers as of the index and says so.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jackdaw_base::hash::xxh3_64_parts;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::Document;
use jackdaw_query::syntax::Expression;
use jackdaw_query::{
    BoundQuery, Etag, ExecuteOptions, Outcome, Parameters, QueryError, RowSink, Scope, bind,
    execute, plan, syntax,
};
use jackdaw_search::{IndexError, IndexReader};
use jackdaw_storage::{ReadTransaction, StorageError};

use crate::database::Core;
use crate::error::{DatabaseError, ReadError};
use crate::indexes::{Index, Indexes};
use crate::snapshot::Snapshot;
use crate::source::{DatabaseSource, IndexView};

/// Changes behind an index that a query evaluates itself: some milliseconds of work.
const TAIL_DOCUMENTS_MAX: usize = 4096;
/// How long a query waits for an index that is far behind, unless it says otherwise.
const WAIT: Duration = Duration::from_secs(15);

/// A query and how it is to be run.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryRequest<'q> {
    /// RQL.
    pub text: &'q str,
    /// Values of `$name`: an object, or nothing.
    pub parameters: Option<Document<'q>>,
    /// Matches passed before the first row, when the text does not say.
    pub start: Option<u64>,
    /// Most rows given.
    pub page_size: Option<u64>,
    /// Gives the matching documents without JSON: for deletes and patches by query.
    pub without_rows: bool,
    /// The text ends with `update { ... }`, which the caller carries out.
    pub is_patch: bool,
    /// Waits until the index has seen all changes, at most this long.
    pub wait: Option<Duration>,
    /// An etag of an earlier result of the same query: nothing is run when it still holds.
    pub known_etag: Option<i64>,
    /// Raised by the caller to stop the query.
    pub interrupt: Option<&'q AtomicBool>,
    /// Most memory for sorting and `distinct`; 256 MiB when absent.
    pub memory_bytes_max: Option<usize>,
}

/// What is told about a result beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryResult {
    /// Counts and paths.
    pub outcome: Outcome,
    /// What answered: an index, or `collection/` and the name in the query.
    pub index_name: String,
    /// Whether the newest changes are missing.
    pub is_stale: bool,
    /// Etags between the index and the documents when it is stale.
    pub lag: u64,
    /// Whether `known_etag` still holds; there are no rows then.
    pub is_unchanged: bool,
    /// Whether this query made its index.
    pub has_created_index: bool,
    /// Changes when the result may have.
    pub result_etag: i64,
    /// The moment of the documents.
    pub last_etag: Etag,
    /// When the index last took changes in; `None` without an index.
    pub index_timestamp: Option<UnixTicks>,
    /// When the index was last asked; `None` without an index.
    pub last_query_time: Option<UnixTicks>,
    /// Time from receiving the query to its last row.
    pub duration: Duration,
    /// The plan as a short tree, for people.
    pub plan: String,
}

/// Runs a query.
pub(crate) fn run(
    core: &Core,
    indexes: &Indexes,
    read: impl Fn() -> Result<Snapshot, ReadError>,
    request: &QueryRequest<'_>,
    sink: &mut dyn RowSink,
) -> Result<QueryResult, QueryError> {
    let started = core.vfs.monotonic_nanos();
    core.hub.count_query();
    let mut query = match request.is_patch {
        true => syntax::Query {
            // The caller carries it out.
            update: None,
            ..syntax::parse_patch(request.text)?
        },
        false => syntax::parse(request.text)?,
    };
    let has_includes = !query.include.is_empty();
    // The caller reads these from a snapshot of its own.
    query.include.retain(|item| !is_beside(item));
    let parameters = match request.parameters {
        Some(parameters) => Parameters::new(parameters)?,
        None => Parameters::NONE,
    };
    let mut bound = bind(&query, parameters)?.with_page(request.start, request.page_size);
    if request.without_rows {
        if bound.is_grouped() {
            let message = "Cannot execute bulk operation on Map-Reduce indexes.";
            return Err(QueryError::Operation(message.to_owned()));
        }
        bound = bound.without_rows();
    }
    let (index, has_created_index) = find_index(indexes, &bound)?;
    if let Some(index) = &index {
        wait_for(core, index, request.wait, has_created_index, &read)?;
    }
    let index_pages = index.as_ref().map(|index| index.read()).transpose();
    let index_pages = index_pages.map_err(source_error)?;
    let snapshot = read().map_err(source_error)?;
    let view = match (&index, &index_pages) {
        (Some(index), Some(pages)) => Some(view(index, pages, &snapshot)?),
        _ => None,
    };
    let mut result = QueryResult {
        has_created_index,
        last_etag: snapshot.last_etag(),
        ..QueryResult::default()
    };
    if let (Some(view), Some(index)) = (&view, &index) {
        result.is_stale = view.is_cut;
        if view.is_cut {
            result.lag = snapshot.last_etag().0.saturating_sub(view.indexed_up_to.0);
        }
        result.index_timestamp = index.last_indexed();
        let now = core.now();
        index.note_query(now);
        result.last_query_time = Some(now);
    }
    result.result_etag = result_etag(core, &bound, view.as_ref(), &snapshot, has_includes)?;
    let source = DatabaseSource {
        snapshot: &snapshot,
        index: view,
    };
    let defaults = ExecuteOptions::default();
    let options = ExecuteOptions {
        interrupt: request.interrupt,
        memory_bytes_max: request
            .memory_bytes_max
            .unwrap_or(defaults.memory_bytes_max),
        random_seed: started,
    };
    let bound = bound.expand(&source, &options)?;
    let plan = plan(&bound, &source)?;
    plan.index_name().clone_into(&mut result.index_name);
    result.plan = plan.to_string();
    result.is_unchanged = request.known_etag == Some(result.result_etag);
    if !result.is_unchanged {
        let outcome = execute(&plan, &source, &options, sink);
        if let (Err(QueryError::Index(error)), Some(index)) = (&outcome, &index)
            && is_damage(error)
        {
            index.fail(&error.to_string());
        }
        result.outcome = outcome?;
    }
    result.duration = Duration::from_nanos(core.vfs.monotonic_nanos().saturating_sub(started));
    Ok(result)
}

/// Whether an item of `include` is about something that is not a document.
fn is_beside(item: &Expression) -> bool {
    const NAMES: [&str; 3] = ["counters", "timeseries", "cmpxchg"];
    matches!(item, Expression::Call(call) if NAMES.iter().any(|name| call.is(name)))
}

fn source_error(error: ReadError) -> QueryError {
    QueryError::Source(Box::new(error))
}

/// Whether an index is of no use any more.
fn is_damage(error: &IndexError) -> bool {
    matches!(
        error,
        IndexError::Damaged(_) | IndexError::Storage(StorageError::Corrupt(_))
    )
}

/// The index of a query, made when it needs one that is not there.
fn find_index(
    indexes: &Indexes,
    bound: &BoundQuery,
) -> Result<(Option<Arc<Index>>, bool), QueryError> {
    if let Some(name) = bound.index_name() {
        let index = indexes.find(name).filter(|index| !index.has_failed());
        let index = index.ok_or_else(|| QueryError::IndexMissing(name.to_owned()))?;
        return Ok((Some(index), false));
    }
    let Some(requirement) = bound.index_requirement() else {
        return Ok((None, false));
    };
    let obtained = indexes.obtain(requirement);
    let source = |error: DatabaseError| QueryError::Source(Box::new(error));
    let (index, is_new) = obtained.map_err(source)?;
    Ok((Some(index), is_new))
}

/// Waits for an index that is new, far behind, or that the caller wants to have seen everything.
fn wait_for(
    core: &Core,
    index: &Index,
    wait: Option<Duration>,
    is_new: bool,
    read: impl Fn() -> Result<Snapshot, ReadError>,
) -> Result<(), QueryError> {
    let target = core.hub.last_etag();
    if index.is_caught_up(target) {
        return Ok(());
    }
    let has_to = is_new || wait.is_some() || {
        let pages = index.read().map_err(source_error)?;
        let snapshot = read().map_err(source_error)?;
        view(index, &pages, &snapshot)?.is_cut
    };
    if has_to {
        index.wait(target, wait.unwrap_or(WAIT), &core.hub);
    }
    Ok(())
}

/// The index on a snapshot, and whether it is too far behind to be completed.
fn view<'q>(
    index: &'q Index,
    pages: &'q ReadTransaction,
    snapshot: &Snapshot,
) -> Result<IndexView<'q>, QueryError> {
    let reader = IndexReader::open(pages)?;
    let indexed_up_to = Etag(reader.as_ref().map_or(0, IndexReader::indexed_up_to));
    let scope = index.scope();
    let tail = snapshot
        .changed(scope, indexed_up_to)
        .map_err(source_error)?;
    let is_cut = tail.take(TAIL_DOCUMENTS_MAX + 1).count() > TAIL_DOCUMENTS_MAX;
    Ok(IndexView {
        index,
        reader,
        indexed_up_to,
        is_cut,
    })
}

/// A number that differs when the result may: it follows the changes of the documents asked, of
/// all when others are included, and the index where that decides.
fn result_etag(
    core: &Core,
    bound: &BoundQuery,
    view: Option<&IndexView<'_>>,
    snapshot: &Snapshot,
    has_includes: bool,
) -> Result<i64, QueryError> {
    let scope = match (bound.scope(), view) {
        _ if has_includes || bound.reads_others() => Scope::All,
        (Some(scope), _) => scope,
        (None, Some(view)) => view.index.scope().clone(),
        (None, None) => Scope::All,
    };
    let last_etag = snapshot.last_etag_of(&scope).map_err(source_error)?;
    let cut_at = view
        .filter(|view| view.is_cut)
        .map_or(0, |view| view.indexed_up_to.0);
    let exchange = match has_includes {
        true => snapshot.exchange_index().map_err(source_error)?,
        false => 0,
    };
    let index_number = view.map_or(0, |view| view.index.number);
    let parts: [&[u8]; 5] = [
        core.id.as_bytes(),
        &last_etag.0.to_le_bytes(),
        &cut_at.to_le_bytes(),
        &index_number.to_le_bytes(),
        &exchange.to_le_bytes(),
    ];
    Ok(xxh3_64_parts(&parts, 0).cast_signed())
}
