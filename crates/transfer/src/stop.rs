//! A request to stop: work that sees it ends at the next safe place.
//!
//! Threads: any may ask, any may look.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a stop is requested. Clones share the request.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether a stop is requested.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Requests a stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
