//! The parts of the `jackdaw` binary, as a library so that tests and examples can use them.

#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod commands;
pub mod demo;
pub mod import;
pub mod output;

use std::process::ExitCode;

use clap::Parser;
use jackdaw_server::StartError;

use arguments::Arguments;
use output::failure::sentence;
use output::say::note;

/// Exit code for work that failed.
const EXIT_FAILED: u8 = 1;
/// Exit code for a configuration that is refused because it would not be safe: `EX_CONFIG`.
const EXIT_CONFIGURATION: u8 = 78;

/// Runs the command that the process's arguments name.
///
/// Exit codes: 0 done, 1 the work failed, 2 wrong usage, 78 refused as unsafe; `check` uses 2 also
/// for "cannot look".
#[must_use]
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let done = commands::run(arguments);
    match (done, output::say::failure()) {
        (Err(error), _) if !output::say::is_reader_gone(&error) => {
            note!("jackdaw: {}", sentence(&error));
            match is_unsafe(&error) {
                true => ExitCode::from(EXIT_CONFIGURATION),
                false => ExitCode::from(EXIT_FAILED),
            }
        }
        (Err(_), _) => ExitCode::SUCCESS,
        (Ok(_), Some(error)) => {
            note!("jackdaw: cannot write to standard output: {error}");
            ExitCode::from(EXIT_FAILED)
        }
        (Ok(code), None) => code,
    }
}

/// Whether a server was refused because everybody who reached it could do everything.
fn is_unsafe(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StartError::Unprotected(_)))
        || matches!(
            error.downcast_ref(),
            Some(jackdaw_redis::StartError::Public { .. })
        )
}
