//! Which etags of a subscription are handed out while its connections are open.
//!
//! Kept by the server for each subscription that is served. Several connections may share one: a
//! batch belongs to the connection that took it until it is acknowledged or given back, and a
//! document that one of them has is given to no other.
//!
//! Invariant: every etag behind [`Progress::position`] is behind the cursor, in a batch that
//! somebody has, or in a range that was given back.
//!
//! Threads: one at a time; batches are read one after another.

use std::collections::{BTreeMap, HashSet};

use jackdaw_model::{DocumentNumber, Etag};

use super::read::BatchRead;

/// Most ranges that wait to be read again before reading forward stops.
const RETURNED_MAX: usize = 4_096;

/// Etags to read for a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRange {
    /// Everything up to here is somebody else's, or done.
    pub after: Etag,
    /// The last etag to look at.
    pub up_to: Etag,
    /// Documents that other connections have.
    pub held: HashSet<DocumentNumber>,
    /// Whether the etags were handed out before.
    is_again: bool,
}

#[derive(Debug)]
struct Taken {
    after: Etag,
    up_to: Etag,
    numbers: Vec<DocumentNumber>,
}

/// See the file head.
#[derive(Debug)]
pub struct Progress {
    cursor: Etag,
    next_ticket: u64,
    taken: BTreeMap<u64, Taken>,
    /// Ranges to read again: from behind the first to the second.
    returned: Vec<(Etag, Etag)>,
}

impl Progress {
    /// Progress of a subscription that nobody has anything of.
    #[must_use]
    pub fn new(position: Etag) -> Progress {
        Progress {
            cursor: position,
            next_ticket: 1,
            taken: BTreeMap::new(),
            returned: Vec::new(),
        }
    }

    /// Everything up to here is done.
    #[must_use]
    pub fn position(&self) -> Etag {
        let taken = self.taken.values().map(|taken| taken.after);
        let returned = self.returned.iter().map(|(after, _)| *after);
        taken
            .chain(returned)
            .min()
            .unwrap_or(self.cursor)
            .min(self.cursor)
    }

    /// The ranges that may be read for the next batch, the one to try first coming first.
    #[must_use]
    pub fn ranges(&self) -> Vec<BatchRange> {
        let held: HashSet<DocumentNumber> = self
            .taken
            .values()
            .flat_map(|taken| taken.numbers.iter().copied())
            .collect();
        let mut returned = self.returned.clone();
        returned.sort_unstable();
        let again = returned.into_iter().map(|(after, up_to)| BatchRange {
            after,
            up_to,
            held: held.clone(),
            is_again: true,
        });
        let forward = BatchRange {
            after: self.cursor,
            up_to: Etag(u64::MAX),
            held: held.clone(),
            is_again: false,
        };
        let reads_forward = self.returned.len() < RETURNED_MAX;
        again.chain(reads_forward.then_some(forward)).collect()
    }

