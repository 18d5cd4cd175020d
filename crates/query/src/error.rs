//! Errors of queries, by what the caller has to do.
//!
//! The variants keep apart what clients of the protocol tell apart by type; the server maps each
//! to its external name. Texts are sentences for the person who wrote the query.

use jackdaw_search::IndexError;

use crate::syntax::SyntaxError;

/// What a [`Source`](crate::Source) or sink says when it fails.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a query has no result. Nothing was changed, and no partial result counts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The text is not a query.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The text is a query without a meaning: a wrong type, a missing parameter, a field where a
    /// value must stand.
    #[error("{0}")]
    Invalid(String),
    /// A method or clause does not work on this source.
    #[error("{0}")]
    Argument(String),
    /// A value has the wrong type for where it stands.
    #[error("{0}")]
    Operation(String),
    /// A vector has other dimensions than those of its field.
    #[error("{0}")]
    Dimensions(String),
    /// The method or clause is not executed by this version.
    #[error("{0}")]
    NotSupported(String),
    /// A script of the query threw, or met a limit.
    #[error("{0}")]
    Script(String),
    /// There is no sorter of this name.
    #[error("There is no sorter with '{0}' name.")]
    SorterMissing(String),
    /// A sorter threw.
    #[error("{message}")]
    Sorter {
        /// The name of the exception, such as `System.InvalidOperationException`.
        exception: String,
        /// What it says.
        message: String,
    },
    /// The named index does not exist.
    #[error("There is no index named '{0}'. Query the collection instead: from Orders where ...")]
    IndexMissing(String),
    /// The named index is there and stopped for good.
    #[error(
        "Index '{name}' cannot answer, because it stopped: {why}. Correct its definition, or reset \
         it."
    )]
    IndexStopped {
        /// Its name.
        name: String,
        /// What it could not do.
        why: String,
    },
    /// The interrupt flag was raised.
    #[error("The query was stopped: it took longer than it may, or nobody waits for it.")]
    Stopped,
    /// The query would need more memory than it may use.
    #[error("{what} needs more than the {limit_bytes} bytes a query may use. {advice}")]
    Memory {
        /// The step that needs the memory.
        what: &'static str,
        /// The limit.
        limit_bytes: usize,
        /// What to write instead.
        advice: &'static str,
    },
    /// Other queries take the memory that all may take together: a later try may succeed.
    #[error(
        "Other queries take the memory that the server has for queries: try again later, or ask \
         for less."
    )]
    Crowded,
    /// The index failed: see there what it means for the data.
    #[error(transparent)]
    Index(IndexError),
    /// Documents could not be read.
    #[error("The documents of the query could not be read: {0}")]
    Source(#[source] BoxError),
    /// The receiver of the rows failed.
    #[error("The result could not be written: {0}")]
    Sink(#[source] BoxError),
}

impl From<IndexError> for QueryError {
    fn from(error: IndexError) -> QueryError {
        match error {
            IndexError::Interrupted => QueryError::Stopped,
            error @ IndexError::Dimensions { .. } => QueryError::Dimensions(error.to_string()),
            error => QueryError::Index(error),
        }
    }
}

impl QueryError {
    /// A clause or method that parses but is not executed.
    pub(crate) fn not_executed(what: &str, advice: &str) -> QueryError {
        let mut message = format!("{what} is not executed yet by this version.");
        if !advice.is_empty() {
            message.push(' ');
            message.push_str(advice);
        }
        QueryError::NotSupported(message)
    }

    /// A subscription that searches for vectors.
    pub(crate) fn near_in_subscription() -> QueryError {
        let message = "Subscription cannot search for vectors: which are nearest depends on all \
                       documents";
        QueryError::NotSupported(message.to_owned())
    }

    pub(crate) fn invalid(message: impl Into<String>) -> QueryError {
        QueryError::Invalid(message.into())
    }
}
