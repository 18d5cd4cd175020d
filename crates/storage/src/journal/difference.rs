//! Page differences: the bytes by which a page differs from its previous version.
//!
//! Offsets are absolute and bytes are the new values, never a XOR, so applying a difference twice,
//! or to a page that already holds a later state of the same bytes, converges to the same page.
//! Words are 8 bytes. The first word of a page (its checksum) is never part of a difference.
//!
//! Operation: varint page delta from the previous operation, u8 kind, for runs varint page count,
//! u32 hash of the result (low half of XXH3 over everything but the first word), then runs: varint
//! (skipped words * 2 + is_zero), varint word count, the bytes unless zero; a run of 0 words ends.
//! A run that is in its place in the data file already has a u64 checksum instead of hash and runs.

use jackdaw_base::hash::xxh3_64;
use jackdaw_base::varint;
use jackdaw_base::width::low_u32;

use crate::page::{PAGE_BYTES, PageNumber};

const WORD_BYTES: usize = 8;
/// Compared at once before looking at single words: a cache line.
const BLOCK_BYTES: usize = 64;

const KIND_IMAGE: u8 = 1;
const KIND_DIFFERENCE: u8 = 2;
const KIND_RUN_IMAGE: u8 = 3;
const KIND_RUN_DIFFERENCE: u8 = 4;
const KIND_RUN_IN_PLACE: u8 = 5;

/// One page (or overflow run) as a journal record describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageOperation<'a> {
    /// First page.
    pub(crate) page: PageNumber,
    /// Pages covered; 1 unless it is an overflow run.
    pub(crate) page_count: u32,
    pub(crate) change: PageChange<'a>,
}

/// What an operation does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PageChange<'a> {
    /// Sets bytes.
    Bytes(ByteChange<'a>),
    /// Nothing: the new overflow run was durable in the data file before this record was written.
    InPlace {
        /// Checksum of the run, as its header holds it.
        checksum: u64,
    },
}

/// The bytes that an operation sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteChange<'a> {
    /// Whether the content before is taken as zeros (a page that was just allocated).
    pub(crate) is_image: bool,
    /// Low half of the XXH3 of the result without its first word.
    pub(crate) result_hash: u32,
    runs: &'a [u8],
}

/// What is wrong with the bytes of an operation; only a damaged record has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a page difference does not fit its page")]
pub(crate) struct ApplyError;

/// Hash by which recovery checks the result of an operation.
pub(crate) fn result_hash(content: &[u8]) -> u32 {
    low_u32(xxh3_64(&content[WORD_BYTES..], 0))
}

/// Appends the operation that turns `previous` (zeros when absent) into `current`.
pub(crate) fn encode_page(
    page_delta: u64,
    previous: Option<&[u8]>,
    current: &[u8],
    out: &mut Vec<u8>,
) {
    debug_assert_eq!(current.len(), PAGE_BYTES);
    varint::encode(page_delta, out);
    out.push(if previous.is_some() {
        KIND_DIFFERENCE
    } else {
        KIND_IMAGE
    });
    out.extend_from_slice(&result_hash(current).to_le_bytes());
    encode_runs(previous, current, out);
}

/// The same for an overflow run of whole pages.
pub(crate) fn encode_run(
    page_delta: u64,
    previous: Option<&[u8]>,
    current: &[u8],
    out: &mut Vec<u8>,
) {
    debug_assert_eq!(current.len() % PAGE_BYTES, 0);
    varint::encode(page_delta, out);
    out.push(if previous.is_some() {
        KIND_RUN_DIFFERENCE
    } else {
        KIND_RUN_IMAGE
    });
    varint::encode((current.len() / PAGE_BYTES) as u64, out);
    out.extend_from_slice(&result_hash(current).to_le_bytes());
    encode_runs(previous, current, out);
}

/// Appends the operation that says that the new run of `page_count` pages is in the data file.
pub(crate) fn encode_in_place(page_delta: u64, page_count: u32, checksum: u64, out: &mut Vec<u8>) {
    varint::encode(page_delta, out);
    out.push(KIND_RUN_IN_PLACE);
    varint::encode(page_count.into(), out);
    out.extend_from_slice(&checksum.to_le_bytes());
}

fn encode_runs(previous: Option<&[u8]>, current: &[u8], out: &mut Vec<u8>) {
    let mut encoder = RunEncoder {
        current,
        out,
        end: WORD_BYTES,
    };
    // A run may reach into the blocks behind the one it was found in.
    let mut word = WORD_BYTES;
    for block in (0..current.len()).step_by(BLOCK_BYTES) {
        let block_end = block + BLOCK_BYTES;
        if word >= block_end || is_same::<BLOCK_BYTES>(previous, current, block) {
            continue;
        }
        word = word.max(block);
        while word < block_end {
            let start = word;
            while word < current.len() && !is_same::<WORD_BYTES>(previous, current, word) {
                word += WORD_BYTES;
            }
            if start < word {
                encoder.changed(start, word, previous.is_none());
            }
            word += WORD_BYTES;
        }
    }
    varint::encode(0, encoder.out);
    varint::encode(0, encoder.out);
}

