//! Identities: a counter for each prefix, from which `prefix|` ids are made.

use jackdaw_base::lowercase::lowercase;
use jackdaw_storage::{ReadTransaction, WriteTransaction};

use super::trees::{IDENTITIES, tree};
use crate::error::{ReadError, WriteError};

/// Takes the next number of `prefix`, the first being 1. Fails when there is none left.
pub(crate) fn next_identity(
    prefix: &str,
    transaction: &mut WriteTransaction,
) -> Result<i64, WriteError> {
    let folded = lowercase(prefix);
    let mut identities = transaction.tree_mut(IDENTITIES)?;
    let last = match identities.get(folded.as_bytes())? {
        Some(bytes) => decode(bytes)?,
        None => 0,
    };
    let next = last
        .checked_add(1)
        .ok_or_else(|| WriteError::NumbersUsedUp {
            name: prefix.to_owned(),
        })?;
    identities.put(folded.as_bytes(), &next.to_le_bytes())?;
    Ok(next)
}

/// Sets the last number of `prefix`; a smaller one than there is only when `force` is given.
/// Gives the number that is in force then.
pub(crate) fn set_identity(
    prefix: &str,
    value: i64,
    force: bool,
    transaction: &mut WriteTransaction,
) -> Result<i64, WriteError> {
    let folded = lowercase(prefix);
    let mut identities = transaction.tree_mut(IDENTITIES)?;
    if let Some(bytes) = identities.get(folded.as_bytes())? {
        let last = decode(bytes)?;
        if last >= value && !force {
            return Ok(last);
        }
    }
    identities.put(folded.as_bytes(), &value.to_le_bytes())?;
    Ok(value)
}

/// All prefixes with their last numbers.
pub(crate) fn identity_values(
    transaction: &ReadTransaction,
) -> Result<Vec<(String, i64)>, ReadError> {
    let mut values = Vec::new();
    for entry in tree(transaction, IDENTITIES)?.iter()? {
        let (key, value) = entry?;
        let prefix = String::from_utf8_lossy(&key.to_vec()).into_owned();
        values.push((prefix, decode(value)?));
    }
    Ok(values)
}

fn decode(bytes: &[u8]) -> Result<i64, ReadError> {
    let bytes =
        <[u8; 8]>::try_from(bytes).map_err(|_| ReadError::damaged("the number of an identity"))?;
    Ok(i64::from_le_bytes(bytes))
}
