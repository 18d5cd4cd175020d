//! Bounds of a walk over terms.
//!
//! Made by query execution, one for a query; spent by the walks of `reader`.
//!
//! Threads: the interrupt flag may be raised from any thread.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::IndexError;

/// How often the interrupt flag is looked at, in terms.
const CHECK_TERMS: u64 = 1_024;

/// How many terms a query may look at, and how it is interrupted.
#[derive(Debug)]
pub struct Budget<'a> {
    visited: u64,
    terms_max: u64,
    interrupt: Option<&'a AtomicBool>,
}

impl<'a> Budget<'a> {
    /// At most `terms_max` terms.
    #[must_use]
    pub fn new(terms_max: u64) -> Budget<'a> {
        Budget {
            visited: 0,
            terms_max,
            interrupt: None,
        }
    }

    /// No bound.
    #[must_use]
    pub fn unlimited() -> Budget<'a> {
        Budget::new(u64::MAX)
    }

    /// Also stops soon after `flag` has become true.
    #[must_use]
    pub fn interrupted_by(self, flag: &'a AtomicBool) -> Budget<'a> {
        Budget {
            interrupt: Some(flag),
            ..self
        }
    }

    /// Terms looked at so far.
    #[must_use]
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// Counts one term.
    #[inline]
    pub(crate) fn spend(&mut self) -> Result<(), IndexError> {
        if self.visited >= self.terms_max {
            return Err(IndexError::WalkLimit {
                visited: self.visited,
            });
        }
        self.visited += 1;
        if self.visited.is_multiple_of(CHECK_TERMS)
            && self
                .interrupt
                .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            return Err(IndexError::Interrupted);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends() {
        let mut budget = Budget::new(2);
        assert!(budget.spend().is_ok());
        assert!(budget.spend().is_ok());
        assert!(matches!(
            budget.spend(),
            Err(IndexError::WalkLimit { visited: 2 })
        ));
    }

    #[test]
    fn a_flag_interrupts() {
        let flag = AtomicBool::new(true);
        let mut budget = Budget::unlimited().interrupted_by(&flag);
        let spent = (0..=CHECK_TERMS).map_while(|_| budget.spend().ok()).count() as u64;
        assert_eq!(spent, CHECK_TERMS - 1);
    }
}
