//! `jackdaw serve --warm-up`: reads databases into memory beside a server that has just started.
//!
//! Requests are served meanwhile. Reading ends when the budget is used up or the server stops.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::Context;
use jackdaw_database::DatabaseSet;
use jackdaw_storage::WarmUp;

use crate::output::numbers::{bytes, counted};
use crate::output::say::say;

/// Reads at once: enough to keep a disk busy, few enough that requests do not wait long behind
/// them.
const READS_MAX: usize = 8;

/// Reads until it is dropped.
pub(super) struct WarmUpThread {
    is_stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WarmUpThread {
    /// Reads up to `bytes_max` bytes of all databases of `set`.
    pub(super) fn start(set: &Arc<DatabaseSet>, bytes_max: u64) -> anyhow::Result<WarmUpThread> {
        let is_stopping = Arc::new(AtomicBool::new(false));
        let (set, is_stopped) = (Arc::clone(set), Arc::clone(&is_stopping));
        let thread = jackdaw_io::spawn("jd-warm-up", move || {
            warm_up(&set, bytes_max, &is_stopped);
        });
        Ok(WarmUpThread {
            is_stopping,
            thread: Some(thread.context("cannot warm up")?),
        })
    }
}

impl Drop for WarmUpThread {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

fn warm_up(set: &DatabaseSet, bytes_max: u64, is_stopping: &AtomicBool) {
    let names = set.names();
    let mut total = 0;
    for (done, name) in names.iter().enumerate() {
        if is_stopping.load(Ordering::Relaxed) {
            return;
        }
        let database = match set.get(name) {
            Ok(Some(database)) => database,
            // Deleted meanwhile.
            Ok(None) => continue,
            Err(error) => {
                tracing::warn!(%name, %error, "not warmed up: the database cannot be opened");
                continue;
            }
        };
        let shares = (names.len() - done) as u64;
        let options = WarmUp {
            bytes_max: bytes_max.saturating_sub(total) / shares,
            reads_max: READS_MAX,
        };
        let read = database.warm_up(
            options,
            &mut |_| match is_stopping.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            },
        );
        match read {
            Ok(read) => total += read,
            Err(error) => tracing::warn!(%name, %error, "warming up broke off"),
        }
    }
    if !is_stopping.load(Ordering::Relaxed) {
        let databases = counted(names.len() as u64, "database");
        say!("Warm:    {} of {databases} read", bytes(total));
    }
}
