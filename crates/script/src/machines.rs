//! Machines kept by the text of their programs: a script is compiled once.
//!
//! Kept by the thread that runs scripts of one database. The least used goes when there are too
//! many.

use crate::error::ScriptError;
use crate::limits::ScriptLimits;
use crate::machine::Machine;
use crate::program::Program;

/// Machines of one database on one thread.
pub struct Machines {
    limits: ScriptLimits,
    count_max: usize,
    /// Last used last.
    kept: Vec<Machine>,
}

impl Machines {
    /// Keeps at most `count_max` machines, each within `limits`.
    #[must_use]
    pub fn new(limits: ScriptLimits, count_max: usize) -> Machines {
        Machines {
            limits,
            count_max: count_max.max(1),
            kept: Vec::new(),
        }
    }

    /// Calls `work` with the machine of `program`, made when it is not there.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn with<T>(
        &mut self,
        program: &Program,
        work: impl FnOnce(&mut Machine) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let kept = self.kept.iter().position(|kept| kept.program() == program);
        let mut machine = match kept {
            Some(slot) => self.kept.remove(slot),
            None => Machine::new(program, &self.limits),
        };
        let outcome = work(&mut machine);
        // A program that does not compile would only push others out.
        if machine.is_ready() {
            if self.kept.len() >= self.count_max {
                self.kept.remove(0);
            }
            self.kept.push(machine);
        }
        outcome
    }

    /// Number of machines kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}
