//! Why a call failed, told by whom: the connection, the server, or the reader of the answer.

/// A failed call. Unless said otherwise nothing was changed on the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No usable answer came. The server may or may not have done what was asked.
    #[error("no answer from {url}: {source}. Is the server running? Start it with `jackdaw serve`")]
    Transport {
        /// Address of the call.
        url: String,
        /// What went wrong with the connection.
        source: Box<ureq::Error>,
    },
    /// The answer stopped in the middle.
    #[error("the answer from {url} broke off: {source}")]
    BrokenOff {
        /// Address of the call.
        url: String,
        /// What went wrong with the connection.
        source: std::io::Error,
    },
    /// The server refused: it says why.
    #[error("the server answered {status}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Type name of the failure, the one that other clients map to exceptions.
        kind: String,
        /// For people.
        message: String,
    },
    /// A change vector did not match: someone else was faster. Load, and try again.
    #[error("concurrency conflict: {message}")]
    Conflict {
        /// For people.
        message: String,
    },
    /// The answer is not what this client knows.
    #[error("the answer from {url} could not be read: {source}")]
    Unreadable {
        /// Address of the call.
        url: String,
        /// What serde found.
        source: serde_json::Error,
    },
    /// A value given by the caller cannot be written as JSON.
    #[error("the value cannot be written as JSON: {0}")]
    Unwritable(serde_json::Error),
}
