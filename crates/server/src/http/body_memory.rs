//! How much memory the bodies of requests may take together, and large parts of answers.
//!
//! Asked by `body`, by uploads and by bulk inserts while bytes arrive, by `piece_memory` for what
//! answers have beyond their pieces: what was announced and did
//! not come takes nothing. One that needs more than there is waits for others to be done, and is
//! turned away with 503 when that takes long; so two that wait for each other do not wait for ever.
//! They wait for different times: what the first gives back may be enough for the others.
//!
//! Invariant: what is counted is counted as long as it is in memory, which is until the request is
//! answered or a piece is stored; small bodies are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::admission::Overloaded;

/// A body up to here is not counted: connections have a limit of their own, which has room for it.
const UNCOUNTED_BYTES: u64 = 4 << 10;
/// What is counted at a time, in bytes.
const UNIT_BYTES: u64 = 4 << 10;
/// A body that grows takes so many parts of its length more, so that it does not ask for each byte.
const SPARE_PARTS: u64 = 4;
/// The most that it takes more.
const SPARE_BYTES_MAX: u64 = 1 << 20;

/// Bodies that begin one after the other wait for so many different times.
const WAITS: u32 = 8;

/// Bytes of a piece of a long body, where that is stored while it comes.
const PIECE_BYTES_MAX: usize = 1 << 20;
const PIECE_BYTES_MIN: usize = 64 << 10;
/// So many such bodies may arrive at a time without waiting for each other.
const PIECES: u64 = 16;

/// See the file head.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    units: Arc<Semaphore>,
    units_max: u32,
    wait_max: Duration,
    /// How many have entered.
    entered: AtomicU32,
}

/// Memory that one body has.
#[derive(Debug)]
pub(crate) struct BodyPlace {
    units: Arc<Semaphore>,
    units_max: u32,
    wait_max: Duration,
    taken: Option<OwnedSemaphorePermit>,
}

impl BodyMemory {
    pub(crate) fn new(bytes_max: usize, wait_max: Duration) -> BodyMemory {
        let units_max = units_of(bytes_max as u64, u32::MAX >> 4);
        BodyMemory {
            units: Arc::new(Semaphore::new(units_max as usize)),
            units_max,
            wait_max,
            entered: AtomicU32::new(0),
        }
    }

    /// Bytes that make a piece of a body that is stored while it comes.
    pub(crate) fn piece_bytes(&self) -> usize {
        let bytes = u64::from(self.units_max) * UNIT_BYTES / PIECES;
        let bytes = usize::try_from(bytes).unwrap_or(PIECE_BYTES_MAX);
        bytes.clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX)
    }

    /// A place for a body of which nothing has come yet. It waits for half of the longest time at
    /// least.
    pub(crate) fn enter(&self) -> BodyPlace {
        let turn = self.entered.fetch_add(1, Ordering::Relaxed) % WAITS;
        BodyPlace {
            units: self.units.clone(),
            units_max: self.units_max,
            wait_max: self.wait_max * (WAITS + turn + 1) / (2 * WAITS),
            taken: None,
        }
    }
}

impl BodyPlace {
    /// Whether there is room for so many bytes when nothing else is there.
    pub(crate) fn has_room_for(&self, len_bytes: u64) -> bool {
        len_bytes <= u64::from(self.units_max) * UNIT_BYTES
    }

    /// The body has so many bytes by now. One that is larger than all there is takes all of it.
    pub(crate) async fn grow(&mut self, len_bytes: u64) -> Result<(), Overloaded> {
        let more = self.missing(len_bytes);
        if more > 0 {
            let more = self.units.clone().acquire_many_owned(more);
            let more = tokio::time::timeout(self.wait_max, more).await;
            // The semaphore is never closed.
            self.take(more.ok().and_then(Result::ok).ok_or(Overloaded)?);
        }
        Ok(())
    }

    /// As [`BodyPlace::grow`], unless that would have to wait: then nothing is taken.
    pub(crate) fn try_grow(&mut self, len_bytes: u64) -> bool {
        let more = self.missing(len_bytes);
        if more > 0 {
            match self.units.clone().try_acquire_many_owned(more) {
                Ok(more) => self.take(more),
                Err(_) => return false,
            }
        }
        true
    }