    /// Notes what was read of a range that [`Progress::ranges`] gave; the ticket of the batch when
    /// there is anything in it.
    pub fn take(&mut self, range: &BatchRange, read: &BatchRead) -> Option<u64> {
        let up_to = read.scanned_to.max(range.after);
        if range.is_again {
            self.returned
                .retain(|known| *known != (range.after, range.up_to));
            if !read.is_at_end && up_to < range.up_to {
                self.returned.push((up_to, range.up_to));
            }
        } else {
            self.cursor = self.cursor.max(up_to);
        }
        for etag in &read.held {
            self.returned.push((Etag(etag.0 - 1), *etag));
        }
        if read.numbers.is_empty() {
            return None;
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let taken = Taken {
            after: range.after,
            up_to,
            numbers: read.numbers.clone(),
        };
        self.taken.insert(ticket, taken);
        Some(ticket)
    }

    /// A batch is done up to `etag`; what is behind it is given back.
    pub fn acknowledge(&mut self, ticket: u64, etag: Etag, last_sent: Etag) {
        if let Some(taken) = self.taken.remove(&ticket)
            && etag < last_sent
        {
            self.return_range(etag.max(taken.after), taken.up_to);
        }
    }

    /// A batch will not be acknowledged.
    pub fn give_back(&mut self, ticket: u64) {
        if let Some(taken) = self.taken.remove(&ticket) {
            self.return_range(taken.after, taken.up_to);
        }
    }

    /// Ranges inside the new one would be read twice.
    fn return_range(&mut self, after: Etag, up_to: Etag) {
        self.returned
            .retain(|(from, to)| *from < after || *to > up_to);
        self.returned.push((after, up_to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documents of a small world: number to etag of its last change.
    struct World {
        etags: BTreeMap<u64, u64>,
        last: u64,
        state: u64,
    }

    impl World {
        fn below(&mut self, limit: u64) -> u64 {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            self.state % limit
        }

        fn change(&mut self) {
            let number = self.below(6);
            self.last += 1;
            self.etags.insert(number, self.last);
        }

        fn read(&mut self, range: &BatchRange) -> (BatchRead, Vec<(u64, u64)>) {
            let room = 1 + self.below(3);
            let mut found: Vec<(u64, u64)> = self.etags.iter().map(|(n, e)| (*e, *n)).collect();
            found.sort_unstable();
            let mut read = BatchRead {
                is_at_end: true,
                ..BatchRead::default()
            };
            let mut given = Vec::new();
            for (etag, number) in found {
                if etag <= range.after.0 || etag > range.up_to.0 {
                    continue;
                }
                if read.numbers.len() as u64 >= room {
                    read.is_at_end = false;
                    break;
                }
                read.scanned_to = Etag(etag);
                if range.held.contains(&DocumentNumber(number)) {
                    read.held.push(Etag(etag));
                    continue;
                }
                read.numbers.push(DocumentNumber(number));
                read.last_sent = Etag(etag);
                given.push((number, etag));
            }
            (read, given)
        }
    }

    #[test]
    fn whatever_connections_do_every_last_state_is_acknowledged() {
        for seed in 1..200_u64 {
            let mut world = World {
                etags: BTreeMap::new(),
                last: 0,
                state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            };
            let mut progress = Progress::new(Etag(0));
            let mut with: Vec<(u64, Vec<(u64, u64)>)> = Vec::new();
            let mut done: BTreeMap<u64, u64> = BTreeMap::new();
            for step in 0..400 {
                let is_quiet = step >= 300;
                let choice = world.below(if is_quiet { 3 } else { 5 });
                match choice {
                    0 | 1 => {
                        for range in progress.ranges() {
                            let (read, given) = world.read(&range);
                            let held = given.iter().any(|(number, _)| {
                                with.iter()
                                    .flat_map(|(_, had)| had)
                                    .any(|(had, _)| had == number)
                            });
                            assert!(!held, "two have one document, seed {seed}");
                            if let Some(ticket) = progress.take(&range, &read) {
                                with.push((ticket, given));
                                break;
                            }
                        }
                    }
                    2 if !with.is_empty() => {
                        let slot = usize::try_from(world.below(with.len() as u64)).unwrap();
                        let (ticket, given) = with.swap_remove(slot);
                        let last = Etag(given.last().unwrap().1);
                        progress.acknowledge(ticket, last, last);
                        for (number, etag) in given {
                            let known = done.entry(number).or_default();
                            *known = etag.max(*known);
                        }
                    }
                    3 if !with.is_empty() => progress.give_back(with.pop().unwrap().0),
                    4 => world.change(),
                    _ => {}
                }
                // Restarting here would hand out everything that was not acknowledged.
                for (number, etag) in &world.etags {
                    let is_safe = done.get(number) == Some(etag) || progress.position().0 < *etag;
                    assert!(is_safe, "document {number} is lost, seed {seed}");
                }
            }
            assert_eq!(done, world.etags, "seed {seed}");
            assert_eq!(progress.position(), Etag(world.last), "seed {seed}");
        }
    }
}
