//! The crash sweep: power fails at every moment of a recorded run, and each disk it may leave is
//! checked.
//!
//! Crash tests of every layer call [`History::sweep`] with a check of their own.
//!
//! Invariants: a failure names everything needed to see it again: the moment, the image and the
//! operations before it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::history::History;
use crate::images::ImageBudget;
use crate::vfs::SimVfs;

/// Operations shown with a failure.
const TRACE_LINES: usize = 12;

/// Which moments to sweep, and how densely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Images of each moment.
    pub budget: ImageBudget,
    /// Moments before this many operations are left out: preparations of the run.
    pub completed_min: u64,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Moments visited.
    pub moment_count: u64,
    /// Images checked.
    pub image_count: u64,
}

/// A disk that a check did not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepFailure {
    /// Operations that had returned when power failed.
    pub completed: u64,
    /// Whether the next one, a durable write, was under way.
    pub is_during: bool,
    /// Position of the image among those of its moment.
    pub image_pos: u64,
    /// What the check said.
    pub message: String,
    /// The last operations, and the one under way or next.
    pub trace: Vec<String>,
}

impl fmt::Display for SweepFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.is_during {
            "during the operation after"
        } else {
            "after operation"
        };
        writeln!(
            formatter,
            "power failed {when} {}, image {}: {}",
            self.completed, self.image_pos, self.message
        )?;
        for line in &self.trace {
            writeln!(formatter, "  {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SweepFailure {}

impl History {
    /// Runs `check` on every image of every moment. It gets the disk and the number of operations
    /// that had returned, and says what is wrong; a panic in it counts as a failure too.
    ///
    /// # Errors
    /// The first failure.
    pub fn sweep(
        &self,
        sweep: Sweep,
        mut check: impl FnMut(&Arc<SimVfs>, u64) -> Result<(), String>,
    ) -> Result<SweepReport, SweepFailure> {
        let mut report = SweepReport::default();
        for moment in self
            .moments()
            .filter(|moment| moment.completed() >= sweep.completed_min)
        {
            report.moment_count += 1;
            for (image_pos, image) in moment.images(sweep.budget).enumerate() {
                report.image_count += 1;
                let result = catch_unwind(AssertUnwindSafe(|| check(&image, moment.completed())));
                let message = match result {
                    Ok(Ok(())) => continue,
                    Ok(Err(message)) => message,
                    Err(panic) => format!("the check panicked: {}", panic_text(&*panic)),
                };
                return Err(SweepFailure {
                    completed: moment.completed(),
                    is_during: moment.is_during(),
                    image_pos: image_pos as u64,
                    message,
                    trace: self.trace_around(moment.completed(), TRACE_LINES),
                });
            }
        }
        Ok(report)
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("(no text)")
}
