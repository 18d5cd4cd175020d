//! Atomics and locks, of the standard library or, under `--cfg loom`, of the race checker.
//!
//! Lock-free code of every crate, and the locks it is mixed with, use these names only, so that
//! `cargo xtask test race` can run it through all interleavings.

#[cfg(not(loom))]
pub use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(not(loom))]
pub use std::sync::{Mutex, MutexGuard};

#[cfg(loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(loom)]
pub use loom::sync::{Mutex, MutexGuard};
