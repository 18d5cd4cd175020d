//! The loop of a thread: events of sockets, mail, ends of waits, keys whose time has come.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use super::connection::{Bench, Connection, Next};
use super::inbox::{Address, Inbox, Message};
use super::listener;
use crate::blocking;
use crate::clients::ClientInfo;
use crate::keyspace::SHARD_COUNT;
use crate::resp::Out;
use crate::session::Session;
use crate::shared::Shared;

const WAKER: Token = Token(usize::MAX);
const LISTENER: Token = Token(usize::MAX - 1);
const EVENTS: usize = 1024;
/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;
/// How often keys that ended are looked for.
const EXPIRY_TICK_MILLIS: u64 = 100;
const EXPIRY_TICK: Duration = Duration::from_millis(EXPIRY_TICK_MILLIS);
/// How often anything is looked at when nothing happens.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// Keys that may end in one tick, so that clients do not wait long.
const EXPIRED_AT_ONCE: usize = 20_000;
/// Time that a stopping loop gives replies that are not durable yet.
const STOP_MILLIS: u64 = 5_000;

/// See the file head.
pub(crate) struct EventLoop {
    number: usize,
    poll: Poll,
    inbox: Arc<Inbox>,
    listener: Option<TcpListener>,
    shared: Arc<Shared>,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    input: Box<[u8]>,
    out: Out,
    /// Ends of waits: the moment, the place, the client.
    deadlines: BTreeSet<(u64, usize, u64)>,
    /// Places whose replies wait to be durable.
    gated: Vec<usize>,
    /// Something has become durable since the gated places were looked at.
    has_news: bool,
    /// Places that have more to read.
    again: Vec<usize>,
    has_more_to_accept: bool,
    next_expiry: u64,
    next_timeout_check: u64,
}

impl EventLoop {
    /// A loop with its inbox; `listener` is given to the first.
    ///
    /// # Errors
    /// When the system has no poll for it.
    pub(crate) fn new(
        number: usize,
        listener: Option<TcpListener>,
        shared: Arc<Shared>,
    ) -> io::Result<EventLoop> {
        let poll = Poll::new()?;
        let waker = mio::Waker::new(poll.registry(), WAKER)?;
        let mut listener = listener;
        if let Some(listener) = &mut listener {
            let registry = poll.registry();
            registry.register(listener, LISTENER, Interest::READABLE)?;
        }
        Ok(EventLoop {
            number,
            poll,
            inbox: Arc::new(Inbox::new(waker)),
            listener,
            shared,
            connections: Vec::new(),
            free: Vec::new(),
            input: vec![0; READ_BYTES].into(),
            out: Out::default(),
            deadlines: BTreeSet::new(),
            gated: Vec::new(),
            has_news: false,
            again: Vec::new(),
            has_more_to_accept: false,
            next_expiry: 0,
            next_timeout_check: 0,
        })
    }

