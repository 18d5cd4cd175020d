//! The disks that power loss may leave at one moment: all of them when they are few, a sample
//! otherwise.
//!
//! Invariants: images of one moment differ in at least one decision; the same budget gives the
//! same images in the same order.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackdaw_base::hash::xxh3_64_parts;

use crate::disk::{
    Chooser, CountOptions, Decision, DiskState, KeepAll, LoseAll, RandomChoice, Script,
};
use crate::rng::mix;
use crate::vfs::{CrashChoice, SimVfs, image_of};

/// Draws for each wanted sample before the moment counts as exhausted.
const DRAWS_PER_SAMPLE: u64 = 4;

/// How many images to build for one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageBudget {
    /// Moments with at most this many possible images get all of them.
    pub exhaustive_max: u64,
    /// Images of the other moments; "nothing kept" and "everything kept" come first.
    pub sample_count: u64,
    /// Seed of the sample.
    pub seed: u64,
}

impl Default for ImageBudget {
    /// All up to 2^8, else 200.
    fn default() -> Self {
        Self {
            exhaustive_max: 256,
            sample_count: 200,
            seed: 0,
        }
    }
}

/// A moment at which power may have failed.
#[derive(Clone)]
pub struct Moment {
    disk: DiskState,
    completed: u64,
    is_during: bool,
    seed: u64,
    epoch_nanos: u64,
}

impl Moment {
    pub(crate) fn new(
        disk: DiskState,
        completed: u64,
        is_during: bool,
        seed: u64,
        epoch_nanos: u64,
    ) -> Self {
        Self {
            disk,
            completed,
            is_during,
            seed,
            epoch_nanos,
        }
    }

    /// Operations that had returned to the caller.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Whether the following operation, a durable write, was under way.
    #[must_use]
    pub fn is_during(&self) -> bool {
        self.is_during
    }

    /// How many answers the un-synced changes allow; saturates. Some may give equal bytes.
    #[must_use]
    pub fn possible_image_count(&self) -> u64 {
        count_images(&self.options().option_counts)
    }

    /// One image.
    #[must_use]
    pub fn image(&self, choice: CrashChoice) -> Arc<SimVfs> {
        match choice {
            CrashChoice::LoseAll => self.build(&mut LoseAll, 0),
            CrashChoice::KeepAll => self.build(&mut KeepAll, 0),
            CrashChoice::Random(seed) => {
                let operations = self.options().operations;
                self.build(&mut RandomChoice::new(seed, &operations), seed)
            }
        }
    }

    /// Images within `budget`.
    #[must_use]
    pub fn images(&self, budget: ImageBudget) -> Images<'_> {
        let CountOptions {
            option_counts,
            operations,
        } = self.options();
        let is_exhaustive = count_images(&option_counts) <= budget.exhaustive_max;
        Images {
            moment: self,
            budget,
            answers: vec![0; option_counts.len()],
            option_counts,
            operations,
            is_exhaustive,
            drawn: 0,
            given: 0,
            seen: BTreeSet::new(),
        }
    }

    fn options(&self) -> CountOptions {
        let mut counter = CountOptions::default();
        self.disk.crash(&mut counter);
        counter
    }

    fn build(&self, chooser: &mut dyn Chooser, salt: u64) -> Arc<SimVfs> {
        let seed = mix(self.seed ^ mix(self.completed ^ mix(salt)));
        image_of(&self.disk, chooser, seed, self.epoch_nanos)
    }
}

/// Number of combinations; saturates.
fn count_images(option_counts: &[usize]) -> u64 {
    option_counts.iter().fold(1, |product: u64, &count| {
        product.saturating_mul(count as u64)
    })
}

/// Iterator of [`Moment::images`].
pub struct Images<'a> {
    moment: &'a Moment,
    budget: ImageBudget,
    option_counts: Vec<usize>,
    operations: Vec<u64>,
    is_exhaustive: bool,
    /// The next combination, when exhaustive.
    answers: Vec<usize>,
    drawn: u64,
    given: u64,
    /// Hashes of the combinations given, when sampling.
    seen: BTreeSet<u64>,
}

impl Images<'_> {
    fn next_combination(&mut self) -> Option<Arc<SimVfs>> {
        if self.given > 0 {
            // Count up; the first decision is the lowest digit.
            let mut digits = self.answers.iter_mut().zip(&self.option_counts);
            loop {
                let (digit, &count) = digits.next()?;
                *digit += 1;
                if *digit < count {
                    break;
                }
                *digit = 0;
            }
        }
        let mut script = Script {
            answers: &self.answers,
            position: 0,
        };
        Some(self.moment.build(&mut script, self.given))
    }

    fn next_sample(&mut self) -> Option<Arc<SimVfs>> {
        let draw_max = self.budget.sample_count.saturating_mul(DRAWS_PER_SAMPLE);
        while self.given < self.budget.sample_count && self.drawn < draw_max {
            let draw = self.drawn;
            self.drawn += 1;
            let mut recorder = match draw {
                0 => Recorder::new(LoseAll),
                1 => Recorder::new(KeepAll),
                _ => {
                    let seed = mix(self.budget.seed ^ mix(self.moment.completed)) ^ draw;
                    Recorder::new(RandomChoice::new(seed, &self.operations))
                }
            };
            let image = self.moment.build(&mut recorder, draw);
            if self.seen.insert(recorder.hash) {
                return Some(image);
            }
        }
        None
    }
}

impl Iterator for Images<'_> {
    type Item = Arc<SimVfs>;

    fn next(&mut self) -> Option<Arc<SimVfs>> {
        let image = if self.is_exhaustive {
            self.next_combination()
        } else {
            self.next_sample()
        }?;
        self.given += 1;
        Some(image)
    }
}

/// Hashes the answers of another chooser, to tell equal images apart from different ones.
struct Recorder {
    inner: Box<dyn Chooser>,
    hash: u64,
}

impl Recorder {
    fn new(inner: impl Chooser + 'static) -> Self {
        Self {
            inner: Box::new(inner),
            hash: 0,
        }
    }
}

impl Chooser for Recorder {
    fn choose(&mut self, decision: Decision<'_>) -> usize {
        let answer = self.inner.choose(decision);
        self.hash = xxh3_64_parts(&[&(answer as u64).to_le_bytes()], self.hash);
        answer
    }
}
