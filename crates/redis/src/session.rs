//! What the server knows of a client between two commands.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::blocking::Waiter;
use crate::clients::ClientInfo;
use crate::commands::Spec;
use crate::keyspace::{Space, WatchFlag};
use crate::net::Address;
use crate::value::Bytes;

/// A command that waits for EXEC.
pub(crate) struct Queued {
    pub(crate) spec: &'static Spec,
    pub(crate) args: Vec<Bytes>,
}

/// A transaction that is being collected.
#[derive(Default)]
pub(crate) struct Transaction {
    pub(crate) commands: Vec<Queued>,
    /// Bytes of its commands, which are limited like one command.
    pub(crate) bytes: usize,
    /// A command was refused, so EXEC will be.
    pub(crate) is_refused: bool,
}

/// Keys that a client watches.
pub(crate) struct Watch {
    pub(crate) flag: WatchFlag,
    pub(crate) keys: Vec<(u16, Bytes)>,
    /// Memory that the keys take, here and in their shards.
    pub(crate) bytes: usize,
}

/// Memory that a name takes which a client watches or listens to, beside its bytes: an entry here,
/// and one where those who change it look.
const NAME_BYTES: usize = 128;

/// Memory that a name takes which a client watches or listens to.
pub(crate) fn name_bytes(name: &[u8]) -> usize {
    2 * name.len() + NAME_BYTES
}

/// Which replies a client wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReplyMode {
    #[default]
    On,
    Off,
    /// Not the one of the next command.
    SkipNext,
}

/// See the file head.
pub(crate) struct Session {
    pub(crate) address: Address,
    pub(crate) info: Arc<ClientInfo>,
    pub(crate) database: u16,
    pub(crate) is_authenticated: bool,
    pub(crate) is_resp3: bool,
    pub(crate) transaction: Option<Transaction>,
    pub(crate) is_in_exec: bool,
    pub(crate) watch: Option<Watch>,
    pub(crate) channels: BTreeSet<Bytes>,
    pub(crate) patterns: BTreeSet<Bytes>,
    /// Memory that channels and patterns take.
    pub(crate) listening_bytes: usize,
    pub(crate) reply_mode: ReplyMode,
    /// Its last command, by its position among all.
    pub(crate) last_command: Option<usize>,
    /// Waits for keys, until the moment if there is one.
    pub(crate) blocked: Option<(Arc<Waiter>, Option<u64>)>,
    /// Close the connection when the replies so far are written.
    pub(crate) is_closing: bool,
}

impl Session {
    pub(crate) fn new(address: Address, info: Arc<ClientInfo>, is_authenticated: bool) -> Session {
        Session {
            address,
            info,
            database: 0,
            is_authenticated,
            is_resp3: false,
            transaction: None,
            is_in_exec: false,
            watch: None,
            channels: BTreeSet::new(),
            patterns: BTreeSet::new(),
            listening_bytes: 0,
            reply_mode: ReplyMode::On,
            last_command: None,
            blocked: None,
            is_closing: false,
        }
    }

    /// Nothing but running the command has to be thought of.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.is_authenticated
            && self.transaction.is_none()
            && self.channels.is_empty()
            && self.patterns.is_empty()
            && self.reply_mode == ReplyMode::On
    }

    /// Bytes that the client made the server keep for it.
    pub(crate) fn held_bytes(&self) -> usize {
        let queued = self.transaction.as_ref().map_or(0, |queued| queued.bytes);
        let watched = self.watch.as_ref().map_or(0, |watch| watch.bytes);
        let waiting = self.blocked.as_ref();
        let waiting = waiting.map_or(0, |(waiter, _)| waiter.held_bytes);
        queued + watched + waiting + self.listening_bytes
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Forgets the watched keys; `true` when one of them changed.
    pub(crate) fn unwatch(&mut self, space: &Space) -> bool {
        let Some(watch) = self.watch.take() else {
            return false;
        };
        for (database, bytes) in &watch.keys {
            let key = space.key(*database, bytes);
            let scoped_key = crate::keyspace::scoped(*database, bytes);
            space.lock(key.hash).unwatch(&scoped_key, &watch.flag);
        }
        watch.flag.load(Ordering::Relaxed)
    }
}
