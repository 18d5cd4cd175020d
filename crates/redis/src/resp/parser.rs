//! Requests, read in place: a command is ranges of the bytes that came from the socket.
//!
//! Called by `net::connection` with everything received since the start of the command. The parser
//! keeps how far it came, so a command that arrives in many pieces is read once.
//!
//! Invariants:
//! - Nothing is allocated for a length that a client merely announces: arguments take memory as
//!   they arrive, and lengths over the limits are refused at their own line.
//! - After an error the connection has to be closed: the stream has no next command.

use smallvec::SmallVec;

use super::inline;

/// Longest line: an inline command, or the line of a length.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024;
/// Arguments that a command may have before the password was given.
const ARGUMENTS_MAX_UNAUTHENTICATED: i64 = 10;
/// Length of an argument before the password was given.
const BULK_BYTES_MAX_UNAUTHENTICATED: i64 = 16 * 1024;
/// Ranges kept between commands; more are given back.
const KEPT_RANGES: usize = 1024;

/// What a client may send.
#[derive(Clone, Copy, Debug)]
pub struct ParserLimits {
    /// Most arguments of a command.
    pub arguments_max: i64,
    /// Longest argument in bytes.
    pub bulk_bytes_max: i64,
    /// Longest command in bytes, everything together; under 4 GiB.
    pub command_bytes_max: usize,
}

impl ParserLimits {
    /// Limits for clients that did not give the password yet.
    #[must_use]
    pub fn unauthenticated(self) -> ParserLimits {
        ParserLimits {
            arguments_max: self.arguments_max.min(ARGUMENTS_MAX_UNAUTHENTICATED),
            bulk_bytes_max: self.bulk_bytes_max.min(BULK_BYTES_MAX_UNAUTHENTICATED),
            command_bytes_max: self.command_bytes_max.min(4 * LINE_BYTES_MAX),
        }
    }

    fn are_unauthenticated(&self) -> bool {
        self.arguments_max <= ARGUMENTS_MAX_UNAUTHENTICATED
    }
}

/// Why a stream of bytes is not the protocol. The texts are the ones that Redis answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The number of arguments is none, or over the limit.
    #[error("Protocol error: invalid multibulk length")]
    ArgumentCount,
    /// The same before the password was given.
    #[error("Protocol error: unauthenticated multibulk length")]
    ArgumentCountUnauthenticated,
    /// The length of an argument is none, or over the limit.
    #[error("Protocol error: invalid bulk length")]
    BulkLength,
    /// The same before the password was given.
    #[error("Protocol error: unauthenticated bulk length")]
    BulkLengthUnauthenticated,
    /// An argument does not begin with `$`.
    #[error("Protocol error: expected '$', got '{}'", char::from(*.0).escape_default())]
    ExpectedBulk(u8),
    /// The line of a length does not end.
    #[error("Protocol error: too big mbulk count string")]
    LengthLine,
    /// An inline command does not end.
    #[error("Protocol error: too big inline request")]
    InlineLength,
    /// An inline command has a quotation mark too few.
    #[error("Protocol error: unbalanced quotes in request")]
    Quotes,
    /// The command as a whole is over the limit.
    #[error("Protocol error: too big request")]
    CommandLength,
}

/// Reads commands; see the file head.
#[derive(Debug, Default)]
pub struct RequestParser {
    /// Where each argument lies in the input, or in `inline`.
    ranges: Vec<(u32, u32)>,
    /// Bytes of the input that were read.
    at: usize,
    /// Arguments still to come; `None` before the first line.
    missing: Option<i64>,
    /// Length of the argument whose line was read.
    bulk: Option<usize>,
    inline: Vec<u8>,
    is_inline: bool,
    is_complete: bool,
}

impl RequestParser {
    /// Reads on in `input`, which begins where the command begins. Gives the length of the command
    /// when it is complete (its arguments are then in [`RequestParser::arguments`], none for an
    /// empty line), and `None` while bytes are missing.
    ///
    /// # Errors
    /// See [`ProtocolError`]; the connection has to be closed.
    #[inline]
    pub fn read(
        &mut self,
        input: &[u8],
        limits: &ParserLimits,
    ) -> Result<Option<usize>, ProtocolError> {
        if self.is_complete {
            self.reset();
        }
        if self.missing.is_none() {
            match input.first() {
                None => return Ok(None),
                Some(b'*') => {}
                Some(_) => return self.read_inline(input),
            }
            let Some((count, next)) = length_line(input, 1, ProtocolError::ArgumentCount)? else {
                return Ok(None);
            };
            if count > limits.arguments_max {
                return Err(match limits.are_unauthenticated() {
                    true => ProtocolError::ArgumentCountUnauthenticated,
                    false => ProtocolError::ArgumentCount,
                });
            }
            self.at = next;
            self.missing = Some(count);
        }
        while let Some(missing) = self.missing
            && missing > 0
        {
            if !self.read_bulk(input, limits)? {
                return Ok(None);
            }
            self.missing = Some(missing - 1);
        }
        self.is_complete = true;
        Ok(Some(self.at))
    }

