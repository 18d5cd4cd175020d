//! Changes that are made on a thread of the runtime, and that thread's other tasks meanwhile.
//!
//! A change that comes alone takes a durable write, mostly about 0.1 ms: less than waking a thread
//! of the database and the task again. But a disk may take a second once in a while, and the
//! runtime does not know that one of its threads waits: it may be the one that looks for news of
//! all connections. So one change at a time is made in place, and a thread of its own watches it:
//! when it takes longer than `PATIENCE`, another thread of the runtime is woken, which takes over
//! what there is to do.
//!
//! Used by `routes::writing`.
//!
//! Threads: any. The watching thread starts with the first change, and sleeps while there are none.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use tokio::runtime::Handle;

/// How long other tasks may wait for a change on their thread.
const PATIENCE: Duration = Duration::from_millis(1);
/// Looks without a change after which the watching thread sleeps.
const QUIET_LOOKS: u32 = 20;

/// See the file head.
#[derive(Default)]
pub(crate) struct WritesInPlace {
    turns: Arc<Turns>,
    /// `None`: it could not be started.
    watcher: OnceLock<Option<Thread>>,
}

#[derive(Default)]
struct Turns {
    /// Grows with each begin and each end: odd while a change is being made.
    count: AtomicU64,
    is_watcher_asleep: AtomicBool,
    is_over: AtomicBool,
}

/// The one change that is being made in place. Not to be held over an await.
pub(crate) struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for WritesInPlace {
    fn drop(&mut self) {
        self.turns.is_over.store(true, Ordering::SeqCst);
        if let Some(Some(watcher)) = self.watcher.get() {
            watcher.unpark();
        }
    }
}

impl WritesInPlace {
    /// Begins a change on this thread of the runtime; `None` while there is one.
    pub(crate) fn begin(&self) -> Option<Turn<'_>> {
        let start = || start_watcher(self.turns.clone());
        let watcher = self.watcher.get_or_init(start).as_ref()?;
        let turns = &*self.turns;
        let count = turns.count.load(Ordering::SeqCst);
        let is_free = count.is_multiple_of(2);
        let taken = |count| {
            let (set, fetch) = (Ordering::SeqCst, Ordering::Relaxed);
            turns.count.compare_exchange(count, count + 1, set, fetch)
        };
        if !is_free || taken(count).is_err() {
            return None;
        }
        if turns.is_watcher_asleep.swap(false, Ordering::SeqCst) {
            watcher.unpark();
        }
        Some(Turn(turns))
    }
}

fn start_watcher(turns: Arc<Turns>) -> Option<Thread> {
    let runtime = Handle::current();
    let builder = std::thread::Builder::new().name("jackdaw-watch".to_owned());
    let thread = builder.spawn(move || turns.watch(&runtime));
    thread.ok().map(|thread| thread.thread().clone())
}

impl Turns {
    fn watch(&self, runtime: &Handle) {
        let mut quiet = 0;
        let mut replaced = None;
        let mut before = self.count.load(Ordering::SeqCst);
        while !self.is_over.load(Ordering::SeqCst) {
            std::thread::sleep(PATIENCE);
            let count = self.count.load(Ordering::SeqCst);
            let is_waiting = count == before && !count.is_multiple_of(2);
            if is_waiting && replaced != Some(count) {
                // What comes from outside wakes a thread of the runtime, if one sleeps.
                drop(runtime.spawn(async {}));
                replaced = Some(count);
            }
            quiet = if count == before { quiet + 1 } else { 0 };
            before = count;
            if quiet >= QUIET_LOOKS && !is_waiting {
                self.sleep(count);
                quiet = 0;
            }
        }
    }

    /// Sleeps until a change begins after the count was read.
    fn sleep(&self, count: u64) {
        self.is_watcher_asleep.store(true, Ordering::SeqCst);
        let is_over = self.is_over.load(Ordering::SeqCst);
        if self.count.load(Ordering::SeqCst) == count && !is_over {
            std::thread::park();
        }
        self.is_watcher_asleep.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn one_change_at_a_time() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _inside = runtime.enter();
        let writes = WritesInPlace::default();
        for _ in 0..3 {
            let turn = writes.begin();
            assert!(turn.is_some());
            assert!(writes.begin().is_none());
        }
    }

    /// The thread that waits is the one that looks at clocks and connections: nobody else would.
    #[test]
    fn a_change_that_waits_holds_up_nobody() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let writes = Arc::new(WritesInPlace::default());
        for _ in 0..20 {
            let (sender, receiver) = mpsc::channel();
            let writes = writes.clone();
            let waiting = runtime.spawn(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let _turn = writes.begin().unwrap();
                receiver.recv_timeout(Duration::from_secs(30)).is_ok()
            });
            runtime.spawn(async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                sender.send(()).unwrap();
            });
            assert!(runtime.block_on(waiting).unwrap());
        }
    }
}
