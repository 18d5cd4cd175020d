//! What each route answers, one file per resource; the table of all routes is `table`.
//!
//! Called by `http::dispatch`. Handlers turn a `Call` into a `Reply` or a `WireError`; typed
//! errors of the layers below become wire errors here and nowhere else.

mod cluster;
mod studio;
mod table;

pub(crate) use table::table;

use crate::http::Call;

/// The value of `Database-Cluster-Tx-Id` for a request below `/databases/{db}/`.
pub(crate) fn database_tag(_call: &Call) -> Option<String> {
    None
}

/// The present moment in the text of the wire.
pub(crate) fn now() -> String {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    jackdaw_base::time::UnixTicks::from_unix(since_epoch.unwrap_or_default()).to_string()
}
