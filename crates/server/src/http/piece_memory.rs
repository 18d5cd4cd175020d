//! How much memory the pieces of long answers take that were made and not read yet.
//!
//! Asked by `chunks` for the size of the next piece; a long answer is under way from its first
//! piece until its body is dropped, which is when the client has read it or went away. The more of
//! them there are, the smaller are their pieces and the fewer wait, so that readers who stop take
//! no more than their part. Nobody waits for anybody: an answer that nobody reads would hold up
//! those that are read.
//!
//! What is larger than a piece can be (a long row, what has to be gathered before the first row,
//! an answer that cannot come in pieces) is counted in bytes, in one pool for all answers: those
//! that need more than there is wait, and are refused when that takes long.
//!
//! Bounds: `bytes_max` is shared evenly by those that are under way when a piece is made. What was
//! made before others came stays as it is, and no piece is smaller than [`PIECE_BYTES_MIN`] or than
//! its last row: `n` answers take at most about `bytes_max * (1 + ln n)`, or four such pieces each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::body_memory::{BodyMemory, BodyPlace};

/// Size of a piece where there is no lack of memory. Answers below it, which is nearly all of them,
/// go out with their length.
pub(super) const PIECE_BYTES_MAX: usize = 256 << 10;
/// Below it, a piece costs more than it carries.
pub(super) const PIECE_BYTES_MIN: usize = 16 << 10;
/// Pieces that wait for the client at most.
const AHEAD_MAX: usize = 4;
/// Pieces of an answer beside those that wait: one that is made, one on its way into the queue, one
/// that the connection has.
const NOT_WAITING: usize = 3;

/// The pool of what is larger has room for this many times what pieces share.
const LARGE_PARTS: usize = 4;

/// See the file head.
#[derive(Debug)]
pub(crate) struct PieceMemory {
    bytes_max: usize,
    under_way: AtomicUsize,
    large: BodyMemory,
}

/// What an answer that is under way is counted by.
#[derive(Debug)]
pub(crate) struct Counted(Arc<PieceMemory>);

impl PieceMemory {
    pub(crate) fn new(bytes_max: usize, wait_max: Duration) -> Arc<PieceMemory> {
        Arc::new(PieceMemory {
            bytes_max,
            under_way: AtomicUsize::new(0),
            large: BodyMemory::new(bytes_max.saturating_mul(LARGE_PARTS), wait_max),
        })
    }

    /// A place for what one answer has beyond its pieces, of which nothing is there yet.
    pub(crate) fn large(&self) -> BodyPlace {
        self.large.enter()
    }

    /// One more answer is under way until what this gives is dropped.
    pub(super) fn enter(self: &Arc<PieceMemory>) -> Counted {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Counted(self.clone())
    }

    /// Bytes that make a piece now.
    pub(super) fn piece_bytes(&self) -> usize {
        let part = self.part() / (AHEAD_MAX + NOT_WAITING);
        part.clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX)
    }

    /// Pieces that may wait for the client of an answer that begins now.
    pub(super) fn pieces_ahead(&self) -> usize {
        let pieces = self.part() / self.piece_bytes();
        pieces.saturating_sub(NOT_WAITING).clamp(1, AHEAD_MAX)
    }

    /// Whether pieces are smaller than they could be.
    pub(super) fn is_scarce(&self) -> bool {
        self.piece_bytes() < PIECE_BYTES_MAX
    }

    /// What each may have that is under way.
    fn part(&self) -> usize {
        self.bytes_max / self.under_way.load(Ordering::Relaxed).max(1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_are_under_way_the_less_each_has() {
        let memory = PieceMemory::new(4 << 20, Duration::ZERO);
        let mut under_way = vec![memory.enter(), memory.enter()];
        assert_eq!(
            (memory.piece_bytes(), memory.pieces_ahead()),
            (PIECE_BYTES_MAX, AHEAD_MAX)
        );
        assert!(!memory.is_scarce());
        let mut taken = 0;
        for count in under_way.len()..100 {
            assert_eq!(memory.under_way.load(Ordering::Relaxed), count);
            under_way.push(memory.enter());
            taken += memory.piece_bytes() * (memory.pieces_ahead() + NOT_WAITING);
        }
        assert_eq!(
            (memory.piece_bytes(), memory.pieces_ahead()),
            (PIECE_BYTES_MIN, 1)
        );
        assert!(memory.is_scarce());
        // The bound of the file head, for all that came one after the other.
        let bound = memory.bytes_max as f64 * (1.0 + 100_f64.ln());
        assert!(taken as f64 <= bound, "{taken} of {bound}");
        drop(under_way);
        assert_eq!(memory.piece_bytes(), PIECE_BYTES_MAX);
    }
}
