//! Who serves which subscription: seats for connections, and how they are taken and lost.
//!
//! `session` takes a seat and gives it up by dropping it; `routes::subscriptions` ends connections
//! by name. What a lost connection had is given back to the others, or read again from the stored
//! position when there are none.
//!
//! Invariant: a subscription has one seat, or several that are all concurrent.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackdaw_base::time::UnixTicks;
use jackdaw_database::{Database, Etag, Listener, Progress, Subscription};
use tokio::sync::watch;

use super::farewell::Farewell;
use crate::wire::Kind;

/// Most connections that share a subscription.
const SEATS_MAX: usize = 256;

/// What a client does when somebody else has the subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    OpenIfFree,
    TakeOver,
    WaitForFree,
    Concurrent,
}

impl Strategy {
    const ALL: [(Strategy, &str); 4] = [
        (Strategy::OpenIfFree, "OpenIfFree"),
        (Strategy::TakeOver, "TakeOver"),
        (Strategy::WaitForFree, "WaitForFree"),
        (Strategy::Concurrent, "Concurrent"),
    ];

    pub(super) fn parse(name: &str) -> Option<Strategy> {
        let known = Strategy::ALL.iter();
        known
            .clone()
            .find(|(_, known)| known.eq_ignore_ascii_case(name))
            .map(|(strategy, _)| *strategy)
    }

    pub(crate) fn name(self) -> &'static str {
        let mut known = Strategy::ALL.iter();
        known
            .find(|(known, _)| *known == self)
            .map_or("", |(_, name)| name)
    }
}

/// A connection as clients and Studio see it.
#[derive(Clone, Debug)]
pub(crate) struct Seated {
    pub(crate) peer: SocketAddr,
    pub(crate) strategy: Strategy,
    pub(crate) worker: Option<String>,
    pub(crate) since: UnixTicks,
}

struct Holder {
    id: u64,
    seated: Seated,
    /// The batch on its way to the client.
    ticket: Option<u64>,
    ending: watch::Sender<Option<Farewell>>,
}

struct ServiceState {
    progress: Progress,
    holders: Vec<Holder>,
}

/// A subscription that is served.
pub(super) struct Service {
    state: Mutex<ServiceState>,
    /// Held while a batch is read: batches of one subscription are read one after another.
    pub(super) reading: tokio::sync::Mutex<()>,
    /// Moves when there may be something to read, or a seat.
    moved: Arc<watch::Sender<()>>,
    _listener: Listener,
}

impl Service {
    fn lock(&self) -> MutexGuard<'_, ServiceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Subscriptions by the identity of their database and their number.
type Services = HashMap<(String, u64), Arc<Service>>;

/// See the file head.
#[derive(Default)]
pub(crate) struct Desk {
    services: Mutex<Services>,
    next_holder: AtomicU64,
}

/// Whether a connection may begin.
pub(super) enum Entry {
    /// It may.
    Entered(Seat),
    /// It may not.
    Refused(Farewell),
    /// Try again when this moves.
    Wait(watch::Receiver<()>),
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Services> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a seat at a subscription as its strategy allows.
    pub(super) fn enter(
        self: &Arc<Desk>,
        database: &Arc<Database>,
        subscription: &Subscription,
        seated: Seated,
    ) -> Entry {
        let key = (database.id().as_str().to_owned(), subscription.number);
        let mut services = self.lock();
        let service = services
            .entry(key.clone())
            .or_insert_with(|| Arc::new(new_service(database, subscription.position)))
            .clone();
        let mut state = service.lock();
        let is_shared = |seated: &Seated| seated.strategy == Strategy::Concurrent;
        let may_join = match is_shared(&seated) {
            true => state.holders.iter().all(|holder| is_shared(&holder.seated)),
            false => state.holders.is_empty(),
        };
        if !may_join {
            let is_takeable = state.holders.iter().all(|holder| {
                !matches!(
                    holder.seated.strategy,
                    Strategy::TakeOver | Strategy::Concurrent
                )
            });
            match seated.strategy {
                Strategy::WaitForFree => return Entry::Wait(service.moved.subscribe()),
                Strategy::TakeOver if is_takeable => {
                    let taken = Farewell::InUse(format!(
                        "Subscription {} was taken over by another connection",
                        subscription.name
                    ));
                    for holder in std::mem::take(&mut state.holders) {
                        dismiss(&mut state.progress, &holder, taken.clone());
                    }
                }
                _ => return Entry::Refused(Farewell::in_use(&subscription.name)),
            }
        }
        if state.holders.len() >= SEATS_MAX {
            return Entry::Refused(Farewell::in_use(&subscription.name));
        }
        let id = self.next_holder.fetch_add(1, Ordering::Relaxed);
        let (ending, ended) = watch::channel(None);
        state.holders.push(Holder {
            id,
            seated,
            ticket: None,
            ending,
        });
        drop(state);
        Entry::Entered(Seat {
            desk: self.clone(),
            key,
            id,
            moved: service.moved.subscribe(),
            service,
            ended,
        })
    }

    /// Ends the connections of a subscription, or those of one worker.
    fn dismiss(&self, database: &Database, number: u64, worker: Option<&str>, farewell: &Farewell) {
        let key = (database.id().as_str().to_owned(), number);
        let mut services = self.lock();
        let Some(service) = services.get(&key).cloned() else {
            return;
        };
        let mut state = service.lock();
        let is_meant = |holder: &Holder| {
            worker.is_none_or(|worker| holder.seated.worker.as_deref() == Some(worker))
        };
        let (meant, others) = std::mem::take(&mut state.holders)
            .into_iter()
            .partition::<Vec<_>, _>(is_meant);
        state.holders = others;
        for holder in &meant {
            dismiss(&mut state.progress, holder, farewell.clone());
        }
        if state.holders.is_empty() {
            // The next connection begins at what is stored, which may have been set anew.
            services.remove(&key);
        }
        drop(state);
        service.moved.send_replace(());
    }