/// Whether `N` bytes are what they were before (zeros when there was nothing). All words are looked
/// at, so that it becomes a few vector instructions and not a call for each cache line.
#[inline]
fn is_same<const N: usize>(previous: Option<&[u8]>, current: &[u8], from: usize) -> bool {
    let Some(current) = current[from..].first_chunk::<N>() else {
        return false;
    };
    let word = |bytes: &[u8; N], at: usize| {
        let word = bytes[at..].first_chunk::<WORD_BYTES>();
        u64::from_le_bytes(*word.expect("whole words"))
    };
    let ats = (0..N).step_by(WORD_BYTES);
    let differences = match previous {
        Some(previous) => match previous[from..].first_chunk::<N>() {
            Some(previous) => ats.fold(0, |all, at| all | (word(previous, at) ^ word(current, at))),
            None => return false,
        },
        None => ats.fold(0, |all, at| all | word(current, at)),
    };
    differences == 0
}

struct RunEncoder<'a> {
    current: &'a [u8],
    out: &'a mut Vec<u8>,
    /// End of the last run written.
    end: usize,
}

impl RunEncoder<'_> {
    /// Writes the changed words `start..end`, long stretches of zeros without their bytes.
    fn changed(&mut self, start: usize, end: usize, base_is_zero: bool) {
        if base_is_zero {
            return self.run(start, end, false);
        }
        let mut from = start;
        let mut at = start;
        while at < end {
            let zeros = self.zero_words(at, end);
            // A run head costs up to 4 bytes: single zero words are cheaper inside.
            if zeros >= 2 {
                self.run(from, at, false);
                self.run(at, at + zeros * WORD_BYTES, true);
                at += zeros * WORD_BYTES;
                from = at;
            } else {
                at += WORD_BYTES;
            }
        }
        self.run(from, end, false);
    }

    fn zero_words(&self, at: usize, end: usize) -> usize {
        self.current[at..end]
            .chunks_exact(WORD_BYTES)
            .take_while(|word| word.iter().fold(0, |all, byte| all | byte) == 0)
            .count()
    }

    fn run(&mut self, from: usize, to: usize, is_zero: bool) {
        if from == to {
            return;
        }
        let skipped = ((from - self.end) / WORD_BYTES) as u64;
        varint::encode(skipped << 1 | u64::from(is_zero), self.out);
        varint::encode(((to - from) / WORD_BYTES) as u64, self.out);
        if !is_zero {
            self.out.extend_from_slice(&self.current[from..to]);
        }
        self.end = to;
    }
}

/// Iterates over the operations of a payload.
pub(crate) struct PageOperations<'a> {
    rest: &'a [u8],
    page: u64,
}

impl<'a> PageOperations<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> PageOperations<'a> {
        PageOperations {
            rest: payload,
            page: 0,
        }
    }

    fn read_operation(&mut self) -> Option<PageOperation<'a>> {
        let delta = varint::take(&mut self.rest)?;
        self.page = self.page.checked_add(delta)?;
        let (&kind, rest) = self.rest.split_first()?;
        self.rest = rest;
        let page_count = match kind {
            KIND_IMAGE | KIND_DIFFERENCE => 1,
            KIND_RUN_IMAGE | KIND_RUN_DIFFERENCE | KIND_RUN_IN_PLACE => {
                u32::try_from(varint::take(&mut self.rest)?).ok()?
            }
            _ => return None,
        };
        let page = PageNumber(self.page);
        if kind == KIND_RUN_IN_PLACE {
            let (checksum, rest) = self.rest.split_first_chunk::<8>()?;
            self.rest = rest;
            let checksum = u64::from_le_bytes(*checksum);
            return Some(PageOperation {
                page,
                page_count,
                change: PageChange::InPlace { checksum },
            });
        }
        let (hash, rest) = self.rest.split_first_chunk::<4>()?;
        let runs = rest;
        self.rest = rest;
        while skip_run(&mut self.rest)? {}
        let change = PageChange::Bytes(ByteChange {
            is_image: matches!(kind, KIND_IMAGE | KIND_RUN_IMAGE),
            result_hash: u32::from_le_bytes(*hash),
            runs: &runs[..runs.len() - self.rest.len()],
        });
        Some(PageOperation {
            page,
            page_count,
            change,
        })
    }
}

impl<'a> Iterator for PageOperations<'a> {
    type Item = Result<PageOperation<'a>, ApplyError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let operation = self.read_operation();
        if operation.is_none() {
            self.rest = &[];
        }
        Some(operation.ok_or(ApplyError))
    }
}

