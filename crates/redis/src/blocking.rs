//! Waiting for elements: BLPOP and its like.
//!
//! A client that finds nothing leaves a waiter at each of its keys. Whoever changes such a key
//! serves its waiters before the next command, first come first served, and sends the reply through
//! the inbox of the client's thread.
//!
//! Invariant: a waiter is served, timed out or cancelled by whoever sets `is_done` first, and all
//! three happen while the space is held alone.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use crate::commands::{Call, transfer};
use crate::failure::{Failure, Outcome, expect_room};
use crate::keyspace::{Key, Space, scoped};
use crate::net::{Address, Message};
use crate::resp::Out;
use crate::shared::Shared;
use crate::value::{Bytes, Edit, Kind, ListValue, SortedValue};

/// What the name of a key takes beside its own bytes.
const KEY_OF_WAITER_BYTES: usize = 64;

/// What a client waits for.
#[derive(Clone, Debug)]
pub(crate) enum Wait {
    ListPop { from_front: bool },
    ListPopMany { from_front: bool, count: usize },
    ListMove { to: Bytes, sides: (bool, bool) },
    SortedPop { smallest: bool },
    SortedPopMany { smallest: bool, count: usize },
}

/// A client that waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    address: Address,
    database: u16,
    keys: Vec<Bytes>,
    /// Of the names of the keys, here and in the queues.
    pub(crate) held_bytes: usize,
    wait: Wait,
    is_resp3: bool,
    is_done: AtomicBool,
}

impl Waiter {
    /// Whether the reply is for this waiter's client and still comes.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// What the client gets when its time is over.
    pub(crate) fn reply_of_timeout(&self, out: &mut Out) {
        match self.wait {
            Wait::ListMove { .. } => out.null(),
            _ => out.null_array(),
        }
    }
}

