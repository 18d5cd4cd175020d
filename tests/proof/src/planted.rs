//! Mistakes planted on purpose: by the disk, by a layer over it, and in the engine itself. A suite
//! that does not find them proves nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{Lies, SimVfs};
#[cfg(feature = "planted")]
use jackdaw_storage::planted::Planted;

use crate::history;
use crate::lying::{Lie, LyingVfs};

/// Where a mistake is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// All syncs of files do nothing.
    SkipSync,
    /// All durable writes are volatile.
    SkipDurableWrites,
    /// All syncs of directories do nothing.
    SkipDirectorySync,
    /// The disk lies in one place.
    Lying(Lie),
    /// The engine is wrong in one place.
    #[cfg(feature = "planted")]
    Engine(Planted),
}

/// Keeps a mistake planted in the engine, for this thread, until it is dropped.
pub struct Guard(());

/// Seeds within which every mistake has to be found.
pub const SEEDS_MAX: u64 = 10_000;

impl Mistake {
    /// All of them.
    #[must_use]
    pub fn all() -> Vec<Mistake> {
        let mut all = vec![
            Mistake::SkipSync,
            Mistake::SkipDurableWrites,
            Mistake::SkipDirectorySync,
            Mistake::Lying(Lie::SkipDataSync),
            Mistake::Lying(Lie::SkipJournalDirectorySync),
            Mistake::Lying(Lie::VolatileJournal),
            Mistake::Lying(Lie::VolatileMeta),
            Mistake::Lying(Lie::ShortJournalWrite),
            Mistake::Lying(Lie::LostDataWrite),
            Mistake::Lying(Lie::MisdirectedDataWrite),
        ];
        all.extend(Mistake::of_the_engine());
        all
    }

    #[cfg(feature = "planted")]
    fn of_the_engine() -> impl Iterator<Item = Mistake> {
        Planted::ALL.iter().copied().map(Mistake::Engine)
    }

    #[cfg(not(feature = "planted"))]
    fn of_the_engine() -> impl Iterator<Item = Mistake> {
        std::iter::empty()
    }

    /// Plants it in the engine, if that is where it belongs.
    #[must_use]
    pub fn plant(self) -> Guard {
        #[cfg(feature = "planted")]
        if let Mistake::Engine(planted) = self {
            jackdaw_storage::planted::plant(Some(planted));
        }
        Guard(())
    }

    pub(crate) fn lies(self) -> Lies {
        Lies {
            skip_sync: self == Mistake::SkipSync,
            skip_durable_writes: self == Mistake::SkipDurableWrites,
            skip_directory_sync: self == Mistake::SkipDirectorySync,
        }
    }

    /// The disk that the engine is given.
    pub(crate) fn disk(self, vfs: &Arc<SimVfs>) -> Arc<dyn Vfs> {
        vfs.set_lies(self.lies());
        match self {
            Mistake::Lying(lie) => Arc::new(LyingVfs::new(Arc::clone(vfs), lie)),
            _ => Arc::clone(vfs) as Arc<dyn Vfs>,
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        #[cfg(feature = "planted")]
        jackdaw_storage::planted::plant(None);
    }
}

/// The number of seeds until `mistake` is found, and what was said of it.
#[must_use]
pub fn find(mistake: Mistake) -> Option<(u64, String)> {
    (1..=SEEDS_MAX).find_map(|seed| {
        let outcome = catch_unwind(AssertUnwindSafe(|| history::run(seed, Some(mistake))));
        match outcome {
            Ok(Ok(_)) => None,
            Ok(Err(what)) => Some((seed, what)),
            Err(_) => Some((seed, "the engine panicked".to_owned())),
        }
    })
}
