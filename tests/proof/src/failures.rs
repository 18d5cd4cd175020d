//! Every operation of the disk fails once: the n-th one, for n from 1 until the script no longer
//! meets its failure. Then the environment is opened again, as it is and after a power loss, and
//! power fails inside recoveries of recoveries.

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Fault, FaultError, Rng, SimVfs};
use jackdaw_storage::{CommitError, Environment, OpenError, Options, StorageError};

use crate::disk;
use crate::model::{State, change, check_sound, compare_all};

const DIRECTORY: &str = "/db";
const TRANSACTIONS: u64 = 12;
/// Recoveries inside which power fails, one in another.
const NESTED: u64 = 3;

/// What the loops did.
#[derive(Clone, Copy, Debug, Default)]
pub struct FailureReport {
    /// Scripts run, each with one failure.
    pub scripts: u64,
    /// Openings that met a failure, or followed one.
    pub openings: u64,
}

/// State that must be there, and the one of a transaction whose outcome is unknown.
struct Expected {
    seed: u64,
    number: u64,
    state: State,
    unknown: Option<State>,
}

fn open(vfs: &Arc<SimVfs>, seed: u64) -> Result<Environment, OpenError> {
    let disk = disk::of_seed(seed, Arc::clone(vfs) as Arc<dyn Vfs>);
    Environment::open(disk, Path::new(DIRECTORY), Options::small())
}

/// Runs all loops for the script of `seed`.
///
/// # Errors
/// The failure after which something was wrong.
pub fn run(seed: u64) -> Result<FailureReport, String> {
    let mut report = FailureReport::default();
    for (error, is_sticky) in [
        (FaultError::Device, false),
        (FaultError::Device, true),
        (FaultError::Full, false),
        (FaultError::Full, true),
    ] {
        for nth in 1.. {
            let fault = Fault::nth(&[], nth, error);
            let fault = if is_sticky { fault.sticky() } else { fault };
            let name = format!("seed {seed}, {error:?}, sticky {is_sticky}, operation {nth}");
            let vfs = SimVfs::new(seed);
            vfs.inject(fault);
            let expected = script(&vfs, seed).map_err(|what| format!("{name}: {what}"))?;
            report.scripts += 1;
            let is_over = vfs.fault_count() == 0;
            vfs.clear_faults();
            after(&vfs, &expected, nth, &mut report).map_err(|what| format!("{name}: {what}"))?;
            if is_over {
                break;
            }
        }
    }
    Ok(report)
}

/// The script; it stops when the environment does not go on.
fn script(vfs: &Arc<SimVfs>, seed: u64) -> Result<Expected, String> {
    let mut rng = Rng::new(seed);
    let mut expected = Expected {
        seed,
        number: 0,
        state: State::default(),
        unknown: None,
    };
    let Ok(mut environment) = open(vfs, seed) else {
        return Ok(expected);
    };
    for round in 0..TRANSACTIONS {
        let Ok(mut transaction) = environment.begin_write() else {
            return Ok(expected);
        };
        let mut next = expected.state.clone();
        match change(&mut transaction, &mut next, &mut rng) {
            // Pages of an encrypted disk are read like any file; nothing was changed.
            Err(StorageError::Io { .. }) => continue,
            changed => changed.map_err(|e| e.to_string())?,
        }
        match transaction.commit() {
            Ok(number) => {
                expected.number = number.0;
                expected.state = next;
            }
            // Nothing changed; the next transaction has to succeed when the disk has room again.
            Err(CommitError::NotCommitted(StorageError::Full)) => continue,
            Err(CommitError::NotCommitted(_)) => return Ok(expected),
            Err(_) => {
                expected.unknown = Some(next);
                return Ok(expected);
            }
        }
        if round % 4 == 2 {
            // What was acknowledged is in the journal, whether the flush succeeds or not.
            let _ = environment.flush();
        }
        if round % 6 == 5 {
            drop(environment);
            let Ok(reopened) = open(vfs, seed) else {
                return Ok(expected);
            };
            environment = reopened;
        }
    }
    Ok(expected)
}

fn after(
    vfs: &Arc<SimVfs>,
    expected: &Expected,
    nth: u64,
    report: &mut FailureReport,
) -> Result<(), String> {
    let crashed = vfs.crash(CrashChoice::Random(nth));
    expected.check(vfs).map_err(|e| format!("reopened: {e}"))?;
    report.openings += 1;
    // Each failing operation of the opening in turn is too much for all; they rotate with n.
    let mut image = crashed;
    for depth in 0..NESTED {
        let fault = Fault::nth(&[], 1 + (nth * 7 + depth * 5) % 40, FaultError::Device);
        image.inject(fault.sticky());
        let opened = open(&image, expected.seed);
        report.openings += 1;
        if let Err(OpenError::Storage(StorageError::Corrupt(damage))) = &opened {
            return Err(format!("a failing disk was taken for damage: {damage}"));
        }
        let next = image.crash(CrashChoice::Random(nth ^ depth << 32));
        drop(opened);
        image = next;
    }
    report.openings += 1;
    expected
        .check(&image)
        .map_err(|e| format!("after power losses in recovery: {e}"))
}

impl Expected {
    fn check(&self, vfs: &Arc<SimVfs>) -> Result<(), String> {
        let environment = open(vfs, self.seed).map_err(|e| e.to_string())?;
        let reader = environment.read().map_err(|e| e.to_string())?;
        let found = reader.id().0;
        let state = match (&self.unknown, found.checked_sub(self.number)) {
            (_, Some(0)) => &self.state,
            (Some(unknown), Some(1)) => unknown,
            _ => {
                return Err(format!(
                    "transaction {} was acknowledged, {found} is the last",
                    self.number
                ));
            }
        };
        compare_all(&environment, state)?;
        drop(reader);
        check_sound(&environment)
    }
}
