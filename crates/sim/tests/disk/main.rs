//! Proves the simulated disk by programs that know nothing of the storage engine: what they were
//! told is durable survives every power loss, what the disk lies about is found out, and apart
//! from losing power it behaves like the real one.

mod agrees_with_real;
mod crash_sweep;
mod faults;
mod journal;
