//! Random histories with crashes: sessions of transactions on the simulated disk, each ended by a
//! power loss at any operation, a clean close, or both; after each the environment has to hold a
//! state between the last acknowledged and the last submitted transaction, whole and undamaged. Now
//! and then it is opened for reading only before, and nothing may change then.
//!
//! Everything follows from the seed, so that any failure can be seen again. Options change with
//! every session: sizes of journal files, memory, durability.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};
use jackdaw_sim::{CrashChoice, Fault, FaultError, OperationKind, Rng, SimVfs};
use jackdaw_storage::{
    CommitError, Environment, OpenError, Options, ReadTransaction, StorageError, verify,
};

use crate::disk;
use crate::model::{State, change, check_sound, compare, compare_all};
use crate::planted::Mistake;

const DIRECTORY: &str = "/db";
const SESSIONS: u64 = 6;
const TRANSACTIONS_MAX: u64 = 24;
/// Power fails after at most this many operations of the disk; a session has about as many.
const OPERATIONS_MAX: u64 = 260;
const READERS_MAX: usize = 2;

/// What one seed did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryReport {
    /// Transactions submitted.
    pub transactions: u64,
    /// Power losses.
    pub crashes: u64,
    /// Openings whose result was compared with the model.
    pub openings: u64,
    /// Hash of every operation of every disk: equal for equal runs.
    pub trace: u64,
}

struct World {
    seed: u64,
    vfs: Arc<SimVfs>,
    mistake: Option<Mistake>,
    /// States that may be found, by transaction: from the last one that must be there on.
    states: BTreeMap<u64, State>,
    durability: Durability,
    /// One meta slot was damaged, and no opening has written it anew yet.
    has_damaged_slot: bool,
    report: HistoryReport,
}

/// How a session went on after a step.
enum Step {
    Done,
    PowerLost,
}

/// Runs the history of `seed`, with a mistake planted if there is one.
///
/// # Errors
/// What was wrong, as a sentence.
pub fn run(seed: u64, mistake: Option<Mistake>) -> Result<HistoryReport, String> {
    let _planted = mistake.map(Mistake::plant);
    let mut rng = Rng::new(seed);
    let mut world = World {
        seed,
        vfs: SimVfs::new(seed),
        mistake,
        states: BTreeMap::from([(0, State::default())]),
        durability: Durability::Data,
        has_damaged_slot: false,
        report: HistoryReport::default(),
    };
    for session in 0..SESSIONS {
        world
            .session(&mut rng)
            .map_err(|error| format!("session {session}: {error}"))?;
    }
    Ok(world.report)
}

fn options(rng: &mut Rng) -> Options {
    let durability = if rng.chance(6) {
        Durability::None
    } else {
        Durability::Data
    };
    Options {
        durability,
        scratch_bytes: *rng.pick(&[0, 64 << 10, 1 << 20, 16 << 20]),
        journal_bytes: *rng.pick(&[128 << 10, 512 << 10, 16 << 20]),
        journal_file_bytes_min: *rng.pick(&[16 << 10, 64 << 10]),
        journal_file_bytes_max: 128 << 10,
        in_place_bytes_min: *rng.pick(&[16 << 10, 48 << 10, usize::MAX]),
        ..Options::small()
    }
}

/// Goes on to a named snapshot now and then.
fn open_named(
    reader: ReadTransaction,
    seen: &State,
    rng: &mut Rng,
) -> Result<(ReadTransaction, State), String> {
    let named: Vec<(&str, &State)> = seen.named_snapshots().collect();
    if named.is_empty() || rng.chance(2) {
        return Ok((reader, seen.clone()));
    }
    let (name, seen) = *rng.pick(&named);
    let then = reader.into_snapshot(name).map_err(|e| e.to_string())?;
    let then = then.ok_or_else(|| format!("no snapshot {name}"))?;
    Ok((then, seen.clone()))
}

impl World {
    fn disk(&self) -> Arc<dyn Vfs> {
        let disk = match self.mistake {
            Some(mistake) => mistake.disk(&self.vfs),
            None => Arc::clone(&self.vfs) as Arc<dyn Vfs>,
        };
        disk::of_seed(self.seed, disk)
    }

    /// The disk for somebody who only looks.
    fn honest_disk(&self) -> Arc<dyn Vfs> {
        disk::of_seed(self.seed, Arc::clone(&self.vfs) as Arc<dyn Vfs>)
    }

    fn has_lost_power(&self) -> bool {
        self.vfs.fault_count() > 0
    }

    fn session(&mut self, rng: &mut Rng) -> Result<(), String> {
        if rng.chance(4) {
            self.look()
                .map_err(|error| format!("opened to read: {error}"))?;
        }
        let options = options(rng);
        self.durability = options.durability;
        let loses_power = !rng.chance(4);
        if loses_power {
            let nth = rng.between(1, OPERATIONS_MAX);
            let fault = Fault::nth(&[], nth, FaultError::Device);
            self.vfs.inject(fault.sticky());
        } else if rng.chance(3) {
            // The kernel may drop what a failed sync should have written.
            let nth = rng.between(1, 3);
            let fault = Fault::nth(&[OperationKind::Sync], nth, FaultError::Device);
            self.vfs.inject(fault.on("data.jd"));
        }
        let opened = Environment::open(self.disk(), Path::new(DIRECTORY), options);
        let step = match opened {
            Ok(environment) => self.work(environment, rng)?,
            Err(error) if self.has_lost_power() => self.expect_machine(&error)?,
            Err(error) => return Err(format!("opening failed: {error}")),
        };
        self.end(step, rng)
    }