/// Runs the command now when one of its keys has elements; `false` when none has.
///
/// # Errors
/// When a key on the way holds something else.
pub(crate) fn try_now(
    call: &mut Call<'_>,
    space: &mut Space,
    keys: Range<usize>,
    wait: &Wait,
) -> Result<bool, Failure> {
    for position in keys {
        let key = call.key_in(space, position);
        if serve_one(space, call.now, &key, wait, call.out)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// [`try_now`], or leaves a waiter for as long as the argument at `timeout` says.
pub(crate) fn try_or_wait(
    call: &mut Call<'_>,
    space: &mut Space,
    keys: Range<usize>,
    wait: Wait,
    timeout: usize,
) -> Outcome {
    let deadline = deadline(call, timeout)?;
    if try_now(call, space, keys.clone(), &wait)? {
        return Ok(());
    }
    let waiter = Waiter {
        address: call.session.address,
        database: call.session.database,
        held_bytes: call.args[keys.clone()]
            .iter()
            .map(|key| 2 * (key.len() + KEY_OF_WAITER_BYTES))
            .sum(),
        keys: call.args[keys].iter().map(|&key| key.into()).collect(),
        wait,
        is_resp3: call.out.is_resp3,
        is_done: AtomicBool::new(false),
    };
    if call.session.is_in_exec {
        waiter.reply_of_timeout(call.out);
        return Ok(());
    }
    let waiter = Arc::new(waiter);
    for bytes in &waiter.keys {
        let key = space.key(waiter.database, bytes);
        let waiting = &mut space.shard(key.hash).waiting;
        let queue = waiting.entry(scoped(key.database, key.bytes)).or_default();
        // A key that is named twice has one place in the queue.
        if !queue.back().is_some_and(|last| Arc::ptr_eq(last, &waiter)) {
            queue.push_back(Arc::clone(&waiter));
        }
    }
    call.session.blocked = Some((waiter, deadline));
    Ok(())
}

/// When a wait ends, in Unix milliseconds; `None` is never.
fn deadline(call: &Call<'_>, position: usize) -> Result<Option<u64>, Failure> {
    let not_float = || Failure::other("timeout is not a float or out of range");
    let seconds = call.double(position).map_err(|_| not_float())?;
    if seconds < 0.0 {
        return Err(Failure::other("timeout is negative"));
    }
    let millis = (seconds * 1000.0).ceil();
    if millis > 9e15 {
        return Err(Failure::other("timeout is out of range"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and 9e15"
    )]
    let millis = millis as u64;
    Ok((millis > 0).then(|| call.now + millis))
}

/// Serves one wait from one key; `false` when the key has nothing for it.
fn serve_one(
    space: &mut Space,
    now: u64,
    key: &Key<'_>,
    wait: &Wait,
    out: &mut Out,
) -> Result<bool, Failure> {
    let mut room = out.room();
    match wait {
        Wait::ListMove { to, sides } => {
            let to = space.key(key.database, to);
            let Some(item) = transfer(space, now, key, &to, *sides)? else {
                return Ok(false);
            };
            out.bulk(&item);
        }
        &Wait::ListPop { from_front } => {
            let pop = |list: &mut ListValue, edit: &mut Edit| {
                let popped = list.pop_many(from_front, 1, |len| room.take(len), edit);
                expect_room(1, list.len(), popped)
            };
            let popped = pop_from(space, now, key, pop)?;
            let Some(item) = popped.first() else {
                return Ok(false);
            };
            out.array(2);
            out.bulk(key.bytes);
            out.bulk(item);
        }
        &Wait::ListPopMany { from_front, count } => {
            let pop = |list: &mut ListValue, edit: &mut Edit| {
                let popped = list.pop_many(from_front, count, |len| room.take(len), edit);
                expect_room(count, list.len(), popped)
            };
            let popped = pop_from(space, now, key, pop)?;
            if popped.is_empty() {
                return Ok(false);
            }
            out.array(2);
            out.bulk(key.bytes);
            out.array(popped.len());
            popped.iter().for_each(|item| out.bulk(item));
        }
        &Wait::SortedPop { smallest } => {
            let pop = |set: &mut SortedValue, edit: &mut Edit| {
                let popped = set.pop_many(smallest, 1, |len| room.take(len), edit);
                expect_room(1, set.len(), popped)
            };
            let popped = pop_from(space, now, key, pop)?;
            let Some((member, score)) = popped.first() else {
                return Ok(false);
            };
            out.array(3);
            out.bulk(key.bytes);
            out.bulk(member);
            out.double(*score);
        }
        &Wait::SortedPopMany { smallest, count } => {
            let pop = |set: &mut SortedValue, edit: &mut Edit| {
                let popped = set.pop_many(smallest, count, |len| room.take(len), edit);
                expect_room(count, set.len(), popped)
            };
            let popped = pop_from(space, now, key, pop)?;
            if popped.is_empty() {
                return Ok(false);
            }
            out.array(2);
            out.bulk(key.bytes);
            out.array(popped.len());
            for (member, score) in popped {
                out.array(2);
                out.bulk(&member);
                out.double(score);
            }
        }
    }
    Ok(true)
}

/// What `pop` takes off the collection of a key; nothing when the key is not there.
fn pop_from<T: Kind, R>(
    space: &mut Space,
    now: u64,
    key: &Key<'_>,
    pop: impl FnOnce(&mut T, &mut Edit) -> Result<Vec<R>, Failure>,
) -> Result<Vec<R>, Failure> {
    let shard = space.shard(key.hash);
    Ok(shard.edit(key, now, false, pop)?.unwrap_or_default())
}

/// Serves the waiters of all keys that changed, and of those that change by it.
pub(crate) fn serve_ready(space: &mut Space, shared: &Shared, now: u64) {
    while space.totals.has_ready.swap(false, Ordering::AcqRel) {
        let ready = std::mem::take(
            &mut *space
                .totals
                .ready
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for scoped_key in ready {
            serve_key(space, shared, now, &scoped_key);
        }
    }
}

fn serve_key(space: &mut Space, shared: &Shared, now: u64, scoped_key: &[u8]) {
    let Some((database, bytes)) = scoped_key.split_first_chunk::<2>() else {
        return;
    };
    let key = space.key(u16::from_be_bytes(*database), bytes);
    let queue = |space: &mut Space| -> Vec<Arc<Waiter>> {
        let queue = space.shard(key.hash).waiting.get(scoped_key);
        queue.into_iter().flatten().cloned().collect()
    };
    for waiter in queue(space) {
        let mut out = Out::unlimited(waiter.is_resp3);
        match serve_one(space, now, &key, &waiter.wait, &mut out) {
            Ok(true) => {}
            // Whoever waits for another kind of value goes on waiting.
            Ok(false) => continue,
            // The target of a move holds something else: the client has to hear of it.
            Err(failure) if matches!(waiter.wait, Wait::ListMove { .. }) => {
                let shard = space.shard(key.hash);
                if !matches!(shard.collection::<ListValue>(&key, now), Ok(Some(_))) {
                    continue;
                }
                out.bytes.clear();
                out.error(&failure.to_string());
            }
            Err(_) => continue,
        }
        cancel(space, &waiter);
        shared.send(waiter.address, Message::Served(out.bytes));
    }
}

/// Takes a waiter out of all queues; `false` when it was done before.
pub(crate) fn cancel(space: &mut Space, waiter: &Arc<Waiter>) -> bool {
    let is_first = !waiter.is_done.swap(true, Ordering::AcqRel);
    for bytes in &waiter.keys {
        let key = space.key(waiter.database, bytes);
        let scoped_key = scoped(key.database, key.bytes);
        let waiting = &mut space.shard(key.hash).waiting;
        let Some(queue) = waiting.get_mut(&scoped_key) else {
            continue;
        };
        queue.retain(|other| !Arc::ptr_eq(other, waiter));
        if VecDeque::is_empty(queue) {
            waiting.remove(&scoped_key);
        }
    }
    is_first
}
