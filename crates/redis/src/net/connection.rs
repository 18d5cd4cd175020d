//! A connection: its socket, what came and was not run, what was answered and not written.
//!
//! Invariants:
//! - Replies leave in the order of the commands, and not before what they rest on is durable.
//! - While a client waits for keys, or for its replies to be durable or read, nothing more of it is
//!   run: its bytes wait in the socket.
//! - What connections hold is counted, and has a limit for all of them: beyond it, the one that
//!   holds most is closed, so that one client cannot push the others out.

use std::io::{self, Read, Write};
use std::sync::atomic::Ordering;

use mio::net::TcpStream;
use smallvec::SmallVec;

use super::inbox::Message;
use super::web;
use crate::commands::Batch;
use crate::keyspace::WARMED_AT_ONCE;
use crate::resp::{Out, ParserLimits, RequestParser};
use crate::session::Session;
use crate::shared::Shared;

/// Replies that may wait before no more commands of the client are run.
const OUTPUT_PAUSE_BYTES: usize = 1 << 20;
/// A buffer that grew beyond this is given back when it is empty: thousands may be connected.
const KEPT_BYTES: usize = 4 << 10;
/// From this length of what came on, the keys of its commands are brought near before they are
/// run. Only where no other loop wants the space, which is held alone for it.
const WARMED_BYTES_MIN: usize = 128;
/// Reads of one connection before others have their turn.
const READS_AT_ONCE: usize = 16;

/// What a client is told that holds most when all hold too much.
const TOO_MUCH: &[u8] = b"-ERR commands and replies of all clients take the memory there is for \
    them (maxmemory-clients), and this one takes most: send smaller ones, or try again later\r\n";
/// What a client is told whose reply is too long, or that asked for too many at once.
const TOO_LONG: &str = "ERR the reply takes more than half of the memory that commands and replies \
    of all clients may take (maxmemory-clients): the command was carried out; ask for less at once";

/// What a loop lends to the connection it serves.
pub(super) struct Bench<'a> {
    pub(super) shared: &'a Shared,
    /// What a read fills.
    pub(super) input: &'a mut [u8],
    /// Replies of the batch that runs.
    pub(super) out: &'a mut Out,
}

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing to do before something happens.
    Wait,
    /// More may be in the socket: come back after the others.
    Again,
    Close,
}

