//! The parts of the `jackdaw` binary, as a library so that tests and examples can use them.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    reason = "what a command answers goes to standard output"
)]

mod arguments;
mod bench;
mod commands;
pub mod demo;
pub mod import;
pub mod output;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

/// Exit code for work that failed.
const EXIT_FAILED: u8 = 1;

/// Runs the command that the process's arguments name.
///
/// Exit codes: 0 done, 1 the work failed, 2 wrong usage; `check` uses 2 also for "cannot look".
#[must_use]
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    match commands::run(arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("jackdaw: {error:#}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}
