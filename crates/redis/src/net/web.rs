//! Requests of HTTP that reach this port, which a web page can make a browser send.
//!
//! Called by `connection` before a command is run. The lines of a request would be run as inline
//! commands, and its body could hold whole ones: the connection is closed without a reply, as
//! Redis does.
//!
//! Invariant: nothing that follows the line of a request, or its `Host` header, is run.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clients::ClientInfo;

/// Milliseconds between two warnings: an attack does not fill the log.
const WARNING_MILLIS: u64 = 60_000;
/// Version of the last word of a request's first line.
const VERSION: &[u8] = b"HTTP/";

/// When the last warning was logged, in milliseconds of the wall clock.
static WARNED_AT: AtomicU64 = AtomicU64::new(0);

/// Whether the words are the first line of a request or its `Host` header; `is_line` says that
/// they came as an inline command.
#[inline]
pub(super) fn is_request(args: &[&[u8]], is_line: bool) -> bool {
    match args[0].len() {
        4 if args[0].eq_ignore_ascii_case(b"POST") => true,
        // Without a blank behind the colon the name is in the word, too.
        5.. if is_line || args[0].len() == 5 => {
            args[0][..5].eq_ignore_ascii_case(b"Host:") || is_line && is_first_line(args)
        }
        _ => is_line && is_first_line(args),
    }
}

/// `METHOD target HTTP/1.1`, with any method: pages may name their own.
fn is_first_line(args: &[&[u8]]) -> bool {
    let [_, target, version] = args else {
        return false;
    };
    let is_target =
        matches!(target, [b'/' | b'*', ..]) || memchr::memmem::find(target, b"://").is_some();
    is_target
        && version.len() > VERSION.len()
        && version[..VERSION.len()].eq_ignore_ascii_case(VERSION)
}

/// Warns the operator, once a minute.
#[cold]
pub(super) fn warn(client: &ClientInfo) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let last = WARNED_AT.load(Ordering::Relaxed);
    if now.saturating_sub(last) >= WARNING_MILLIS {
        WARNED_AT.store(now, Ordering::Relaxed);
        tracing::warn!(
            client = %client.peer,
            "closed: a request of HTTP came to the port of Redis, which a web page may have sent"
        );
    }
}
