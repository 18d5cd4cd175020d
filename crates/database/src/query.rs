//! Running queries: parse, choose or make an index, read two snapshots, execute.
//!
//! With an automatic index a result is of the moment of its documents' snapshot: changes that the
//! index has not seen are evaluated beside it. Only when they are many does a query wait for the
//! index, and when that takes too long it answers as of the index and says so. A static index is
//! waited for a moment, so that it has seen what was stored before the query; one that needs
//! longer, or is paused, answers as of what it has, and says so.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jackdaw_base::hash::xxh3_64_parts;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::Document;
use jackdaw_model::{Etag, Scope};
use jackdaw_query::syntax::{Expression, SourceName};
use jackdaw_query::{
    BoundQuery, Costs, ExecuteOptions, FieldKind, FieldPath, IndexField, IndexSchema, Outcome,
    Parameters, ProjectionBehavior, QueryError, QueryMemory, RowSink, Sorters, bind_over, execute,
    plan, resolve_exchange, syntax,
};
use jackdaw_script::sorter::Sorter;
use jackdaw_search::{Field, FieldOptions, IndexError, IndexReader};
use jackdaw_storage::{ReadTransaction, StorageError};

use crate::database::Core;
use crate::error::{DatabaseError, ReadError};
use crate::explain::explain;
use crate::indexes::{
    Index, IndexDefinition, IndexStatus, Indexes, Programs, REPLACEMENT_PREFIX, StaticView,
};
use crate::snapshot::Snapshot;
use crate::source::{DatabaseSource, IndexView, Schema};

/// Changes behind an index that a query evaluates itself: some milliseconds of work.
const TAIL_DOCUMENTS_MAX: usize = 4096;
/// How long a query waits for an index that is far behind, unless it says otherwise.
const WAIT: Duration = Duration::from_secs(15);
/// How long a query waits for a static index that is behind, unless it says otherwise.
const WAIT_STATIC: Duration = Duration::from_secs(1);

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
    /// Where the values of chosen fields come from, over a static index.
    pub projection: ProjectionBehavior,
    /// An etag of an earlier result of the same query: nothing is run when it still holds.
    pub known_etag: Option<i64>,
    /// Asks the documents of the named snapshot instead of those of now. Indexes know only now: the
    /// query looks at every document of its collection, and may not name an index.
    pub snapshot: Option<&'q str>,
    /// Gives time series inside rows a `@metadata` of their own, by which clients know them.
    pub marks_series: bool,
    /// Tells the plan in the result, too.
    pub wants_plan: bool,
    /// Raised by the caller to stop the query.
    pub interrupt: Option<&'q AtomicBool>,
    /// Sorters that the query may order by; none when absent.
    pub sorters: Option<&'q dyn Sorters>,
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
    /// The plan as a short tree, for people who asked for it.
    pub plan: String,
}

/// What is wanted of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'c> {
    /// Its rows.
    Rows,
    /// How it would be run.
    Plan,
    /// Its rows, and notes of what they cost.
    Costs(&'c Costs<'c>),
}

impl<'c> Wanted<'c> {
    fn costs(self) -> Option<&'c Costs<'c>> {
        match self {
            Wanted::Costs(costs) => Some(costs),
            Wanted::Rows | Wanted::Plan => None,
        }
    }

    fn measured<T>(
        self,
        what: &str,
        work: impl FnOnce() -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        match self.costs() {
            Some(costs) => costs.measured(what, "", |_| None, work),
            None => work(),
        }
    }

    fn waiting(self, wait: impl FnOnce() -> Result<(), QueryError>) -> Result<(), QueryError> {
        match self.costs() {
            Some(costs) => costs.waiting(wait),
            None => wait(),
        }
    }
}

