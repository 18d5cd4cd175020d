//! Indexes cost no durable write: a commit of documents is one, with indexes and without.
//!
//! A disk that counts what is made durable, by environment. The documents and the indexes are too
//! few for a flush, which is the only time that an index makes anything durable.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jackdaw_database::{Database, DatabaseOptions, StaticDefinition};
use jackdaw_io::{DirectoryEntry, Durability, FileLock, Mapping, OpenOptions, Vfs, VfsFile};
use jackdaw_sim::SimVfs;
use jackdaw_storage::Options;

use crate::common::{json, store};

const COMMITS: u64 = 50;
const INDEXES: u64 = 3;

/// What happened to the files of an environment, or of several.
#[derive(Default)]
struct Counts {
    durable_writes: AtomicU64,
    other_writes: AtomicU64,
    syncs: AtomicU64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Totals {
    durable_writes: u64,
    other_writes: u64,
    syncs: u64,
}

impl Counts {
    fn totals(&self) -> Totals {
        Totals {
            durable_writes: self.durable_writes.load(Ordering::SeqCst),
            other_writes: self.other_writes.load(Ordering::SeqCst),
            syncs: self.syncs.load(Ordering::SeqCst),
        }
    }
}

impl Totals {
    fn since(&self, before: &Totals) -> Totals {
        Totals {
            durable_writes: self.durable_writes - before.durable_writes,
            other_writes: self.other_writes - before.other_writes,
            syncs: self.syncs - before.syncs,
        }
    }
}

struct CountingVfs {
    disk: Arc<SimVfs>,
    documents: Arc<Counts>,
    indexes: Arc<Counts>,
}

struct CountingFile {
    file: Arc<dyn VfsFile>,
    counts: Arc<Counts>,
}

impl CountingVfs {
    fn new(seed: u64) -> Arc<CountingVfs> {
        Arc::new(CountingVfs {
            disk: SimVfs::new(seed),
            documents: Arc::default(),
            indexes: Arc::default(),
        })
    }

    /// Those of the documents and of all indexes.
    fn totals(&self) -> [Totals; 2] {
        [self.documents.totals(), self.indexes.totals()]
    }
}

impl Vfs for CountingVfs {
    fn open(&self, path: &Path, options: OpenOptions) -> io::Result<Arc<dyn VfsFile>> {
        let is_index = path.components().any(|part| part.as_os_str() == "indexes");
        let counts = if is_index {
            &self.indexes
        } else {
            &self.documents
        };
        Ok(Arc::new(CountingFile {
            file: self.disk.open(path, options)?,
            counts: Arc::clone(counts),
        }))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.disk.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.disk.lock_shared(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.create_directory(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.disk.list(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_directory(path)
    }

    fn unix_nanos(&self) -> u64 {
        self.disk.unix_nanos()
    }

    fn monotonic_nanos(&self) -> u64 {
        self.disk.monotonic_nanos()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.disk.fill_random(buffer);
    }
}

impl VfsFile for CountingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64, durability: Durability) -> io::Result<()> {
        let count = match durability {
            Durability::Data => &self.counts.durable_writes,
            Durability::None => &self.counts.other_writes,
        };
        count.fetch_add(1, Ordering::SeqCst);
        self.file.write_at(bytes, offset, durability)
    }

    fn sync(&self) -> io::Result<()> {
        self.counts.syncs.fetch_add(1, Ordering::SeqCst);
        self.file.sync()
    }

    fn start_write_back(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.file.start_write_back(offset, len_bytes)
    }

    fn len_bytes(&self) -> io::Result<u64> {
        self.file.len_bytes()
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.file.set_len(len_bytes)
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.file.allocate(offset, len_bytes)
    }

    fn punch_hole(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.file.punch_hole(offset, len_bytes)
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Arc<dyn Mapping>> {
        self.file.map(reserve_bytes)
    }

    fn is_direct(&self) -> bool {
        self.file.is_direct()
    }
}

/// The options of a server, but for journal files that are short.
fn options() -> DatabaseOptions {
    let short = |options| Options {
        journal_file_bytes_max: 1 << 20,
        background_flush: false,
        ..options
    };
    DatabaseOptions {
        documents: short(Options::default()),
        indexes: short(Options::rebuildable()),
        ..DatabaseOptions::default()
    }
}

fn store_one(database: &Database, number: u64) {
    let body = format!(
        r#"{{"Name":"ant {number}","Legs":{},"Nest":"nests/1"}}"#,
        number % 7
    );
    store(database, &format!("ants/{number}"), "Ants", &body);
}

/// What the disk was asked for during the commits, one after the other, and until every index had
/// taken them in.
fn during_commits(index_count: u64) -> [Totals; 2] {
    let vfs = CountingVfs::new(index_count);
    let shared: Arc<dyn Vfs> = vfs.clone();
    let database = Database::open(shared, Path::new("/ants"), "Ants", &options()).unwrap();
    for number in 0..index_count {
        let field = ["Name", "Legs", "Nest"][usize::try_from(number).unwrap()];
        let text = format!(
            r#"{{"Name":"By{field}","Maps":["from a in docs.Ants select new {{ a.{field} }}"]}}"#
        );
        let definition = StaticDefinition::read(json(&text).root().as_object().unwrap());
        database.put_index(definition.unwrap()).unwrap();
    }
    store_one(&database, 0);
    assert!(database.wait_for_indexes(Duration::from_secs(30)));
    let before = vfs.totals();
    for number in 1..=COMMITS {
        store_one(&database, number);
    }
    assert!(database.wait_for_indexes(Duration::from_secs(30)));
    let [documents, indexes] = vfs.totals();
    let lists = database.indexes().unwrap();
    assert!(lists.iter().all(|index| index.entry_count == COMMITS + 1));
    assert_eq!(lists.len() as u64, index_count);
    [documents.since(&before[0]), indexes.since(&before[1])]
}

#[test]
fn indexes_cost_no_durable_write() {
    let [alone, nothing] = during_commits(0);
    let [documents, indexes] = during_commits(INDEXES);
    assert_eq!((alone.durable_writes, alone.syncs), (COMMITS, 0));
    assert_eq!(documents, alone);
    assert_eq!(nothing.other_writes, 0);
    assert_eq!((indexes.durable_writes, indexes.syncs), (0, 0));
    assert!(indexes.other_writes >= INDEXES, "{indexes:?}");
}
