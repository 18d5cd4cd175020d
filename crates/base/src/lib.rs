//! Checksums, varints, identifiers, bit sets and SIMD kernels: no I/O, no clock.
