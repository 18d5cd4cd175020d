//! A key with its value in one allocation: key, access time, expiry, and the value itself when it
//! is a short string.
//!
//! Bytes of `blob`: flags (1), access time in seconds (4), length of the key (1, or 4 behind 255),
//! expiry in milliseconds (8, when flagged), the key, a short string.
//! Invariant: `object` is there exactly when the value is not a short string.

use crate::value::{Bytes, Object};

const HAS_EXPIRY: u8 = 1;
const ACCESS_AT: usize = 1;
const KEY_LENGTH_AT: usize = 5;
const LONG_KEY: u8 = 255;
/// Longer strings lie beside their key and can grow in place.
pub(crate) const SHORT_STRING_BYTES_MAX: usize = 512;
/// Bytes of a slot in the table, at its average load.
const SLOT_BYTES: usize = 40;
/// Allocations come in multiples of this.
const ALLOCATION_STEP: usize = 16;

/// See the file head.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    blob: Bytes,
    object: Option<Box<Object>>,
}

/// Where the parts of a blob lie.
#[derive(Clone, Copy)]
struct Layout {
    expiry: Option<usize>,
    key: usize,
    value: usize,
}

impl Entry {
    pub(crate) fn string(key: &[u8], value: &[u8], expiry: Option<u64>, access: u32) -> Entry {
        if value.len() > SHORT_STRING_BYTES_MAX {
            return Entry::object(key, Object::Text(value.to_vec()), expiry, access);
        }
        Entry {
            blob: blob(key, value, expiry, access),
            object: None,
        }
    }

    pub(crate) fn object(key: &[u8], object: Object, expiry: Option<u64>, access: u32) -> Entry {
        Entry {
            blob: blob(key, &[], expiry, access),
            object: Some(Box::new(object)),
        }
    }

    #[inline]
    fn layout(&self) -> Layout {
        let mut at = KEY_LENGTH_AT + 1;
        let key_len = match self.blob[KEY_LENGTH_AT] {
            LONG_KEY => {
                at += 4;
                let bytes: [u8; 4] = self.blob[KEY_LENGTH_AT + 1..at]
                    .try_into()
                    .expect("four bytes");
                u32::from_le_bytes(bytes) as usize
            }
            short => usize::from(short),
        };
        let expiry = (self.blob[0] & HAS_EXPIRY != 0).then_some(at);
        let key = if expiry.is_some() { at + 8 } else { at };
        Layout {
            expiry,
            key,
            value: key + key_len,
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        let layout = self.layout();
        &self.blob[layout.key..layout.value]
    }

    /// The byte in front of the key.
    #[inline]
    pub(super) fn first_byte(&self) -> u8 {
        self.blob[0]
    }

    /// Unix milliseconds at which the key ends.
    #[inline]
    pub(crate) fn expiry(&self) -> Option<u64> {
        let at = self.layout().expiry?;
        let bytes: [u8; 8] = self.blob[at..at + 8].try_into().expect("eight bytes");
        Some(u64::from_le_bytes(bytes))
    }

    /// The string, short or long; `None` for collections.
    #[inline]
    pub(crate) fn text(&self) -> Option<&[u8]> {
        match &self.object {
            None => Some(&self.blob[self.layout().value..]),
            Some(object) => match &**object {
                Object::Text(text) => Some(text),
                _ => None,
            },
        }
    }

    pub(crate) fn object_ref(&self) -> Option<&Object> {
        self.object.as_deref()
    }

    pub(crate) fn object_mut(&mut self) -> Option<&mut Object> {
        self.object.as_deref_mut()
    }

    pub(crate) fn type_name(&self) -> &'static str {
        self.object.as_ref().map_or("string", |o| o.type_name())
    }

    /// Puts a string in place of whatever is there; the expiry too.
    #[inline]
    pub(crate) fn set_text(&mut self, value: &[u8], expiry: Option<u64>) {
        let layout = self.layout();
        let is_same_shape = self.object.is_none()
            && layout.expiry.is_some() == expiry.is_some()
            && self.blob.len() - layout.value == value.len();
        if is_same_shape {
            self.blob[layout.value..].copy_from_slice(value);
            if let (Some(at), Some(expiry)) = (layout.expiry, expiry) {
                self.blob[at..at + 8].copy_from_slice(&expiry.to_le_bytes());
            }
            return;
        }
        *self = Entry::string(self.key(), value, expiry, self.access());
    }