    /// Opens for reading only: what is found then is what any later opening has to find, and the
    /// disk stays as it is.
    fn look(&mut self) -> Result<(), String> {
        let directory = Path::new(DIRECTORY);
        if !self
            .vfs
            .exists(&directory.join("meta"))
            .is_ok_and(|exists| exists)
        {
            return Ok(());
        }
        let before = self.vfs.operation_count();
        let environment = Environment::open_read_only(self.disk(), directory);
        let environment = environment.map_err(|error| error.to_string())?;
        let has_damaged_slot = self.has_damaged_slot;
        self.check_opened(&environment)?;
        self.has_damaged_slot = has_damaged_slot;
        drop(environment);
        match self.vfs.operation_count() == before {
            true => Ok(()),
            false => Err("the disk was changed".to_owned()),
        }
    }

    /// A failure of the disk is the machine's, never damage.
    fn expect_machine(&self, error: &OpenError) -> Result<Step, String> {
        match error {
            OpenError::Storage(StorageError::Corrupt(damage)) => {
                Err(format!("opening met damage: {damage}"))
            }
            _ => Ok(Step::PowerLost),
        }
    }

    fn work(&mut self, environment: Environment, rng: &mut Rng) -> Result<Step, String> {
        let mut readers: Vec<(ReadTransaction, State)> = Vec::new();
        let Some(mut state) = self.check_opened(&environment)? else {
            return self.lose(environment, readers);
        };
        for _ in 0..rng.below(TRANSACTIONS_MAX) {
            match self.transaction(&environment, &mut state, rng)? {
                Step::Done => {}
                Step::PowerLost => return self.lose(environment, readers),
            }
            if rng.chance(6) && readers.len() < READERS_MAX {
                let reader = environment.read().map_err(|e| e.to_string())?;
                // It does not see what was committed lazily and is not written yet.
                let seen = self.states.get(&reader.id().0).unwrap_or(&state).clone();
                match open_named(reader, &seen, rng) {
                    Ok(opened) => readers.push(opened),
                    Err(_) if self.has_lost_power() => return self.lose(environment, readers),
                    Err(what) => return Err(what),
                }
            }
            if rng.chance(5) && !readers.is_empty() {
                let (reader, seen) = readers.swap_remove(0);
                if !self.is_unchanged(&reader, &seen)? {
                    return self.lose(environment, readers);
                }
            }
            if rng.chance(4) && !self.scrub(&environment)? {
                return self.lose(environment, readers);
            }
            if rng.chance(5) {
                match environment.flush() {
                    Ok(()) => self.keep_from_newest(),
                    Err(_) if self.has_lost_power() => return self.lose(environment, readers),
                    Err(error) => return Err(format!("a flush failed: {error}")),
                }
            }
        }
        for (reader, seen) in readers.drain(..) {
            if !self.is_unchanged(&reader, &seen)? {
                return self.lose(environment, Vec::new());
            }
        }
        let closes = rng.chance(3);
        if !closes {
            return self.lose(environment, readers);
        }
        drop(environment);
        if self.has_lost_power() {
            return Ok(Step::PowerLost);
        }
        self.keep_from_newest();
        Ok(Step::Done)
    }

    /// Reads a little of the data file again; `false` when the machine is gone.
    fn scrub(&self, environment: &Environment) -> Result<bool, String> {
        match environment.scrub(64 << 10) {
            Ok(step) => match step.damages.first() {
                Some(damage) if !self.has_lost_power() => {
                    Err(format!("scrubbing found damage: {damage}"))
                }
                _ => Ok(true),
            },
            Err(_) if self.has_lost_power() => Ok(false),
            Err(error) => Err(format!("scrubbing failed: {error}")),
        }
    }

    /// Compares a snapshot with what it saw at first; `false` when the machine is gone.
    fn is_unchanged(&self, reader: &ReadTransaction, seen: &State) -> Result<bool, String> {
        match compare(reader, seen) {
            Ok(()) => Ok(true),
            Err(_) if self.has_lost_power() => Ok(false),
            Err(what) => Err(format!("a snapshot changed: {what}")),
        }
    }

    /// The state that was found, when it is one that may be; `None` when the machine is gone.
    fn check_opened(&mut self, environment: &Environment) -> Result<Option<State>, String> {
        let reader = environment.read().map_err(|e| e.to_string())?;
        let found = reader.id().0;
        let Some(state) = self.states.remove(&found) else {
            let known: Vec<u64> = self.states.keys().copied().collect();
            return Err(format!("transaction {found} is the last, not of {known:?}"));
        };
        let checked = compare_all(environment, &state)
            .map_err(|what| format!("after transaction {found}: {what}"))
            .and_then(|()| check_sound(environment));
        drop(reader);
        match checked {
            Err(_) if self.has_lost_power() => {
                self.states.insert(found, state);
                return Ok(None);
            }
            checked => checked?,
        }
        self.states = BTreeMap::from([(found, state.clone())]);
        self.report.openings += 1;
        self.has_damaged_slot = false;
        Ok(Some(state))
    }

