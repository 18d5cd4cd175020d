//! How much memory the bodies of requests may take together.
//!
//! Asked by `body` while a body arrives. Each may be as large as its route allows, but many at a
//! time would be more than a small machine has; a large one waits for others to be done, and one
//! whose length nobody announced is turned away with 503 when there is no more.
//!
//! Invariant: what is counted is counted until the request is answered; small bodies are not.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::admission::Overloaded;

/// A body up to here is not counted: connections have a limit of their own.
const UNCOUNTED_BYTES: u64 = 64 << 10;
/// What is counted at a time, in bytes.
const UNIT_BYTES: u64 = 4 << 10;
/// How much more is taken when a body grows.
const STEP_BYTES: u64 = 1 << 20;
/// How long a body waits before it is read.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// See the file head.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    units: Arc<Semaphore>,
    units_max: u32,
}

/// Memory that one body has.
#[derive(Debug)]
pub(crate) struct BodyPlace {
    units: Arc<Semaphore>,
    units_max: u32,
    taken: Option<OwnedSemaphorePermit>,
}

impl BodyMemory {
    pub(crate) fn new(bytes_max: usize) -> BodyMemory {
        let units_max = units_of(bytes_max as u64, u32::MAX >> 4);
        BodyMemory {
            units: Arc::new(Semaphore::new(units_max as usize)),
            units_max,
        }
    }

    /// Waits for as much as was announced. One that is larger than all there is takes all of it.
    pub(crate) async fn enter(&self, announced_bytes: u64) -> Result<BodyPlace, Overloaded> {
        let mut place = BodyPlace {
            units: self.units.clone(),
            units_max: self.units_max,
            taken: None,
        };
        if announced_bytes > UNCOUNTED_BYTES {
            let units = units_of(announced_bytes, self.units_max);
            let waited = self.units.clone().acquire_many_owned(units);
            let waited = tokio::time::timeout(WAIT_MAX, waited).await;
            // The semaphore is never closed.
            place.taken = waited.ok().and_then(Result::ok);
            if place.taken.is_none() {
                return Err(Overloaded);
            }
        }
        Ok(place)
    }
}

impl BodyPlace {
    /// The body has so many bytes by now. Does not wait: two that wait for each other would do so
    /// for ever.
    pub(crate) fn grow(&mut self, len_bytes: u64) -> Result<(), Overloaded> {
        let has = self
            .taken
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let has = u32::try_from(has).unwrap_or(u32::MAX);
        if len_bytes <= UNCOUNTED_BYTES || units_of(len_bytes, self.units_max) <= has {
            return Ok(());
        }
        let wanted = units_of(len_bytes + STEP_BYTES, self.units_max);
        let more = self.units.clone().try_acquire_many_owned(wanted - has);
        let more = more.map_err(|_| Overloaded)?;
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            None => self.taken = Some(more),
        }
        Ok(())
    }
}

fn units_of(bytes: u64, units_max: u32) -> u32 {
    let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
    units.clamp(1, units_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a body would have to wait.
    async fn waits(memory: &BodyMemory, announced_bytes: u64) -> bool {
        tokio::select! {
            biased;
            _ = memory.enter(announced_bytes) => false,
            () = std::future::ready(()) => true,
        }
    }

    #[test]
    fn bodies_share_what_there_is_and_give_it_back() {
        let memory = BodyMemory::new(4 << 20);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        runtime.block_on(async {
            let mut small = memory.enter(100).await.unwrap();
            let first = memory.enter(3 << 20).await.unwrap();
            assert!(waits(&memory, 2 << 20).await);
            assert!(!waits(&memory, UNCOUNTED_BYTES).await);
            assert!(small.grow(UNCOUNTED_BYTES).is_ok());
            assert_eq!(small.grow(1 << 20), Err(Overloaded));
            drop(first);
            assert!(small.grow(1 << 20).is_ok());
            drop(small);
            // Alone, one may be larger than what is counted.
            let mut large = memory.enter(100 << 20).await.unwrap();
            assert!(large.grow(100 << 20).is_ok());
            assert!(waits(&memory, 1 << 20).await);
        });
    }
}
