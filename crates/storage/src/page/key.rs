//! Keys inside pages, and keys that are looked for.
//!
//! Invariants:
//! - Both stay in pieces: nothing is put together, or copied beyond 32 bytes, on a look-up.

use std::cmp::Ordering;

/// Bytes of a prefix held in the first line of a page; longer prefixes go on at its end.
pub(crate) const PREFIX_LINE_BYTES: usize = 24;

/// Suffix bytes held in the slot.
pub(crate) const HEAD_BYTES: usize = 6;

const HEAD_MASK: u64 = !0xFFFF;

/// The part of a suffix that an entry stores.
#[inline]
pub(crate) fn rest_of(suffix: &[u8]) -> &[u8] {
    suffix.get(HEAD_BYTES..).unwrap_or(&[])
}

/// First 8 bytes as a big-endian number, zero padded: orders byte strings but for ties.
#[inline]
pub(crate) fn leading_word(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<8>() {
        u64::from_be_bytes(*first)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        // The two may overlap, in equal bits.
        u64::from(first) << 32 | u64::from(last) << (8 * (8 - bytes.len()))
    } else {
        match *bytes {
            [] => 0,
            [a] => u64::from(a) << 56,
            [a, b] => u64::from(a) << 56 | u64::from(b) << 48,
            [a, b, c, ..] => u64::from(a) << 56 | u64::from(b) << 48 | u64::from(c) << 40,
        }
    }
}

/// Order of two byte strings. Keys differ early and are short: a call of the C library's function
/// costs more than this.
#[inline]
pub(crate) fn compare_bytes(mut a: &[u8], mut b: &[u8]) -> Ordering {
    while let (Some((first_a, tail_a)), Some((first_b, tail_b))) =
        (a.split_first_chunk::<8>(), b.split_first_chunk::<8>())
    {
        let (word_a, word_b) = (u64::from_be_bytes(*first_a), u64::from_be_bytes(*first_b));
        if word_a != word_b {
            return word_a.cmp(&word_b);
        }
        (a, b) = (tail_a, tail_b);
    }
    // One has fewer than 8 bytes left, so padding with zeros decides but for its length.
    leading_word(a)
        .cmp(&leading_word(b))
        .then(a.len().cmp(&b.len()))
}

/// Whether two byte strings of the same length are equal.
#[inline]
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let (Some(last_a), Some(last_b)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) else {
        return leading_word(a) == leading_word(b);
    };
    let (words_a, _) = a.as_chunks::<8>();
    let (words_b, _) = b.as_chunks::<8>();
    words_a == words_b && last_a == last_b
}

/// For each length up to 8 the bits of the first bytes of a little-endian word.
const FIRST_BYTES: [u64; 9] = {
    let mut masks = [0; 9];
    let mut len = 1;
    while len <= 8 {
        masks[len] = u64::MAX >> (64 - 8 * len);
        len += 1;
    }
    masks
};

/// First 6 bytes of a suffix as the high 48 bits of a number.
#[inline]
pub(crate) fn head_of(suffix: &[u8]) -> u64 {
    leading_word(suffix) & HEAD_MASK
}

/// Number of leading bytes that `a` and `b` share.
#[inline]
pub(crate) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// A key that is looked for, prepared once for all pages of a descent.
#[derive(Clone, Copy)]
pub(crate) struct SearchKey<'k> {
    bytes: &'k [u8],
    /// The first bytes, zero padded: any prefix in a page's first line and the head behind it.
    padded: [u8; PREFIX_LINE_BYTES + 8],
}

impl<'k> SearchKey<'k> {
    #[inline]
    pub(crate) fn new(bytes: &'k [u8]) -> SearchKey<'k> {
        let mut padded = [0; PREFIX_LINE_BYTES + 8];
        if let Some(first) = bytes.first_chunk() {
            padded = *first;
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            copy_ends::<16>(&mut padded, first, last, bytes.len());
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            copy_ends::<8>(&mut padded, first, last, bytes.len());
        } else {
            padded
                .iter_mut()
                .zip(bytes)
                .for_each(|(place, &byte)| *place = byte);
        }
        SearchKey { bytes, padded }
    }

    /// The whole key.
    #[inline]
    pub(crate) fn bytes(&self) -> &'k [u8] {
        self.bytes
    }