    /// Keeps what so many bytes need, and gives a place of its own to all that was taken beyond.
    pub(crate) fn split_off(&mut self, kept_bytes: u64) -> BodyPlace {
        let keeps = match kept_bytes {
            0..=UNCOUNTED_BYTES => 0,
            bytes => units_of(bytes, self.units_max) as usize,
        };
        let rest = self.taken.as_mut();
        let rest = rest.and_then(|has| has.split(has.num_permits().saturating_sub(keeps)));
        BodyPlace {
            units: self.units.clone(),
            units_max: self.units_max,
            wait_max: self.wait_max,
            taken: rest,
        }
    }

    /// Units to take for so many bytes, some to spare included; none while there are enough.
    fn missing(&self, len_bytes: u64) -> u32 {
        let has = self.taken.as_ref();
        let has = has.map_or(0, OwnedSemaphorePermit::num_permits);
        let has = u32::try_from(has).unwrap_or(u32::MAX);
        if len_bytes <= UNCOUNTED_BYTES || units_of(len_bytes, self.units_max) <= has {
            return 0;
        }
        let spare = (len_bytes / SPARE_PARTS).min(SPARE_BYTES_MAX);
        units_of(len_bytes + spare, self.units_max) - has
    }

    fn take(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            None => self.taken = Some(more),
        }
    }
}

fn units_of(bytes: u64, units_max: u32) -> u32 {
    let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
    units.clamp(1, units_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a body of that length would have to wait.
    async fn waits(place: &mut BodyPlace, len_bytes: u64) -> bool {
        tokio::select! {
            biased;
            _ = place.grow(len_bytes) => false,
            () = std::future::ready(()) => true,
        }
    }

    #[test]
    fn bodies_share_what_there_is_and_give_it_back() {
        let memory = BodyMemory::new(8 << 20, Duration::from_millis(1));
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        runtime.block_on(async {
            let (mut first, mut second) = (memory.enter(), memory.enter());
            first.grow(6 << 20).await.unwrap();
            assert!(!waits(&mut second, UNCOUNTED_BYTES).await);
            assert!(waits(&mut second, 2 << 20).await);
            // Nobody gives anything back.
            assert_eq!(second.grow(2 << 20).await, Err(Overloaded));
            assert!(!second.try_grow(2 << 20) && second.try_grow(UNCOUNTED_BYTES));
            drop(first);
            assert!(second.try_grow(2 << 20));
            drop(second);
            // Alone, one may be larger than what is counted.
            let (mut large, mut other) = (memory.enter(), memory.enter());
            large.grow(100 << 20).await.unwrap();
            assert!(waits(&mut other, 1 << 20).await);
        });
    }

    #[test]
    fn of_those_that_wait_for_each_other_some_get_what_they_need() {
        let memory = BodyMemory::new(8 << 20, Duration::from_millis(1_200));
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        runtime.block_on(async {
            let mut places = [memory.enter(), memory.enter()];
            for place in &mut places {
                assert!(place.try_grow(3 << 20));
            }
            let [first, second] = places.map(|mut place| async move {
                // What it has goes when it gives up.
                place.grow(6 << 20).await
            });
            let (first, second) = tokio::join!(first, second);
            assert_eq!((first, second), (Err(Overloaded), Ok(())));
        });
    }

    #[test]
    fn a_part_is_counted_apart() {
        let memory = BodyMemory::new(1 << 20, Duration::ZERO);
        let mut place = memory.enter();
        assert!(place.split_off(0).taken.is_none());
        assert!(place.try_grow(800 << 10));
        let rest = place.split_off(600 << 10);
        // What was kept need not be asked for again, and all is counted until it is dropped.
        assert!(place.try_grow(600 << 10) && !memory.enter().try_grow(100 << 10));
        drop(rest);
        assert!(memory.enter().try_grow(300 << 10) && !memory.enter().try_grow(400 << 10));
        let all = place.split_off(UNCOUNTED_BYTES);
        assert!(!memory.enter().try_grow(400 << 10));
        drop(all);
        assert!(memory.enter().try_grow(1 << 20));
    }

    #[test]
    fn pieces_are_small_where_there_is_little() {
        let of = |bytes| BodyMemory::new(bytes, Duration::ZERO).piece_bytes();
        assert_eq!(of(1 << 20), 64 << 10);
        assert_eq!(of(4 << 20), 256 << 10);
        assert_eq!(of(1 << 30), 1 << 20);
    }
}