/// Steps over one run; `Some(false)` at the end mark.
fn skip_run(rest: &mut &[u8]) -> Option<bool> {
    let head = varint::take(rest)?;
    let words = varint::take(rest)?;
    if words == 0 {
        return Some(false);
    }
    if head & 1 == 0 {
        let len_bytes = usize::try_from(words).ok()?.checked_mul(WORD_BYTES)?;
        *rest = rest.get(len_bytes..)?;
    }
    Some(true)
}

impl ByteChange<'_> {
    /// Applies the change to the content of its pages. The first word stays as it is.
    ///
    /// # Errors
    /// When a run leaves the page; the content is then partly changed.
    pub(crate) fn apply(&self, content: &mut [u8]) -> Result<(), ApplyError> {
        if self.is_image {
            content[WORD_BYTES..].fill(0);
        }
        let mut rest = self.runs;
        let mut at = WORD_BYTES;
        loop {
            let head = varint::take(&mut rest).ok_or(ApplyError)?;
            let words = varint::take(&mut rest).ok_or(ApplyError)?;
            if words == 0 {
                return Ok(());
            }
            let from = word_offset(at, head >> 1)?;
            let to = word_offset(from, words)?;
            let target = content.get_mut(from..to).ok_or(ApplyError)?;
            if head & 1 == 1 {
                target.fill(0);
            } else {
                let (bytes, after) = rest.split_at_checked(target.len()).ok_or(ApplyError)?;
                target.copy_from_slice(bytes);
                rest = after;
            }
            at = to;
        }
    }
}

fn word_offset(at: usize, words: u64) -> Result<usize, ApplyError> {
    usize::try_from(words)
        .ok()
        .and_then(|words| words.checked_mul(WORD_BYTES))
        .and_then(|len_bytes| at.checked_add(len_bytes))
        .ok_or(ApplyError)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn roundtrip(previous: Option<&[u8]>, current: &[u8]) -> usize {
        let mut payload = Vec::new();
        encode_page(5, previous, current, &mut payload);
        let operation = PageOperations::new(&payload)
            .next()
            .expect("one")
            .expect("well formed");
        assert_eq!(operation.page, PageNumber(5));
        let PageChange::Bytes(change) = operation.change else {
            panic!("bytes were encoded");
        };
        let mut content = previous.map_or_else(|| vec![3; PAGE_BYTES], <[u8]>::to_vec);
        change.apply(&mut content).expect("fits");
        assert_eq!(content[WORD_BYTES..], current[WORD_BYTES..]);
        assert_eq!(result_hash(&content), change.result_hash);
        change
            .apply(&mut content)
            .expect("applying twice changes nothing");
        assert_eq!(content[WORD_BYTES..], current[WORD_BYTES..]);
        payload.len()
    }

    #[test]
    fn equal_pages_cost_a_few_bytes() {
        let page = vec![9; PAGE_BYTES];
        assert!(roundtrip(Some(&page), &page) < 10);
    }

    #[test]
    fn zeros_cost_no_bytes() {
        let page = vec![9; PAGE_BYTES];
        assert!(roundtrip(Some(&page), &vec![0; PAGE_BYTES]) < 16);
        assert!(roundtrip(None, &vec![0; PAGE_BYTES]) < 10);
    }

    #[test]
    fn runs_in_place_are_told_by_their_checksum() {
        let mut payload = Vec::new();
        encode_in_place(300, 40, 77, &mut payload);
        encode_page(2, None, &vec![0; PAGE_BYTES], &mut payload);
        let mut operations = PageOperations::new(&payload);
        let first = operations.next().expect("one").expect("well formed");
        assert_eq!((first.page, first.page_count), (PageNumber(300), 40));
        let checksum = match first.change {
            PageChange::InPlace { checksum } => checksum,
            PageChange::Bytes(_) => 0,
        };
        assert_eq!(checksum, 77);
        let second = operations.next().expect("another").expect("well formed");
        assert_eq!(second.page, PageNumber(302));
        assert!(
            PageOperations::new(&payload[..6])
                .next()
                .expect("one")
                .is_err()
        );
    }

    #[test]
    fn damaged_operations_are_refused() {
        let mut payload = Vec::new();
        encode_page(1, None, &vec![1; PAGE_BYTES], &mut payload);
        for cut in 1..payload.len() {
            assert!(
                PageOperations::new(&payload[..cut])
                    .next()
                    .expect("one")
                    .is_err()
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_change_comes_back(
            seed in any::<u64>(),
            edits in prop::collection::vec((8usize..PAGE_BYTES, 1usize..300, any::<u8>()), 0..40),
            is_new in any::<bool>(),
        ) {
            let previous: Vec<u8> =
                (0..PAGE_BYTES)
                    .map(|at| xxh3_64(&at.to_le_bytes()[..1], seed).to_le_bytes()[at % 5])
                    .collect();
            let mut current = if is_new { vec![0; PAGE_BYTES] } else { previous.clone() };
            for (from, len, byte) in edits {
                let to = (from + len).min(PAGE_BYTES);
                current[from..to].fill(byte);
            }
            roundtrip((!is_new).then_some(&previous[..]), &current);
        }
    }
}