    /// The key behind a prefix it starts with.
    #[inline]
    pub(crate) fn suffix(&self, prefix_len: usize) -> &'k [u8] {
        &self.bytes[prefix_len..]
    }

    /// Head of the key behind a prefix it starts with.
    #[inline]
    pub(crate) fn head(&self, prefix_len: usize) -> u64 {
        match self
            .padded
            .get(prefix_len..)
            .and_then(|tail| tail.first_chunk::<8>())
        {
            Some(first) => u64::from_be_bytes(*first) & HEAD_MASK,
            None => head_of(self.suffix(prefix_len)),
        }
    }

    /// Whether the key starts with a page's prefix.
    #[inline]
    pub(crate) fn has_prefix(
        &self,
        line: &[u8; PREFIX_LINE_BYTES],
        tail: &[u8],
        prefix_len: usize,
    ) -> bool {
        if prefix_len <= 8 {
            let words = (self.padded.first_chunk::<8>(), line.first_chunk::<8>());
            let (Some(own), Some(prefix)) = words else {
                return false;
            };
            let difference = u64::from_le_bytes(*own) ^ u64::from_le_bytes(*prefix);
            return difference & FIRST_BYTES[prefix_len] == 0 && prefix_len <= self.bytes.len();
        }
        let in_line = prefix_len.min(PREFIX_LINE_BYTES);
        let (own, _) = self.padded.as_chunks::<8>();
        let (prefix, _) = line.as_chunks::<8>();
        let mut difference = 0;
        for (at, (own, prefix)) in own.iter().zip(prefix).enumerate() {
            let mask = FIRST_BYTES[in_line.saturating_sub(8 * at).min(8)];
            difference |= (u64::from_le_bytes(*own) ^ u64::from_le_bytes(*prefix)) & mask;
        }
        difference == 0
            && prefix_len <= self.bytes.len()
            && (tail.is_empty() || self.bytes[in_line..].starts_with(tail))
    }

    /// Order relative to a page's prefix that the key does not start with.
    #[cold]
    pub(crate) fn compare_prefix(
        &self,
        line: &[u8; PREFIX_LINE_BYTES],
        tail: &[u8],
        prefix_len: usize,
    ) -> Ordering {
        let in_line = prefix_len.min(PREFIX_LINE_BYTES);
        let first = &self.bytes[..self.bytes.len().min(in_line)];
        first
            .cmp(&line[..in_line])
            .then_with(|| self.bytes[in_line..].cmp(tail))
    }
}

/// Fills the first `len` bytes from two pieces that may overlap.
#[inline]
fn copy_ends<const N: usize>(to: &mut [u8], first: &[u8; N], last: &[u8; N], len: usize) {
    to[..N].copy_from_slice(first);
    to[len - N..len].copy_from_slice(last);
}

/// A key inside a page: pieces, put together only on demand.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    pub(crate) prefix: &'a [u8],
    pub(crate) prefix_tail: &'a [u8],
    pub(crate) head: [u8; 8],
    pub(crate) head_len: usize,
    pub(crate) rest: &'a [u8],
}

impl<'a> Key<'a> {
    /// A key that is one piece already.
    pub(crate) fn whole(bytes: &'a [u8]) -> Key<'a> {
        Key {
            prefix: &[],
            prefix_tail: &[],
            head: [0; 8],
            head_len: 0,
            rest: bytes,
        }
    }

    #[inline]
    fn pieces(&self) -> [&[u8]; 4] {
        [
            self.prefix,
            self.prefix_tail,
            &self.head[..self.head_len],
            self.rest,
        ]
    }

    /// Length in bytes.
    #[inline]
    #[expect(
        clippy::len_without_is_empty,
        reason = "an empty key is a key like any other"
    )]
    pub fn len(&self) -> usize {
        self.pieces().iter().map(|piece| piece.len()).sum()
    }

    /// Replaces the content of `buffer` by the key.
    #[inline]
    pub fn copy_to(&self, buffer: &mut Vec<u8>) {
        buffer.clear();
        self.append_to(buffer);
    }

    /// Appends the key to `buffer`.
    #[inline]
    pub fn append_to(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(self.prefix);
        if !self.prefix_tail.is_empty() {
            buffer.extend_from_slice(self.prefix_tail);
        }
        // A copy of a known length is two instructions.
        let end = buffer.len() + self.head_len;
        buffer.extend_from_slice(&self.head);
        buffer.truncate(end);
        if !self.rest.is_empty() {
            buffer.extend_from_slice(self.rest);
        }
    }

    /// The key as one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.len());
        self.copy_to(&mut key);
        key
    }

    /// Order relative to `other`.
    #[inline]
    pub fn compare(&self, other: &[u8]) -> Ordering {
        let mut other = other;
        for piece in self.pieces() {
            let (same, left) = other.split_at(piece.len().min(other.len()));
            match piece.cmp(same) {
                Ordering::Equal => other = left,
                different => return different,
            }
        }
        if other.is_empty() {
            Ordering::Equal
        } else {
            Ordering::Less
        }
    }

    /// Number of leading bytes shared with `other`.
    pub(crate) fn common_prefix_len(&self, other: &[u8]) -> usize {
        common_prefix_len(&self.to_vec(), other)
    }
}

