//! One database: its environment, its identity, and how changes get in.
//!
//! Changes are prepared on the caller's thread, queued for the engine's writer thread, and answered
//! when they are durable. Reading takes a [`Snapshot`], and a query one of an index beside it.
//!
//! Invariants:
//! - What is queued holds no handle of the database: the last handle is never dropped by an engine
//!   thread that the drop would have to wait for.
//!
//! Threads: shared by all.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use jackdaw_base::time::UnixTicks;
use jackdaw_io::Vfs;
use jackdaw_model::{DatabaseId, NodeTag, Origin};
use jackdaw_storage::{
    Environment, NamedSnapshot, Options, PAGE_BYTES, StorageError, WarmUp, WarmUpProgress,
    WriteTransaction,
};

use crate::attachment::{AttachmentUpload, UPLOAD_PREFIX, UploadName};
use crate::chain::Chain;
use crate::changes::{Change, Counters, Describing, Hub, Listener, Target};
use crate::command::{Command, CommandResult};
use crate::directory::Directory;
use crate::due::DueClock;
use crate::error::{DatabaseError, OpenError, ReadError, WriteError};
use crate::exchange::{ExchangeChange, ExchangeOutcome, GuardedDocument};
use crate::hilo::{self, HiloRange, HiloRequest};
use crate::indexes::Indexes;
use crate::patch::{Patch, PatchOutcome};
use crate::prepared::Prepared;
use crate::query::{self, QueryRequest, QueryResult};
use crate::revisions::RevisionsConfiguration;
use crate::series_policies::SeriesClock;
use crate::snapshot::{CollectionNames, Snapshot};
use crate::store::trees::{self, ATTACHMENT_CONTENT, SETTINGS, tree};
use crate::store::{
    Applied, ClusterWide, State, Writer, apply, apply_cluster_wide, change_exchange,
    last_exchange_index, next_identity, set_identity, store_configuration,
};
use crate::tombstone;
use crate::verify::{self, DatabaseReport};
use jackdaw_model::Etag;
use jackdaw_query::{KeptGroups, QueryError, RowSink};

const ID_KEY: &[u8] = b"database_id";
const FORMAT_KEY: &[u8] = b"format";
/// Version of the whole of the trees.
const FORMAT: u8 = 1;
/// Directory of the documents' environment inside the database's.
pub(crate) const DOCUMENTS_DIRECTORY: &str = "documents";

/// Directory of the indexes' environments.
pub(crate) const INDEXES_DIRECTORY: &str = "indexes";

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseOptions {
    /// The environment of the documents.
    pub documents: Options,
    /// The environment of each index.
    pub indexes: Options,
    /// Memory of the groups of recent `group by` queries, in bytes; 0 keeps none.
    pub groups_bytes: usize,
    /// Tag of the node: it begins the change vectors of what is written here, and ends the ids
    /// that are made here.
    pub node: NodeTag,
    /// Bytes of entries that a static index makes before it stores them. An index of which one
    /// document makes more stops.
    pub index_batch_bytes: usize,
}

impl Default for DatabaseOptions {
    fn default() -> DatabaseOptions {
        DatabaseOptions {
            documents: Options::default(),
            indexes: Options::rebuildable(),
            groups_bytes: 64 << 20,
            node: NodeTag::FIRST,
            index_batch_bytes: 32 << 20,
        }
    }
}

/// What page versions of the documents take at least: many times what one transaction changes.
const SCRATCH_BYTES_MIN: usize = 32 << 20;
/// They may take this part of the memory.
const SCRATCH_PART_OF_MEMORY: u64 = 8;
/// Those of each index at least.
const INDEX_SCRATCH_BYTES_MIN: usize = 16 << 20;
/// And this part of the memory.
const INDEX_SCRATCH_PART_OF_MEMORY: u64 = 32;
/// A batch of an index at least: what a script may make for one document is of this order.
const INDEX_BATCH_BYTES_MIN: usize = 8 << 20;
/// And this part of the memory: what is stored of a batch takes several times as much.
const INDEX_BATCH_PART_OF_MEMORY: u64 = 32;
/// And groups this one.
const GROUPS_PART_OF_MEMORY: u64 = 16;

