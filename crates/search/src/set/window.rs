//! The set itself and its windows.
//!
//! Called by `builder`, `algebra` and `iter`; made by readers of posting lists.
//!
//! Invariants:
//! - Windows ascend by number; none is empty.
//! - A window of up to 256 entries is an array, one of 4,096 is full, any other a bit map. So two
//!   sets of the same entries have the same windows, and equality is plain comparison of them.
//! - Arrays and bit maps lie in two arenas of the set, in the order of their windows: a set is
//!   three allocations, whatever it holds.
//!
//! Threads: plain data; shared freely once built.

use crate::EntryId;

/// Entries in one window.
pub(super) const WINDOW_ENTRIES: usize = 4_096;
/// Bits of an entry's number within its window.
pub(super) const WINDOW_BITS: u32 = 12;
/// Words of a window's bit map.
pub(super) const WINDOW_WORDS: usize = WINDOW_ENTRIES / 64;
/// Longest array: 256 * 2 bytes are the 512 bytes of a bit map.
pub(super) const ARRAY_ENTRIES_MAX: usize = 256;

/// One window as bits.
pub(super) type Words = [u64; WINDOW_WORDS];

/// A window's place in the arenas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) number: u64,
    /// First `u16` in `shorts` or first word in `words`; unused when full.
    start: u32,
    /// 1 to 4,096.
    pub(super) count: u16,
}

/// Content of a window, borrowed from its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    Array(&'a [u16]),
    Bits(&'a Words),
    Full,
}

/// A set of entries.
///
/// Iteration is ascending. Counting is `O(1)`, membership `O(log windows)`.
#[derive(Clone, Default)]
pub struct EntrySet {
    windows: Vec<Window>,
    shorts: Vec<u16>,
    words: Vec<Words>,
    len: u64,
}

impl EntrySet {
    /// The empty set. Allocates nothing.
    #[must_use]
    pub fn new() -> EntrySet {
        EntrySet::default()
    }

    /// A set of ascending entries; repeats count once.
    ///
    /// # Panics
    /// When the entries do not ascend.
    #[must_use]
    pub fn from_ascending(entries: impl IntoIterator<Item = EntryId>) -> EntrySet {
        let mut builder = AscendingBuilder::default();
        let mut previous = None;
        for entry in entries {
            assert!(previous <= Some(entry), "entries of a set must ascend");
            if previous != Some(entry) {
                builder.push(entry.0);
            }
            previous = Some(entry);
        }
        builder.finish()
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `entry` is in the set.
    #[must_use]
    pub fn contains(&self, entry: EntryId) -> bool {
        let number = entry.0 >> WINDOW_BITS;
        let slot = self
            .windows
            .partition_point(|window| window.number < number);
        let within = low_bits(entry.0);
        match self.windows.get(slot) {
            Some(window) if window.number == number => match self.content(window) {
                Content::Array(array) => array.binary_search(&within).is_ok(),
                Content::Bits(words) => words[usize::from(within >> 6)] >> (within & 63) & 1 == 1,
                Content::Full => true,
            },
            _ => false,
        }
    }

    /// The least entry.
    #[must_use]
    pub fn first(&self) -> Option<EntryId> {
        self.iter().next()
    }

    /// The greatest entry.
    #[must_use]
    pub fn last(&self) -> Option<EntryId> {
        let window = self.windows.last()?;
        let within = match self.content(window) {
            Content::Array(array) => u64::from(*array.last()?),
            Content::Bits(words) => {
                let word = words.iter().rposition(|&word| word != 0)?;
                word as u64 * 64 + u64::from(63 - words[word].leading_zeros())
            }
            Content::Full => WINDOW_ENTRIES as u64 - 1,
        };
        Some(EntryId((window.number << WINDOW_BITS) + within))
    }

    /// Bytes of memory the set holds.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.windows.capacity() * size_of::<Window>()
            + self.shorts.capacity() * 2
            + self.words.capacity() * size_of::<Words>()
    }

    pub(super) fn windows(&self) -> &[Window] {
        &self.windows
    }

