//! `jackdaw bench queue`: what it costs to hand work from thread to thread on this machine.
//!
//! The engine's writer takes operations from a locked queue with a condition variable. Beside it
//! stand the channels of the standard library, and a hand-off of single messages by parking, so
//! that one sees that the queue is cheap and waking a thread is not.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::output::numbers::{count, per_second};
use crate::output::say::say;
use crate::output::table::{Align, Table};

/// Messages that may wait.
const CAPACITY: usize = 1024;
/// Messages there and back when wake-ups are measured.
const ROUND_TRIPS: u64 = 5_000;

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct QueueArguments {
    /// Messages in each measurement.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 500_000,
        value_parser = clap::value_parser!(u64).range(1_000..=100_000_000)
    )]
    messages: u64,
}

/// The engine's kind of queue.
#[derive(Default)]
struct LockedQueue {
    waiting: Mutex<VecDeque<u64>>,
    work: Condvar,
    room: Condvar,
}

impl LockedQueue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<u64>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: u64) {
        let waiting = self.lock();
        let mut waiting = self
            .room
            .wait_while(waiting, |waiting| waiting.len() >= CAPACITY)
            .unwrap_or_else(PoisonError::into_inner);
        waiting.push_back(message);
        drop(waiting);
        self.work.notify_one();
    }

    fn receive(&self) -> u64 {
        let waiting = self.lock();
        let mut waiting = self
            .work
            .wait_while(waiting, |waiting| waiting.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        let message = waiting.pop_front().unwrap_or_default();
        drop(waiting);
        self.room.notify_one();
        message
    }

    /// Takes all that waits, or waits for some.
    fn receive_all(&self, taken: &mut VecDeque<u64>) {
        let waiting = self.lock();
        let mut waiting = self
            .work
            .wait_while(waiting, |waiting| waiting.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        taken.append(&mut waiting);
        drop(waiting);
        self.room.notify_all();
    }
}

/// Runs all measurements and prints the table.
pub(crate) fn run(arguments: &QueueArguments) -> anyhow::Result<()> {
    let columns = [
        ("Hand-off", Align::Left),
        ("Senders", Align::Right),
        ("Per second", Align::Right),
        ("Nanoseconds", Align::Right),
    ];
    let mut table = Table::new(&columns);
    let mut row = |name: &str, senders: u64, messages: u64, time: Duration| {
        let nanos = time.as_nanos() / u128::from(messages);
        let cells = [
            name,
            &count(senders),
            &count(per_second(messages, time)),
            &nanos.to_string(),
        ];
        table.row(cells);
    };
    for senders in [1, 4] {
        let each = arguments.messages / senders;
        let messages = each * senders;
        row(
            "locked queue, one by one",
            senders,
            messages,
            locked(senders, each, false),
        );
        row(
            "locked queue, all that waits",
            senders,
            messages,
            locked(senders, each, true),
        );
        row(
            "std channel, bounded",
            senders,
            messages,
            bounded(senders, each),
        );
        row(
            "std channel, unbounded",
            senders,
            messages,
            unbounded(senders, each),
        );
    }
    row(
        "there and back, waking each time",
        1,
        ROUND_TRIPS,
        round_trips(),
    );
    say!("{}", table.render(None).trim_end());
    say!(
        "A queue takes a fraction of a microsecond; waking a thread that sleeps takes the last \
         line. So the engine runs whatever waits as one transaction and wakes each caller once."
    );
    Ok(())
}

/// Time until a receiver has had `each` messages of every sender.
fn timed(senders: u64, send_all: impl Fn() + Sync, receive_all: impl FnOnce()) -> Duration {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..senders {
            scope.spawn(&send_all);
        }
        receive_all();
    });
    started.elapsed()
}

fn locked(senders: u64, each: u64, takes_all: bool) -> Duration {
    let queue = LockedQueue::default();
    let send_all = || (0..each).for_each(|message| queue.send(message));
    let messages = senders * each;
    timed(senders, send_all, || {
        let mut taken = VecDeque::new();
        let mut received = 0;
        while received < messages {
            if takes_all {
                queue.receive_all(&mut taken);
                received += taken.len() as u64;
                taken.clear();
            } else {
                queue.receive();
                received += 1;
            }
        }
    })
}

fn bounded(senders: u64, each: u64) -> Duration {
    let (sender, receiver) = mpsc::sync_channel(CAPACITY);
    // The receiver stays until all was sent, and the sender until all was received.
    let send_all = || (0..each).for_each(|message| _ = sender.send(message));
    timed(senders, send_all, || {
        (0..senders * each).for_each(|_| _ = receiver.recv());
    })
}

fn unbounded(senders: u64, each: u64) -> Duration {
    let (sender, receiver) = mpsc::channel();
    let send_all = || (0..each).for_each(|message| _ = sender.send(message));
    timed(senders, send_all, || {
        (0..senders * each).for_each(|_| _ = receiver.recv());
    })
}

fn round_trips() -> Duration {
    let (there, back) = (LockedQueue::default(), LockedQueue::default());
    let answer_all = || (0..ROUND_TRIPS).for_each(|_| back.send(there.receive()));
    timed(1, answer_all, || {
        for message in 0..ROUND_TRIPS {
            there.send(message);
            back.receive();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hand_off_gives_all_messages() {
        for senders in [1, 3] {
            let each = 3 * CAPACITY as u64;
            assert!(locked(senders, each, false) > Duration::ZERO);
            assert!(locked(senders, each, true) > Duration::ZERO);
            assert!(bounded(senders, each) > Duration::ZERO);
            assert!(unbounded(senders, each) > Duration::ZERO);
        }
    }
}
