//! Handles, callbacks and engine threads: whoever drops the last handle, panics or comes late, no
//! committed byte is lost, nothing waits forever, and files are never written by two at once.
//!
//! All on the simulated disk, so that nothing depends on the machine.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Fault, FaultError, OperationKind, SimVfs};
use jackdaw_storage::{
    CheckLevel, Environment, OpenError, Options, StorageError, WriteError, WriteTransaction,
};

const DIRECTORY: &str = "/db";

fn try_open(vfs: &Arc<SimVfs>) -> Result<Environment, OpenError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(DIRECTORY), Options::small())
}

fn open(vfs: &Arc<SimVfs>) -> Environment {
    try_open(vfs).expect("opens")
}

fn put(transaction: &mut WriteTransaction, key: &str) -> Result<(), StorageError> {
    let mut tree = transaction.tree_mut("t")?;
    tree.put(key.as_bytes(), &[7; 9_000]).map(|_| ())
}

fn keys(environment: &Environment) -> Vec<String> {
    let reader = environment.read().unwrap();
    let Some(tree) = reader.tree("t").unwrap() else {
        return Vec::new();
    };
    tree.iter()
        .unwrap()
        .map(|entry| String::from_utf8(entry.unwrap().0.to_vec()).unwrap())
        .collect()
}

#[test]
fn panic_of_a_callback_harms_nobody_else() {
    let vfs = SimVfs::new(1);
    let environment = open(&vfs);
    environment.submit_then(
        |transaction| put(transaction, "a"),
        |_| panic!("on purpose"),
    );
    let same_batch = environment.submit(|transaction| put(transaction, "b"));
    same_batch.wait().unwrap();
    environment
        .write(|transaction| put(transaction, "c"))
        .unwrap();
    environment.flush().unwrap();
    assert_eq!(keys(&environment), ["a", "b", "c"]);
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
    let crashed = vfs.crash(CrashChoice::Random(1));
    drop(environment);
    let environment = open(&crashed);
    assert_eq!(keys(&environment), ["a", "b", "c"]);
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}

/// Every sealed transaction of a group is visible and remembered by the flusher before anyone is
/// told of the first, whatever its callback does.
#[test]
fn panic_of_a_callback_in_a_group_loses_no_transaction() {
    let vfs = SimVfs::new(2);
    let environment = open(&vfs);
    let (entered, has_entered) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    // The journal thread stays in this callback until another batch is sealed.
    environment.submit_then(
        |transaction| put(transaction, "a"),
        move |_| {
            entered.send(()).unwrap();
            may_leave.recv().unwrap();
        },
    );
    has_entered.recv().unwrap();
    environment.submit_then(
        |transaction| put(transaction, "b"),
        |_| panic!("on purpose"),
    );
    let mut explicit = environment.begin_write().unwrap();
    leave.send(()).unwrap();
    put(&mut explicit, "c").unwrap();
    explicit.commit().unwrap();
    environment
        .write(|transaction| put(transaction, "d"))
        .unwrap();
    environment.flush().unwrap();
    assert_eq!(keys(&environment).len(), 4);
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}

#[test]
fn callbacks_are_called_without_locks() {
    let environment = open(&SimVfs::new(3));
    let (sender, receiver) = mpsc::channel();
    let inner = environment.clone();
    environment.submit_then(
        |transaction| put(transaction, "a"),
        move |_| {
            let mut transaction = inner.begin_write().unwrap();
            put(&mut transaction, "b").unwrap();
            sender.send(transaction.commit().is_ok()).unwrap();
        },
    );
    assert!(receiver.recv().unwrap());
    assert_eq!(keys(&environment), ["a", "b"]);
}

#[test]
fn operations_behind_a_running_one_are_told() {
    for waiting in [1, 2, 7, 8, 9, 40] {
        let environment = open(&SimVfs::new(6));
        assert!(environment.is_idle());
        let (entered, has_entered) = mpsc::channel();
        let (leave, may_leave) = mpsc::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        // Something is queued behind an operation that runs.
        environment.submit_then(
            move |transaction| {
                entered.send(()).unwrap();
                may_leave.recv().unwrap();
                put(transaction, "first")
            },
            |outcome| outcome.unwrap(),
        );
        has_entered.recv().unwrap();
        assert!(!environment.is_idle());
        for slot in 0..waiting {
            let sender = sender.clone();
            environment.submit_notifying(
                move |transaction| put(transaction, &format!("k{slot}")),
                move |outcome| sender.send(outcome.is_ok()).unwrap(),
            );
        }
        leave.send(()).unwrap();
        drop(sender);
        assert_eq!(receiver.iter().filter(|&stored| stored).count(), waiting);
    }
}

