//! Channels and patterns with whoever listens to them.
//!
//! A message is written once for each protocol version and shared by all who get it; it reaches a
//! connection through the inbox of its thread.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::glob;
use crate::net::{Address, Message};
use crate::resp::Out;
use crate::shared::Shared;
use crate::value::Bytes;

type Listeners = HashMap<Address, bool>;

#[derive(Default)]
struct Tables {
    channels: HashMap<Bytes, Listeners>,
    patterns: HashMap<Bytes, Listeners>,
}

/// See the file head.
#[derive(Default)]
pub(crate) struct Channels {
    tables: Mutex<Tables>,
}

impl Channels {
    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn subscribe(
        &self,
        name: &[u8],
        is_pattern: bool,
        address: Address,
        is_resp3: bool,
    ) {
        let mut tables = self.lock();
        let table = match is_pattern {
            true => &mut tables.patterns,
            false => &mut tables.channels,
        };
        let listeners = table.entry(name.into()).or_default();
        listeners.insert(address, is_resp3);
    }

    pub(crate) fn unsubscribe(&self, name: &[u8], is_pattern: bool, address: Address) {
        let mut tables = self.lock();
        let table = match is_pattern {
            true => &mut tables.patterns,
            false => &mut tables.channels,
        };
        if let Some(listeners) = table.get_mut(name) {
            listeners.remove(&address);
            if listeners.is_empty() {
                table.remove(name);
            }
        }
    }

    /// Takes a client out of everything it listens to.
    pub(crate) fn leave(
        &self,
        channels: &BTreeSet<Bytes>,
        patterns: &BTreeSet<Bytes>,
        address: Address,
    ) {
        channels
            .iter()
            .for_each(|name| self.unsubscribe(name, false, address));
        patterns
            .iter()
            .for_each(|name| self.unsubscribe(name, true, address));
    }

    /// Sends a message to everybody who listens; gives how many got it.
    pub(crate) fn publish(&self, channel: &[u8], message: &[u8], shared: &Shared) -> usize {
        let tables = self.lock();
        let mut count = 0;
        if let Some(listeners) = tables.channels.get(channel) {
            count += send(listeners, shared, |out| {
                out.push(3);
                out.text("message");
                out.bulk(channel);
                out.bulk(message);
            });
        }
        for (pattern, listeners) in &tables.patterns {
            if glob::matches(pattern, channel) {
                count += send(listeners, shared, |out| {
                    out.push(4);
                    out.text("pmessage");
                    out.bulk(pattern);
                    out.bulk(channel);
                    out.bulk(message);
                });
            }
        }
        count
    }

    /// Channels that somebody listens to.
    pub(crate) fn names(&self, pattern: Option<&[u8]>) -> Vec<Bytes> {
        let tables = self.lock();
        let names = tables.channels.keys();
        names
            .filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name)))
            .cloned()
            .collect()
    }

    /// How many listen to a channel.
    pub(crate) fn count(&self, name: &[u8]) -> usize {
        self.lock().channels.get(name).map_or(0, HashMap::len)
    }

    pub(crate) fn channel_count(&self) -> usize {
        self.lock().channels.len()
    }

    pub(crate) fn pattern_count(&self) -> usize {
        self.lock().patterns.len()
    }
}

fn send(listeners: &Listeners, shared: &Shared, write: impl Fn(&mut Out)) -> usize {
    let mut texts: [Option<Arc<[u8]>>; 2] = [None, None];
    for (&address, &is_resp3) in listeners {
        let text = texts[usize::from(is_resp3)].get_or_insert_with(|| {
            let mut out = Out::unlimited(is_resp3);
            write(&mut out);
            out.bytes.into()
        });
        shared.send(address, Message::Published(Arc::clone(text)));
    }
    listeners.len()
}
