//! And, or, and-not of two sets, window by window.
//!
//! Called by query execution through the methods of [`EntrySet`].
//!
//! Invariants:
//! - Cost is in the windows both sides have (and), or all of them (or, and-not); windows that one
//!   side lacks are skipped by binary search or copied whole.
//! - Operands stay as they are; the result owns its arenas.
//!
//! Threads: pure functions.

use std::cmp::Ordering;

use super::EntrySet;
use super::window::{ARRAY_ENTRIES_MAX, Content, WINDOW_WORDS, Window, Words, set_bits};

/// Elements of an array this many times shorter are looked up in the longer one.
const SEARCH_RATIO: usize = 16;

impl EntrySet {
    /// Entries in both sets. An empty operand costs nothing.
    #[must_use]
    pub fn and(&self, other: &EntrySet) -> EntrySet {
        let mut out = EntrySet::new();
        let (mut ours, mut theirs) = (self.windows(), other.windows());
        while let (Some(a), Some(b)) = (ours.first(), theirs.first()) {
            match a.number.cmp(&b.number) {
                Ordering::Less => ours = skip_below(ours, b.number),
                Ordering::Greater => theirs = skip_below(theirs, a.number),
                Ordering::Equal => {
                    and_windows(&mut out, (self, a), (other, b));
                    (ours, theirs) = (&ours[1..], &theirs[1..]);
                }
            }
        }
        out
    }

    /// Entries in either set.
    #[must_use]
    pub fn or(&self, other: &EntrySet) -> EntrySet {
        let mut out = EntrySet::new();
        let (mut ours, mut theirs) = (self.windows().iter(), other.windows().iter());
        let (mut a, mut b) = (ours.next(), theirs.next());
        loop {
            match (a, b) {
                (Some(left), Some(right)) if left.number == right.number => {
                    or_windows(&mut out, (self, left), (other, right));
                    (a, b) = (ours.next(), theirs.next());
                }
                (Some(left), right) if right.is_none_or(|right| left.number < right.number) => {
                    out.push_copy(self, left);
                    a = ours.next();
                }
                (_, Some(right)) => {
                    out.push_copy(other, right);
                    b = theirs.next();
                }
                (_, None) => return out,
            }
        }
    }

    /// Entries of this set that the other lacks.
    #[must_use]
    pub fn and_not(&self, other: &EntrySet) -> EntrySet {
        let mut out = EntrySet::new();
        let mut theirs = other.windows();
        for window in self.windows() {
            theirs = skip_below(theirs, window.number);
            match theirs.first() {
                Some(b) if b.number == window.number => {
                    and_not_windows(&mut out, (self, window), (other, b));
                }
                _ => out.push_copy(self, window),
            }
        }
        out
    }
}

type Side<'a> = (&'a EntrySet, &'a Window);

/// Drops the windows below `number`: galloping, so that a short side meets a long one cheaply.
fn skip_below(windows: &[Window], number: u64) -> &[Window] {
    let mut step = 1;
    while windows
        .get(step)
        .is_some_and(|window| window.number < number)
    {
        step *= 2;
    }
    let low = step / 2;
    let high = windows.len().min(step + 1);
    let found = windows[low.min(high)..high].partition_point(|window| window.number < number);
    &windows[low.min(high) + found..]
}

fn and_windows(out: &mut EntrySet, left: Side<'_>, right: Side<'_>) {
    let number = left.1.number;
    match (left.0.content(left.1), right.0.content(right.1)) {
        (Content::Full, _) => out.push_copy(right.0, right.1),
        (_, Content::Full) => out.push_copy(left.0, left.1),
        (Content::Array(a), Content::Array(b)) => {
            let mut both = ArrayBuffer::new();
            let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
            if short.len() * SEARCH_RATIO < long.len() {
                both.keep_where(short, |within| long.binary_search(&within).is_ok());
            } else {
                let mut words = [0; WINDOW_WORDS];
                set_bits(&mut words, long);
                both.keep_where(short, |within| has_bit(&words, within));
            }
            out.push_array(number, both.as_slice());
        }
        (Content::Array(array), Content::Bits(words))
        | (Content::Bits(words), Content::Array(array)) => {
            let mut both = ArrayBuffer::new();
            both.keep_where(array, |within| has_bit(words, within));
            out.push_array(number, both.as_slice());
        }
        (Content::Bits(a), Content::Bits(b)) => {
            let words: Words = std::array::from_fn(|word| a[word] & b[word]);
            out.push_words(number, &words);
        }
    }
}

fn or_windows(out: &mut EntrySet, left: Side<'_>, right: Side<'_>) {
    let mut words = [0; WINDOW_WORDS];
    for (set, window) in [left, right] {
        match set.content(window) {
            Content::Full => return out.push_copy(set, window),
            Content::Array(array) => set_bits(&mut words, array),
            Content::Bits(bits) => {
                words
                    .iter_mut()
                    .zip(bits)
                    .for_each(|(word, other)| *word |= other);
            }
        }
    }
    out.push_words(left.1.number, &words);
}

fn and_not_windows(out: &mut EntrySet, left: Side<'_>, right: Side<'_>) {
    let number = left.1.number;
    match (left.0.content(left.1), right.0.content(right.1)) {
        (_, Content::Full) => {}
        (Content::Array(a), Content::Bits(b)) => {
            let mut rest = ArrayBuffer::new();
            rest.keep_where(a, |within| !has_bit(b, within));
            out.push_array(number, rest.as_slice());
        }
        (Content::Array(a), Content::Array(b)) => {
            let mut rest = ArrayBuffer::new();
            let mut words = [0; WINDOW_WORDS];
            set_bits(&mut words, b);
            rest.keep_where(a, |within| !has_bit(&words, within));
            out.push_array(number, rest.as_slice());
        }
        (Content::Bits(_) | Content::Full, b) => {
            let mut words = match left.0.content(left.1) {
                Content::Bits(words) => *words,
                _ => [u64::MAX; WINDOW_WORDS],
            };
            match b {
                Content::Array(array) => array.iter().for_each(|&within| {
                    words[usize::from(within >> 6)] &= !(1 << (within & 63));
                }),
                Content::Bits(bits) => {
                    words
                        .iter_mut()
                        .zip(bits)
                        .for_each(|(word, other)| *word &= !other);
                }
                Content::Full => return,
            }
            out.push_words(number, &words);
        }
    }
}

fn has_bit(words: &Words, within: u16) -> bool {
    words[usize::from(within >> 6)] >> (within & 63) & 1 == 1
}

/// Result of an operation on arrays: never longer than an array may be.
struct ArrayBuffer {
    entries: [u16; ARRAY_ENTRIES_MAX],
    len: usize,
}

impl ArrayBuffer {
    fn new() -> ArrayBuffer {
        ArrayBuffer {
            entries: [0; ARRAY_ENTRIES_MAX],
            len: 0,
        }
    }

    fn as_slice(&self) -> &[u16] {
        &self.entries[..self.len]
    }

    /// Writes every element, and moves on only behind those to keep: no branch to mispredict.
    fn keep_where(&mut self, array: &[u16], mut keep: impl FnMut(u16) -> bool) {
        for &within in array.iter().take(ARRAY_ENTRIES_MAX) {
            self.entries[self.len] = within;
            self.len += usize::from(keep(within));
        }
    }
}