/// The callback waits for the writer, which holds a batch that nobody else can get written.
#[test]
fn callback_may_become_the_writer_while_a_batch_is_open() {
    let environment = open(&SimVfs::new(9));
    let (entered, has_entered) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    let inner = environment.clone();
    environment.submit_then(
        |transaction| put(transaction, "a"),
        move |_| {
            entered.send(()).unwrap();
            may_leave.recv().unwrap();
            let mut transaction = inner.begin_write().unwrap();
            put(&mut transaction, "z").unwrap();
            transaction.commit().unwrap();
        },
    );
    has_entered.recv().unwrap();
    // A batch of two operations waits for the journal thread, which is in the callback: whoever
    // becomes the writer comes behind it.
    let (began, has_begun) = mpsc::channel();
    let (queued, are_queued) = mpsc::channel::<()>();
    let first = environment.submit(move |transaction| {
        began.send(()).unwrap();
        are_queued.recv().unwrap();
        put(transaction, "b")
    });
    has_begun.recv().unwrap();
    let second = environment.submit(|transaction| put(transaction, "c"));
    queued.send(()).unwrap();
    drop(environment.begin_write().unwrap());
    // The next batch is open: it collects operations until that one is written.
    let (ran, has_run) = mpsc::channel();
    let open = environment.submit(move |transaction| {
        ran.send(()).unwrap();
        put(transaction, "d")
    });
    has_run.recv().unwrap();
    leave.send(()).unwrap();
    for written in [first, second, open] {
        written.wait().unwrap();
    }
    environment.wait_for_queued().unwrap();
    assert_eq!(keys(&environment), ["a", "b", "c", "d", "z"]);
}

#[test]
fn last_handle_may_be_dropped_on_an_engine_thread() {
    let vfs = SimVfs::new(4);
    for round in 0..10 {
        let environment = open_when_free(&vfs);
        let handle = environment.clone();
        let (go, may_go) = mpsc::channel::<()>();
        environment.submit_then(
            move |transaction| put(transaction, &round.to_string()),
            move |_| {
                may_go.recv().unwrap();
                drop(handle);
            },
        );
        drop(environment);
        go.send(()).unwrap();
    }
    let environment = open_when_free(&vfs);
    assert!(environment.statistics().recovery.was_clean);
    assert_eq!(keys(&environment).len(), 10);
}

#[test]
fn last_handle_may_be_dropped_by_an_operation() {
    let vfs = SimVfs::new(5);
    let environment = open(&vfs);
    let handle = environment.clone();
    let (go, may_go) = mpsc::channel::<()>();
    let written = environment.submit(move |transaction| {
        may_go.recv().unwrap();
        drop(handle);
        put(transaction, "a")
    });
    drop(environment);
    go.send(()).unwrap();
    written.wait().unwrap();
    assert_eq!(keys(&open_when_free(&vfs)), ["a"]);
}

/// Closing on an engine thread ends some time after the drop.
fn open_when_free(vfs: &Arc<SimVfs>) -> Environment {
    loop {
        match try_open(vfs) {
            Err(OpenError::InUse { .. }) => std::thread::yield_now(),
            opened => return opened.expect("opens"),
        }
    }
}

#[test]
fn reader_that_outlives_the_environment_keeps_its_files_from_being_opened_again() {
    let vfs = SimVfs::new(6);
    let environment = open(&vfs);
    environment
        .write(|transaction| put(transaction, "a"))
        .unwrap();
    environment.flush().unwrap();
    let reader = environment.read().unwrap();
    environment
        .write(|transaction| put(transaction, "b"))
        .unwrap();
    drop(environment);
    assert!(matches!(try_open(&vfs), Err(OpenError::InUse { .. })));
    let tree = reader.tree("t").unwrap().unwrap();
    assert_eq!(tree.iter().unwrap().count(), 1);
    drop(reader);
    assert_eq!(keys(&open(&vfs)), ["a", "b"]);
}

#[test]
fn writer_that_outlives_the_environment_commits_before_it_closes() {
    let vfs = SimVfs::new(7);
    let environment = open(&vfs);
    let mut transaction = environment.begin_write().unwrap();
    // Waits for the writer above; closing must not wait for it in turn.
    let queued = environment.submit(|transaction| put(transaction, "b"));
    drop(environment);
    assert!(matches!(try_open(&vfs), Err(OpenError::InUse { .. })));
    put(&mut transaction, "a").unwrap();
    transaction.commit().unwrap();
    queued.wait().unwrap();
    let environment = open_when_free(&vfs);
    assert!(environment.statistics().recovery.was_clean);
    assert_eq!(keys(&environment), ["a", "b"]);
}

