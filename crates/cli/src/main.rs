//! The `jackdaw` binary: hands its arguments to the library and ends with the exit code.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Parsing and indexing allocate much and in parallel; the system's allocator is slower at both.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    jackdaw_cli::run()
}
