//! Checksums, varints, identifiers, bit sets and SIMD kernels: no I/O, no clock.

#![forbid(unsafe_code)]

pub mod base64;
pub mod hash;
pub mod lazy_array;
pub mod lowercase;
pub mod metrics;
pub mod number;
pub mod sync;
pub mod time;
pub mod varint;
pub mod width;