    /// The arguments of the command that was read last; `input` begins where it begins.
    #[inline]
    #[must_use]
    pub fn arguments<'a>(&'a self, input: &'a [u8]) -> SmallVec<[&'a [u8]; 8]> {
        let source = if self.is_inline { &self.inline } else { input };
        let slice = |&(start, end): &(u32, u32)| &source[start as usize..end as usize];
        self.ranges.iter().map(slice).collect()
    }

    /// One of these arguments, without a list of all.
    #[inline]
    #[must_use]
    pub fn argument<'a>(&'a self, input: &'a [u8], position: usize) -> Option<&'a [u8]> {
        let source = if self.is_inline { &self.inline } else { input };
        let &(start, end) = self.ranges.get(position)?;
        source.get(start as usize..end as usize)
    }

    /// Whether a part of a command was read: [`RequestParser::read`] goes on behind it.
    #[inline]
    #[must_use]
    pub fn is_within_command(&self) -> bool {
        self.missing.is_some() && !self.is_complete
    }

    /// Bytes that the command needs at least beyond those seen; a hint for the buffer.
    #[must_use]
    pub fn bytes_wanted(&self, seen: usize) -> usize {
        let end = self.bulk.map_or(0, |length| self.at + length + 2);
        end.saturating_sub(seen)
    }

    fn reset(&mut self) {
        self.ranges.clear();
        if self.ranges.capacity() > KEPT_RANGES {
            self.ranges = Vec::new();
        }
        self.at = 0;
        self.missing = None;
        self.bulk = None;
        self.is_inline = false;
        self.is_complete = false;
    }

    /// Reads an argument; `false` while bytes are missing.
    #[inline]
    fn read_bulk(&mut self, input: &[u8], limits: &ParserLimits) -> Result<bool, ProtocolError> {
        let length = match self.bulk {
            Some(length) => length,
            None => {
                match input.get(self.at) {
                    None => return Ok(false),
                    Some(b'$') => {}
                    Some(&other) => return Err(ProtocolError::ExpectedBulk(other)),
                }
                let line = length_line(input, self.at + 1, ProtocolError::BulkLength)?;
                let Some((length, next)) = line else {
                    return Ok(false);
                };
                let length = match usize::try_from(length) {
                    Ok(usable) if length <= limits.bulk_bytes_max => usable,
                    Ok(_) if limits.are_unauthenticated() => {
                        return Err(ProtocolError::BulkLengthUnauthenticated);
                    }
                    _ => return Err(ProtocolError::BulkLength),
                };
                if next.saturating_add(length) > limits.command_bytes_max {
                    return Err(ProtocolError::CommandLength);
                }
                self.at = next;
                self.bulk = Some(length);
                length
            }
        };
        let end = self.at + length;
        if input.len() < end + 2 {
            return Ok(false);
        }
        self.ranges.push(range(self.at, end)?);
        self.at = end + 2;
        self.bulk = None;
        Ok(true)
    }

    fn read_inline(&mut self, input: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let Some(end) = memchr::memchr(b'\n', input) else {
            return match input.len() > LINE_BYTES_MAX {
                true => Err(ProtocolError::InlineLength),
                false => Ok(None),
            };
        };
        if end > LINE_BYTES_MAX {
            return Err(ProtocolError::InlineLength);
        }
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        self.inline.clear();
        inline::split(line, &mut self.inline, &mut self.ranges)?;
        self.is_inline = true;
        self.is_complete = true;
        Ok(Some(end + 1))
    }
}

/// A range of a command; commands are shorter than 4 GiB.
pub(super) fn range(start: usize, end: usize) -> Result<(u32, u32), ProtocolError> {
    let short = |at: usize| u32::try_from(at).map_err(|_| ProtocolError::CommandLength);
    Ok((short(start)?, short(end)?))
}