/// See the file head.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) session: Session,
    parser: RequestParser,
    /// Bytes from the start of the first command that was not run.
    input: Vec<u8>,
    /// Commands in `input` wait behind a pause: no news of the socket will tell of them.
    has_commands: bool,
    output: Vec<u8>,
    written: usize,
    /// The group of the journal that has to be durable before `output` may leave.
    gate: Option<u64>,
    /// The socket may have more to read.
    is_readable: bool,
    /// The other side has finished sending, and all of it was read.
    is_ended: bool,
    /// The other side has finished sending.
    has_hung_up: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, session: Session) -> Connection {
        Connection {
            stream,
            session,
            parser: RequestParser::default(),
            input: Vec::new(),
            has_commands: false,
            output: Vec::new(),
            written: 0,
            gate: None,
            is_readable: false,
            is_ended: false,
            has_hung_up: false,
        }
    }

    /// The socket has something to read.
    pub(super) fn on_readable(&mut self, bench: &mut Bench<'_>) -> Next {
        self.is_readable = true;
        self.serve(bench)
    }

    /// The other side has finished sending. Who waits for keys is gone then.
    pub(super) fn on_hang_up(&mut self, bench: &mut Bench<'_>) -> Next {
        self.has_hung_up = true;
        match self.on_readable(bench) {
            _ if self.session.blocked.is_some() => Next::Close,
            next => next,
        }
    }

    /// The socket takes bytes again, or what was written is durable.
    pub(super) fn on_progress(&mut self, bench: &mut Bench<'_>) -> Next {
        if self.write(bench.shared).is_err() {
            return Next::Close;
        }
        self.serve(bench)
    }

    /// Something to write that answers no command, or one that waited.
    pub(super) fn deliver(&mut self, bytes: &[u8], bench: &mut Bench<'_>) -> Next {
        self.output.extend_from_slice(bytes);
        let waiting = self.output.len() - self.written;
        let is_listener = self.session.subscriptions() > 0;
        if waiting > bench.shared.settings.output_bytes_max(is_listener) {
            return Next::Close;
        }
        self.gate = bench.shared.journal().and_then(|journal| journal.gate());
        self.on_progress(bench)
    }

    /// The group that replies wait for.
    pub(super) fn gate(&self) -> Option<u64> {
        self.gate
    }

    /// Counts what the connection holds by now. When all of them hold too much, those that hold
    /// most are closed, which may be this one.
    pub(super) fn weigh(&mut self, shared: &Shared) -> Next {
        let (clients, info) = (&shared.clients, &self.session.info);
        if info.is_evicted.load(Ordering::Relaxed) {
            return Next::Close;
        }
        let held = self.input.capacity() + self.output.capacity() + self.session.held_bytes();
        clients.hold(info, held);
        while clients.held_bytes() > shared.settings.clients_bytes_max() {
            match clients.evict_largest() {
                Some(largest) if largest.address == info.address => {
                    if self.output.is_empty() && self.gate.is_none() {
                        // Whether the client hears of it or not, it is closed.
                        drop(write_some(&mut self.stream, TOO_MUCH));
                    }
                    return Next::Close;
                }
                Some(largest) => shared.send(largest.address, Message::Close),
                None => break,
            }
        }
        Next::Wait
    }

    /// Runs what came, reads more, until nothing is left or the client has to wait.
    fn serve(&mut self, bench: &mut Bench<'_>) -> Next {
        for _ in 0..READS_AT_ONCE {
            if self.session.is_closing && self.output.is_empty() {
                return Next::Close;
            }
            if self.is_paused() {
                return Next::Wait;
            }
            if self.has_commands {
                // What came before a pause is run first.
                let input = std::mem::take(&mut self.input);
                let run = self.run(&input, bench);
                self.keep(input, run);
                if self.finish(bench).is_err() {
                    return Next::Close;
                }
                continue;
            }
            if !self.is_readable {
                // Who has finished sending may still read.
                return match self.is_ended && self.output.is_empty() {
                    true => Next::Close,
                    false => Next::Wait,
                };
            }
            let len = match self.stream.read(bench.input) {
                Ok(0) => {
                    self.is_ended = true;
                    self.is_readable = false;
                    continue;
                }
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_readable = false;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Next::Close,
            };
            // A short read has emptied the socket; the next bytes tell of themselves.
            self.is_readable = len == bench.input.len() || self.has_hung_up;
            bench.shared.bytes_in.add(len as u64);
            self.take_in(len, bench);
            if self.finish(bench).is_err() {
                return Next::Close;
            }
        }
        Next::Again
    }

    /// Runs what a read brought.
    fn take_in(&mut self, len: usize, bench: &mut Bench<'_>) {
        if self.input.is_empty() {
            // Most reads bring whole commands: they are run where they are.
            let read = std::mem::take(&mut bench.input);
            let run = self.run(&read[..len], bench);
            if run < len && !self.session.is_closing {
                self.input.extend_from_slice(&read[run..len]);
            }
            bench.input = read;
        } else {
            let mut input = std::mem::take(&mut self.input);
            let wanted = self.parser.bytes_wanted(input.len());
            if wanted > len && wanted > input.capacity() - input.len() {
                // Twice what is there at most: announced lengths alone take no memory.
                input.reserve(wanted.min(input.len().max(KEPT_BYTES)));
            }
            input.extend_from_slice(&bench.input[..len]);
            let run = self.run(&input, bench);
            self.keep(input, run);
        }
    }

    /// Keeps what was not run of the input.
    fn keep(&mut self, mut input: Vec<u8>, run: usize) {
        if self.session.is_closing {
            return;
        }
        if run == input.len() {
            input.clear();
            if input.capacity() > KEPT_BYTES {
                input = Vec::new();
            }
        } else if run > 0 {
            input.drain(..run);
        }
        self.input = input;
    }

    /// Runs the commands that are complete; gives the length of what was run.
    fn run(&mut self, input: &[u8], bench: &mut Bench<'_>) -> usize {
        let shared = bench.shared;
        let mut limits = shared.settings.parser_limits();
        if !self.session.is_authenticated {
            limits = limits.unauthenticated();
        }
        let out = &mut *bench.out;
        out.begin(self.session.is_resp3, shared.settings.reply_bytes_max());
        let mut batch = Batch::new(shared);
        let mut at = 0;
        let is_warming = shared.thread_count() == 1 && input.len() >= WARMED_BYTES_MIN;
        let mut warm_to = if is_warming { 0 } else { input.len() };
        self.has_commands = false;
        while at < input.len() {
            // A command that comes in pieces would be read from its start each time.
            if at >= warm_to && !self.parser.is_within_command() {
                batch.release();
                warm_to = at + self.warm(&input[at..], &limits, shared);
            }
            let was_authenticated = self.session.is_authenticated;
            match self.parser.read(&input[at..], &limits) {
                Ok(Some(len)) => {
                    let args = self.parser.arguments(&input[at..]);
                    let is_line = input[at] != b'*';
                    at += len;
                    if args.is_empty() {
                        continue;
                    }
                    if web::is_request(&args, is_line) {
                        web::warn(&self.session.info);
                        self.session.is_closing = true;
                        break;
                    }
                    let mark = out.bytes.len();
                    batch.run(&args, &mut self.session, out);
                    if out.is_over() {
                        out.cut(mark, TOO_LONG);
                        self.session.is_closing = true;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    out.error(&format!("ERR {error}"));
                    self.session.is_closing = true;
                    break;
                }
            }
            if self.session.is_authenticated != was_authenticated {
                limits = shared.settings.parser_limits();
            }
            let is_full = out.bytes.len() > OUTPUT_PAUSE_BYTES;
            if self.session.is_closing || self.session.blocked.is_some() || is_full {
                self.has_commands = at < input.len();
                break;
            }
        }
        if batch.count > 0 {
            let info = &self.session.info;
            info.last_used.store(shared.now(), Ordering::Relaxed);
            self.session.note();
        }
        at
    }

    /// Brings the keys of the next commands near, as far as their first arguments are keys; gives
    /// the length of these commands.
    fn warm(&self, input: &[u8], limits: &ParserLimits, shared: &Shared) -> usize {
        let mut space = shared.write_space();
        let mut hashes: SmallVec<[u64; WARMED_AT_ONCE]> = SmallVec::new();
        let mut at = 0;
        let mut parser = RequestParser::default();
        while hashes.len() < WARMED_AT_ONCE && at < input.len() {
            match parser.read(&input[at..], limits) {
                Ok(Some(len)) => {
                    if let Some(key) = parser.argument(&input[at..], 1) {
                        hashes.push(space.key(0, key).hash);
                    }
                    at += len;
                }
                _ => {
                    at = input.len();
                    break;
                }
            }
        }
        space.warm(self.session.database, &hashes);
        at
    }

    /// Writes the replies of a batch, or keeps them until they may leave.
    fn finish(&mut self, bench: &mut Bench<'_>) -> io::Result<()> {
        if let Some(journal) = bench.shared.journal() {
            self.gate = journal.gate();
        }
        if self.output.is_empty() && bench.out.bytes.len() > OUTPUT_PAUSE_BYTES {
            // A long reply is not copied, because it would be there twice.
            self.output = std::mem::take(&mut bench.out.bytes);
            self.write(bench.shared)?;
        } else if self.output.is_empty() && self.gate.is_none() {
            let replies = &bench.out.bytes;
            let written = write_some(&mut self.stream, replies)?;
            bench.shared.bytes_out.add(written as u64);
            self.output.extend_from_slice(&replies[written..]);
        } else {
            self.output.extend_from_slice(&bench.out.bytes);
            self.write(bench.shared)?;
        }
        bench.out.bytes.clear();
        if bench.out.bytes.capacity() > 4 * OUTPUT_PAUSE_BYTES {
            bench.out.bytes = Vec::new();
        }
        let waiting = self.output.len() - self.written;
        if waiting > bench.shared.settings.output_bytes_max(false) {
            return Err(io::Error::other("too many replies wait for the client"));
        }
        Ok(())
    }

    /// Writes what may leave.
    fn write(&mut self, shared: &Shared) -> io::Result<()> {
        if let (Some(gate), Some(journal)) = (self.gate, shared.journal()) {
            if journal.is_failed() && journal.durable() < gate {
                return Err(io::Error::other("the outcome of a write is unknown"));
            }
            if journal.durable() < gate {
                return Ok(());
            }
            self.gate = None;
        }
        let written = write_some(&mut self.stream, &self.output[self.written..])?;
        shared.bytes_out.add(written as u64);
        self.written += written;
        if self.written == self.output.len() {
            self.written = 0;
            self.output.clear();
            if self.output.capacity() > KEPT_BYTES {
                self.output = Vec::new();
            }
        }
        Ok(())
    }

    fn is_paused(&self) -> bool {
        self.gate.is_some()
            || self.session.blocked.is_some()
            || self.session.is_closing
            || self.output.len() - self.written > OUTPUT_PAUSE_BYTES
    }
}

/// Writes until the socket takes no more; gives how much.
fn write_some(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(len) => written += len,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}
