//! The named snapshots of an environment, as text behind that of its present state.

use jackdaw_storage::{ReadTransaction, StorageError};

/// What `list` says of the present state, then of each named snapshot under its name. `begin`
/// begins read transactions of the same state.
pub(crate) fn listing(
    begin: impl Fn() -> Result<ReadTransaction, StorageError>,
    list: fn(&ReadTransaction) -> Result<String, StorageError>,
) -> Result<String, StorageError> {
    let present = begin()?;
    let mut text = list(&present)?;
    for snapshot in present.snapshots()? {
        // One that is being dropped is listed, but cannot be read any more.
        if let Some(past) = begin()?.into_snapshot(&snapshot.name)? {
            text.push_str(&format!("snapshot {}\n{}", snapshot.name, list(&past)?));
        }
    }
    Ok(text)
}
