//! bzip2 archives, block by block on several threads.
//!
//! A bzip2 stream is a row of blocks of up to 900 kB, each with a checksum of its own, but its
//! usual decoders take them one after the other, at some 15 MB of archive a second. Here one
//! thread finds the blocks by their 48-bit marks (at bit, not byte, positions), worker threads
//! decode each as a small stream of its own, and the reader takes the results in order.
//! That uses every core, and a damaged block costs that block alone.
//!
//! Called by `compression`. Threads: one scanner and the workers, ended by dropping the reader.
//!
//! Invariants:
//! - Every block's checksum is verified by the decoder, every stream's by the scanner.
//! - A mark that occurs by chance inside a block (odds 1 to 17,000 per GB) cuts it in two pieces
//!   that both fail; the reader then decodes them joined before it speaks of damage.

use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bzip2::{Decompress, Status};

use super::bits::{BLOCK_MARK, BitString, END_MARK, MARK_BITS, Mark, find_mark, read_bits};
use super::{ByteSource, SourceError};

/// Bytes read from the archive at a time.
const READ_BYTES: usize = 256 * 1024;
/// A block of the largest kind that does not compress stays below this; more without a mark is
/// damage.
const BLOCK_BYTES_MAX: usize = 2 * 1024 * 1024;
/// A block of 900,000 bytes that is all runs unpacks to 255 + 4 bytes for every 5.
const UNPACKED_BYTES_MAX: usize = 48 * 1024 * 1024;
/// First growth of an unpacked block: the size that ordinary blocks have.
const UNPACKED_BYTES_USUAL: usize = 900_000;
/// Blocks that wait before and behind each worker.
const QUEUE_BLOCKS: usize = 2;
/// Bits of a checksum.
const CHECKSUM_BITS: usize = 32;

/// A piece of the archive on its way to a worker, or what the scanner has to tell at this place.
enum Piece {
    Block { bits: BitString, file_position: u64 },
    Problem(SourceError),
}

/// What a worker made of a piece.
enum Outcome {
    Unpacked(Vec<u8>),
    Failed {
        bits: BitString,
        file_position: u64,
        what: String,
    },
    Problem(SourceError),
}

/// The decompressed bytes of a bzip2 archive.
pub(super) struct BlockReader {
    workers: Vec<Receiver<Outcome>>,
    turn: usize,
    unpacked: Vec<u8>,
    taken: usize,
    /// An outcome that was looked at before its turn.
    ahead: Option<Outcome>,
    ended: bool,
}

impl BlockReader {
    /// Starts the threads. `source` begins with the stream head `BZh`.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(super) fn start(
        source: Box<dyn Read + Send>,
        worker_count: usize,
    ) -> Result<Self, jackdaw_io::SpawnError> {
        let mut pieces = Vec::new();
        let mut workers = Vec::new();
        for number in 0..worker_count.max(1) {
            let (piece_sender, piece_receiver) = sync_channel(QUEUE_BLOCKS);
            let (outcome_sender, outcome_receiver) = sync_channel(QUEUE_BLOCKS);
            jackdaw_io::spawn(&format!("unpack-{number}"), move || {
                work(&piece_receiver, &outcome_sender);
            })?;
            pieces.push(piece_sender);
            workers.push(outcome_receiver);
        }
        jackdaw_io::spawn("unpack-scan", move || {
            // Sending fails when the reader is gone: then nobody wants the rest.
            let _ = Scanner {
                source,
                buffer: Vec::new(),
                base: 0,
                ended: false,
                pieces,
                turn: 0,
            }
            .run();
        })?;
        Ok(Self {
            workers,
            turn: 0,
            unpacked: Vec::new(),
            taken: 0,
            ahead: None,
            ended: false,
        })
    }

    fn next_outcome(&mut self) -> Option<Outcome> {
        if let Some(outcome) = self.ahead.take() {
            return Some(outcome);
        }
        let outcome = self.workers[self.turn].recv().ok();
        self.turn = (self.turn + 1) % self.workers.len();
        outcome
    }

    /// Decodes a failed piece together with the next one, in case a chance mark cut a block.
    fn rejoin(&mut self, mut bits: BitString, position: u64, what: String) -> Outcome {
        match self.next_outcome() {
            Some(Outcome::Failed {
                bits: second,
                file_position,
                what: what_second,
            }) => {
                bits.push_range(second.as_bytes(), 0, second.len_bits());
                if let Ok(unpacked) = unpack(&bits) {
                    return Outcome::Unpacked(unpacked);
                }
                self.ahead = Some(Outcome::Failed {
                    bits: second,
                    file_position,
                    what: what_second,
                });
            }
            other => self.ahead = other,
        }
        Outcome::Problem(SourceError::Gap {
            file_position: position,
            what,
        })
    }
}