#[test]
fn refusal_that_may_rest_on_lost_changes_is_not_told_as_a_fact() {
    let vfs = SimVfs::new(8);
    let environment = open(&vfs);
    environment
        .write(|transaction| put(transaction, "a"))
        .unwrap();
    let blocker = environment.begin_write().unwrap();
    let first = environment.submit(|transaction| put(transaction, "b"));
    let second = environment.submit(|transaction| {
        match transaction.tree("t").unwrap().unwrap().get(b"b").unwrap() {
            Some(_) => Err("exists already"),
            None => Ok(()),
        }
    });
    // The journal file, under the name by which it was opened.
    let fault = Fault::nth(&[OperationKind::Write], 1, FaultError::Device);
    vfs.inject(fault.on("prepared-1.tmp"));
    drop(blocker);
    assert!(matches!(first.wait(), Err(WriteError::Unknown(_))));
    assert!(matches!(second.wait(), Err(WriteError::NotCommitted(_))));
}

/// Callers learn of their transactions in the order of the journal, also when several threads write
/// it: changes are reported from callbacks.
#[test]
fn callbacks_come_in_the_order_of_transactions() {
    let environment = open(&SimVfs::new(9));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..200 {
                let mut transaction = environment.begin_write().unwrap();
                put(&mut transaction, &format!("explicit-{}", round % 10)).unwrap();
                transaction.commit().unwrap();
            }
        });
        for round in 0..400 {
            let sender = sender.clone();
            environment.submit_then(
                move |transaction| {
                    put(transaction, &format!("queued-{}", round % 10))?;
                    Ok::<_, StorageError>(transaction.id())
                },
                move |outcome| sender.send(outcome.unwrap()).unwrap(),
            );
        }
    });
    drop(sender);
    let told: Vec<_> = receiver.iter().collect();
    assert_eq!(told.len(), 400);
    assert!(told.is_sorted());
}

/// With nothing else on its way, the caller writes and is told before it goes on: what it was told
/// survives the loss of power.
#[test]
fn an_idle_environment_is_written_by_the_caller_before_it_goes_on() {
    let vfs = SimVfs::new(4);
    let environment = open(&vfs);
    let (sender, receiver) = mpsc::channel();
    for round in 0..20_u8 {
        let key = format!("{round:02}");
        let sender = sender.clone();
        environment.write_then(
            move |transaction| put(transaction, &key),
            move |outcome| {
                let told = (std::thread::current().id(), outcome.is_ok());
                sender.send(told).unwrap();
            },
        );
        assert_eq!(receiver.try_recv(), Ok((std::thread::current().id(), true)));
        let crashed = open(&vfs.crash(CrashChoice::LoseAll));
        assert_eq!(keys(&crashed).len(), usize::from(round) + 1);
    }
}

/// While another one writes, the operation is queued behind what was there before.
#[test]
fn a_busy_environment_is_told_of_later_and_in_order() {
    let vfs = SimVfs::new(5);
    let environment = open(&vfs);
    let (sender, receiver) = mpsc::channel();
    let tell = |name: &'static str| {
        let sender = sender.clone();
        move |outcome: Result<(), WriteError<StorageError>>| {
            sender.send((name, outcome.is_ok())).unwrap();
        }
    };
    let mut explicit = environment.begin_write().unwrap();
    environment.submit_then(|transaction| put(transaction, "a"), tell("a"));
    environment.write_then(|transaction| put(transaction, "b"), tell("b"));
    assert!(receiver.try_recv().is_err());
    put(&mut explicit, "explicit").unwrap();
    explicit.commit().unwrap();
    assert_eq!(receiver.recv(), Ok(("a", true)));
    assert_eq!(receiver.recv(), Ok(("b", true)));
    assert_eq!(keys(&environment), ["a", "b", "explicit"]);
}

/// A write may run on its caller's thread, past the queue; what that thread queued before still
/// comes first, with other threads around or without.
#[test]
fn a_write_sees_what_its_thread_submitted_before() {
    let vfs = SimVfs::new(1);
    let environment = open(&vfs);
    for threads in [1, 4] {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let environment = &environment;
                scope.spawn(move || {
                    for round in 0..100 {
                        let key = format!("{threads}/{thread}/{round}");
                        let again = key.clone();
                        let submitted =
                            environment.submit(move |transaction| put(transaction, &key));
                        let is_there = environment.write(move |transaction| {
                            let tree = transaction.tree_mut("t")?;
                            Ok::<_, StorageError>(tree.get(again.as_bytes())?.is_some())
                        });
                        assert!(is_there.unwrap(), "thread {thread}, round {round}");
                        submitted.wait().unwrap();
                    }
                });
            }
        });
    }
    assert_eq!(keys(&environment).len(), 500);
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}
