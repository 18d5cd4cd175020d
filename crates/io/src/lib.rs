//! Files, mapping, sync, clock, entropy and threads: the only crate that makes system calls.
