//! The last etag and document number given: one value that every transaction rewrites.

use jackdaw_storage::{PageRead, Tree, WriteTransaction};

use super::trees::{SETTINGS, number_at};
use crate::error::{ReadError, WriteError};
use jackdaw_model::{DocumentNumber, Etag};

const KEY: &[u8] = b"state";
const VERSION: u8 = 1;
const LEN_BYTES: usize = 24;

/// See the file head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) last_etag: Etag,
    pub(crate) last_number: DocumentNumber,
}

impl State {
    /// Reads it from the tree of settings; an absent one is that of an empty database.
    pub(crate) fn load<P: PageRead + ?Sized>(settings: &Tree<'_, P>) -> Result<State, ReadError> {
        let Some(bytes) = settings.get(KEY)? else {
            return Ok(State::default());
        };
        State::decode(bytes).ok_or_else(|| ReadError::damaged("the state of the database"))
    }

    fn decode(bytes: &[u8]) -> Option<State> {
        let bytes: &[u8; LEN_BYTES] = bytes.try_into().ok()?;
        let number = |at: usize| number_at(bytes, at);
        (bytes[0] == VERSION).then_some(())?;
        Some(State {
            last_etag: Etag(number(8)?),
            last_number: DocumentNumber(number(16)?),
        })
    }

    pub(crate) fn store(&self, transaction: &mut WriteTransaction) -> Result<(), WriteError> {
        let mut bytes = [0; LEN_BYTES];
        bytes[0] = VERSION;
        bytes[8..16].copy_from_slice(&self.last_etag.0.to_le_bytes());
        bytes[16..].copy_from_slice(&self.last_number.0.to_le_bytes());
        transaction.tree_mut(SETTINGS)?.put(KEY, &bytes)?;
        Ok(())
    }
}