impl ByteSource for BlockReader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        while self.taken == self.unpacked.len() {
            if self.ended {
                return Ok(0);
            }
            let outcome = match self.next_outcome() {
                Some(Outcome::Failed {
                    bits,
                    file_position,
                    what,
                }) => self.rejoin(bits, file_position, what),
                Some(outcome) => outcome,
                None => {
                    self.ended = true;
                    return Ok(0);
                }
            };
            match outcome {
                Outcome::Unpacked(unpacked) => {
                    self.unpacked = unpacked;
                    self.taken = 0;
                }
                Outcome::Failed {
                    file_position,
                    what,
                    ..
                } => {
                    return Err(SourceError::Gap {
                        file_position,
                        what,
                    });
                }
                Outcome::Problem(problem) => {
                    self.ended = matches!(problem, SourceError::Fatal { .. });
                    return Err(problem);
                }
            }
        }
        let len = buffer.len().min(self.unpacked.len() - self.taken);
        buffer[..len].copy_from_slice(&self.unpacked[self.taken..self.taken + len]);
        self.taken += len;
        Ok(len)
    }
}

/// A worker thread: decodes pieces until there are none or nobody wants the result.
fn work(pieces: &Receiver<Piece>, outcomes: &SyncSender<Outcome>) {
    while let Ok(piece) = pieces.recv() {
        let outcome = match piece {
            Piece::Problem(problem) => Outcome::Problem(problem),
            Piece::Block {
                bits,
                file_position,
            } => match unpack(&bits) {
                Ok(unpacked) => Outcome::Unpacked(unpacked),
                Err(what) => Outcome::Failed {
                    bits,
                    file_position,
                    what,
                },
            },
        };
        if outcomes.send(outcome).is_err() {
            return;
        }
    }
}

/// Decodes one block by wrapping it into a stream of its own.
fn unpack(block: &BitString) -> Result<Vec<u8>, String> {
    let checksum = read_bits(block.as_bytes(), MARK_BITS, CHECKSUM_BITS)
        .ok_or_else(|| "a bzip2 block is cut off".to_owned())?;
    // The level only says how much the decoder may need at most; 9 fits every block.
    let mut stream = BitString::with_bytes(b"BZh9");
    stream.push_range(block.as_bytes(), 0, block.len_bits());
    stream.push(END_MARK, MARK_BITS);
    // The checksum of a stream of one block is that of the block.
    stream.push(checksum, CHECKSUM_BITS);
    let mut decoder = Decompress::new(false);
    let mut unpacked = Vec::with_capacity(UNPACKED_BYTES_USUAL);
    loop {
        let consumed = usize::try_from(decoder.total_in()).unwrap_or(usize::MAX);
        let input = stream.as_bytes().get(consumed..).unwrap_or(&[]);
        match decoder.decompress_vec(input, &mut unpacked) {
            Ok(Status::StreamEnd) => return Ok(unpacked),
            Ok(_) if unpacked.len() < unpacked.capacity() => {
                return Err("a bzip2 block ends before its data".to_owned());
            }
            Ok(_) if unpacked.len() >= UNPACKED_BYTES_MAX => {
                return Err("a bzip2 block unpacks to more than bzip2 allows".to_owned());
            }
            Ok(_) => unpacked.reserve(unpacked.len()),
            Err(_) => {
                return Err("a bzip2 block is damaged (its checksum does not match)".to_owned());
            }
        }
    }
}

/// The scanner thread: cuts the archive at its marks.
struct Scanner {
    source: Box<dyn Read + Send>,
    /// Bytes of the file from `base` on that are not cut yet.
    buffer: Vec<u8>,
    base: u64,
    ended: bool,
    pieces: Vec<SyncSender<Piece>>,
    turn: usize,
}

/// The reader is gone.
struct Abandoned;

impl Scanner {
    fn run(&mut self) -> Result<(), Abandoned> {
        let mut stream_count = 0;
        loop {
            match self.stream_head() {
                Err(error) => return self.problem(error),
                Ok(None) => return Ok(()),
                Ok(Some(false)) if stream_count == 0 => {
                    return self.fatal(0, "this is not a bzip2 stream".to_owned());
                }
                // bzip2 itself passes over what stands behind the last stream.
                Ok(Some(false)) => return Ok(()),
                Ok(Some(true)) => {}
            }
            stream_count += 1;
            if !self.stream()? {
                return Ok(());
            }
        }
    }