impl DatabaseOptions {
    /// Keeps fewer page versions and groups in memory where there is little of it.
    #[must_use]
    pub fn for_memory(mut self, memory_bytes: u64) -> DatabaseOptions {
        let part = |of: u64| usize::try_from(memory_bytes / of).unwrap_or(usize::MAX);
        let scratch = |bytes: usize, of: u64, bytes_min: usize| part(of).max(bytes_min).min(bytes);
        self.documents.scratch_bytes = scratch(
            self.documents.scratch_bytes,
            SCRATCH_PART_OF_MEMORY,
            SCRATCH_BYTES_MIN,
        );
        self.indexes.scratch_bytes = scratch(
            self.indexes.scratch_bytes,
            INDEX_SCRATCH_PART_OF_MEMORY,
            INDEX_SCRATCH_BYTES_MIN,
        );
        self.groups_bytes = self.groups_bytes.min(part(GROUPS_PART_OF_MEMORY));
        let batch = part(INDEX_BATCH_PART_OF_MEMORY).max(INDEX_BATCH_BYTES_MIN);
        self.index_batch_bytes = batch.min(self.index_batch_bytes);
        self
    }
}

/// What snapshots and queued operations share with the database.
pub(crate) struct Core {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) origin: Origin,
    pub(crate) hub: Arc<Hub>,
    pub(crate) names: Mutex<Arc<CollectionNames>>,
    /// Groups of recent `group by` queries.
    pub(crate) groups: KeptGroups,
    /// See [`DatabaseOptions::index_batch_bytes`].
    pub(crate) index_batch_bytes: usize,
}

impl Core {
    /// The present moment.
    pub(crate) fn now(&self) -> UnixTicks {
        UnixTicks(i64::try_from(self.vfs.unix_nanos() / 100).unwrap_or(i64::MAX))
    }

    /// A random id in the form of a version 4 UUID.
    pub(crate) fn random_id(&self) -> String {
        let mut bytes = [0; 16];
        self.vfs.fill_random(&mut bytes);
        let bits = u128::from_be_bytes(bytes);
        let bits = bits & !(0xf << 76) | (4 << 76);
        let bits = bits & !(0x3 << 62) | (2 << 62);
        let hex = format!("{bits:032x}");
        let parts = [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ];
        parts.join("-")
    }
}

/// A moment's numbers; see [`Database::statistics`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatabaseStatistics {
    /// Documents.
    pub document_count: u64,
    /// Tombstones.
    pub tombstone_count: u64,
    /// Collections that ever had a document.
    pub collection_count: u64,
    /// Etag of the last change.
    pub last_etag: Etag,
    /// Bytes of the data file of the documents, with what it grew ahead.
    pub data_bytes: u64,
    /// Bytes of its pages that hold something.
    pub used_bytes: u64,
    /// Journal bytes that a restart would read.
    pub journal_bytes: u64,
    /// Bytes of changes in memory that are not in the data file yet.
    pub scratch_bytes: u64,
    /// What it did since it was opened.
    pub counters: Counters,
}

/// A database. Dropping the last handle closes it.
pub struct Database {
    name: String,
    pub(crate) core: Arc<Core>,
    /// Before the documents: dropping it ends the workers, which read them.
    pub(crate) indexes: Indexes,
    documents: Environment,
    due: DueClock,
    series: SeriesClock,
    /// The last field: removed when everything in it is closed.
    directory: Directory,
}

