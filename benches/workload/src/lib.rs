//! Storage workloads that any engine can run: what `jackdaw bench storage` and the peers of
//! `benches/compare` measure, so that data, order, timing and output are the same for all.
//!
//! An engine is an adapter with a handful of verbs ([`Engine`]); [`run`] does the rest.
#![forbid(unsafe_code)]

mod data;
mod device;
mod engine;
mod measure;
mod run;
mod settings;

pub use data::{Batch, ITEM_KEY_BYTES, Key, Order, touch};
pub use device::written_bytes;
pub use engine::{Engine, Error};
pub use measure::{Measurement, disk_bytes, peak_rss_kib};
pub use run::run;
pub use settings::{Durability, Settings, Workload};
