//! Commands that took long, for SLOWLOG and LATENCY.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::commands::Call;
use crate::value::Bytes;

/// Arguments of a slow command that are kept, and bytes of each.
const ARGUMENTS_KEPT: usize = 32;
const ARGUMENT_BYTES_KEPT: usize = 128;
/// Latencies that are kept.
const LATENCIES_KEPT: usize = 160;

/// A command that took long.
#[derive(Clone, Debug)]
pub(crate) struct SlowCommand {
    pub(crate) id: u64,
    pub(crate) unix_seconds: u64,
    pub(crate) micros: u64,
    pub(crate) args: Vec<Bytes>,
    pub(crate) peer: String,
    pub(crate) name: Bytes,
}

#[derive(Default)]
struct Logs {
    next_id: u64,
    slow: VecDeque<SlowCommand>,
    latencies: VecDeque<(u64, u64)>,
    latency_max: u64,
}

/// See the file head.
#[derive(Default)]
pub(crate) struct SlowLog {
    logs: Mutex<Logs>,
}

impl SlowLog {
    fn lock(&self) -> MutexGuard<'_, Logs> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a command that took long.
    pub(crate) fn note(&self, call: &Call<'_>, took: Duration) {
        let settings = &call.shared.settings;
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let millis = micros / 1000;
        let latency_threshold = settings.latency_millis();
        if latency_threshold > 0 && millis >= latency_threshold {
            let mut logs = self.lock();
            logs.latencies.push_front((call.now / 1000, millis));
            logs.latencies.truncate(LATENCIES_KEPT);
            logs.latency_max = logs.latency_max.max(millis);
        }
        let threshold = settings.slow_micros();
        let is_slow = u64::try_from(threshold).is_ok_and(|threshold| micros >= threshold);
        // The log does not fill itself, and no password goes into it.
        let is_hidden = call.is(0, "slowlog") || call.is(0, "auth") || call.is(0, "hello");
        if !is_slow || is_hidden {
            return;
        }
        let mut logs = self.lock();
        let id = logs.next_id;
        logs.next_id += 1;
        logs.slow.push_front(SlowCommand {
            id,
            unix_seconds: call.now / 1000,
            micros,
            args: kept(call.args),
            peer: call.session.info.peer.clone(),
            name: call.session.info.names().name.clone(),
        });
        logs.slow.truncate(settings.slow_max());
    }

    pub(crate) fn newest(&self, count: usize) -> Vec<SlowCommand> {
        self.lock().slow.iter().take(count).cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().slow.len()
    }

    pub(crate) fn reset(&self) {
        self.lock().slow.clear();
    }

    /// Unix seconds and milliseconds of slow commands, the newest first, and the longest of all.
    pub(crate) fn latencies(&self) -> (Vec<(u64, u64)>, u64) {
        let logs = self.lock();
        (logs.latencies.iter().copied().collect(), logs.latency_max)
    }

    pub(crate) fn reset_latencies(&self) -> bool {
        let mut logs = self.lock();
        let had_some = !logs.latencies.is_empty();
        logs.latencies.clear();
        logs.latency_max = 0;
        had_some
    }
}

fn kept(args: &[&[u8]]) -> Vec<Bytes> {
    let shown = if args.len() > ARGUMENTS_KEPT {
        ARGUMENTS_KEPT - 1
    } else {
        args.len()
    };
    let mut kept: Vec<Bytes> = args[..shown]
        .iter()
        .map(|argument| match argument.len() > ARGUMENT_BYTES_KEPT {
            false => Bytes::from(*argument),
            true => {
                let rest = argument.len() - ARGUMENT_BYTES_KEPT;
                let tail = format!("... ({rest} more bytes)");
                [&argument[..ARGUMENT_BYTES_KEPT], tail.as_bytes()]
                    .concat()
                    .into()
            }
        })
        .collect();
    if shown < args.len() {
        let text = format!("... ({} more arguments)", args.len() - shown);
        kept.push(text.into_bytes().into());
    }
    kept
}
