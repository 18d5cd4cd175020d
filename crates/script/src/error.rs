//! Why a script gave no result, by what its author has to do.

/// What a [`Host`](crate::Host) says when it fails.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a script has no result. Whether the host did something before is the host's matter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The text is not JavaScript. Lines and columns count from 1.
    #[error("At {line}:{column} {message}")]
    Syntax {
        /// What the engine says.
        message: String,
        /// Line in the script.
        line: u32,
        /// Character in that line.
        column: u32,
    },
    /// The script threw, or did what JavaScript does not allow.
    #[error("{}{message}", at(*place))]
    Thrown {
        /// The text of what was thrown.
        message: String,
        /// Line and column in the script, when the engine knows them.
        place: Option<(u32, u32)>,
    },
    /// Too many turns of loops and calls.
    #[error(
        "The maximum number of statements executed have been reached - {limit}. Write a script \
         that ends, or that does less for each document"
    )]
    Steps {
        /// The limit.
        limit: u64,
    },
    /// It ran longer than the host grants.
    #[error("The script was stopped: it took longer than it may")]
    Time,
    /// It needs more memory than it may use.
    #[error("The script needs more than the {limit_bytes} bytes of memory that it may use")]
    Memory {
        /// The limit.
        limit_bytes: usize,
    },
    /// Calls nest too deeply.
    #[error("The script calls functions too deep inside one another: is there an end to it?")]
    Stack,
    /// The text is longer than the limit.
    #[error("The script is {len_bytes} bytes long; the limit is {limit_bytes}")]
    TooLong {
        /// Its length.
        len_bytes: usize,
        /// The limit.
        limit_bytes: usize,
    },
    /// What the script leaves is no document.
    #[error("The script leaves what cannot be stored: {0}")]
    Result(String),
    /// The host failed; not the fault of the script.
    #[error("{0}")]
    Host(#[source] BoxError),
}

fn at(place: Option<(u32, u32)>) -> String {
    place.map_or_else(String::new, |(line, column)| format!("At {line}:{column} "))
}