impl std::fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.to_vec().escape_ascii())
    }
}

impl PartialEq<[u8]> for Key<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        self.compare(other).is_eq()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_order_like_keys() {
        let mut keys: Vec<&[u8]> = vec![
            b"", b"\0", b"\0\0", b"a", b"a\0", b"abcdef", b"abcdefg", b"abcdeg", b"\xff",
        ];
        keys.sort_unstable();
        for pair in keys.windows(2) {
            assert!(head_of(pair[0]) <= head_of(pair[1]), "{pair:?}");
        }
        for key in [
            &b"abcdef"[..],
            b"abcdefg",
            b"abcdefgh",
            b"abcdefgh-and-more",
        ] {
            assert_eq!(head_of(key), u64::from_be_bytes(*b"abcdef\0\0"));
        }
        assert_eq!(head_of(b"a"), u64::from_be_bytes(*b"a\0\0\0\0\0\0\0"));
    }

    #[test]
    fn bytes_compare_like_slices() {
        let mut keys: Vec<Vec<u8>> = vec![vec![]];
        for len in 0..20 {
            for change in 0..len {
                for byte in [0, 1, 255] {
                    let mut key = vec![0; len];
                    key[change] = byte;
                    keys.push(key);
                }
            }
        }
        for a in &keys {
            for b in &keys {
                assert_eq!(compare_bytes(a, b), a.cmp(b), "{a:?} {b:?}");
                if a.len() == b.len() {
                    assert_eq!(same_bytes(a, b), a == b, "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn search_keys_give_heads_and_prefixes_of_any_length() {
        let key: Vec<u8> = (1..=60).collect();
        for key_len in 0..key.len() {
            let bytes = &key[..key_len];
            let search = SearchKey::new(bytes);
            for prefix_len in 0..=key_len {
                assert_eq!(search.head(prefix_len), head_of(&bytes[prefix_len..]));
            }
            for (prefix_len, change) in (0..=60).flat_map(|len| (0..=len).map(move |at| (len, at)))
            {
                let mut prefix = key[..prefix_len].to_vec();
                if let Some(byte) = prefix.get_mut(change) {
                    *byte = byte.wrapping_add(if change % 2 == 0 { 255 } else { 1 });
                }
                let mut line = [0; PREFIX_LINE_BYTES];
                let (first, tail) = prefix.split_at(prefix_len.min(PREFIX_LINE_BYTES));
                line[..first.len()].copy_from_slice(first);
                let has_prefix = bytes.starts_with(&prefix);
                assert_eq!(search.has_prefix(&line, tail, prefix_len), has_prefix);
                if !has_prefix {
                    let order = search.compare_prefix(&line, tail, prefix_len);
                    assert_eq!(order, bytes.cmp(&prefix));
                }
            }
        }
    }

    #[test]
    fn keys_compare_piece_by_piece() {
        let key = Key {
            prefix: b"u",
            prefix_tail: b"s",
            head: *b"ers/1-\0\0",
            head_len: 6,
            rest: b"A",
        };
        assert_eq!(key.to_vec(), b"users/1-A");
        for (other, order) in [
            (&b"users/1-A"[..], Ordering::Equal),
            (b"users/1-", Ordering::Greater),
            (b"users/1-AB", Ordering::Less),
            (b"u", Ordering::Greater),
            (b"", Ordering::Greater),
            (b"userz", Ordering::Less),
        ] {
            assert_eq!(key.compare(other), order, "{other:?}");
        }
    }
}
