//! What the process logs, and a handle to change it while it runs.
//!
//! The program that runs the server sets logging up, because there is one log in a process, and
//! hands the handle over in `ServerConfig`; `routes::logs` tells and changes the level.

use std::fmt;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;

type Change = dyn Fn(LevelFilter) -> bool + Send + Sync;

/// A handle on the level of the process's log.
#[derive(Clone)]
pub struct LogControl {
    at_start: LevelFilter,
    change: Arc<Change>,
}

impl LogControl {
    /// A log that began with `at_start`. `change` makes another level count for events from then
    /// on, and says whether it could.
    pub fn new(
        at_start: LevelFilter,
        change: impl Fn(LevelFilter) -> bool + Send + Sync + 'static,
    ) -> LogControl {
        LogControl {
            at_start,
            change: Arc::new(change),
        }
    }

    /// The level of the settings that the process began with.
    pub(crate) fn at_start(&self) -> LevelFilter {
        self.at_start
    }

    /// Makes another level count; false when the log is gone.
    pub(crate) fn set(&self, level: LevelFilter) -> bool {
        (self.change)(level)
    }
}

impl fmt::Debug for LogControl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("LogControl");
        shown
            .field("at_start", &self.at_start)
            .finish_non_exhaustive()
    }
}
