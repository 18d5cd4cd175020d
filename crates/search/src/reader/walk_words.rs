//! Walks over words that leave out what cannot be among the best (block-max MaxScore).
//!
//! Called by `rank`. The lists of the words are walked side by side, a span of entries at a time:
//! a span lies in one chunk of each list, so the bounds of the chunks say what its best entry can
//! have at most. Spans that cannot get above the worst of the best so far are passed without
//! unpacking anything. In others the words that are not enough together are looked up for the
//! entries of the other words only.
//!
//! Invariants:
//! - What is pushed are exact scores: the shares of the words, added in the order of the query.
//! - What is left out has no score above the threshold of that moment. Entries ascend, so that an
//!   equal score would not count either.
//!
//! Threads: one owner; borrows a snapshot.

use jackdaw_storage::PageRead;

use super::best::Best;
use super::budget::Budget;
use super::score::saturation;
use crate::error::IndexError;
use crate::occurrence::{Occurrences, pass_below};
use crate::set::EntrySet;

/// Most entries of a span: their scores fit the nearest cache.
const SPAN_ENTRIES: usize = 2_048;

/// Sums of bounds are rounded otherwise than sums of scores, by some 1e-15 of them.
const ROUNDING: f64 = 1e-9;

/// From so many entries on it is cheaper to mark all entries of the other words than to look each
/// one up there.
const MARKED_CANDIDATES_MIN: usize = 8;

type Slowness = [f64; 256];

/// Whether what has no score above `most` can be left out.
fn is_below(most: f64, best: &Best) -> bool {
    let most = most + most.abs() * ROUNDING;
    best.threshold().is_some_and(|threshold| most <= threshold)
}

/// A word whose list is walked.
pub(super) struct WordWalk<'t, P: PageRead + ?Sized> {
    walk: Occurrences<'t, P>,
    /// What a share is multiplied by.
    weight: f64,
    /// First entry of the chunk that `chunk_bound` is of.
    bounded: Option<u64>,
    /// No share in the chunk is above this.
    chunk_bound: f64,
    /// Of the current span: no share is above `bound`, and whether there may be one.
    bound: f64,
    is_there: bool,
}

