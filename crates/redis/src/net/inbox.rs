//! What others have for the connections of a loop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mio::net::TcpStream;

/// A connection: its loop, its place there, and the number of its client, which is never used
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) thread: usize,
    pub(crate) slot: usize,
    pub(crate) id: u64,
}

/// Something for a connection.
#[derive(Debug)]
pub(crate) enum Message {
    /// A message of a channel.
    Published(Arc<[u8]>),
    /// The reply of a command that waited.
    Served(Vec<u8>),
    /// The wait is to end without one.
    Unblock {
        with_error: bool,
    },
    Close,
}

#[derive(Default)]
pub(super) struct Mail {
    pub(super) messages: Vec<(Address, Message)>,
    pub(super) connections: Vec<TcpStream>,
    is_awake: bool,
}

/// See the file head.
pub(crate) struct Inbox {
    mail: Mutex<Mail>,
    waker: mio::Waker,
    /// The loop waits for changes to become durable.
    wants_news: AtomicBool,
}

impl Inbox {
    pub(super) fn new(waker: mio::Waker) -> Inbox {
        Inbox {
            mail: Mutex::default(),
            waker,
            wants_news: AtomicBool::new(false),
        }
    }

    /// Asks to be woken by the next change that becomes durable. Who asks looks again whether one
    /// has, before it waits.
    pub(super) fn want_news(&self) {
        self.wants_news.store(true, Ordering::SeqCst);
    }

    /// Whether that was asked for; not any more from now on.
    pub(crate) fn takes_news(&self) -> bool {
        self.wants_news.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn send(&self, address: Address, message: Message) {
        self.put(|mail| mail.messages.push((address, message)));
    }

    pub(super) fn send_connection(&self, stream: TcpStream) {
        self.put(|mail| mail.connections.push(stream));
    }

    /// Lets the loop look at what is durable, or at whether it has to stop.
    pub(crate) fn wake(&self) {
        self.put(|_| {});
    }

    fn put(&self, put: impl FnOnce(&mut Mail)) {
        let mut mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        put(&mut mail);
        let is_first = !std::mem::replace(&mut mail.is_awake, true);
        drop(mail);
        if is_first && let Err(error) = self.waker.wake() {
            tracing::error!(%error, "an event loop of the Redis server cannot be woken");
        }
    }

    pub(super) fn take(&self) -> Mail {
        std::mem::take(&mut *self.mail.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