    /// Drops the connections of a subscription because somebody asked for it over HTTP.
    pub(crate) fn drop_connections(
        &self,
        database: &Database,
        number: u64,
        worker: Option<&str>,
        asker: SocketAddr,
    ) {
        let message = format!("Dropped by API request (request ip:{}, cert:)", asker.ip());
        self.dismiss(database, number, worker, &Farewell::closed(message, false));
    }

    /// Lets connections begin anew with what the subscription is now.
    pub(crate) fn restart(&self, database: &Database, subscription: &Subscription) {
        let farewell = match subscription.is_disabled {
            true => Farewell::disabled(&subscription.name),
            false => Farewell::modified(&subscription.name),
        };
        self.dismiss(database, subscription.number, None, &farewell);
    }

    /// Ends the connections of a subscription that was deleted.
    pub(crate) fn end(&self, database: &Database, subscription: &Subscription) {
        let farewell = Farewell::not_found(&subscription.name);
        self.dismiss(database, subscription.number, None, &farewell);
    }

    /// Ends all connections of a database that is deleted or told not to serve.
    pub(crate) fn end_database(&self, database: &Database, kind: Kind, message: &str) {
        let id = database.id().as_str();
        let numbers: Vec<u64> = self
            .lock()
            .keys()
            .filter(|(known, _)| known == id)
            .map(|(_, number)| *number)
            .collect();
        for number in numbers {
            let farewell = Farewell::Failed(kind, message.to_owned());
            self.dismiss(database, number, None, &farewell);
        }
    }

    /// The connections of a subscription.
    pub(crate) fn seated(&self, database: &Database, number: u64) -> Vec<Seated> {
        let key = (database.id().as_str().to_owned(), number);
        let service = self.lock().get(&key).cloned();
        service.map_or_else(Vec::new, |service| {
            let state = service.lock();
            state
                .holders
                .iter()
                .map(|holder| holder.seated.clone())
                .collect()
        })
    }
}

fn new_service(database: &Database, position: Etag) -> Service {
    let moved = Arc::new(watch::Sender::new(()));
    let news = moved.clone();
    Service {
        state: Mutex::new(ServiceState {
            progress: Progress::new(position),
            holders: Vec::new(),
        }),
        reading: tokio::sync::Mutex::new(()),
        moved,
        _listener: database.on_change(move |_| {
            news.send_replace(());
        }),
    }
}

/// Tells a holder that it is none any more, and takes back what it has.
fn dismiss(progress: &mut Progress, holder: &Holder, farewell: Farewell) {
    holder.ending.send_replace(Some(farewell));
    if let Some(ticket) = holder.ticket {
        progress.give_back(ticket);
    }
}

/// The right of one connection to serve its client from a subscription, until it is dropped or
/// ended by somebody else.
pub(super) struct Seat {
    desk: Arc<Desk>,
    key: (String, u64),
    id: u64,
    pub(super) service: Arc<Service>,
    /// Moves when there may be something to read.
    pub(super) moved: watch::Receiver<()>,
    /// Says why the connection is to end.
    pub(super) ended: watch::Receiver<Option<Farewell>>,
}

/// The seat inside of a read on another thread.
pub(super) struct Reader {
    pub(super) service: Arc<Service>,
    id: u64,
}

impl Reader {
    /// Runs `work` on the progress when the seat is still held; it may give a ticket to keep.
    pub(super) fn with_progress<T>(
        &self,
        work: impl FnOnce(&mut Progress) -> (T, Option<u64>),
    ) -> Option<T> {
        let mut state = self.service.lock();
        let ServiceState { progress, holders } = &mut *state;
        let holder = holders.iter_mut().find(|holder| holder.id == self.id)?;
        let (value, ticket) = work(progress);
        holder.ticket = ticket.or(holder.ticket);
        Some(value)
    }
}

impl Seat {
    pub(super) fn reader(&self) -> Reader {
        Reader {
            service: self.service.clone(),
            id: self.id,
        }
    }

    /// The client has a batch up to `etag`; gives the position to store, `None` when the seat is
    /// lost or the client has no batch.
    pub(super) fn acknowledge(&self, etag: Etag, last_sent: Etag) -> Option<Etag> {
        let mut state = self.service.lock();
        let ServiceState { progress, holders } = &mut *state;
        let holder = holders.iter_mut().find(|holder| holder.id == self.id)?;
        progress.acknowledge(holder.ticket.take()?, etag, last_sent);
        let position = progress.position();
        drop(state);
        self.service.moved.send_replace(());
        Some(position)
    }

    /// Everything up to here is done.
    pub(super) fn position(&self) -> Etag {
        self.service.lock().progress.position()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut services = self.desk.lock();
        let mut state = self.service.lock();
        if let Some(slot) = state.holders.iter().position(|holder| holder.id == self.id) {
            let holder = state.holders.swap_remove(slot);
            if let Some(ticket) = holder.ticket {
                state.progress.give_back(ticket);
            }
        }
        let is_ours = services
            .get(&self.key)
            .is_some_and(|service| Arc::ptr_eq(service, &self.service));
        if state.holders.is_empty() && is_ours {
            // The next connection begins at what is stored.
            services.remove(&self.key);
        }
        drop(state);
        self.service.moved.send_replace(());
    }
}
