//! MULTI, EXEC and WATCH.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::call::Call;
use super::{Handler, Spec, check_memory, row, run_in_transaction};
use crate::failure::{Failure, Outcome};
use crate::keyspace::Space;
use crate::session::{Transaction, Watch, name_bytes};

use Handler::{Session, Whole};

pub(super) const SPECS: &[Spec] = &[
    row(
        "multi",
        1,
        "fu",
        (0, 0, 0),
        Session(multi),
        "Begins a transaction",
    ),
    row(
        "exec",
        1,
        "su",
        (0, 0, 0),
        Whole(exec),
        "Runs the transaction",
    ),
    row(
        "discard",
        1,
        "fu",
        (0, 0, 0),
        Whole(discard),
        "Drops the transaction",
    ),
    row(
        "watch",
        -2,
        "fu",
        (1, -1, 1),
        Whole(watch),
        "Lets EXEC fail when a key changes",
    ),
    row(
        "unwatch",
        1,
        "f",
        (0, 0, 0),
        Whole(unwatch),
        "Forgets the watched keys",
    ),
];

/// Keys that a client may watch.
const WATCHED_MAX: usize = 10_000;

fn multi(call: &mut Call<'_>) -> Outcome {
    if call.session.transaction.is_some() {
        return Err(Failure::other("MULTI calls can not be nested"));
    }
    call.session.transaction = Some(Transaction::default());
    call.out.ok();
    Ok(())
}

fn exec(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let Some(transaction) = call.session.transaction.take() else {
        return Err(Failure::other("EXEC without MULTI"));
    };
    let is_stale = call.session.unwatch(space);
    if transaction.is_refused {
        return Err(Failure::coded(
            "EXECABORT Transaction discarded because of previous errors.",
        ));
    }
    if is_stale {
        call.out.null_array();
        return Ok(());
    }
    if let Err(failure) = check_memory(call, space, &transaction.commands) {
        let reason = format!("EXECABORT Transaction discarded because of: {failure}");
        return Err(Failure::coded(reason));
    }
    call.out.array(transaction.commands.len());
    call.session.is_in_exec = true;
    for queued in &transaction.commands {
        let args: Vec<&[u8]> = queued.args.iter().map(AsRef::as_ref).collect();
        let mut inner = Call {
            args: &args,
            key_at: 0,
            hash: 0,
            now: call.now,
            out: call.out,
            session: call.session,
            shared: call.shared,
        };
        run_in_transaction(&mut inner, space, queued.spec);
    }
    call.session.is_in_exec = false;
    Ok(())
}

fn discard(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    if call.session.transaction.take().is_none() {
        return Err(Failure::other("DISCARD without MULTI"));
    }
    call.session.unwatch(space);
    call.out.ok();
    Ok(())
}

fn watch(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    if call.session.transaction.is_some() {
        return Err(Failure::other("WATCH inside MULTI is not allowed"));
    }
    let database = call.session.database;
    let mut watch = call.session.watch.take().unwrap_or_else(|| Watch {
        flag: Arc::new(AtomicBool::new(false)),
        keys: Vec::new(),
        bytes: 0,
    });
    let mut result = Ok(());
    for position in 1..call.len() {
        let bytes = call.args[position];
        let is_known = watch
            .keys
            .iter()
            .any(|(d, k)| *d == database && **k == *bytes);
        if is_known {
            continue;
        }
        if watch.keys.len() == WATCHED_MAX {
            result = Err(Failure::other(
                "too many watched keys: EXEC or UNWATCH first",
            ));
            break;
        }
        let (shard, key) = call.shard_in(space, position);
        // A key that has ended already is removed now, so that its end is no change.
        shard.peek(&key, call.now);
        shard.watch(&key, &watch.flag);
        watch.keys.push((database, bytes.into()));
        watch.bytes += name_bytes(bytes);
    }
    call.session.watch = Some(watch);
    result?;
    call.out.ok();
    Ok(())
}

fn unwatch(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    call.session.unwatch(space);
    call.out.ok();
    Ok(())
}