    pub(super) fn content(&self, window: &Window) -> Content<'_> {
        let start = window.start as usize;
        match usize::from(window.count) {
            WINDOW_ENTRIES => Content::Full,
            count if count <= ARRAY_ENTRIES_MAX => Content::Array(&self.shorts[start..][..count]),
            _ => Content::Bits(&self.words[start]),
        }
    }

    /// Appends a window of ascending entries; nothing when there are none.
    pub(super) fn push_array(&mut self, number: u64, array: &[u16]) {
        if array.len() > ARRAY_ENTRIES_MAX {
            let mut words = [0; WINDOW_WORDS];
            set_bits(&mut words, array);
            self.push_words(number, &words);
        } else if !array.is_empty() {
            let start = arena_position(self.shorts.len());
            self.shorts.extend_from_slice(array);
            self.push_window(number, start, array.len());
        }
    }

    /// Appends a window given as bits, in the form its count asks for; nothing when all are zero.
    pub(super) fn push_words(&mut self, number: u64, words: &Words) {
        match count_bits(words) {
            0 => {}
            WINDOW_ENTRIES => self.push_window(number, 0, WINDOW_ENTRIES),
            count if count <= ARRAY_ENTRIES_MAX => {
                let start = arena_position(self.shorts.len());
                push_positions(words, &mut self.shorts);
                self.push_window(number, start, count);
            }
            count => {
                let start = arena_position(self.words.len());
                self.words.push(*words);
                self.push_window(number, start, count);
            }
        }
    }

    /// Appends a copy of another set's window.
    pub(super) fn push_copy(&mut self, other: &EntrySet, window: &Window) {
        match other.content(window) {
            Content::Array(array) => self.push_array(window.number, array),
            Content::Bits(words) => {
                let start = arena_position(self.words.len());
                self.words.push(*words);
                self.push_window(window.number, start, usize::from(window.count));
            }
            Content::Full => self.push_window(window.number, 0, WINDOW_ENTRIES),
        }
    }

    fn push_window(&mut self, number: u64, start: u32, count: usize) {
        debug_assert!(self.windows.last().is_none_or(|last| last.number < number));
        let count = u16::try_from(count).expect("a window has at most 4,096 entries");
        self.windows.push(Window {
            number,
            start,
            count,
        });
        self.len += u64::from(count);
    }
}

impl PartialEq for EntrySet {
    fn eq(&self, other: &EntrySet) -> bool {
        self.len == other.len
            && self.windows.len() == other.windows.len()
            && self
                .windows
                .iter()
                .zip(&other.windows)
                .all(|(ours, theirs)| {
                    ours.number == theirs.number && self.content(ours) == other.content(theirs)
                })
    }
}

impl Eq for EntrySet {}

impl std::fmt::Debug for EntrySet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_set()
            .entries(self.iter().map(|entry| entry.0))
            .finish()
    }
}

/// Builds a set from entries that come in ascending order, without repeats.
#[derive(Default)]
pub(crate) struct AscendingBuilder {
    set: EntrySet,
    number: u64,
    /// Entries of the window `number` so far, at most 4,096.
    pending: Vec<u16>,
}

impl AscendingBuilder {
    /// Adds an entry above all earlier ones.
    #[inline]
    pub(crate) fn push(&mut self, entry: u64) {
        let number = entry >> WINDOW_BITS;
        if number != self.number {
            self.close_window();
            self.number = number;
        }
        self.pending.push(low_bits(entry));
    }

    /// Adds ascending entries above all earlier ones.
    pub(crate) fn extend(&mut self, mut entries: &[u64]) {
        while let (Some(&first), Some(&last)) = (entries.first(), entries.last()) {
            let number = first >> WINDOW_BITS;
            if number != self.number {
                self.close_window();
                self.number = number;
            }
            let in_window = match last >> WINDOW_BITS == number {
                true => entries.len(),
                false => entries.partition_point(|entry| entry >> WINDOW_BITS == number),
            };
            let (ours, others) = entries.split_at(in_window);
            self.pending
                .extend(ours.iter().map(|&entry| low_bits(entry)));
            entries = others;
        }
    }

    fn close_window(&mut self) {
        self.set.push_array(self.number, &self.pending);
        self.pending.clear();
    }

    pub(crate) fn finish(mut self) -> EntrySet {
        self.close_window();
        self.set
    }
}

/// Builds a set from the bits of all numbers, 64 at a time.
#[derive(Default)]
pub(crate) struct BitsBuilder {
    set: EntrySet,
    number: u64,
    words: Vec<u64>,
}

impl BitsBuilder {
    /// Adds the next 64 numbers, the lowest bit first.
    #[inline]
    pub(crate) fn push(&mut self, bits: u64) {
        self.words.push(bits);
        if self.words.len() == WINDOW_WORDS {
            self.close_window();
        }
    }

    fn close_window(&mut self) {
        let mut window = [0; WINDOW_WORDS];
        window[..self.words.len()].copy_from_slice(&self.words);
        self.set.push_words(self.number, &window);
        self.number += 1;
        self.words.clear();
    }

    pub(crate) fn finish(mut self) -> EntrySet {
        self.close_window();
        self.set
    }
}

/// Position of an entry within its window.
#[expect(clippy::cast_possible_truncation, reason = "masked to twelve bits")]
pub(super) fn low_bits(entry: u64) -> u16 {
    (entry & (WINDOW_ENTRIES as u64 - 1)) as u16
}

pub(super) fn count_bits(words: &Words) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

pub(super) fn set_bits(words: &mut Words, array: &[u16]) {
    for &within in array {
        words[usize::from(within >> 6)] |= 1 << (within & 63);
    }
}

/// Appends the positions of all set bits.
fn push_positions(words: &Words, out: &mut Vec<u16>) {
    for (start, &word) in (0_u16..).step_by(64).zip(words) {
        let mut rest = word;
        while rest != 0 {
            let bit = u16::try_from(rest.trailing_zeros()).expect("a word has 64 bits");
            out.push(start + bit);
            rest &= rest - 1;
        }
    }
}

/// Arenas are indexed by 32 bits: 2^32 bit maps are 2 TiB, 2^32 array entries 8 GiB.
fn arena_position(position: usize) -> u32 {
    u32::try_from(position).expect("arenas of a set stay below 2^32 elements")
}
