//! How much work is taken on at a time, and when some is turned away.
//!
//! `dispatch` asks before it gives a request to the pool of blocking threads. Work with data may
//! take all but a few of the threads and has a queue with an end; beyond it, a request is answered
//! with 503 and `Retry-After` at once, which costs nothing, so that what was taken on is still
//! answered in time. Settings and numbers go past the queue: an operator gets through when data
//! does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::ServerConfig;
use crate::routes::Rate;

/// Threads of the pool that work with data leaves to others.
const RESERVED_THREADS: usize = 4;

/// See the file head.
#[derive(Debug)]
pub(crate) struct Admission {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    waiting_max: usize,
}

/// There is more to do than the queue holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overloaded;

/// Counts a request as waiting for as long as it waits, also when its client goes away.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Admission {
    pub(crate) fn new(config: &ServerConfig) -> Admission {
        let reserved = RESERVED_THREADS.min(config.blocking_threads_max / 2);
        let places = (config.blocking_threads_max - reserved).max(1);
        Admission {
            places: Arc::new(Semaphore::new(places)),
            waiting: AtomicUsize::new(0),
            waiting_max: config.waiting_requests_max,
        }
    }

    /// A place for a request, to be kept until its work is done; none is needed for some.
    pub(crate) async fn enter(
        &self,
        rate: Rate,
    ) -> Result<Option<OwnedSemaphorePermit>, Overloaded> {
        if rate != Rate::Data {
            return Ok(None);
        }
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(Some(place));
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(&self.waiting);
        if before >= self.waiting_max {
            return Err(Overloaded);
        }
        let place = self.places.clone().acquire_owned().await;
        drop(waiting);
        // The semaphore is never closed.
        Ok(place.ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_waits_in_a_queue_with_an_end_and_others_do_not_wait() {
        let config = ServerConfig {
            blocking_threads_max: 2,
            waiting_requests_max: 1,
            ..ServerConfig::default()
        };
        let admission = Admission::new(&config);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let first = admission.enter(Rate::Data).await.unwrap();
            assert!(first.is_some());
            let mut second = Box::pin(admission.enter(Rate::Data));
            tokio::select! {
                biased;
                _ = &mut second => panic!("there is one place"),
                () = std::future::ready(()) => {}
            }
            assert_eq!(admission.enter(Rate::Data).await.unwrap_err(), Overloaded);
            assert!(admission.enter(Rate::Admin).await.unwrap().is_none());
            drop(first);
            assert!(second.await.unwrap().is_some());
            // Who waited and went away leaves a place in the queue.
            let held = admission.enter(Rate::Data).await;
            drop(held);
            assert_eq!(admission.waiting.load(Ordering::Relaxed), 0);
        });
    }
}