impl<'t, P: PageRead + ?Sized> WordWalk<'t, P> {
    pub(super) fn new(walk: Occurrences<'t, P>, weight: f64) -> WordWalk<'t, P> {
        WordWalk {
            walk,
            weight,
            bounded: None,
            chunk_bound: 0.0,
            bound: 0.0,
            is_there: false,
        }
    }

    /// Passes what is below `from`. Gives the first entry at or above it that the word may have,
    /// and the end of the reach in which all of its entries are in one chunk; `None` at the end.
    fn align(&mut self, from: u64, slowness: &Slowness) -> Result<Option<(u64, u64)>, IndexError> {
        self.walk.skip_to(from)?;
        loop {
            let Some(chunk) = self.walk.chunk()? else {
                return Ok(None);
            };
            if self.bounded != Some(chunk.first()) {
                self.bounded = Some(chunk.first());
                self.chunk_bound = match chunk.bound() {
                    Some(bound) => bound.most(|frequency, norm| {
                        self.weight * saturation(frequency, norm, slowness)
                    }),
                    None => self.most_of_unpacked(slowness)?,
                };
            }
            let end = self.walk.chunk_end();
            if !self.walk.is_unpacked() {
                return Ok(Some((chunk.first().max(from), end)));
            }
            let (items, passed) = self.walk.unpacked()?;
            pass_below(items.entries(), passed, from);
            match items.entries().get(*passed) {
                Some(&next) => return Ok(Some((next, end))),
                None => self.walk.next_chunk()?,
            }
        }
    }

    /// The greatest share of a chunk that is too short to have a bound.
    fn most_of_unpacked(&mut self, slowness: &Slowness) -> Result<f64, IndexError> {
        let weight = self.weight;
        let (items, _) = self.walk.unpacked()?;
        let counts = items.frequencies().iter().zip(items.norms());
        let shares =
            counts.map(|(&frequency, &norm)| weight * saturation(frequency, norm, slowness));
        Ok(shares.fold(0.0, f64::max))
    }

    /// Calls `take` with the entries from `from` to below `to` and their shares.
    fn take(
        &mut self,
        (from, to): (u64, u64),
        slowness: &Slowness,
        mut take: impl FnMut(u64, f64),
    ) -> Result<(), IndexError> {
        let weight = self.weight;
        let (items, passed) = self.walk.unpacked()?;
        pass_below(items.entries(), passed, from);
        let rest = &items.entries()[*passed..];
        let count = match rest.last() {
            Some(last) if *last < to => rest.len(),
            _ => rest.partition_point(|entry| *entry < to),
        };
        let reach = *passed..*passed + count;
        let counts = items.frequencies()[reach.clone()]
            .iter()
            .zip(&items.norms()[reach]);
        for (&entry, (&frequency, &norm)) in rest[..count].iter().zip(counts) {
            take(entry, weight * saturation(frequency, norm, slowness));
        }
        Ok(())
    }

    /// Calls `visit` with the entries from `from` to below `to`.
    fn visit(&mut self, (from, to): (u64, u64), visit: impl FnMut(u64)) -> Result<(), IndexError> {
        let (items, passed) = self.walk.unpacked()?;
        pass_below(items.entries(), passed, from);
        let rest = items.entries()[*passed..].iter().copied();
        rest.take_while(|entry| *entry < to).for_each(visit);
        Ok(())
    }

    /// The share of one entry of the chunk, at or behind those asked for before.
    fn share(&mut self, entry: u64, slowness: &Slowness) -> Result<Option<f64>, IndexError> {
        let weight = self.weight;
        let (items, passed) = self.walk.unpacked()?;
        pass_below(items.entries(), passed, entry);
        let at = *passed;
        Ok((items.entries().get(at) == Some(&entry)).then(|| {
            let (frequency, norm) = (items.frequencies()[at], items.norms()[at]);
            weight * saturation(frequency, norm, slowness)
        }))
    }
}

/// Lists of so many entries at most are read in advance, to begin with a threshold; of those that
/// are so many times shorter than the longest one, of which the threshold saves a part.
const EXPECTED_ENTRIES_MAX: u64 = 1_024;
const EXPECTED_RATIO: u64 = 8;

/// The score that `wanted` entries have by a single word already: the best of such scores, among
/// words in few entries. With each word comes the number of its entries.
pub(super) fn expected<'t, P: PageRead + ?Sized + 't>(
    words: Vec<(u64, WordWalk<'t, P>)>,
    wanted: usize,
    excluded: &EntrySet,
    slowness: &Slowness,
) -> Result<Option<f64>, IndexError> {
    let Some(last) = wanted.checked_sub(1) else {
        return Ok(None);
    };
    let longest = words.iter().map(|(count, _)| *count).max().unwrap_or(0);
    let count_max = EXPECTED_ENTRIES_MAX.min(longest / EXPECTED_RATIO);
    let mut expected: Option<f64> = None;
    let mut shares = Vec::new();
    let mut excluded = (!excluded.is_empty()).then(|| excluded.probe());
    for (count, mut word) in words {
        // With a word that takes away from scores, more of the others says nothing.
        if word.weight < 0.0 {
            return Ok(None);
        }
        if !(wanted as u64..=count_max).contains(&count) {
            continue;
        }
        shares.clear();
        while let Some((entry, frequency, norm)) = word.walk.next_count()? {
            if excluded.as_mut().is_none_or(|set| !set.contains(entry)) {
                shares.push(word.weight * saturation(frequency, norm, slowness));
            }
        }
        if last < shares.len() {
            let (_, share, _) = shares.select_nth_unstable_by(last, |a, b| b.total_cmp(a));
            expected = Some(expected.map_or(*share, |known| known.max(*share)));
        }
    }
    Ok(expected)
}

/// Pushes all entries with one of the words that may be among the best.
pub(super) fn best_of_any<P: PageRead + ?Sized>(
    mut words: Vec<WordWalk<'_, P>>,
    excluded: &EntrySet,
    slowness: &Slowness,
    budget: &mut Budget<'_>,
    best: &mut Best,
) -> Result<(), IndexError> {
    let mut excluded = (!excluded.is_empty()).then(|| excluded.probe());
    let mut push = |best: &mut Best, entry: u64, score: f64| {
        if excluded.as_mut().is_none_or(|set| !set.contains(entry)) {
            best.push(entry, score);
        }
    };
    let mut span = Span::new();
    let mut candidates: Vec<(u64, f64)> = Vec::new();
    let mut from = 0;
    let mut reaches = Vec::with_capacity(words.len());
    for word in &mut words {
        reaches.push(word.align(from, slowness)?);
    }
    loop {
        budget.spend()?;
        for (word, reach) in words.iter_mut().zip(&mut reaches) {
            // What is ahead already stays where it is.
            if reach.is_some_and(|(next, _)| next < from) {
                *reach = word.align(from, slowness)?;
            }
        }
        let Some(start) = reaches.iter().flatten().map(|reach| reach.0).min() else {
            return Ok(());
        };
        let mut to = u64::MAX;
        for &(next, end) in reaches.iter().flatten() {
            to = to.min(if next > start { next } else { end });
        }
        let mut most = 0.0;
        let mut count = 0;
        for (word, reach) in words.iter_mut().zip(&reaches) {
            word.is_there = reach.is_some_and(|(next, _)| next < to);
            word.bound = if word.is_there { word.chunk_bound } else { 0.0 };
            most += word.bound;
            count += usize::from(word.is_there);
        }
        if is_below(most, best) {
            if to == u64::MAX {
                return Ok(());
            }
            from = to;
            continue;
        }
        to = to.min(start.saturating_add(SPAN_ENTRIES as u64));
        from = to;
        if count == 1 {
            for word in words.iter_mut().filter(|word| word.is_there) {
                word.take((start, to), slowness, |entry, score| {
                    push(best, entry, score)
                })?;
            }
            continue;
        }
        // Words are taken away as long as those that are taken are not enough by themselves.
        let mut optional = 0.0;
        while let Some(word) = least_bound(&mut words)
            && is_below(optional + word.bound, best)
        {
            optional += word.bound;
            word.is_there = false;
        }
        let taken = words.iter().filter(|word| word.is_there).count();
        if taken == 1 {
            // The sums are those of one word.
            candidates.clear();
            for word in words.iter_mut().filter(|word| word.is_there) {
                word.take((start, to), slowness, |entry, share| {
                    if !is_below(share + optional, best) {
                        candidates.push((entry, share));
                    }
                })?;
            }
            if candidates.len() >= MARKED_CANDIDATES_MIN {
                for (word, reach) in words.iter_mut().zip(&reaches) {
                    if !word.is_there && reach.is_some_and(|(next, _)| next < to) {
                        word.visit((start, to), |entry| span.mark(entry - start))?;
                    }
                }
                candidates.retain(|(entry, share)| {
                    span.is_marked(entry - start) || !is_below(*share, best)
                });
                span.unmark();
            }
            for &(entry, _) in &candidates {
                let exact = score_of(entry, &mut words, &reaches, to, slowness)?;
                push(best, entry, exact);
            }
            continue;
        }
        span.begin(start);
        for word in words.iter_mut().filter(|word| word.is_there) {
            word.take((start, to), slowness, |entry, share| span.add(entry, share))?;
        }
        if taken == count {
            span.drain(|entry, score| {
                push(best, entry, score);
                Ok(())
            })?;
            continue;
        }
        span.drain(|entry, score| {
            if is_below(score + optional, best) {
                return Ok(());
            }
            let exact = score_of(entry, &mut words, &reaches, to, slowness)?;
            push(best, entry, exact);
            Ok(())
        })?;
    }
}

/// The score of an entry in a span that ends at `to`: the shares of all words in their order.
fn score_of<P: PageRead + ?Sized>(
    entry: u64,
    words: &mut [WordWalk<'_, P>],
    reaches: &[Option<(u64, u64)>],
    to: u64,
    slowness: &Slowness,
) -> Result<f64, IndexError> {
    let mut score = 0.0;
    for (word, reach) in words.iter_mut().zip(reaches) {
        if reach.is_some_and(|(next, _)| next < to) {
            score += word.share(entry, slowness)?.unwrap_or(0.0);
        }
    }
    Ok(score)
}

/// The word of the span with the least bound.
fn least_bound<'w, 't, P: PageRead + ?Sized>(
    words: &'w mut [WordWalk<'t, P>],
) -> Option<&'w mut WordWalk<'t, P>> {
    let there = words.iter_mut().filter(|word| word.is_there);
    there.min_by(|a, b| a.bound.total_cmp(&b.bound))
}

/// Sums of shares of the entries of a span.
struct Span {
    base: u64,
    sums: Box<[f64; SPAN_ENTRIES]>,
    found: [u64; SPAN_ENTRIES / 64],
}

impl Span {
    fn new() -> Span {
        Span {
            base: 0,
            sums: Box::new([0.0; SPAN_ENTRIES]),
            found: [0; SPAN_ENTRIES / 64],
        }
    }

    /// All entries are from `base` on.
    fn begin(&mut self, base: u64) {
        self.base = base;
    }

    #[inline]
    fn add(&mut self, entry: u64, share: f64) {
        let at = usize::try_from(entry - self.base).unwrap_or(usize::MAX);
        if let Some(sum) = self.sums.get_mut(at) {
            *sum += share;
            self.found[at / 64] |= 1 << (at % 64);
        }
    }

    #[inline]
    fn mark(&mut self, place: u64) {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if let Some(word) = self.found.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    #[inline]
    fn is_marked(&self, place: u64) -> bool {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let word = self.found.get(place / 64);
        word.is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn unmark(&mut self) {
        self.found.fill(0);
    }

    /// Gives the entries, ascending, with their sums, and is empty then.
    fn drain(
        &mut self,
        mut take: impl FnMut(u64, f64) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        for (start, word) in (0..).step_by(64).zip(&mut self.found) {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let at = start + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let sum = std::mem::take(&mut self.sums[at]);
                take(self.base + at as u64, sum)?;
            }
        }
        Ok(())
    }
}

/// Pushes those of `found`, which have all of the words, that may be among the best.
pub(super) fn best_of_all<P: PageRead + ?Sized>(
    mut words: Vec<WordWalk<'_, P>>,
    found: &[u64],
    slowness: &Slowness,
    budget: &mut Budget<'_>,
    best: &mut Best,
) -> Result<(), IndexError> {
    let (mut most, mut to) = (0.0, 0);
    for &entry in found {
        if entry >= to {
            budget.spend()?;
            (most, to) = (0.0, u64::MAX);
            for word in &mut words {
                let reach = word.align(entry, slowness)?;
                most += word.chunk_bound;
                to = to.min(reach.map_or(u64::MAX, |(_, end)| end));
            }
        }
        if is_below(most, best) {
            continue;
        }
        let mut score = 0.0;
        for word in &mut words {
            score += word.share(entry, slowness)?.unwrap_or(0.0);
        }
        best.push(entry, score);
    }
    Ok(())
}
