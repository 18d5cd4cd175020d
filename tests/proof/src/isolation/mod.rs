//! Whether what concurrent clients saw is possible when transactions run one after the other.
//!
//! Clients append numbers, each used once, to lists and read whole lists. The longest read of a
//! list gives the order of its versions, so every dependency between transactions is known, and a
//! cycle of dependencies is an anomaly with a name (Adya; the method is that of Elle).

mod checker;
mod graph;
mod history;
mod workload;

pub use checker::{Anomaly, check};
pub use history::{History, Operation, Outcome, Transaction};
pub use workload::{WorkloadReport, run};
