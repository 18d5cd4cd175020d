//! One row of the table of routes: how it is answered, who may use it, how much it takes.
//!
//! `table` writes the rows, `http::dispatch` obeys them, `pages` makes documents of them. The macro
//! [`rows`] has no defaults, so a route that does not say what it needs does not compile.

use crate::auth::Needs;
use crate::config::ServerConfig;
use crate::http::Handler;

/// How much body a route takes. Limits are of [`ServerConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// None is needed; a small one is read and ignored.
    NoBody,
    /// As `NoBody`, for a GET that changes something all the same: pages of other sites may not
    /// send it.
    NoBodyEffect,
    /// A small object of JSON.
    Small,
    /// JSON, all of it in memory.
    Json,
    /// The content of an attachment, stored while it arrives.
    Attachment,
    /// Read while it arrives, without end.
    Endless,
}

/// Bytes of a small body, and of one that a route without need of one puts up with.
const SMALL_BYTES_MAX: usize = 64 << 10;

impl Payload {
    /// The word for documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Payload::NoBody | Payload::NoBodyEffect => "",
            Payload::Small => "small JSON",
            Payload::Json => "JSON",
            Payload::Attachment => "attachment",
            Payload::Endless => "endless",
        }
    }

    /// Largest body in bytes, before and after decompression.
    pub(crate) fn bytes_max(self, config: &ServerConfig) -> u64 {
        match self {
            Payload::NoBody | Payload::NoBodyEffect | Payload::Small => {
                SMALL_BYTES_MAX.min(config.body_bytes_max) as u64
            }
            Payload::Json => config.body_bytes_max as u64,
            Payload::Attachment => config.attachment_bytes_max,
            Payload::Endless => u64::MAX,
        }
    }
}

/// Which quota a request draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    /// None: answers from memory, which have to come under any load.
    Open,
    /// Work with data, which is shed first when there is too much.
    Data,
    /// Settings and numbers, so that an operator gets through when data does not.
    Admin,
}

impl Rate {
    /// The word for documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rate::Open => "open",
            Rate::Data => "data",
            Rate::Admin => "admin",
        }
    }
}

/// Whether the audit log has a line for each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audit {
    /// No.
    Unaudited,
    /// Yes, for every outcome.
    Audited,
}

/// What the router finds.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) handler: Handler,
    pub(crate) needs: Needs,
    pub(crate) body: Payload,
    pub(crate) rate: Rate,
    pub(crate) audit: Audit,
}

/// Rows of `method "pattern" kind(handler) clearance access body rate audit "summary";`.
macro_rules! rows {
    ($($verb:ident $pattern:literal $kind:ident($handler:path)
        $clearance:ident $access:ident $body:ident $rate:ident $audit:ident
        $summary:literal;)*) => {
        &[$(crate::router::Route {
            verbs: crate::router::Verbs::of(&[crate::router::Verb::$verb]),
            pattern: $pattern,
            summary: $summary,
            target: crate::routes::row::Row {
                handler: crate::http::Handler::$kind($handler),
                needs: crate::auth::Needs {
                    clearance: crate::auth::Clearance::$clearance,
                    access: crate::auth::Access::$access,
                },
                body: crate::routes::row::Payload::$body,
                rate: crate::routes::row::Rate::$rate,
                audit: crate::routes::row::Audit::$audit,
            },
        },)*]
    };
}
pub(super) use rows;
