//! Checksums, varints, identifiers, bit sets and SIMD kernels: no I/O, no clock.

pub mod base64;
pub mod hash;
pub mod lowercase;
pub mod number;
pub mod time;
pub mod varint;
