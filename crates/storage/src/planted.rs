//! Mistakes that tests plant in the engine, one at a time, to see whether they are found.
//!
//! Compiled with the feature `planted` and debug assertions only, so never into a release build;
//! without them [`is_planted`] is a constant and every hook vanishes.
//!
//! Threads: a mistake is planted for the thread that calls [`plant`].

#![cfg_attr(
    not(all(feature = "planted", debug_assertions)),
    expect(
        unreachable_pub,
        reason = "public in the build of the proof suites only"
    )
)]

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// The meta slot moves on before the data file is synced.
    MetaBeforeData,
    /// Journal files are used again before the meta slot has moved on.
    ReclaimBeforeMeta,
    /// Only one meta slot moves on before journal files are used again.
    OneMetaSlot,
    /// The flush ignores snapshots that still read the older pages.
    FlushOverReaders,
    /// Commits are answered before their record is durable.
    AcknowledgeEarly,
    /// A record that is written in pieces is not synced.
    PiecesWithoutSync,
    /// Values in place are not synced before the record that names them.
    InPlaceWithoutSync,
    /// Values go in place although the pages there are in use by a state that may be replayed.
    InPlaceAnywhere,
    /// The header of a journal file is not durable before its records.
    VolatileHeader,
    /// Recovery does not sync what it wrote.
    RecoveryWithoutSync,
    /// Recovery keeps promises of pages that became other pages.
    RecoveryKeepsShapes,
    /// Replay ends one record too early.
    ReplayStopsEarly,
    /// The old journal is removed before the meta slot leads past it.
    RemoveBeforeMeta,
    /// Pages inside a run keep their older versions in memory.
    NoMarkers,
    /// A page is taken but not marked as taken.
    DoubleAllocation,
    /// A page is given back but not marked as free.
    LeakedPages,
    /// Going back to a savepoint keeps changed pages.
    SavepointForgets,
    /// A failed sync is tried again and believed.
    RetriedSync,
    /// The meta slot keeps an old root.
    OldRoot,
    /// A page that a named snapshot sees is changed without an image.
    NoImages,
    /// A page that a named snapshot sees is given back.
    FreedImages,
}

#[cfg(all(feature = "planted", debug_assertions))]
mod hook {
    use std::cell::Cell;

    use super::Planted;

    thread_local! {
        static MISTAKE: Cell<Option<Planted>> = const { Cell::new(None) };
    }

    impl Planted {
        /// All of them.
        pub const ALL: &[Planted] = &[
            Planted::MetaBeforeData,
            Planted::ReclaimBeforeMeta,
            Planted::OneMetaSlot,
            Planted::FlushOverReaders,
            Planted::AcknowledgeEarly,
            Planted::PiecesWithoutSync,
            Planted::InPlaceWithoutSync,
            Planted::InPlaceAnywhere,
            Planted::VolatileHeader,
            Planted::RecoveryWithoutSync,
            Planted::RecoveryKeepsShapes,
            Planted::ReplayStopsEarly,
            Planted::RemoveBeforeMeta,
            Planted::NoMarkers,
            Planted::DoubleAllocation,
            Planted::LeakedPages,
            Planted::SavepointForgets,
            Planted::RetriedSync,
            Planted::OldRoot,
            Planted::NoImages,
            Planted::FreedImages,
        ];
    }

    /// Plants a mistake for this thread, or takes it away.
    pub fn plant(mistake: Option<Planted>) {
        MISTAKE.set(mistake);
    }

    pub(crate) fn is_planted(mistake: Planted) -> bool {
        MISTAKE.get() == Some(mistake)
    }
}

#[cfg(all(feature = "planted", debug_assertions))]
pub(crate) use hook::is_planted;
#[cfg(all(feature = "planted", debug_assertions))]
pub use hook::plant;

/// Whether the mistake is planted: never, in this build.
#[cfg(not(all(feature = "planted", debug_assertions)))]
#[inline(always)]
pub(crate) const fn is_planted(_: Planted) -> bool {
    false
}
