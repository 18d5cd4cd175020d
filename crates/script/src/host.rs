//! What a script may ask of the world, and how the question gets there.
//!
//! A machine lives longer than what a run may borrow, so the host of the present run is lent to
//! the functions of the script through a scoped variable of the thread.

use jackdaw_document::Array;

use crate::error::BoxError;
use crate::turns::Lane;

/// The world of one run.
pub trait Host {
    /// Answers a function that is not JavaScript itself (`load`, `put`, ..) with JSON.
    ///
    /// A document is answered as `{"d": its JSON, "a": {"@id": .., ..}}`, as
    /// [`ScriptDocument`](crate::ScriptDocument) writes it.
    ///
    /// # Errors
    /// [`HostError::Refused`] is thrown in the script, which may catch it; [`HostError::Failed`]
    /// ends the run.
    fn call(&mut self, function: &str, arguments: Array<'_>) -> Result<Vec<u8>, HostError>;

    /// Whether the script must end now: its time is up, or nobody waits for it. Asked each 10,000
    /// steps.
    fn is_over(&mut self) -> bool;

    /// Whom the run keeps waiting, when several scripts wait for their turn. While it waits it is
    /// asked [`Host::is_over`] now and then.
    fn lane(&self) -> Lane {
        Lane::Reads
    }

    /// It is the turn of the run: its time begins.
    fn begin(&mut self) {}
}

/// Why the host gave no answer.
#[derive(Debug)]
pub enum HostError {
    /// The script asked for what it may not have; the text is thrown.
    Refused(String),
    /// The host failed.
    Failed(BoxError),
}

impl HostError {
    /// A function that this version knows and cannot serve.
    #[must_use]
    pub fn unserved(function: &str) -> HostError {
        HostError::Refused(format!("{function}() is not supported by this version"))
    }
}

scoped_tls_hkt::scoped_thread_local!(
    pub(crate) static mut HOST: for<'h> &'h mut (dyn Host + 'h)
);
