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
pub(crate) struct Budget {
    limits: ScriptLimits,
    steps: u64,
    next_look: u64,
}

impl Budget {
    pub(crate) fn new(limits: ScriptLimits) -> Budget {
        Budget {
            limits,
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

    /// Takes the steps of going through, or making, `len_bytes` in `arena`.
    pub(crate) fn charge(
        &mut self,
        len_bytes: usize,
        arena: &Bump,
        host: &mut dyn IndexHost,
    ) -> Result<(), RunError> {
        let used = arena.allocated_bytes();
        if used.saturating_add(len_bytes) > self.limits.memory_bytes_max {
            let limit = self.limits.memory_bytes_max;
            return Err(RunError::Document(format!(
                "The program needs more than the {limit} bytes of memory that it may use"
            )));
        }
        self.steps += (len_bytes / BYTES_A_STEP) as u64;
        self.step(host)
    }

    fn look(&mut self, host: &mut dyn IndexHost) -> Result<(), RunError> {
        if self.steps > self.limits.steps_max {
            let limit = self.limits.steps_max;
            return Err(RunError::Document(format!(
                "The program takes more than {limit} steps for this document. Write one that \
                 does less for each"
            )));
        }
        self.next_look = self.steps + STEPS_A_LOOK;
        if host.is_over() {
            return Err(RunError::Document(
                "The program was stopped: it took longer than it may".to_owned(),
            ));
        }
        Ok(())
    }
}
