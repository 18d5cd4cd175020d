//! Starting threads, with an error that names the limit in the way.
//!
//! Every engine thread starts here. A refused thread answers `EAGAIN` for half a dozen reasons;
//! [`SpawnError`] finds the likely one and says what to raise.
//!
//! Invariants: diagnosis happens only after a failure and never fails itself.

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::system::{ThreadFacts, thread_facts};

/// A thread could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the thread {name}: {source}; {limit}")]
pub struct SpawnError {
    /// Name of the thread.
    pub name: String,
    /// What most likely refused it.
    pub limit: ThreadLimit,
    /// The system's answer.
    pub source: io::Error,
}

/// The limit that a refused thread most likely ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadLimit {
    /// The control group's `pids.max`; systemd calls it `TasksMax`.
    #[error(
        "the control group allows {0} threads (pids.max): raise TasksMax= of the systemd unit, \
         or the pids limit of the container"
    )]
    ControlGroup(u64),
    /// Threads of this user, over all its processes.
    #[error("this user may run {0} threads: raise `ulimit -u` (LimitNPROC= in systemd)")]
    User(u64),
    /// Threads of the whole machine.
    #[error("the machine allows {0} threads: raise kernel.threads-max with sysctl")]
    Machine(u64),
    /// Thread identifiers of the whole machine.
    #[error("the machine has {0} thread numbers: raise kernel.pid_max with sysctl")]
    Identifiers(u64),
    /// Memory ranges of this process; each thread's stack takes two.
    #[error("this process may map {0} memory ranges: raise vm.max_map_count with sysctl")]
    MemoryRanges(u64),
    /// No known limit is near; the machine is out of memory for another stack.
    #[error("no thread limit is near, so memory for its stack is the likely cause")]
    Memory,
}

/// Starts a named thread. The system shows the first 15 bytes of the name.
///
/// # Errors
/// [`SpawnError`] naming the limit; nothing was started.
pub fn spawn<F, T>(name: &str, f: F) -> Result<JoinHandle<T>, SpawnError>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let name = usable(name);
    let builder = Builder::new().name(name.clone());
    builder.spawn(f).map_err(|source| refused(name, source))
}

/// Starts a named thread that may borrow from around `scope`.
///
/// # Errors
/// As [`spawn`].
pub fn spawn_scoped<'scope, F, T>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    f: F,
) -> Result<ScopedJoinHandle<'scope, T>, SpawnError>
where
    F: FnOnce() -> T + Send + 'scope,
    T: Send + 'scope,
{
    let name = usable(name);
    let builder = Builder::new().name(name.clone());
    builder
        .spawn_scoped(scope, f)
        .map_err(|source| refused(name, source))
}

/// A zero byte would end the name early, and the standard library panics on it.
fn usable(name: &str) -> String {
    name.chars()
        .filter(|&character| character != '\0')
        .collect()
}

fn refused(name: String, source: io::Error) -> SpawnError {
    SpawnError {
        name,
        limit: likely_limit(&thread_facts()),
        source,
    }
}

/// The limit closest to being reached, when it is within one part in 32 of it: other threads come
/// and go between the refusal and the diagnosis.
fn likely_limit(facts: &ThreadFacts) -> ThreadLimit {
    type Case = (Option<u64>, Option<u64>, fn(u64) -> ThreadLimit);
    let cases: [Case; 5] = [
        (
            facts.control_group_count,
            facts.control_group_max,
            ThreadLimit::ControlGroup,
        ),
        (
            facts.memory_range_count,
            facts.memory_ranges_max,
            ThreadLimit::MemoryRanges,
        ),
        (facts.machine_count, facts.machine_max, ThreadLimit::Machine),
        (
            facts.machine_count,
            facts.identifiers_max,
            ThreadLimit::Identifiers,
        ),
        (facts.user_count, facts.user_max, ThreadLimit::User),
    ];
    cases
        .into_iter()
        .filter_map(|(count, max, limit)| Some((count?, max?, limit)))
        .find(|&(count, max, _)| count.saturating_add(max / 32 + 2) >= max)
        .map_or(ThreadLimit::Memory, |(_, max, limit)| limit(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_runs_under_its_name() {
        let name = || std::thread::current().name().map(str::to_owned);
        let handle = spawn("jackdaw\0-io", name).unwrap();
        assert_eq!(handle.join().unwrap().as_deref(), Some("jackdaw-io"));
    }

    #[test]
    fn nearest_limit_is_named() {
        let roomy = ThreadFacts {
            control_group_count: Some(10),
            control_group_max: Some(500),
            machine_count: Some(300),
            machine_max: Some(60_000),
            identifiers_max: Some(32_768),
            user_count: Some(300),
            user_max: None,
            memory_range_count: Some(100),
            memory_ranges_max: Some(65_530),
        };
        assert_eq!(likely_limit(&roomy), ThreadLimit::Memory);
        let full = ThreadFacts {
            control_group_count: Some(498),
            ..roomy
        };
        assert_eq!(likely_limit(&full), ThreadLimit::ControlGroup(500));
        let full = ThreadFacts {
            memory_range_count: Some(65_529),
            ..roomy
        };
        assert_eq!(likely_limit(&full), ThreadLimit::MemoryRanges(65_530));
        let full = ThreadFacts {
            machine_count: Some(32_766),
            ..roomy
        };
        assert_eq!(likely_limit(&full), ThreadLimit::Identifiers(32_768));
        let full = ThreadFacts {
            user_max: Some(301),
            ..roomy
        };
        assert_eq!(likely_limit(&full), ThreadLimit::User(301));
    }

    #[test]
    fn message_says_what_to_raise() {
        let error = SpawnError {
            name: "writer".into(),
            limit: ThreadLimit::ControlGroup(64),
            source: io::Error::from_raw_os_error(11),
        };
        let text = error.to_string();
        assert!(
            text.starts_with("cannot start the thread writer: "),
            "{text}"
        );
        assert!(text.contains("TasksMax="), "{text}");
    }
}
