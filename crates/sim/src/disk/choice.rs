//! What power loss leaves: one decision for each un-synced sector, length and name.
//!
//! `DiskState::crash` walks its pending changes in a fixed order and asks a [`Chooser`] at each.
//! `images` tries all answers when they are few and samples with the patterns here otherwise.

use crate::rng::{Rng, mix};

/// What is being decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Content of one sector.
    Sector,
    /// Length of a file.
    Length,
    /// Creation, renaming or removal of a name.
    Name,
}

/// One decision: option 0 is the durable state, option `i` the state after `operations[i - 1]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision<'a> {
    pub(crate) subject: Subject,
    /// Which file; for names, of the file or directory named.
    pub(crate) file: u64,
    /// Numbers of the operations that each made a version, ascending.
    pub(crate) operations: &'a [u64],
}

impl Decision<'_> {
    pub(crate) fn option_count(&self) -> usize {
        self.operations.len() + 1
    }

    /// The newest version made by an operation that `is_kept`, or the durable one.
    fn newest(&self, is_kept: impl Fn(u64) -> bool) -> usize {
        self.operations
            .iter()
            .rposition(|&number| is_kept(number))
            .map_or(0, |found| found + 1)
    }
}

/// Answers decisions. Answers are below `option_count`.
pub(crate) trait Chooser {
    fn choose(&mut self, decision: Decision<'_>) -> usize;
}

/// Nothing un-synced survives.
pub(crate) struct LoseAll;

impl Chooser for LoseAll {
    fn choose(&mut self, _: Decision<'_>) -> usize {
        0
    }
}

/// Everything survives, as if power failed after the caches were written out.
pub(crate) struct KeepAll;

impl Chooser for KeepAll {
    fn choose(&mut self, decision: Decision<'_>) -> usize {
        decision.operations.len()
    }
}

/// Notes how many options each decision has; answers "durable".
#[derive(Default)]
pub(crate) struct CountOptions {
    pub(crate) option_counts: Vec<usize>,
    /// Numbers of all operations with something pending, ascending, each once.
    pub(crate) operations: Vec<u64>,
}

impl Chooser for CountOptions {
    fn choose(&mut self, decision: Decision<'_>) -> usize {
        self.option_counts.push(decision.option_count());
        for &number in decision.operations {
            if let Err(position) = self.operations.binary_search(&number) {
                self.operations.insert(position, number);
            }
        }
        0
    }
}

/// Plays answers back.
pub(crate) struct Script<'a> {
    pub(crate) answers: &'a [usize],
    pub(crate) position: usize,
}

impl Chooser for Script<'_> {
    fn choose(&mut self, _: Decision<'_>) -> usize {
        self.position += 1;
        self.answers.get(self.position - 1).copied().unwrap_or(0)
    }
}

/// How a random image relates to the operations that were pending.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Whole operations up to one of them: the order was kept.
    Prefix { last: u64 },
    /// Whole operations, each kept or lost: reordering across files.
    Subset,
    /// One operation lost, all others kept: the missing sync.
    AllBut { lost: u64 },
    /// One operation kept, all others lost: the overtaking write.
    Only { kept: u64 },
    /// One operation torn by sector, earlier ones kept, later ones lost: the usual power loss.
    TornLast { torn: u64 },
    /// One operation torn by sector, all others kept.
    TornAmongKept { torn: u64 },
    /// Whole files, each kept or lost.
    Files,
    /// Lengths and names kept, sectors lost by chance; or the other way around.
    Metadata { keep: bool },
    /// Every decision by itself; the durable version wins once in `one_in`.
    Independent { one_in: u64 },
}

/// Answers by one pattern drawn at random.
pub(crate) struct RandomChoice {
    rng: Rng,
    salt: u64,
    pattern: Pattern,
}

impl RandomChoice {
    /// `operations` are those with something pending (see [`CountOptions`]); none is fine.
    pub(crate) fn new(seed: u64, operations: &[u64]) -> Self {
        let mut rng = Rng::new(seed);
        let any = if operations.is_empty() {
            0
        } else {
            *rng.pick(operations)
        };
        let pattern = match rng.below(12) {
            0 => Pattern::Prefix { last: any },
            1 => Pattern::Subset,
            2 | 3 => Pattern::AllBut { lost: any },
            4 => Pattern::Only { kept: any },
            5 => Pattern::TornLast { torn: any },
            6 => Pattern::TornAmongKept { torn: any },
            7 => Pattern::Files,
            8 => Pattern::Metadata {
                keep: rng.chance(2),
            },
            9 => Pattern::Independent { one_in: 8 },
            10 => Pattern::Independent { one_in: 2 },
            _ => Pattern::Independent {
                one_in: 1 + rng.below(4),
            },
        };
        let salt = rng.next_u64();
        Self { rng, salt, pattern }
    }

    /// A coin that falls the same way each time for the same thing.
    fn coin(&self, thing: u64) -> bool {
        mix(self.salt ^ mix(thing)) & 1 == 0
    }

    fn any(&mut self, decision: &Decision<'_>) -> usize {
        self.rng.below_usize(decision.option_count())
    }
}

impl Chooser for RandomChoice {
    fn choose(&mut self, decision: Decision<'_>) -> usize {
        let all = decision.operations.len();
        match self.pattern {
            Pattern::Prefix { last } => decision.newest(|number| number <= last),
            Pattern::Subset => decision.newest(|number| self.coin(number)),
            Pattern::AllBut { lost } => decision.newest(|number| number != lost),
            Pattern::Only { kept } => decision.newest(|number| number == kept),
            Pattern::TornLast { torn } => {
                let keep = self.rng.chance(2);
                decision.newest(|number| number < torn || (number == torn && keep))
            }
            Pattern::TornAmongKept { torn } => {
                let keep = self.rng.chance(2);
                decision.newest(|number| number != torn || keep)
            }
            Pattern::Files => {
                if self.coin(decision.file) {
                    all
                } else {
                    0
                }
            }
            Pattern::Metadata { keep } => {
                let is_metadata = decision.subject != Subject::Sector;
                if is_metadata == keep {
                    all
                } else {
                    self.any(&decision)
                }
            }
            Pattern::Independent { one_in } => {
                if self.rng.chance(one_in) {
                    0
                } else {
                    self.any(&decision)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_stay_inside_the_options_and_reach_all_of_them() {
        let operations = [3, 5, 9];
        let mut seen = [false; 4];
        for seed in 0..300 {
            let mut chooser = RandomChoice::new(seed, &operations);
            for (file, subject) in [
                (1, Subject::Sector),
                (1, Subject::Length),
                (2, Subject::Name),
            ] {
                let decision = Decision {
                    subject,
                    file,
                    operations: &operations,
                };
                seen[chooser.choose(decision)] = true;
            }
        }
        assert_eq!(seen, [true; 4]);
    }

    #[test]
    fn options_are_counted_and_operations_collected_once() {
        let mut counter = CountOptions::default();
        for operations in [&[4, 7][..], &[2], &[2, 4, 9]] {
            counter.choose(Decision {
                subject: Subject::Sector,
                file: 1,
                operations,
            });
        }
        assert_eq!(counter.option_counts, [3, 2, 4]);
        assert_eq!(counter.operations, [2, 4, 7, 9]);
    }
}
