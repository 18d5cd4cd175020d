//! Changing streams: append, rename, delete.
//!
//! Memory: what a transaction appends stays in scratch memory until it is committed and flushed,
//! so long streams are written over several transactions ([`WriteTransaction::dirty_bytes`] says
//! how much there is; a few dozen MiB each is a good measure).
//!
//! [`WriteTransaction::dirty_bytes`]: crate::WriteTransaction::dirty_bytes

use super::read::{find_head, read_chunk, root_page};
use super::{COUNTER_KEY, STREAM_NAME_BYTES_MAX, StreamHead, Streams, chunk_key, head_key};
use crate::error::{DamageKind, StorageError};
use crate::page::PageWrite;
use crate::tree::{TreeMut, TreeState};
use zerocopy::IntoBytes;

/// The streams of one tree, to change.
pub struct StreamsMut<'t, P: ?Sized> {
    tree: TreeMut<'t, P>,
}

impl<'t, P: PageWrite + ?Sized> StreamsMut<'t, P> {
    /// The streams in the tree of `state`, which is kept up to date.
    pub fn new(pages: &'t mut P, state: &'t mut TreeState) -> StreamsMut<'t, P> {
        StreamsMut {
            tree: TreeMut::new(pages, state),
        }
    }

    /// The same streams, to read, as this transaction left them.
    #[must_use]
    pub fn as_streams(&self) -> Streams<'_, P> {
        Streams::new(self.tree.pages, self.tree.state.root)
    }

    /// The stream called `name` to append to, created without bytes when there is none.
    ///
    /// Names have 1 to [`STREAM_NAME_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// - [`StorageError::KeyTooLong`]: nothing has changed.
    /// - [`StorageError::Full`], [`StorageError::Corrupt`], [`StorageError::Io`]: roll back.
    pub fn open(&mut self, name: &[u8]) -> Result<StreamMut<'_, 't, P>, StorageError> {
        check_name(name)?;
        let head = match find_head(&self.tree.as_tree(), name)? {
            Some(head) => head,
            None => {
                let head = StreamHead::new(self.next_number()?);
                self.tree.put(&head_key(name), head.as_bytes())?;
                head
            }
        };
        Ok(StreamMut {
            tree: &mut self.tree,
            key: head_key(name),
            head,
        })
    }

    /// Gives the stream `from` the name `to`; a stream of that name is deleted. `false` when there
    /// is no stream `from`. Costs the same for every length, unless it has to delete.
    ///
    /// # Errors
    /// As for [`StreamsMut::open`].
    pub fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<bool, StorageError> {
        check_name(to)?;
        let Some(head) = find_head(&self.tree.as_tree(), from)? else {
            return Ok(false);
        };
        if from != to {
            self.delete(to)?;
            self.tree.delete(&head_key(from))?;
            self.tree.put(&head_key(to), head.as_bytes())?;
        }
        Ok(true)
    }

    /// Removes a stream and frees its pages, without reading its chunks; `false` when there is
    /// none.
    ///
    /// # Errors
    /// As for [`StreamsMut::open`].
    pub fn delete(&mut self, name: &[u8]) -> Result<bool, StorageError> {
        let Some(head) = find_head(&self.tree.as_tree(), name)? else {
            return Ok(false);
        };
        let number = head.number.get();
        let (first, last) = (chunk_key(number, 0), chunk_key(number, u64::MAX));
        self.tree.delete_range(first.as_slice()..=last.as_slice())?;
        self.tree.delete(&head_key(name))
    }

    /// The number for one more stream.
    fn next_number(&mut self) -> Result<u64, StorageError> {
        let last = match self.tree.get(COUNTER_KEY)? {
            None => 0,
            Some(bytes) => match bytes.try_into() {
                Ok(bytes) => u64::from_le_bytes(bytes),
                Err(_) => {
                    let what = DamageKind::Encoding {
                        what: "the counter of streams",
                    };
                    let page = root_page(&self.tree.as_tree());
                    return Err(StorageError::corrupt_page(page, what));
                }
            },
        };
        let next = last.checked_add(1).ok_or(StorageError::Limit {
            what: "streams ever made in one tree",
            max: u64::MAX,
        })?;
        self.tree.put(COUNTER_KEY, &next.to_le_bytes())?;
        Ok(next)
    }
}

/// One stream, to append to.
pub struct StreamMut<'s, 't, P: ?Sized> {
    tree: &'s mut TreeMut<'t, P>,
    /// Key of the head.
    key: Vec<u8>,
    head: StreamHead,
}

impl<P: PageWrite + ?Sized> StreamMut<'_, '_, P> {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.head.len_bytes.get()
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds bytes at the end and gives the new length.
    ///
    /// An unfilled last chunk is copied when it grows, so pieces of
    /// [`STREAM_CHUNK_BYTES`](super::STREAM_CHUNK_BYTES) or more are the cheapest.
    ///
    /// # Errors
    /// As for [`StreamsMut::open`]: roll back.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64, StorageError> {
        let chunk_len = self.head.chunk_len();
        let mut rest = bytes;
        while !rest.is_empty() {
            let len_bytes = self.len();
            let chunk = len_bytes / chunk_len as u64;
            let filled = self.head.len_of_chunk(chunk);
            let (now, later) = rest.split_at(rest.len().min(chunk_len - filled));
            let before = match filled {
                0 => Vec::new(),
                _ => read_chunk(&self.tree.as_tree(), &self.head, chunk)?.to_vec(),
            };
            let key = chunk_key(self.head.number.get(), chunk);
            self.tree.put_with(&key, filled + now.len(), |place| {
                place[..filled].copy_from_slice(&before);
                place[filled..].copy_from_slice(now);
            })?;
            self.head.len_bytes.set(len_bytes + now.len() as u64);
            rest = later;
        }
        self.tree.put(&self.key, self.head.as_bytes())?;
        Ok(self.len())
    }
}

fn check_name(name: &[u8]) -> Result<(), StorageError> {
    if name.len() > STREAM_NAME_BYTES_MAX {
        return Err(StorageError::KeyTooLong {
            len_bytes: name.len(),
            max_bytes: STREAM_NAME_BYTES_MAX,
        });
    }
    Ok(())
}
