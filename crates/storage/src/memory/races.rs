//! All interleavings of a reader, the flusher and the writer, by loom.
//!
//! Run with `cargo xtask test race`. What is proven: a snapshot reads its own version of a page,
//! in scratch memory or in the file, whatever the flusher and the writer do meanwhile, no frame is
//! re-used while it reads, and no loaded page given up.

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::{FrameId, Frames, Location, PageTable, PublishedPage, Readers};
use crate::page::PageNumber;

const PAGE: PageNumber = PageNumber(1);

struct World {
    readers: std::sync::Arc<Readers>,
    frames: Frames,
    table: PageTable,
    /// Stands for the page in the data file: which version it holds.
    file: AtomicU64,
    visible: AtomicU64,
    /// Stands for memory into which the page is loaded: which version it holds, 0 for none.
    memory: AtomicU64,
    /// Whether that is to be given up, under the lock of such memory.
    is_chosen: Mutex<bool>,
}

impl World {
    /// A world in which every lazily made array exists: the checker does not see the standard
    /// library's once-cells, by which real threads learn of them.
    fn new() -> Arc<World> {
        let world = World {
            readers: Readers::new(),
            frames: Frames::new(None),
            table: PageTable::new(),
            file: AtomicU64::new(0),
            visible: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            is_chosen: Mutex::new(false),
        };
        drop(world.readers.register(|| 0));
        world
            .frames
            .release(world.frames.allocate(1).expect("memory"));
        world.table.mark_validated(PAGE);
        Arc::new(world)
    }

    fn commit(&self, transaction: u64) -> FrameId {
        let mut frame = self.frames.allocate(1).expect("memory");
        self.frames.owned_mut(&mut frame)[..8].copy_from_slice(&transaction.to_le_bytes());
        let page = std::iter::once(PublishedPage { page: PAGE, frame });
        let id = self.table.publish(transaction, page, &self.frames)[0].1;
        self.visible.store(transaction, Ordering::SeqCst);
        id
    }

    fn flush(&self) {
        let (pin, durable) = self
            .readers
            .register(|| self.visible.load(Ordering::SeqCst))
            .expect("a free slot");
        let horizon = self.table.begin_flush(durable, &self.readers);
        let Location::Frame(frame) = self.table.find(PAGE, horizon, &self.frames) else {
            return;
        };
        let bytes = self.frames.published(frame, &pin);
        self.file.store(number(bytes), Ordering::SeqCst);
        drop(pin);
        let removed = self
            .table
            .remove_flushed(&[(PAGE, frame)], true, &self.frames);
        let epoch = self.readers.next_epoch();
        self.frames.retire(removed.into_iter(), epoch);
        self.frames.reclaim(self.readers.oldest_epoch());
    }

    fn drop_superseded(&self) {
        let durable = self.visible.load(Ordering::SeqCst);
        let removed = self
            .table
            .remove_superseded(&[PAGE], durable, &self.readers, &self.frames);
        let epoch = self.readers.next_epoch();
        self.frames.retire(removed.into_iter(), epoch);
        self.frames.reclaim(self.readers.oldest_epoch());
    }

    /// Loads the page as readers of encrypted files do.
    fn load(&self) {
        let mut is_chosen = self.is_chosen.lock().expect("no panic");
        *is_chosen = false;
        self.memory.store(1, Ordering::SeqCst);
    }

    /// One round of giving up: chosen, forgotten, and gone if nobody reads it.
    fn give_up(&self) {
        *self.is_chosen.lock().expect("no panic") = true;
        let pages = || PAGE..PageNumber(PAGE.0 + 1);
        self.table.forget_validated(pages(), &self.frames);
        let epoch = self.readers.next_epoch();
        if self.readers.oldest_epoch() < epoch {
            return;
        }
        let is_chosen = self.is_chosen.lock().expect("no panic");
        if *is_chosen && !self.table.has_validated(pages(), &self.frames) {
            self.memory.store(0, Ordering::SeqCst);
        }
    }

    /// What a new snapshot finds in memory into which the page is loaded.
    fn read_loaded(&self) -> u64 {
        let (_pin, snapshot) = self.readers.register(|| 0).expect("a free slot");
        match self.table.find(PAGE, snapshot, &self.frames) {
            Location::File { validated: true } => {}
            _ => {
                self.load();
                self.table.mark_validated(PAGE);
            }
        }
        self.memory.load(Ordering::SeqCst)
    }

    /// Which version a new snapshot reads, and the snapshot.
    fn read(&self) -> (u64, u64) {
        let (pin, snapshot) = self
            .readers
            .register(|| self.visible.load(Ordering::SeqCst))
            .expect("a free slot");
        let found = match self.table.find(PAGE, snapshot, &self.frames) {
            Location::Frame(frame) => {
                let bytes = self.frames.published(frame, &pin);
                // Time for the others to overwrite the frame.
                thread::yield_now();
                number(bytes)
            }
            Location::File { .. } => self.file.load(Ordering::SeqCst),
        };
        (found, snapshot)
    }
}

/// A thread that reads once: gives the version it found and its snapshot.
fn spawn_reader(world: &Arc<World>) -> thread::JoinHandle<(u64, u64)> {
    let world = Arc::clone(world);
    thread::spawn(move || world.read())
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))
}

#[test]
fn reader_beside_a_flush_reads_its_version() {
    loom::model(|| {
        let world = World::new();
        world.commit(1);
        let reader = spawn_reader(&world);
        world.flush();
        world.commit(2);
        let (found, snapshot) = reader.join().expect("no panic");
        assert_eq!(found, snapshot);
    });
}

#[test]
fn reader_beside_reuse_of_frames_reads_its_version() {
    loom::model(|| {
        let world = World::new();
        world.commit(1);
        world.commit(2);
        let reader = spawn_reader(&world);
        world.flush();
        // Takes the frames that the flush gave back, if it could.
        world.commit(3);
        world.commit(4);
        let (found, snapshot) = reader.join().expect("no panic");
        assert_eq!(found, snapshot);
    });
}

#[test]
fn reader_beside_dropped_versions_reads_its_version() {
    loom::model(|| {
        let world = World::new();
        world.commit(1);
        let reader = spawn_reader(&world);
        world.commit(2);
        world.drop_superseded();
        // Takes the frame that was given back, if it could.
        world.commit(3);
        let (found, snapshot) = reader.join().expect("no panic");
        assert_eq!(found, snapshot);
    });
}

#[test]
fn flush_beside_dropped_versions_writes_what_its_horizon_sees() {
    // A writer and a flusher that both take locks: all interleavings with up to three preemptions.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::new();
        world.commit(1);
        let flusher = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.flush())
        };
        world.commit(2);
        world.drop_superseded();
        flusher.join().expect("no panic");
        let (found, snapshot) = world.read();
        assert_eq!((found, snapshot), (2, 2));
    });
}

#[test]
fn readers_beside_giving_up_find_what_they_loaded() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::new();
        world.load();
        let reader = {
            let world = Arc::clone(&world);
            thread::spawn(move || (world.read_loaded(), world.read_loaded()))
        };
        let other = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.read_loaded())
        };
        world.give_up();
        world.give_up();
        assert_eq!(reader.join().expect("no panic"), (1, 1));
        assert_eq!(other.join().expect("no panic"), 1);
    });
}
