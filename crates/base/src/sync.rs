//! Atomics, taken from the standard library or, under `--cfg loom`, from the race checker.
//!
//! Lock-free code of every crate uses these names only, so that `cargo xtask test crash` can run
//! it through all interleavings.

#[cfg(not(loom))]
pub use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

#[cfg(loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