    fn transaction(
        &mut self,
        environment: &Environment,
        state: &mut State,
        rng: &mut Rng,
    ) -> Result<Step, String> {
        let mut transaction = match environment.begin_write() {
            Ok(transaction) => transaction,
            Err(_) if self.has_lost_power() => return Ok(Step::PowerLost),
            Err(error) => return Err(format!("no writer: {error}")),
        };
        let number = transaction.id().0;
        let mut next = state.clone();
        match change(&mut transaction, &mut next, rng) {
            // Pages of an encrypted disk are read like any file.
            Err(StorageError::Io { .. }) if self.has_lost_power() => return Ok(Step::PowerLost),
            changed => changed.map_err(|e| format!("a change failed: {e}"))?,
        }
        if rng.chance(12) {
            drop(transaction);
            return Ok(Step::Done);
        }
        self.report.transactions += 1;
        self.states.insert(number, next.clone());
        if rng.chance(6) {
            return match transaction.commit_lazily() {
                Ok(_) => {
                    *state = next;
                    Ok(Step::Done)
                }
                Err(error) if !self.has_lost_power() => {
                    Err(format!("a lazy commit failed: {error}"))
                }
                Err(_) => {
                    self.states.remove(&number);
                    Ok(Step::PowerLost)
                }
            };
        }
        match transaction.commit() {
            Ok(_) => {
                *state = next;
                if self.durability == Durability::Data {
                    self.keep_from_newest();
                }
                Ok(Step::Done)
            }
            Err(error) if !self.has_lost_power() => Err(format!("a commit failed: {error}")),
            Err(CommitError::NotCommitted(_)) => {
                self.states.remove(&number);
                Ok(Step::PowerLost)
            }
            Err(_) => Ok(Step::PowerLost),
        }
    }

    /// The newest state is durable: no older one may be found any more.
    fn keep_from_newest(&mut self) {
        if let Some((newest, state)) = self.states.pop_last() {
            self.states = BTreeMap::from([(newest, state)]);
        }
    }

    /// Power fails while the environment is open.
    fn lose(
        &mut self,
        environment: Environment,
        readers: Vec<(ReadTransaction, State)>,
    ) -> Result<Step, String> {
        self.crash(CrashChoice::Random(
            self.report.crashes ^ self.report.transactions << 8,
        ));
        drop(readers);
        // Writes to a disk that nobody looks at any more.
        drop(environment);
        Ok(Step::Done)
    }

    fn crash(&mut self, choice: CrashChoice) {
        self.report.crashes += 1;
        self.report.trace = self.report.trace.rotate_left(1) ^ self.vfs.trace_hash();
        self.vfs = self.vfs.crash(choice);
        if let Some(mistake) = self.mistake {
            self.vfs.set_lies(mistake.lies());
        }
    }

    fn end(&mut self, step: Step, rng: &mut Rng) -> Result<(), String> {
        self.vfs.clear_faults();
        let choice = match rng.below(4) {
            0 => CrashChoice::LoseAll,
            1 => CrashChoice::KeepAll,
            _ => CrashChoice::Random(rng.next_u64()),
        };
        if matches!(step, Step::PowerLost) || rng.chance(2) {
            self.crash(choice);
        }
        if self.has_damaged_slot {
            return Ok(());
        }
        if rng.chance(8) {
            return self.damage_newer_meta_slot();
        }
        let meta = Path::new(DIRECTORY).join("meta");
        if rng.chance(3) && self.vfs.exists(&meta).is_ok_and(|exists| exists) {
            let report = verify(&*self.honest_disk(), Path::new(DIRECTORY))
                .map_err(|error| error.to_string())?;
            if let Some(damage) = report.damages.first() {
                return Err(format!("verify found damage: {damage}"));
            }
        }
        Ok(())
    }

    /// One slot may rot: the other one leads to everything.
    fn damage_newer_meta_slot(&mut self) -> Result<(), String> {
        let path = Path::new(DIRECTORY).join("meta");
        let read = OpenOptions {
            mode: OpenMode::Read,
            direct: false,
        };
        let Ok(meta) = self.honest_disk().open(&path, read) else {
            return Ok(());
        };
        let sequence = |slot: u64| {
            let mut bytes = [0; 8];
            let read = meta.read_at(&mut bytes, slot * 4096 + 32);
            read.map_or(0, |()| u64::from_le_bytes(bytes))
        };
        // A new environment has one slot only.
        if sequence(0) == 0 || sequence(1) == 0 {
            return Ok(());
        }
        self.has_damaged_slot = true;
        let slot = u64::from(sequence(1) > sequence(0));
        self.vfs
            .flip(&path, disk::place(self.seed, slot * 4096 + 48), 1)
            .map_err(|error| error.to_string())
    }
}
