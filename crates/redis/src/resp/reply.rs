//! Replies in RESP2 or RESP3, appended to the one buffer that a batch of commands shares.
//!
//! Invariant: `bytes` is never longer than `bytes_max`. What does not fit in is dropped element by
//! element while a reply is made, so that few bytes cannot ask for a reply that takes all memory;
//! the batch is over then, see [`Out::is_over`].

use crate::failure::Failure;
use crate::number::{self, DECIMAL_BYTES_MAX};

/// Replies that were not written to the socket yet.
#[derive(Debug, Default)]
pub(crate) struct Out {
    pub(crate) bytes: Vec<u8>,
    /// The client asked for RESP3.
    pub(crate) is_resp3: bool,
    bytes_max: usize,
    /// Something did not fit in: what is in `bytes` is no whole reply any more.
    is_over: bool,
}

/// Bytes that a reply may still take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room(usize);

/// What the reply says around an element at most: its length, a score, ends of lines.
const AROUND_ELEMENT_BYTES: usize = 96;

impl Room {
    /// Whether an element of this length fits in too; it has its place then.
    pub(crate) fn take(&mut self, len: usize) -> bool {
        let left = self.0.checked_sub(len.saturating_add(AROUND_ELEMENT_BYTES));
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

impl Out {
    /// Without a limit, for a reply whose parts are in memory already.
    pub(crate) fn unlimited(is_resp3: bool) -> Out {
        let mut out = Out::default();
        out.begin(is_resp3, usize::MAX);
        out
    }

    /// Begins the replies of a batch, which may take so many bytes.
    pub(crate) fn begin(&mut self, is_resp3: bool, bytes_max: usize) {
        self.bytes.clear();
        self.is_resp3 = is_resp3;
        self.bytes_max = bytes_max;
        self.is_over = false;
    }

    /// Whether something did not fit in.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// What a reply that is prepared now may still take; asked before anything is removed for it.
    pub(crate) fn room(&self) -> Room {
        Room(self.bytes_max.saturating_sub(self.bytes.len()))
    }

    /// A string that is about to be replaced or removed: nothing is written when it does not fit.
    pub(crate) fn bulk_if_room(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.room().take(bytes.len()) {
            return Err(Failure::ReplyLength);
        }
        self.bulk(bytes);
        Ok(())
    }

    /// Ends a batch that went over its limit: keeps the replies before `mark`, and says why no more
    /// come.
    pub(crate) fn cut(&mut self, mark: usize, why: &str) {
        self.bytes.truncate(mark);
        self.bytes_max = usize::MAX;
        self.error(why);
    }

    #[inline]
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if self.bytes.len().saturating_add(bytes.len()) > self.bytes_max {
            self.is_over = true;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    #[inline]
    pub(crate) fn ok(&mut self) {
        self.raw(b"+OK\r\n");
    }

    pub(crate) fn simple(&mut self, text: &str) {
        self.raw(b"+");
        self.raw(text.as_bytes());
        self.raw(b"\r\n");
    }

    /// An error; its first word is the code.
    pub(crate) fn error(&mut self, text: &str) {
        self.raw(b"-");
        // A line break would end the error early.
        let clean = text.bytes().map(|b| if b < b' ' { b' ' } else { b });
        self.raw(&clean.collect::<Vec<u8>>());
        self.raw(b"\r\n");
    }

    #[inline]
    pub(crate) fn integer(&mut self, value: i64) {
        self.head(b':', value);
    }

    #[inline]
    pub(crate) fn count(&mut self, count: usize) {
        self.integer(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.integer(i64::from(value));
    }

    #[inline]
    pub(crate) fn bulk(&mut self, value: &[u8]) {
        self.length(b'$', value.len());
        self.raw(value);
        self.raw(b"\r\n");
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.bulk(value.as_bytes());
    }

    /// Text with its format, for people.
    pub(crate) fn verbatim(&mut self, value: &str) {
        if self.is_resp3 {
            self.length(b'=', value.len() + 4);
            self.raw(b"txt:");
            self.raw(value.as_bytes());
            self.raw(b"\r\n");
        } else {
            self.text(value);
        }
    }

    /// Nothing, in place of a value.
    #[inline]
    pub(crate) fn null(&mut self) {
        self.raw(if self.is_resp3 { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// Nothing, in place of an array.
    pub(crate) fn null_array(&mut self) {
        self.raw(if self.is_resp3 { b"_\r\n" } else { b"*-1\r\n" });
    }

    pub(crate) fn double(&mut self, value: f64) {
        let text = number::format_double(value);
        if self.is_resp3 {
            self.raw(b",");
            self.raw(text.as_bytes());
            self.raw(b"\r\n");
        } else {
            self.text(&text);
        }
    }

    pub(crate) fn array(&mut self, len: usize) {
        self.length(b'*', len);
    }

    /// Pairs that follow: a map in RESP3, twice as many elements in RESP2.
    pub(crate) fn map(&mut self, pairs: usize) {
        match self.is_resp3 {
            true => self.length(b'%', pairs),
            false => self.length(b'*', pairs * 2),
        }
    }

    pub(crate) fn set(&mut self, len: usize) {
        self.length(if self.is_resp3 { b'~' } else { b'*' }, len);
    }

    /// A message that answers no command.
    pub(crate) fn push(&mut self, len: usize) {
        self.length(if self.is_resp3 { b'>' } else { b'*' }, len);
    }

    /// An array whose length is known when its elements are written: see [`Out::patch`].
    pub(crate) fn open_array(&mut self) -> usize {
        self.bytes.len()
    }

    /// Puts the head of an array of `len` in front of what was written since `start`.
    pub(crate) fn patch(&mut self, start: usize, len: usize) {
        let mut digits = [0; DECIMAL_BYTES_MAX];
        let length = i64::try_from(len).unwrap_or(i64::MAX);
        let digits = number::decimal(length, &mut digits);
        let head = [b"*", digits, b"\r\n"].concat();
        if !self.is_over {
            self.bytes.splice(start..start, head);
        }
    }

    #[inline]
    fn length(&mut self, kind: u8, len: usize) {
        self.head(kind, i64::try_from(len).unwrap_or(i64::MAX));
    }

    #[inline]
    fn head(&mut self, kind: u8, value: i64) {
        if let Ok(small @ 0..=9) = u8::try_from(value) {
            self.raw(&[kind, b'0' + small, b'\r', b'\n']);
            return;
        }
        let mut digits = [0; DECIMAL_BYTES_MAX];
        let digits = number::decimal(value, &mut digits);
        self.raw(&[kind]);
        self.raw(digits);
        self.raw(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_ends_at_its_limit_while_it_is_made() {
        let mut out = Out::default();
        out.begin(false, 1 << 20);
        out.ok();
        let mark = out.bytes.len();
        let element = vec![b'v'; 64 << 10];
        out.array(1 << 20);
        for _ in 0..1 << 20 {
            out.bulk(&element);
        }
        assert!(out.is_over() && out.bytes.len() <= 1 << 20);
        // Twice as much at most, because buffers grow by doubling.
        assert!(out.bytes.capacity() <= 2 << 20);
        out.cut(mark, "ERR too long");
        assert_eq!(out.bytes, b"+OK\r\n-ERR too long\r\n");
        let text = b"$10\r\n0123456789\r\n";
        for (bytes_max, is_over) in [(text.len(), false), (text.len() - 1, true)] {
            out.begin(false, bytes_max);
            out.bulk(b"0123456789");
            assert_eq!(out.is_over(), is_over);
            assert_eq!(out.bytes == text, !is_over);
        }
    }
}
