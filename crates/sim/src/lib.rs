//! Simulated disk with faults, workloads and checkers: a development dependency only.
//!
//! [`SimVfs`] stands in for the real disk. [`SimVfs::history`] goes back to any moment of what it
//! recorded and builds the disks that power loss may leave there; [`History::sweep`] checks them.
#![forbid(unsafe_code)]

mod disk;
mod faults;
mod file;
mod history;
mod images;
pub mod layout;
mod mapping;
mod rng;
mod state;
mod sweep;
mod vfs;

pub use faults::{Fault, FaultError, Lies, OperationKind};
pub use history::{History, Moments};
pub use images::{ImageBudget, Images, Moment};
pub use rng::{Rng, mix};
pub use sweep::{Sweep, SweepFailure, SweepReport};
pub use vfs::{CrashChoice, SimVfs};
