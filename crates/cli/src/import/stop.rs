//! Ctrl-C: the first one asks the work to stop at the next safe place, the second one ends the
//! process. Both are safe; the first keeps everything tidy.
//!
//! Threads: one that waits for the signal; any may ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// Exit code of the second Ctrl-C: the work was not done.
const EXIT_INTERRUPTED: i32 = 1;

/// Whether the user has asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether the user has asked to stop.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// A stop that Ctrl-C and SIGTERM ask for. Their second arrival ends the process at once; the
    /// files of a database survive that.
    ///
    /// # Errors
    /// When the system refuses a thread or a signal handler.
    pub fn on_signals() -> anyhow::Result<Self> {
        let stop = Self::default();
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
}

/// Waits for Ctrl-C or SIGTERM.
async fn wait_for_signal() -> std::io::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        signal = tokio::signal::ctrl_c() => signal,
        _ = terminate.recv() => Ok(()),
    }
}