/// Runs a query, or explains it when its text asks for that.
pub(crate) fn run(
    core: &Core,
    indexes: &Indexes,
    read: impl Fn() -> Result<Snapshot, ReadError>,
    request: &QueryRequest<'_>,
    sink: &mut dyn RowSink,
) -> Result<QueryResult, QueryError> {
    // What deletes or patches documents has nothing to explain.
    let is_question = !request.without_rows && !request.is_patch;
    let (asked, text) = syntax::split_explain(request.text);
    let Some(asked) = asked.filter(|_| is_question) else {
        return answer(core, indexes, read, request, Wanted::Rows, sink);
    };
    let request = QueryRequest {
        text: &text,
        known_etag: None,
        ..*request
    };
    let clock = || core.vfs.monotonic_nanos();
    explain(asked, &clock, sink, |wanted, rows| {
        answer(core, indexes, &read, &request, wanted, rows)
    })
}

fn answer(
    core: &Core,
    indexes: &Indexes,
    read: impl Fn() -> Result<Snapshot, ReadError>,
    request: &QueryRequest<'_>,
    wanted: Wanted<'_>,
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
    let mut has_includes = !query.include.is_empty();
    // The caller reads these from a snapshot of its own.
    query.include.retain(|item| !is_beside(item));
    let parameters = match request.parameters {
        Some(parameters) => Parameters::new(parameters)?,
        None => Parameters::NONE,
    };
    // Whatever these values are, the result changes with them.
    has_includes |= resolve_exchange(&mut query, parameters, &mut |key| {
        let found = read()?.exchange_value(key)?;
        Ok(found.map(|known| known.value))
    })?;
    if request.snapshot.is_some() && matches!(query.from.source, SourceName::Index(_)) {
        let message = "A snapshot keeps documents, not indexes. Query the collection instead: \
                       from Orders where ...";
        return Err(QueryError::Operation(message.to_owned()));
    }
    let mut named = named_index(indexes, &query.from.source)?;
    let target = core.hub.target();
    if let Some(index) = named.as_ref().filter(|index| index.is_outdated()) {
        wanted.waiting(|| wait_for_replacement(core, indexes, index, request.wait))?;
        named = named_index(indexes, &query.from.source)?;
    }
    let is_kept_up = |index: &&Arc<Index>| index.programs().is_some() && !index.is_outdated();
    if let Some(index) = named.as_ref().filter(is_kept_up) {
        // Before anything is read of it: maps may have made further fields.
        wanted.waiting(|| {
            wait_for_static(core, index, request.wait);
            Ok(())
        })?;
    }
    let schema = match &named {
        Some(index) => schema(index)?,
        None => None,
    };
    let schema = schema.as_ref().map(|schema| schema as &dyn IndexSchema);
    let mut bound = bind_over(&query, parameters, schema)?
        .with_page(request.start, request.page_size)
        .with_projection(request.projection);
    if request.without_rows {
        let is_reduced = |index: &Arc<Index>| {
            index
                .programs()
                .is_some_and(|programs| programs.reduce.is_some())
        };
        if bound.is_grouped() || named.as_ref().is_some_and(is_reduced) {
            let message = "Cannot execute bulk operation on Map-Reduce indexes.";
            return Err(QueryError::Operation(message.to_owned()));
        }
        bound = bound.without_rows();
    }
    let (index, has_created_index) = match named {
        Some(index) => (Some(index), false),
        None if request.snapshot.is_some() => (None, false),
        None => find_index(indexes, &bound, wanted)?,
    };
    if let Some(index) = index.as_ref().filter(|index| index.programs().is_none()) {
        wanted.waiting(|| wait_for(core, index, request.wait, has_created_index, &read))?;
    }
    let is_caught_up = index
        .as_ref()
        .is_none_or(|index| index.is_caught_up(target) && !index.is_outdated());
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
        result.is_stale = view.is_cut || (view.entries.is_some() && !is_caught_up);
        if result.is_stale {
            result.lag = snapshot.last_etag().0.saturating_sub(view.indexed_up_to.0);
        }
        result.index_timestamp = index.last_indexed();
        let now = core.now();
        index.note_query(now);
        result.last_query_time = Some(now);
    }
    result.result_etag = result_etag(core, &bound, view.as_ref(), &snapshot, has_includes)?;
    let sorters = bound.find_sorters(request.sorters)?;
    result.result_etag ^= sorters_etag(&sorters);
    let source = DatabaseSource {
        snapshot: &snapshot,
        index: view,
        // A snapshot that has a name may be of any earlier moment.
        groups: request.snapshot.is_none().then_some(&core.groups),
        costs: wanted.costs(),
    };
    let defaults = ExecuteOptions::default();
    let memory_bytes_max = request
        .memory_bytes_max
        .unwrap_or(defaults.memory_bytes_max);
    let memory = QueryMemory::new(memory_bytes_max, request.interrupt);
    let options = ExecuteOptions {
        interrupt: request.interrupt,
        memory_bytes_max,
        memory: Some(&memory),
        random_seed: started,
        costs: wanted.costs(),
        marks_series: request.marks_series,
        sorters: &sorters,
    };
    let bound = bound.expand(&source, &options)?;
    let plan = wanted.measured("choose a plan", || plan(&bound, &source))?;
    plan.index_name().clone_into(&mut result.index_name);
    if request.wants_plan || !matches!(wanted, Wanted::Rows) {
        result.plan = plan.to_string();
    }
    result.is_unchanged = request.known_etag == Some(result.result_etag);
    if !result.is_unchanged && !matches!(wanted, Wanted::Plan) {
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

/// The index that a query names.
fn named_index(indexes: &Indexes, source: &SourceName) -> Result<Option<Arc<Index>>, QueryError> {
    let SourceName::Index(name) = source else {
        return Ok(None);
    };
    let index = indexes.find(name);
    let index = index.ok_or_else(|| QueryError::IndexMissing(name.clone()))?;
    match index.failure() {
        None => Ok(Some(index)),
        Some(_) if index.definition().as_auto().is_some() => {
            Err(QueryError::IndexMissing(name.clone()))
        }
        Some(why) => Err(QueryError::IndexStopped {
            name: name.clone(),
            why,
        }),
    }
}

/// How a static index keeps its fields.
fn schema(index: &Index) -> Result<Option<Schema>, QueryError> {
    let definition = index.definition();
    let Some(programs) = index.programs() else {
        return Ok(None);
    };
    let pages = index.read().map_err(source_error)?;
    let reader = IndexReader::open(&pages)?;
    let fields = static_fields(reader.as_ref(), &definition, programs);
    Ok(Some(Schema { definition, fields }))
}

/// Fields of a static index: those that it has, and those that its texts name.
fn static_fields(
    reader: Option<&IndexReader<'_, ReadTransaction>>,
    definition: &IndexDefinition,
    programs: &Programs,
) -> Vec<IndexField> {
    let kept = reader.map_or(&[][..], |reader| reader.fields());
    let is_text = |field: &&Field| field.options().vector.is_none();
    let mut fields: Vec<IndexField> = kept
        .iter()
        .filter(is_text)
        .map(|field| IndexField {
            path: FieldPath::of_name(field.name()),
            kind: FieldKind::Named(FieldOptions::new(field.analyzer())),
        })
        .collect();
    for name in &programs.fields {
        let is_kept = fields.iter().any(|field| field.path.as_str() == name);
        let own = definition.as_static().filter(|_| !is_kept);
        fields.extend(own.and_then(|own| own.index_field(name, None)));
    }
    fields
}

/// Waits as long as the caller says for what takes the place of an index of an older format, and
/// lets it.
fn wait_for_replacement(
    core: &Core,
    indexes: &Indexes,
    index: &Index,
    wait: Option<Duration>,
) -> Result<(), QueryError> {
    let Some(wait) = wait else {
        return Ok(());
    };
    let name = index.definition().name().to_owned();
    let target = core.hub.target();
    if let Some(replacement) = indexes.find(&format!("{REPLACEMENT_PREFIX}{name}")) {
        replacement.wait(target, wait, &core.hub);
        if replacement.is_caught_up(target) {
            let source = |error: DatabaseError| QueryError::Source(Box::new(error));
            indexes.replace_now(&name).map_err(source)?;
        }
    }
    Ok(())
}

/// Waits a moment for a static index, or as long as the caller says.
fn wait_for_static(core: &Core, index: &Index, wait: Option<Duration>) {
    let target = core.hub.target();
    let timeout = match index.status() {
        IndexStatus::Running => wait.unwrap_or(WAIT_STATIC),
        // Somebody may start it while the caller waits.
        _ => wait.unwrap_or_default(),
    };
    index.wait(target, timeout, &core.hub);
}

/// The automatic index of a query, made when it needs one that is not there.
fn find_index(
    indexes: &Indexes,
    bound: &BoundQuery,
    wanted: Wanted<'_>,
) -> Result<(Option<Arc<Index>>, bool), QueryError> {
    let Some(requirement) = bound.index_requirement() else {
        return Ok((None, false));
    };
    let source = |error: DatabaseError| QueryError::Source(Box::new(error));
    let (index, is_new) = wanted.measured("find or make the index", || {
        indexes.set().obtain(requirement).map_err(source)
    })?;
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
    let target = core.hub.target();
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
    let reader = IndexReader::open_cached(pages, pages.id().0, &index.catalog)?;
    let indexed_up_to = Etag(reader.as_ref().map_or(0, IndexReader::indexed_up_to));
    let definition = index.definition();
    if let Some(programs) = index.programs() {
        let fields = static_fields(reader.as_ref(), &definition, programs);
        let entries = StaticView::open(pages, Arc::clone(&definition), Arc::clone(programs));
        return Ok(IndexView {
            index,
            has_open_fields: programs.makes_fields || reader.is_none() || fields.is_empty(),
            fields,
            entries: Some(entries.map_err(source_error)?),
            reader,
            indexed_up_to,
            version: pages.id().0,
            is_cut: false,
            definition,
        });
    }
    let tail = snapshot
        .changed(definition.scope(), indexed_up_to)
        .map_err(source_error)?;
    let is_cut = tail.take(TAIL_DOCUMENTS_MAX + 1).count() > TAIL_DOCUMENTS_MAX;
    Ok(IndexView {
        index,
        fields: Vec::new(),
        has_open_fields: reader.is_none(),
        entries: None,
        reader,
        indexed_up_to,
        version: pages.id().0,
        is_cut,
        definition,
    })
}

/// What changes when a sorter of the query does; 0 without sorters.
fn sorters_etag(sorters: &[Arc<Sorter>]) -> i64 {
    let parts = sorters
        .iter()
        .flat_map(|sorter| [sorter.name().as_bytes(), sorter.code().as_bytes()]);
    let parts: Vec<&[u8]> = parts.collect();
    match parts.is_empty() {
        true => 0,
        false => xxh3_64_parts(&parts, 0).cast_signed(),
    }
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
        (None, Some(view)) => view.definition.scope().clone(),
        (None, None) => Scope::All,
    };
    let last_etag = snapshot.last_etag_of(&scope).map_err(source_error)?;
    let cut_at = view
        .filter(|view| view.is_cut || view.entries.is_some())
        .map_or(0, |view| view.indexed_up_to.0);
    let batches = match view {
        Some(view) => view.entries.as_ref().map_or(0, StaticView::batches),
        None => 0,
    };
    let exchange = match has_includes || bound.reads_others() {
        true => snapshot.exchange_index().map_err(source_error)?,
        false => 0,
    };
    let index_number = view.map_or(0, |view| view.index.number);
    let parts: [&[u8]; 6] = [
        core.origin.database().as_bytes(),
        &last_etag.0.to_le_bytes(),
        &cut_at.to_le_bytes(),
        &index_number.to_le_bytes(),
        &exchange.to_le_bytes(),
        &batches.to_le_bytes(),
    ];
    Ok(xxh3_64_parts(&parts, 0).cast_signed())
}