    /// Whether a stream head is next; takes it. `None` at the end of the file.
    fn stream_head(&mut self) -> Result<Option<bool>, SourceError> {
        while self.buffer.len() < 4 && !self.ended {
            self.fill()?;
        }
        match *self.buffer.as_slice() {
            [] => Ok(None),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
                self.forget(4);
                Ok(Some(true))
            }
            _ => Ok(Some(false)),
        }
    }

    /// Cuts one stream. `false` when the file cannot be read on.
    fn stream(&mut self) -> Result<bool, Abandoned> {
        let mut combined = 0u32;
        // Where the current block begins in `buffer`, in bits; `None` before the first mark.
        let mut block: Option<usize> = None;
        let mut searched = 0;
        loop {
            let mark = match self.next_mark(&mut searched) {
                Ok(Some(mark)) => mark,
                Ok(None) => {
                    let position = self.base + self.buffer.len() as u64;
                    let what = "the archive ends in the middle of a bzip2 stream".to_owned();
                    self.fatal(position, what)?;
                    return Ok(false);
                }
                Err(error) => {
                    self.problem(error)?;
                    return Ok(false);
                }
            };
            match block {
                Some(start) => self.cut(start, mark.bit, &mut combined)?,
                None if mark.bit != 0 => {
                    let what = "a bzip2 stream does not begin with a block".to_owned();
                    self.problem(SourceError::Gap {
                        file_position: self.base,
                        what,
                    })?;
                }
                None => {}
            }
            if mark.is_end {
                return self.end_of_stream(mark, combined);
            }
            let whole_bytes = mark.bit / 8;
            self.forget(whole_bytes);
            block = Some(mark.bit % 8);
            searched = mark.bit % 8 + MARK_BITS;
        }
    }

    /// The next mark at or after bit `searched`; reads on as needed. `None` at the end.
    fn next_mark(&mut self, searched: &mut usize) -> Result<Option<Mark>, SourceError> {
        loop {
            if let Some(mark) = find_mark(&self.buffer, *searched) {
                return Ok(Some(mark));
            }
            // A mark may begin in the last bytes and end in the next read.
            *searched = (*searched).max((self.buffer.len() * 8).saturating_sub(MARK_BITS - 1));
            if self.ended {
                return Ok(None);
            }
            if self.buffer.len() > BLOCK_BYTES_MAX {
                return Err(SourceError::Fatal {
                    file_position: self.base,
                    what: "no bzip2 block ends where it should".to_owned(),
                });
            }
            self.fill()?;
        }
    }

    fn cut(&mut self, start: usize, end: usize, combined: &mut u32) -> Result<(), Abandoned> {
        let mut bits = BitString::default();
        bits.push_range(&self.buffer, start, end - start);
        let checksum = read_bits(bits.as_bytes(), MARK_BITS, CHECKSUM_BITS).unwrap_or(0);
        *combined = combined.rotate_left(1) ^ u32::try_from(checksum).unwrap_or(0);
        self.send(Piece::Block {
            bits,
            file_position: self.base,
        })
    }

    /// Checks the stream's checksum and takes the stream's end.
    fn end_of_stream(&mut self, mark: Mark, combined: u32) -> Result<bool, Abandoned> {
        let checksum_bit = mark.bit + MARK_BITS;
        let end_bytes = (checksum_bit + CHECKSUM_BITS).div_ceil(8);
        while self.buffer.len() < end_bytes && !self.ended {
            if let Err(error) = self.fill() {
                self.problem(error)?;
                return Ok(false);
            }
        }
        let file_position = self.base + (mark.bit / 8) as u64;
        let Some(expected) = read_bits(&self.buffer, checksum_bit, CHECKSUM_BITS) else {
            self.fatal(
                file_position,
                "the archive ends in a bzip2 stream's last bytes".into(),
            )?;
            return Ok(false);
        };
        if expected != u64::from(combined) {
            let what = "the checksum of a bzip2 stream does not match its blocks".to_owned();
            self.problem(SourceError::Gap {
                file_position,
                what,
            })?;
        }
        self.forget(end_bytes);
        Ok(true)
    }

    fn fill(&mut self) -> Result<(), SourceError> {
        let len_before = self.buffer.len();
        self.buffer.resize(len_before + READ_BYTES, 0);
        let len = loop {
            match self.source.read(&mut self.buffer[len_before..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer
            .truncate(len_before + *len.as_ref().unwrap_or(&0));
        match len {
            Ok(len) => {
                self.ended = len == 0;
                Ok(())
            }
            Err(error) => Err(SourceError::Fatal {
                file_position: self.base + len_before as u64,
                what: format!("the file cannot be read ({error})"),
            }),
        }
    }

    fn forget(&mut self, len_bytes: usize) {
        self.buffer.drain(..len_bytes);
        self.base += len_bytes as u64;
    }

    fn fatal(&mut self, file_position: u64, what: String) -> Result<(), Abandoned> {
        self.problem(SourceError::Fatal {
            file_position,
            what,
        })
    }

    fn problem(&mut self, error: SourceError) -> Result<(), Abandoned> {
        self.send(Piece::Problem(error))
    }

    fn send(&mut self, piece: Piece) -> Result<(), Abandoned> {
        let sent = self.pieces[self.turn].send(piece);
        self.turn = (self.turn + 1) % self.pieces.len();
        sent.map_err(|_| Abandoned)
    }
}

/// Whether the file begins like a bzip2 stream: its head and a mark behind it.
pub(super) fn is_bzip2(head: &[u8]) -> bool {
    matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', ..])
        && matches!(read_bits(head, 32, MARK_BITS), Some(BLOCK_MARK | END_MARK))
}

#[cfg(test)]
mod tests;