impl Database {
    /// Opens the database in `directory`, creating it when that is missing or empty.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(
        vfs: Arc<dyn Vfs>,
        directory: &Path,
        name: &str,
        options: &DatabaseOptions,
    ) -> Result<Database, OpenError> {
        let path = directory.join(DOCUMENTS_DIRECTORY);
        let documents = Environment::open(Arc::clone(&vfs), &path, options.documents)?;
        let mut new_id = [0; 16];
        vfs.fill_random(&mut new_id);
        documents
            .write(move |transaction| create(transaction, new_id))
            .map_err(WriteError::from)?;
        let transaction = documents.read()?;
        let settings = tree(&transaction, SETTINGS)?;
        check_format(settings.get(FORMAT_KEY)?)?;
        let id = settings
            .get(ID_KEY)?
            .and_then(|bytes| bytes.try_into().ok());
        let id = id.ok_or_else(|| ReadError::damaged("the identity of the database"))?;
        let core = Core {
            vfs: Arc::clone(&vfs),
            origin: Origin::new(options.node, DatabaseId::new(id)),
            hub: Arc::new(Hub::new(Target {
                etag: State::load(&settings)?.last_etag,
                exchange: last_exchange_index(&settings)?,
            })),
            names: Mutex::default(),
            groups: KeptGroups::new(options.groups_bytes),
            index_batch_bytes: options.index_batch_bytes,
        };
        drop(transaction);
        let core = Arc::new(core);
        let path = directory.join(INDEXES_DIRECTORY);
        let indexes = Indexes::open(documents.clone(), Arc::clone(&core), path, options.indexes)?;
        Ok(Database {
            name: name.to_owned(),
            core,
            indexes,
            documents,
            due: DueClock::default(),
            series: SeriesClock::default(),
            directory: Directory::new(vfs, directory.to_owned()),
        })
    }

    /// Its name in the spelling of its creation.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its identity.
    #[must_use]
    pub fn id(&self) -> &DatabaseId {
        self.core.origin.database()
    }

    /// What its changes are named after.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.core.origin
    }

    /// When what is due was last looked at.
    pub(crate) fn due_clock(&self) -> &DueClock {
        &self.due
    }

    /// When policies of time series were last looked at.
    pub(crate) fn series_clock(&self) -> &SeriesClock {
        &self.series
    }

    /// The clock of the database.
    pub(crate) fn clock(&self) -> &dyn Vfs {
        &*self.core.vfs
    }

    /// The present moment by the clock of the database.
    #[must_use]
    pub fn now(&self) -> UnixTicks {
        self.core.now()
    }

    /// Removes the files when the last handle is dropped.
    pub(crate) fn delete_on_close(&self) {
        self.directory.delete_on_close();
    }

    /// All documents as they are now: durable, and of one moment.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(&self) -> Result<Snapshot, ReadError> {
        Snapshot::new(self.documents.read()?, Arc::clone(&self.core))
    }

    /// All documents as they were when the snapshot `name` was taken.
    ///
    /// # Errors
    /// [`ReadError::NoSnapshot`]; see [`ReadError`].
    pub fn read_snapshot(&self, name: &str) -> Result<Snapshot, ReadError> {
        let missing = || ReadError::NoSnapshot {
            name: name.to_owned(),
        };
        let found = self.documents.read()?.into_snapshot(name)?;
        Snapshot::new(found.ok_or_else(missing)?, Arc::clone(&self.core))
    }

    /// The snapshots by name.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn snapshots(&self) -> Result<Vec<NamedSnapshot>, ReadError> {
        Ok(self.documents.read()?.snapshots()?)
    }

    /// Takes a snapshot under `name`, across restarts and in backups, of all that was answered
    /// before. Copies nothing; afterwards each page that it sees is kept when it is changed.
    ///
    /// # Errors
    /// [`WriteError::Snapshot`]; see [`WriteError`].
    pub fn take_snapshot(&self, name: &str) -> Result<(), WriteError> {
        Ok(self.documents.create_snapshot(name)?)
    }

    /// Drops the snapshot `name` and frees what was kept for it alone.
    ///
    /// # Errors
    /// [`WriteError::Snapshot`]; see [`WriteError`].
    pub fn drop_snapshot(&self, name: &str) -> Result<(), WriteError> {
        Ok(self.documents.drop_snapshot(name)?)
    }

    /// Carries out commands as one transaction and waits until it is durable. All happen or none.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn batch(&self, commands: Vec<Command>) -> Result<Vec<CommandResult>, WriteError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.submit_batch(commands, move |outcome| {
            let _ = sender.send(outcome);
        });
        received(&receiver)
    }

    /// [`Database::batch`] without waiting: `done` is called with the outcome on a thread of the
    /// engine. It must not block, nor hold the last handle of this database.
    pub fn submit_batch(
        &self,
        commands: Vec<Command>,
        done: impl FnOnce(Result<Vec<CommandResult>, WriteError>) + Send + 'static,
    ) {
        match Prepared::from_commands(commands, || self.core.random_id()) {
            Ok(prepared) => self.submit(prepared, done),
            Err(error) => done(Err(error)),
        }
    }

    /// [`Database::submit_batch`] that does all of it on this thread while the database
    /// [is idle](Database::is_idle): sooner, as no thread is woken, but it waits for the disk.
    pub fn write_batch(
        &self,
        commands: Vec<Command>,
        done: impl FnOnce(Result<Vec<CommandResult>, WriteError>) + Send + 'static,
    ) {
        let prepared = match self.prepare(commands) {
            Ok(prepared) => prepared,
            Err(error) => return done(Err(error)),
        };
        let (core, hub) = (Arc::clone(&self.core), Arc::clone(&self.core.hub));
        self.documents.write_then(
            move |transaction| apply(transaction, &core, &prepared, true),
            move |outcome| {
                if let Ok(applied) = &outcome {
                    hub.report(applied);
                }
                done(
                    outcome
                        .map(|applied| applied.results)
                        .map_err(WriteError::from),
                );
            },
        );
    }

    fn prepare(&self, commands: Vec<Command>) -> Result<Prepared, WriteError> {
        let prepared = Prepared::from_commands(commands, || self.core.random_id())?;
        prepared.check_len()?;
        Ok(prepared)
    }

    /// Whether no change is being made, waits, or is expected of others than the last caller, and
    /// durable writes took less than a millisecond lately.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.documents.is_idle()
    }

    /// [`Database::submit_batch`] that leaves documents alone which are put with the content that
    /// they have: no change, no result.
    pub fn submit_batch_of_changed(
        &self,
        commands: Vec<Command>,
        done: impl FnOnce(Result<Vec<CommandResult>, WriteError>) + Send + 'static,
    ) {
        match Prepared::from_commands(commands, || self.core.random_id()) {
            Ok(mut prepared) => {
                prepared.skip_unchanged();
                self.submit(prepared, done);
            }
            Err(error) => done(Err(error)),
        }
    }

    /// [`Database::submit_batch`] behind other batches of a chain: [`WriteError::EarlierBatch`]
    /// where one of them failed.
    pub fn submit_batch_in(
        &self,
        chain: &Chain,
        commands: Vec<Command>,
        done: impl FnOnce(Result<Vec<CommandResult>, WriteError>) + Send + 'static,
    ) {
        let (chain, noting) = (chain.clone(), chain.clone());
        let prepared = match self.prepare(commands) {
            Ok(prepared) => prepared,
            Err(error) => {
                let outcome = Err(error);
                noting.note(&outcome);
                return done(outcome);
            }
        };
        self.submit_operation(
            move |transaction, core| {
                let applied = chain.carry_out(|| apply(transaction, core, &prepared, true))?;
                Ok(((), applied))
            },
            move |outcome| {
                noting.note(&outcome);
                done(outcome.map(|((), applied)| applied.results));
            },
        );
    }

    /// [`Database::submit_batch`] for changes that were prepared already.
    pub fn submit(
        &self,
        prepared: Prepared,
        done: impl FnOnce(Result<Vec<CommandResult>, WriteError>) + Send + 'static,
    ) {
        if let Err(error) = prepared.check_len() {
            return done(Err(error));
        }
        self.submit_operation(
            move |transaction, core| {
                let applied = apply(transaction, core, &prepared, true)?;
                Ok(((), applied))
            },
            move |outcome| done(outcome.map(|((), applied)| applied.results)),
        );
    }

    /// Carries out a patch, takes everything back, and gives what it would have done.
    ///
    /// # Errors
    /// As of the patch itself.
    pub fn test_patch(&self, patch: Patch) -> Result<PatchOutcome, WriteError> {
        let commands = vec![Command::Patch(Box::new(patch))];
        let prepared = Prepared::from_commands(commands, || self.core.random_id())?;
        let tested = Arc::new(Mutex::new(None));
        let place = Arc::clone(&tested);
        let outcome = self.run(move |transaction, core| {
            let applied = apply(transaction, core, &prepared, true)?;
            *place.lock().unwrap_or_else(PoisonError::into_inner) =
                applied.results.into_iter().next();
            // An error takes the operation back.
            Err::<((), Applied), _>(WriteError::Test)
        });
        let result = tested.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (outcome, result) {
            (Err(WriteError::Test) | Ok(()), Some(CommandResult::Patch(outcome))) => Ok(*outcome),
            (Err(error), _) => Err(error),
            (Ok(()), _) => Err(WriteError::Test),
        }
    }

    /// [`Database::submit_batch`] as a cluster-wide transaction: compare-exchange commands may be
    /// among the others, and `guarded` documents must be as the caller knows them. `done` gets the
    /// index of the transaction beside the results.
    pub fn submit_cluster_wide(
        &self,
        commands: Vec<Command>,
        guarded: Vec<GuardedDocument>,
        done: impl FnOnce(Result<(u64, Vec<CommandResult>), WriteError>) + Send + 'static,
    ) {
        let prepared = match self.prepare(commands) {
            Ok(prepared) => prepared,
            Err(error) => return done(Err(error)),
        };
        let mode = ClusterWide { guarded };
        let hub = Arc::clone(&self.core.hub);
        self.submit_operation(
            move |transaction, core| apply_cluster_wide(transaction, core, &prepared, &mode),
            move |outcome| {
                if let Ok((index, _)) = &outcome {
                    hub.report_exchange(*index);
                }
                done(outcome.map(|(index, applied)| (index, applied.results)));
            },
        );
    }

    /// Changes one value of compare-exchange if its index is still `index`, 0 standing for none.
    ///
    /// # Errors
    /// See [`WriteError`]. A value that changed meanwhile is no error.
    pub fn change_exchange(
        &self,
        key: &str,
        index: u64,
        change: ExchangeChange,
    ) -> Result<ExchangeOutcome, WriteError> {
        let key = key.to_owned();
        let outcome = self.run(move |transaction, _| {
            let outcome = change_exchange(transaction, &key, index, &change)?;
            Ok((outcome, Applied::default()))
        })?;
        if outcome.successful {
            self.report_exchange(outcome.index);
        }
        Ok(outcome)
    }

    /// Says that values of compare-exchange changed.
    pub(crate) fn report_exchange(&self, index: u64) {
        self.core.hub.report_exchange(index);
    }

    /// Removes what is left of documents deleted longer than `age` ago, when every sound index has
    /// seen the deletion; gives how much that was. Queries under way for longer than `age` may then
    /// count documents that are gone.
    ///
    /// # Errors
    /// See [`DatabaseError`].
    pub fn clean_tombstones(&self, age: Duration) -> Result<u64, DatabaseError> {
        let indexes = self.indexes()?;
        let sound = indexes.iter().filter(|index| index.failure.is_none());
        let seen = sound.map(|index| index.indexed_up_to).min();
        let up_to = seen.unwrap_or_else(|| self.core.hub.last_etag());
        let age = i64::try_from(age.as_nanos() / 100).unwrap_or(i64::MAX);
        let before = UnixTicks(self.core.now().0.saturating_sub(age));
        let mut total = 0;
        loop {
            let core = Arc::clone(&self.core);
            let cleaned = self.run(move |transaction, _| {
                let (cleaned, last) = tombstone::clean(transaction, up_to, before)?;
                core.groups.forget_deletions(last);
                Ok((cleaned, Applied::default()))
            })?;
            total += cleaned as u64;
            if cleaned < tombstone::CLEANED_AT_ONCE {
                return Ok(total);
            }
        }
    }

    /// Takes the content of an attachment in pieces, to be attached by a command afterwards.
    #[must_use]
    pub fn upload_attachment(self: &Arc<Self>) -> AttachmentUpload {
        AttachmentUpload::new(self, &self.core.random_id())
    }

    /// Removes what was stored of a content that will not be attached; nothing when it was
    /// attached, or never stored.
    ///
    /// # Errors
    /// See [`WriteError`]; it is removed when the database is opened again then.
    pub fn remove_upload(&self, name: UploadName) -> Result<(), WriteError> {
        self.run(move |transaction, _| {
            let mut streams = transaction.streams_mut(ATTACHMENT_CONTENT)?;
            streams.delete(&name.0)?;
            Ok(((), Applied::default()))
        })
    }

    /// Appends to an upload.
    pub(crate) fn append_upload(&self, name: Vec<u8>, bytes: Vec<u8>) -> Result<(), WriteError> {
        self.run(move |transaction, _| {
            let mut streams = transaction.streams_mut(ATTACHMENT_CONTENT)?;
            streams.open(&name)?.append(&bytes)?;
            Ok(((), Applied::default()))
        })
    }

    /// Says which documents keep revisions from now on.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn set_revisions_configuration(
        &self,
        configuration: RevisionsConfiguration,
    ) -> Result<(), WriteError> {
        self.run(move |transaction, _| {
            store_configuration(transaction, &configuration)?;
            Ok(((), Applied::default()))
        })
    }

    /// Deletes all revisions of these ids, or those that the configuration does not keep any more;
    /// gives how many that were.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn delete_revisions(
        &self,
        ids: Vec<String>,
        only_surplus: bool,
    ) -> Result<u64, WriteError> {
        self.run(move |transaction, core| {
            let mut writer = Writer::begin(transaction, core)?;
            let deleted = writer.delete_revisions(&ids, only_surplus)?;
            Ok((deleted, writer.finish()?))
        })
    }

    /// Takes the next number of the `prefix|` ids of a prefix, which ends with the bar.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn next_identity(&self, prefix: &str) -> Result<i64, WriteError> {
        let prefix = prefix.to_owned();
        crate::names::fold_id(&prefix)?;
        self.run(move |transaction, _| {
            let value = next_identity(&prefix, transaction)?;
            Ok((value, Applied::default()))
        })
    }

    /// Queues an operation; what it changed is reported before `done` is called.
    pub(crate) fn submit_operation<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut WriteTransaction, &Core) -> Result<(T, Applied), WriteError>
        + Send
        + 'static,
        done: impl FnOnce(Result<(T, Applied), WriteError>) + Send + 'static,
    ) {
        let core = Arc::clone(&self.core);
        let hub = Arc::clone(&self.core.hub);
        self.documents.submit_notifying(
            move |transaction| operation(transaction, &core),
            move |outcome| {
                if let Ok((_, applied)) = &outcome {
                    hub.report(applied);
                }
                done(outcome.map_err(WriteError::from));
            },
        );
    }

    pub(crate) fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut WriteTransaction, &Core) -> Result<(T, Applied), WriteError>
        + Send
        + 'static,
    ) -> Result<T, WriteError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.submit_operation(operation, move |outcome| {
            let _ = sender.send(outcome);
        });
        received(&receiver).map(|(value, _)| value)
    }

    /// Takes the next range of numbers for a client's ids.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn hilo_next(&self, request: HiloRequest) -> Result<HiloRange, WriteError> {
        self.run(move |transaction, core| hilo::next(transaction, core, &request))
    }

    /// Takes back the numbers above `last` of the range that ended with `end`, if no other range
    /// of the tag was given since.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn hilo_return(&self, tag: &str, end: i64, last: i64) -> Result<(), WriteError> {
        let tag = tag.to_owned();
        self.run(move |transaction, core| {
            let applied = hilo::give_back(transaction, core, &tag, end, last)?;
            Ok(((), applied))
        })
    }

    /// Sets the last number of the `prefix|` ids of a prefix, which ends with the bar; a smaller
    /// one than there is only when `force` is given. Gives the number in force.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn seed_identity(&self, prefix: &str, value: i64, force: bool) -> Result<i64, WriteError> {
        let prefix = prefix.to_owned();
        crate::names::fold_id(&prefix)?;
        self.run(move |transaction, _| {
            let value = set_identity(&prefix, value, force, transaction)?;
            Ok((value, Applied::default()))
        })
    }

    /// Runs a query and gives its rows to `sink` as they are made. Makes the index it needs.
    ///
    /// # Errors
    /// See [`QueryError`]; rows given before do not count.
    pub fn query(
        &self,
        request: &QueryRequest<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<QueryResult, QueryError> {
        let read = || match request.snapshot {
            Some(name) => self.read_snapshot(name),
            None => self.read(),
        };
        query::run(&self.core, &self.indexes, read, request, sink)
    }

    /// Looks at every document through every tree that should know it, and at every index. Reads
    /// all of the database; changes go on meanwhile.
    ///
    /// # Errors
    /// When looking itself failed. What is wrong is in the report, not an error.
    pub fn verify(&self) -> Result<DatabaseReport, ReadError> {
        verify::verify(&self.read()?, &self.indexes)
    }

    /// Calls `callback` after each durable change until the listener is dropped. It runs on a
    /// thread of the engine and must not block, nor hold the last handle of this database.
    pub fn on_change(&self, callback: impl Fn(&Change) + Send + Sync + 'static) -> Listener {
        self.core.hub.listen(callback)
    }

    /// Has listeners told the documents of each change as well, until the value is dropped. That
    /// costs writers two copies of ids and collections; a snapshot that is read later tells only
    /// what a document became last.
    pub fn describe_changes(&self) -> Describing {
        self.core.hub.describe()
    }

    /// What it did since it was opened.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.core.hub.counters()
    }

    /// Numbers of this moment. O(1).
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn statistics(&self) -> Result<DatabaseStatistics, ReadError> {
        let snapshot = self.read()?;
        let storage = self.documents.statistics();
        Ok(DatabaseStatistics {
            document_count: snapshot.count(),
            tombstone_count: snapshot.tombstone_count()?,
            collection_count: snapshot.collection_count(),
            last_etag: snapshot.last_etag(),
            data_bytes: storage.file_bytes,
            used_bytes: storage.page_count * PAGE_BYTES as u64,
            journal_bytes: storage.journal_live_bytes,
            scratch_bytes: storage.scratch_bytes,
            counters: self.counters(),
        })
    }

    /// Reads pages of documents and indexes before requests need them; each gets an equal share of
    /// `bytes_max`, and the next ones what it leaves. See [`Environment::warm_up`].
    ///
    /// # Errors
    /// As for [`Environment::warm_up`].
    pub fn warm_up(
        &self,
        warm_up: WarmUp,
        progress: WarmUpProgress<'_>,
    ) -> Result<u64, StorageError> {
        let mut environments = self.indexes.environments();
        environments.insert(0, self.documents.clone());
        let mut bytes = 0;
        let mut is_broken_off = false;
        for (done, environment) in environments.iter().enumerate() {
            let shares = (environments.len() - done) as u64;
            let share = WarmUp {
                bytes_max: warm_up.bytes_max.saturating_sub(bytes) / shares,
                ..warm_up
            };
            let report = environment.warm_up(share, &mut |report| {
                let answer = progress(report);
                is_broken_off = answer.is_break();
                answer
            })?;
            bytes += report.bytes();
            if is_broken_off {
                break;
            }
        }
        Ok(bytes)
    }

    /// Lets go of pages of documents and indexes that are resident in memory; the system's cache
    /// gives them back when they are touched.
    pub fn release_resident(&self) {
        self.documents.release_resident();
        self.indexes.release_resident();
    }

    /// The environment of the documents, for checks and backups.
    #[must_use]
    pub fn documents(&self) -> &Environment {
        &self.documents
    }
}