    /// The string as something that grows in place.
    pub(crate) fn growing_text(&mut self) -> Option<&mut Vec<u8>> {
        if self.object.is_none() {
            let text = self.text()?.to_vec();
            let expiry = self.expiry();
            *self = Entry::object(self.key(), Object::Text(text), expiry, self.access());
        }
        match self.object_mut() {
            Some(Object::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn set_expiry(&mut self, expiry: Option<u64>) {
        let layout = self.layout();
        match (layout.expiry, expiry) {
            (Some(at), Some(expiry)) => {
                self.blob[at..at + 8].copy_from_slice(&expiry.to_le_bytes());
            }
            (None, None) => {}
            _ => {
                let value = &self.blob[layout.value..];
                self.blob = blob(self.key(), value, expiry, self.access());
            }
        }
    }

    /// The same value under another key.
    pub(crate) fn renamed(self, key: &[u8]) -> Entry {
        let value = &self.blob[self.layout().value..];
        Entry {
            blob: blob(key, value, self.expiry(), self.access()),
            object: self.object,
        }
    }

    /// When it was used last, in seconds of the server's clock.
    pub(crate) fn access(&self) -> u32 {
        let bytes: [u8; 4] = self.blob[ACCESS_AT..KEY_LENGTH_AT]
            .try_into()
            .expect("four bytes");
        u32::from_le_bytes(bytes)
    }

    #[inline]
    pub(crate) fn set_access(&mut self, access: u32) {
        let bytes = access.to_le_bytes();
        if self.blob[ACCESS_AT..KEY_LENGTH_AT] != bytes {
            self.blob[ACCESS_AT..KEY_LENGTH_AT].copy_from_slice(&bytes);
        }
    }

    /// Estimated bytes of memory.
    #[inline]
    pub(crate) fn footprint(&self) -> usize {
        let beside = self.object.as_ref().map_or(0, |object| object.footprint());
        SLOT_BYTES + self.blob.len().next_multiple_of(ALLOCATION_STEP) + beside
    }
}

fn blob(key: &[u8], value: &[u8], expiry: Option<u64>, access: u32) -> Bytes {
    let long_length = if key.len() < usize::from(LONG_KEY) {
        0
    } else {
        4
    };
    let expiry_len = if expiry.is_some() { 8 } else { 0 };
    // Exactly as long as it gets: a boxed slice has no spare room.
    let head = KEY_LENGTH_AT + 1 + long_length + expiry_len;
    let mut blob = Vec::with_capacity(head + key.len() + value.len());
    blob.push(if expiry.is_some() { HAS_EXPIRY } else { 0 });
    blob.extend_from_slice(&access.to_le_bytes());
    match u8::try_from(key.len()) {
        Ok(short) if short != LONG_KEY => blob.push(short),
        _ => {
            blob.push(LONG_KEY);
            // Commands are shorter than 4 GiB, so keys are.
            let len = u32::try_from(key.len()).expect("a key is shorter than 4 GiB");
            blob.extend_from_slice(&len.to_le_bytes());
        }
    }
    if let Some(expiry) = expiry {
        blob.extend_from_slice(&expiry.to_le_bytes());
    }
    blob.extend_from_slice(key);
    blob.extend_from_slice(value);
    blob.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_whatever_changes() {
        for key in [
            b"k".to_vec(),
            vec![b'l'; 254],
            vec![b'm'; 255],
            vec![b'n'; 70_000],
        ] {
            let mut entry = Entry::string(&key, b"value", None, 7);
            assert_eq!((entry.key(), entry.text()), (&key[..], Some(&b"value"[..])));
            entry.set_expiry(Some(99));
            entry.set_text(b"other", Some(100));
            assert_eq!(entry.text(), Some(&b"other"[..]));
            assert_eq!((entry.expiry(), entry.access()), (Some(100), 7));
            entry
                .growing_text()
                .unwrap()
                .extend_from_slice(&[b'x'; 600]);
            assert_eq!(entry.text().map(<[u8]>::len), Some(605));
            assert_eq!((entry.key(), entry.expiry()), (&key[..], Some(100)));
            entry.set_text(b"", None);
            assert_eq!((entry.text(), entry.expiry()), (Some(&b""[..]), None));
            let entry = entry.renamed(b"new");
            assert_eq!((entry.key(), entry.text()), (&b"new"[..], Some(&b""[..])));
        }
    }

    #[test]
    fn a_small_entry_is_one_small_allocation() {
        let entry = Entry::string(b"key:000000000001", b"abc", None, 0);
        assert_eq!(entry.blob.len(), 25);
        assert_eq!(size_of::<Entry>(), 24);
    }
}
