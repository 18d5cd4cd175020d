//! Standard output that may end early: `jackdaw query ... | head` is no failure.
//!
//! Commands say what they have to say with `say!`; what could not be written is remembered and
//! judged once, at the end of the process. What goes to standard error goes through `note!`.
//!
//! Threads: any.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// The first thing that could not be written.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Writes a line to standard output. Use `say!`.
pub(crate) fn write_line(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_fmt(text).and_then(|()| out.write_all(b"\n")) {
        FAILURE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }
}

/// What could not be written, unless its reader simply had enough.
pub(crate) fn failure() -> Option<io::Error> {
    let failure = FAILURE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    failure.filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}

/// Whether an error is nothing but a reader of the output that had enough.
pub(crate) fn is_reader_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Writes a line to standard error. Use `note!`.
pub(crate) fn write_note(text: Arguments<'_>) {
    let mut out = io::stderr().lock();
    // Nothing is left to report a failure to.
    let _ = out.write_fmt(text).and_then(|()| out.write_all(b"\n"));
}

/// `println!` that does not panic when the output ends.
macro_rules! say {
    ($($part:tt)*) => {
        $crate::output::say::write_line(format_args!($($part)*))
    };
}

/// `eprintln!` that does not panic when nothing reads standard error.
macro_rules! note {
    ($($part:tt)*) => {
        $crate::output::say::write_note(format_args!($($part)*))
    };
}
pub(crate) use {note, say};