/// Waits for the answer of an operation.
fn received<T>(receiver: &mpsc::Receiver<Result<T, WriteError>>) -> Result<T, WriteError> {
    receiver.recv().unwrap_or_else(|_| Err(WriteError::lost()))
}

/// Makes the trees of a new database; changes nothing in one that is there.
fn create(transaction: &mut WriteTransaction, id: [u8; 16]) -> Result<(), WriteError> {
    if transaction.tree(SETTINGS)?.is_some() {
        return remove_uploads(transaction);
    }
    trees::create(transaction)?;
    let mut settings = transaction.tree_mut(SETTINGS)?;
    settings.put(FORMAT_KEY, &[FORMAT])?;
    settings.put(ID_KEY, &id)?;
    State::default().store(transaction)
}

/// Removes uploads that never became attachments.
fn remove_uploads(transaction: &mut WriteTransaction) -> Result<(), WriteError> {
    let Some(streams) = transaction.streams(ATTACHMENT_CONTENT)? else {
        return Ok(());
    };
    let names = streams.prefix(UPLOAD_PREFIX)?;
    let names: Result<Vec<_>, StorageError> = names.map(|entry| Ok(entry?.0)).collect();
    for name in names? {
        transaction.streams_mut(ATTACHMENT_CONTENT)?.delete(&name)?;
    }
    Ok(())
}

fn check_format(stored: Option<&[u8]>) -> Result<(), OpenError> {
    match stored {
        Some([FORMAT]) => Ok(()),
        Some([found]) => Err(OpenError::Version {
            found: *found,
            supported: FORMAT,
        }),
        _ => Err(ReadError::damaged("the format of the database").into()),
    }
}
