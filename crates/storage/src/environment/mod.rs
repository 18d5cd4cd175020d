//! The environment: one directory, its files, its threads, and how transactions become durable.
//!
//! `open` makes or recovers one, `read_only` opens one without changing it, `shared` is what all
//! handles and threads share. `merger` queues operations, `batch` runs them, `pipeline` writes the
//! sealed transactions, `flush` moves committed pages into the data file, `in_place` writes large
//! values there at once, `give_back` makes holes of free pages there. `recovery` reads the journal
//! and `replay` applies it, `check` and `scrub` look for damage, `warm_up` reads ahead of requests,
//! `meters` says what all that took.

mod batch;
mod check;
mod error;
mod flush;
mod give_back;
mod give_up;
mod handle;
mod hold;
mod in_place;
mod merger;
mod meters;
mod open;
mod operation;
mod options;
mod pipeline;
mod read_only;
mod recovery;
mod replay;
mod scrub;
mod shared;
mod states;
mod statistics;
mod warm_up;

pub use check::{CheckLevel, CheckReport};
pub use error::{OpenError, WriteError};
pub use handle::Environment;
pub use meters::{MeterEvent, MeterKind, MeterMinute, MeterReport};
pub use operation::WriteHandle;
pub use options::Options;
pub use recovery::RecoveryReport;
pub use scrub::ScrubStep;
pub use statistics::Statistics;
pub use warm_up::{WarmUp, WarmUpProgress, WarmUpReport};

pub(crate) use in_place::Unsettled;
pub(crate) use operation::Completion;
pub(crate) use recovery::{OVERLAY_BYTES_MAX, Places, recover};
pub(crate) use shared::{CHECKSUM_BYTES, Shared, page_checksum};