    pub(crate) fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.inbox)
    }

    /// Serves until the server stops.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let mut stop_at = None;
        loop {
            if self.shared.is_stopping.load(Ordering::Acquire) {
                let now = self.shared.now();
                let end = *stop_at.get_or_insert(now + STOP_MILLIS);
                if self.gated.is_empty() || now >= end {
                    return self.close_all();
                }
            }
            match self.poll.poll(&mut events, Some(self.timeout())) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::error!(%error, "an event loop of the Redis server ends");
                    return self.close_all();
                }
            }
            let mut has_mail = false;
            for event in &events {
                match event.token() {
                    WAKER => has_mail = true,
                    LISTENER => self.has_more_to_accept = true,
                    Token(slot) => self.on_event(slot, event),
                }
            }
            for slot in std::mem::take(&mut self.again) {
                self.with(slot, |connection, bench| connection.on_readable(bench));
            }
            if has_mail {
                self.read_mail();
            }
            if self.has_more_to_accept {
                self.accept();
            }
            self.tick();
            if let Some(journal) = self.shared.journal() {
                journal.submit(self.number);
            }
            self.open_gates();
        }
    }

    fn timeout(&self) -> Duration {
        if !self.again.is_empty() || self.has_more_to_accept || self.has_news {
            return Duration::ZERO;
        }
        let expires = self.number == 0
            && self
                .shared
                .read_space()
                .totals
                .has_volatile
                .load(Ordering::Relaxed);
        let tick = if expires { EXPIRY_TICK } else { IDLE_TICK };
        match self.deadlines.first() {
            None => tick,
            Some(&(moment, _, _)) => {
                let left = moment.saturating_sub(self.shared.now());
                tick.min(Duration::from_millis(left))
            }
        }
    }

    fn on_event(&mut self, slot: usize, event: &mio::event::Event) {
        if event.is_error() {
            return self.close(slot);
        }
        if event.is_writable() {
            let has_output = matches!(self.connections.get(slot), Some(Some(_)));
            if has_output {
                self.with(slot, |connection, bench| connection.on_progress(bench));
            }
        }
        if event.is_read_closed() {
            self.with(slot, |connection, bench| connection.on_hang_up(bench));
        } else if event.is_readable() {
            self.with(slot, |connection, bench| connection.on_readable(bench));
        }
    }

    /// Lets a connection work, and does what follows.
    fn with(&mut self, slot: usize, work: impl FnOnce(&mut Connection, &mut Bench<'_>) -> Next) {
        let Some(Some(connection)) = self.connections.get_mut(slot) else {
            return;
        };
        let was_gated = connection.gate().is_some();
        let was_blocked = connection.session.blocked.is_some();
        let mut bench = Bench {
            shared: &self.shared,
            input: &mut self.input,
            out: &mut self.out,
        };
        let next = work(connection, &mut bench);
        let next = match connection.weigh(&self.shared) {
            Next::Close => Next::Close,
            _ => next,
        };
        if connection.gate().is_some() && !was_gated {
            self.gated.push(slot);
        }
        if !was_blocked && let Some((_, Some(moment))) = &connection.session.blocked {
            let id = connection.session.address.id;
            self.deadlines.insert((*moment, slot, id));
        }
        match next {
            Next::Wait => {}
            Next::Again => self.again.push(slot),
            Next::Close => self.close(slot),
        }
    }

    fn accept(&mut self) {
        let mut accepted = Vec::new();
        if let Some(listener) = &self.listener {
            self.has_more_to_accept =
                listener::accept(listener, &self.shared, |stream| accepted.push(stream));
        }
        for stream in accepted {
            self.add(stream);
        }
    }

    /// Takes a connection in.
    fn add(&mut self, mut stream: TcpStream) {
        let address_of = |found: io::Result<std::net::SocketAddr>| {
            found.map_or_else(|_| "?:0".to_owned(), |address| address.to_string())
        };
        let (peer, local) = (
            address_of(stream.peer_addr()),
            address_of(stream.local_addr()),
        );
        // Replies are gathered already: waiting for more of them would only delay.
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let address = Address {
            thread: self.number,
            slot,
            id: self.shared.clients.next_id(),
        };
        let info = ClientInfo::new(address, peer, local, self.shared.now());
        let info = Arc::new(info);
        if !self
            .shared
            .clients
            .add(&info, self.shared.settings.clients_max())
        {
            self.free.push(slot);
            return listener::refuse(stream, &self.shared);
        }
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registered = self
            .poll
            .registry()
            .register(&mut stream, Token(slot), interest);
        if let Err(error) = registered {
            tracing::warn!(%error, "a connection for Redis cannot be watched");
            self.shared.clients.remove(address.id);
            self.free.push(slot);
            return;
        }
        let needs_password = self.shared.settings.password().is_some();
        let session = Session::new(address, info, !needs_password);
        self.connections[slot] = Some(Box::new(Connection::new(stream, session)));
    }

    fn close(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::take) else {
            return;
        };
        let mut connection = connection;
        // Closing the socket takes it out of the poll, too.
        let _ = self.poll.registry().deregister(&mut connection.stream);
        let session = &mut connection.session;
        let address = session.address;
        let (channels, patterns) = (&session.channels, &session.patterns);
        self.shared.channels.leave(channels, patterns, address);
        self.shared.clients.hold(&session.info, 0);
        self.shared.clients.remove(address.id);
        if session.watch.is_some() {
            session.unwatch(&self.shared.write_space());
        }
        if let Some((waiter, deadline)) = session.blocked.take() {
            blocking::cancel(&mut self.shared.write_space(), &waiter);
            if let Some(moment) = deadline {
                self.deadlines.remove(&(moment, slot, address.id));
            }
        }
        self.free.push(slot);
    }

    fn close_all(&mut self) {
        for slot in 0..self.connections.len() {
            self.close(slot);
        }
    }

    fn read_mail(&mut self) {
        let mail = self.inbox.take();
        for stream in mail.connections {
            self.add(stream);
        }
        for (address, message) in mail.messages {
            let slot = address.slot;
            let is_there = self.connections.get(slot).is_some_and(|connection| {
                let id = connection.as_ref().map(|c| c.session.address.id);
                id == Some(address.id)
            });
            if !is_there {
                continue;
            }
            match message {
                Message::Published(bytes) => {
                    self.with(slot, |connection, bench| connection.deliver(&bytes, bench));
                }
                Message::Served(bytes) => self.end_wait(slot, &bytes),
                Message::Unblock { with_error } => self.unblock(slot, with_error),
                Message::Close => self.close(slot),
            }
        }
    }

    /// Ends the wait of a client with this reply.
    fn end_wait(&mut self, slot: usize, reply: &[u8]) {
        let Some(Some(connection)) = self.connections.get_mut(slot) else {
            return;
        };
        if let Some((_, Some(moment))) = connection.session.blocked.take() {
            let id = connection.session.address.id;
            self.deadlines.remove(&(moment, slot, id));
        }
        connection.session.note();
        self.with(slot, |connection, bench| connection.deliver(reply, bench));
    }

    /// Ends the wait of a client that nobody has served.
    fn unblock(&mut self, slot: usize, with_error: bool) {
        let Some(Some(connection)) = self.connections.get_mut(slot) else {
            return;
        };
        let Some((waiter, _)) = &connection.session.blocked else {
            return;
        };
        let waiter = Arc::clone(waiter);
        if waiter.is_done() || !blocking::cancel(&mut self.shared.write_space(), &waiter) {
            // The reply is on its way.
            return;
        }
        let mut out = Out::unlimited(connection.session.is_resp3);
        match with_error {
            true => out.error("UNBLOCKED client unblocked via CLIENT UNBLOCK"),
            false => waiter.reply_of_timeout(&mut out),
        }
        self.end_wait(slot, &out.bytes);
    }

    /// What time brings.
    fn tick(&mut self) {
        let now = self.shared.now();
        while let Some(&(moment, slot, _)) = self.deadlines.first()
            && moment <= now
        {
            self.deadlines.pop_first();
            self.unblock(slot, false);
        }
        if self.number == 0 && now >= self.next_expiry {
            self.next_expiry = now + EXPIRY_TICK_MILLIS;
            self.expire(now);
            // Descriptors may be free again.
            self.has_more_to_accept = self.listener.is_some();
        }
        if now >= self.next_timeout_check {
            self.next_timeout_check = now + 1000;
            self.close_idle(now);
        }
    }

    /// Removes keys whose time has come.
    fn expire(&self, now: u64) {
        let space = self.shared.read_space();
        if !space.totals.has_volatile.swap(false, Ordering::Relaxed) {
            return;
        }
        let (mut count, mut has_volatile) = (0, false);
        for position in 0..SHARD_COUNT {
            let mut shard = space.lock_at(position);
            count += shard.expire_due(now, EXPIRED_AT_ONCE.saturating_sub(count));
            has_volatile |= shard.has_volatile();
            if !shard.dirty.is_empty() {
                self.shared.record(&mut shard, &space.stored_as);
            }
        }
        if has_volatile {
            space.totals.has_volatile.store(true, Ordering::Relaxed);
        }
    }

    /// Closes connections that were silent for longer than the setting `timeout`.
    fn close_idle(&mut self, now: u64) {
        let seconds = self.shared.settings.timeout_seconds();
        if seconds == 0 {
            return;
        }
        for slot in 0..self.connections.len() {
            let Some(connection) = &self.connections[slot] else {
                continue;
            };
            let session = &connection.session;
            let last = session.info.last_used.load(Ordering::Relaxed);
            let is_idle = now.saturating_sub(last) / 1000 >= seconds;
            if is_idle && session.blocked.is_none() && session.subscriptions() == 0 {
                self.close(slot);
            }
        }
    }

    /// Lets replies leave whose changes have become durable.
    fn open_gates(&mut self) {
        let Some(journal) = self.shared.journal() else {
            return;
        };
        let (durable, is_failed) = (journal.durable(), journal.is_failed());
        for slot in std::mem::take(&mut self.gated) {
            let Some(Some(connection)) = self.connections.get(slot) else {
                continue;
            };
            match connection.gate() {
                None => {}
                Some(gate) if gate > durable && !is_failed => self.gated.push(slot),
                Some(_) => {
                    self.with(slot, |connection, bench| connection.on_progress(bench));
                    // It may wait for the next group already.
                    if let Some(Some(connection)) = self.connections.get(slot)
                        && connection.gate().is_some()
                        && !self.gated.contains(&slot)
                    {
                        self.gated.push(slot);
                    }
                }
            }
        }
        // What a freed connection ran has to reach storage before the loop waits.
        if let Some(journal) = self.shared.journal() {
            journal.submit(self.number);
            if !self.gated.is_empty() {
                self.inbox.want_news();
            }
            let has_failed_since = journal.is_failed() && !is_failed;
            let is_news = journal.durable() > durable || has_failed_since;
            self.has_news = is_news && !self.gated.is_empty();
        }
    }
}
