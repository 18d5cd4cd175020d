//! Ctrl-C: the first one requests a stop at the next safe place, the second one ends the process.
//! Both are safe; the first keeps everything tidy.
//!
//! Threads: one that waits for the signal.

use anyhow::Context;
use jackdaw_transfer::stop::Stop;

/// Exit code of the second Ctrl-C: the work was not done.
const EXIT_INTERRUPTED: i32 = 1;

/// A stop that Ctrl-C and SIGTERM request. Their second arrival ends the process at once; the
/// files of a database survive that.
///
/// # Errors
/// When the system refuses a thread or a signal handler.
pub fn stop_on_signals() -> anyhow::Result<Stop> {
    let stop = Stop::default();
    let asked = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("cannot prepare for Ctrl-C")?;
    jackdaw_io::spawn("signals", move || {
        runtime.block_on(async {
            if wait_for_signal().await.is_ok() {
                asked.ask();
                if wait_for_signal().await.is_ok() {
                    std::process::exit(EXIT_INTERRUPTED);
                }
            }
        });
    })?;
    Ok(stop)
}

/// Waits for Ctrl-C or SIGTERM.
async fn wait_for_signal() -> std::io::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        signal = tokio::signal::ctrl_c() => signal,
        _ = terminate.recv() => Ok(()),
    }
}
