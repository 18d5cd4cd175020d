//! What stays below a limit while a program runs: steps, memory, time.
//!
//! Every turn of a loop over elements is a step, and so is each 64 bytes that a function goes
//! through. Nothing else in a program repeats.

use bumpalo::Bump;

use crate::index::error::RunError;
use crate::index::host::IndexHost;
use crate::limits::ScriptLimits;

/// Steps between two questions whether the run is over.
const STEPS_A_LOOK: u64 = 10_000;
/// Bytes that are gone through in the time of a step.
const BYTES_A_STEP: usize = 64;

/// What is left of the limits.
pub(crate) struct Budget<'a> {
    limits: ScriptLimits,
    arena: &'a Bump,
    steps: u64,
    next_look: u64,
}

impl<'a> Budget<'a> {
    pub(crate) fn new(limits: ScriptLimits, arena: &'a Bump) -> Budget<'a> {
        Budget {
            limits,
            arena,
            steps: 0,
            next_look: STEPS_A_LOOK,
        }
    }

    /// Takes a step.
    #[inline]
    pub(crate) fn step(&mut self, host: &mut dyn IndexHost) -> Result<(), RunError> {
        self.steps += 1;
        if self.steps < self.next_look {
            return Ok(());
        }
        self.look(host)
    }

    /// Takes the steps of going through, or making, `len_bytes`.
    pub(crate) fn charge(
        &mut self,
        len_bytes: usize,
        host: &mut dyn IndexHost,
    ) -> Result<(), RunError> {
        self.check_memory(len_bytes)?;
        self.steps += (len_bytes / BYTES_A_STEP) as u64;
        self.step(host)
    }

    fn check_memory(&self, more_bytes: usize) -> Result<(), RunError> {
        let limit = self.limits.memory_bytes_max;
        let used = self.arena.allocated_bytes();
        if used.saturating_add(more_bytes) <= limit {
            return Ok(());
        }
        Err(RunError::Document(format!(
            "The program needs more than the {limit} bytes of memory that it may use"
        )))
    }

    fn look(&mut self, host: &mut dyn IndexHost) -> Result<(), RunError> {
        if self.steps > self.limits.steps_max {
            let limit = self.limits.steps_max;
            return Err(RunError::Document(format!(
                "The program takes more than {limit} steps for this document. Write one that \
                 does less for each"
            )));
        }
        self.check_memory(0)?;
        self.next_look = self.steps + STEPS_A_LOOK;
        if host.is_over() {
            return Err(RunError::Document(
                "The program was stopped: it took longer than it may".to_owned(),
            ));
        }
        Ok(())
    }
}