/// The number in the line that starts at `at`, and where the next line starts; `None` while the
/// line has no end.
#[inline]
fn length_line(
    input: &[u8],
    at: usize,
    invalid: ProtocolError,
) -> Result<Option<(i64, usize)>, ProtocolError> {
    let mut position = at;
    let mut number = 0_i64;
    let is_negative = input.get(position) == Some(&b'-');
    position += usize::from(is_negative);
    let digits_start = position;
    loop {
        match input.get(position) {
            None => {
                // Digits over this length were refused below.
                return Ok(None);
            }
            Some(&digit @ b'0'..=b'9') => {
                let next = number.checked_mul(10);
                let next = next.and_then(|n| n.checked_add(i64::from(digit - b'0')));
                number = next.ok_or(invalid)?;
                if position - digits_start > 32 {
                    return Err(ProtocolError::LengthLine);
                }
                position += 1;
            }
            Some(b'\r') if position > digits_start => break,
            Some(_) => return Err(invalid),
        }
    }
    // The line feed behind the carriage return is skipped unseen, as Redis does.
    if input.len() < position + 2 {
        return Ok(None);
    }
    let number = if is_negative { -number } else { number };
    Ok(Some((number, position + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ParserLimits = ParserLimits {
        arguments_max: 1024,
        bulk_bytes_max: 1000,
        command_bytes_max: 5000,
    };

    type Read = Result<Option<(usize, Vec<Vec<u8>>)>, ProtocolError>;

    fn read(input: &[u8]) -> Read {
        let mut parser = RequestParser::default();
        let Some(length) = parser.read(input, &LIMITS)? else {
            return Ok(None);
        };
        let arguments = parser.arguments(input);
        Ok(Some((
            length,
            arguments.iter().map(|a| a.to_vec()).collect(),
        )))
    }

    fn words(words: &[&str]) -> Vec<Vec<u8>> {
        words.iter().map(|w| w.as_bytes().to_vec()).collect()
    }

    #[test]
    fn commands_are_ranges_of_the_input() {
        let input = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\nrest";
        assert_eq!(read(input), Ok(Some((30, words(&["SET", "k", "a\r\nb"])))));
        assert_eq!(read(b"*0\r\n"), Ok(Some((4, vec![]))));
        assert_eq!(read(b"*-1\r\n"), Ok(Some((5, vec![]))));
        assert_eq!(read(b"\r\n"), Ok(Some((2, vec![]))));
        assert_eq!(
            read(b"set k \"a \\x41\\n\" 'b'\r\n"),
            Ok(Some((22, words(&["set", "k", "a A\n", "b"]))))
        );
    }

    #[test]
    fn a_command_in_pieces_is_read_once_it_is_whole() {
        let input = b"*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n";
        let mut parser = RequestParser::default();
        for end in 0..input.len() {
            assert_eq!(parser.read(&input[..end], &LIMITS), Ok(None), "{end}");
        }
        assert_eq!(parser.read(input, &LIMITS), Ok(Some(input.len())));
        assert_eq!(&parser.arguments(input)[..], [b"ECHO".as_slice(), b"hello"]);
    }

    #[test]
    fn lengths_over_the_limits_are_refused_at_their_line() {
        let cases: [(&[u8], ProtocolError); 11] = [
            (b"*1025\r\n", ProtocolError::ArgumentCount),
            (b"*99999999999999999999\r\n", ProtocolError::ArgumentCount),
            (b"*x\r\n", ProtocolError::ArgumentCount),
            (b"*\r\n", ProtocolError::ArgumentCount),
            (b"*1\r\n$1001\r\n", ProtocolError::BulkLength),
            (b"*1\r\n$-1\r\n", ProtocolError::BulkLength),
            (b"*1\r\n$1x\r\n", ProtocolError::BulkLength),
            (b"*1\r\n:1\r\n", ProtocolError::ExpectedBulk(b':')),
            (
                b"*00000000000000000000000000000000000",
                ProtocolError::LengthLine,
            ),
            (b"get \"k\r\n", ProtocolError::Quotes),
            (b"get \"k\"x\r\n", ProtocolError::Quotes),
        ];
        for (input, expected) in cases {
            assert_eq!(read(input), Err(expected), "{}", input.escape_ascii());
        }
        let long = vec![b'a'; LINE_BYTES_MAX + 2];
        assert_eq!(read(&long), Err(ProtocolError::InlineLength));
        let mut many = b"*10\r\n".to_vec();
        for _ in 0..5 {
            many.extend_from_slice(b"$1000\r\n");
            many.extend_from_slice(&[b'v'; 1000]);
            many.extend_from_slice(b"\r\n");
        }
        assert_eq!(read(&many), Err(ProtocolError::CommandLength));
    }

    #[test]
    fn without_the_password_little_is_read() {
        let limits = LIMITS.unauthenticated();
        let mut parser = RequestParser::default();
        assert_eq!(
            parser.read(b"*11\r\n", &limits),
            Err(ProtocolError::ArgumentCountUnauthenticated)
        );
        let roomy = ParserLimits {
            bulk_bytes_max: 1 << 30,
            ..LIMITS
        };
        let mut parser = RequestParser::default();
        assert_eq!(
            parser.read(b"*1\r\n$16385\r\n", &roomy.unauthenticated()),
            Err(ProtocolError::BulkLengthUnauthenticated)
        );
    }

    #[test]
    fn announced_lengths_take_no_memory() {
        let mut parser = RequestParser::default();
        let limits = ParserLimits {
            arguments_max: 1 << 40,
            bulk_bytes_max: 1 << 30,
            command_bytes_max: 1 << 31,
        };
        assert_eq!(
            parser.read(b"*1048576\r\n$536870912\r\nx", &limits),
            Ok(None)
        );
        assert!(parser.ranges.capacity() <= 4);
        assert_eq!(parser.bytes_wanted(23), 536_870_913);
    }
}
