//! What the machine has and allows, read from the kernel's text files and limits.
//!
//! `jackdaw doctor`, the benchmarks and the diagnosis of refused threads ask here. Nothing here
//! changes the machine, apart from [`raise_open_file_limit`], which changes this process.
//!
//! Invariants: a fact that the machine does not tell is `None`, never a guess and never an error.

mod control_group;
mod file_system;
mod text;

use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

pub use file_system::{FileSystem, file_system_of};

use control_group::Controller;
use text::{field_kib, field_value, file_number};

/// Unit of times in `/proc`: the kernel promises a hundredth of a second to programs.
const CLOCK_TICK_MILLIS: u64 = 10;

/// Capacities and limits of the machine and of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemFacts {
    /// Cores that this process may use (affinity and control group included).
    pub core_count: usize,
    /// Installed memory.
    pub memory_total_bytes: Option<u64>,
    /// Memory that can be had without swapping.
    pub memory_available_bytes: Option<u64>,
    /// Memory limit of the control group; `None` without one.
    pub memory_limit_bytes: Option<u64>,
    /// Open files allowed now; `None` is unlimited.
    pub open_files_soft: Option<u64>,
    /// What the limit of open files may be raised to by this process; `None` is unlimited.
    pub open_files_hard: Option<u64>,
    /// Limits on threads.
    pub threads: ThreadFacts,
    /// Kernel release, such as `6.1.0`.
    pub kernel_release: String,
}

/// Limits on threads, each with the present use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFacts {
    /// Threads in the control group, and the limit (`pids.max`, systemd's `TasksMax`).
    pub control_group_count: Option<u64>,
    /// See above; `None` without a limit.
    pub control_group_max: Option<u64>,
    /// Threads on the machine.
    pub machine_count: Option<u64>,
    /// `kernel.threads-max`.
    pub machine_max: Option<u64>,
    /// `kernel.pid_max`.
    pub identifiers_max: Option<u64>,
    /// Threads of this user.
    pub user_count: Option<u64>,
    /// `ulimit -u`; `None` when unlimited or not enforced (root).
    pub user_max: Option<u64>,
    /// Memory ranges of this process.
    pub memory_range_count: Option<u64>,
    /// `vm.max_map_count`.
    pub memory_ranges_max: Option<u64>,
}

/// Memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Resident now (VmRSS). Counts pages of mapped files.
    pub resident_bytes: u64,
    /// Of that, memory of the process's own, without mapped files (RssAnon).
    pub anonymous_bytes: u64,
    /// Highest resident so far (VmHWM).
    pub peak_resident_bytes: u64,
}

/// Reads everything. Costs tens of milliseconds on a machine with many processes.
#[must_use]
pub fn system_facts() -> SystemFacts {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let open_files = getrlimit(Resource::Nofile);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    SystemFacts {
        core_count: core_count(),
        memory_total_bytes: field_kib(&memory, "MemTotal"),
        memory_available_bytes: field_kib(&memory, "MemAvailable"),
        memory_limit_bytes: control_group::limit(Controller::Memory).map(|limit| limit.max),
        open_files_soft: open_files.current,
        open_files_hard: open_files.maximum,
        threads: thread_facts(),
        kernel_release: release.trim().to_owned(),
    }
}

/// Cores that this process may use; at least 1.
#[must_use]
pub fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Reads the limits on threads.
#[must_use]
pub fn thread_facts() -> ThreadFacts {
    let group = control_group::limit(Controller::Pids);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let is_root = rustix::process::getuid().is_root();
    ThreadFacts {
        control_group_count: group.map(|limit| limit.current),
        control_group_max: group.map(|limit| limit.max),
        machine_count: text::thread_count_of_loadavg(&load),
        machine_max: file_number("/proc/sys/kernel/threads-max"),
        identifiers_max: file_number("/proc/sys/kernel/pid_max"),
        user_count: if is_root { None } else { user_thread_count() },
        user_max: if is_root {
            None
        } else {
            getrlimit(Resource::Nproc).current
        },
        memory_range_count: fs::read_to_string("/proc/self/maps")
            .ok()
            .map(|maps| maps.lines().count() as u64),
        memory_ranges_max: file_number("/proc/sys/vm/max_map_count"),
    }
}

/// Threads of all processes of this user that can be seen.
fn user_thread_count() -> Option<u64> {
    let user = rustix::process::getuid().as_raw().to_string();
    let mut count = 0;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let is_process = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok());
        if !is_process {
            continue;
        }
        // A process may end while it is looked at.
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        let is_mine = field_value(&status, "Uid")
            .is_some_and(|value| value.split_whitespace().next() == Some(user.as_str()));
        if is_mine {
            count += field_value(&status, "Threads")
                .and_then(|value| value.parse::<u64>().ok())
                .unwrap_or(0);
        }
    }
    Some(count)
}

/// Memory of this process; `None` where the kernel does not tell.
#[must_use]
pub fn process_memory() -> Option<ProcessMemory> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Some(ProcessMemory {
        resident_bytes: field_kib(&status, "VmRSS")?,
        anonymous_bytes: field_kib(&status, "RssAnon")?,
        peak_resident_bytes: field_kib(&status, "VmHWM")?,
    })
}

/// Processor time of this process, all threads, user and system.
#[must_use]
pub fn process_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Processor time of this process in user mode and in the kernel, to a hundredth of a second;
/// `None` where the kernel does not tell.
#[must_use]
pub fn process_cpu_times() -> Option<(Duration, Duration)> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may hold anything; the times are the 14th and 15th field.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || {
        let ticks: u64 = fields.next()?.parse().ok()?;
        Some(Duration::from_millis(ticks * CLOCK_TICK_MILLIS))
    };
    Some((next()?, next()?))
}

/// Raises this process's limit of open files as far as it may be raised; gives the limit in force
/// (`None` is unlimited). A server with many connections and databases calls it once at start.
///
/// # Errors
/// The system's refusal; the old limit stays.
pub fn raise_open_file_limit() -> io::Result<Option<u64>> {
    let old = getrlimit(Resource::Nofile);
    if old.current != old.maximum {
        let new = Rlimit {
            current: old.maximum,
            maximum: old.maximum,
        };
        setrlimit(Resource::Nofile, new)?;
    }
    Ok(old.maximum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_kernel_time_add_up() {
        let before = process_cpu_time();
        let (user, system) = process_cpu_times().expect("Linux tells");
        let after = process_cpu_time();
        let slack = Duration::from_millis(4 * CLOCK_TICK_MILLIS);
        assert!(
            user + system + slack >= before,
            "{user:?} {system:?} {before:?}"
        );
        assert!(
            user + system <= after + slack,
            "{user:?} {system:?} {after:?}"
        );
    }

    #[test]
    fn this_machine_tells_the_basics() {
        let facts = system_facts();
        assert!(facts.core_count >= 1);
        assert!(facts.memory_total_bytes > facts.memory_available_bytes);
        assert!(facts.memory_available_bytes > Some(1 << 20));
        assert!(facts.threads.machine_max > Some(100));
        assert!(facts.threads.machine_count >= Some(1));
        assert!(facts.threads.memory_range_count > Some(5));
        assert!(facts.threads.identifiers_max > Some(100));
        assert!(!facts.kernel_release.is_empty());
    }

    #[test]
    fn own_memory_and_processor_time_grow() {
        let before = process_cpu_time();
        let held = vec![1_u8; 8 << 20];
        let memory = process_memory().unwrap();
        assert!(held.iter().all(|&byte| byte == 1));
        assert!(memory.resident_bytes >= 8 << 20);
        assert!(memory.peak_resident_bytes >= memory.resident_bytes);
        assert!(memory.anonymous_bytes <= memory.resident_bytes);
        assert!(process_cpu_time() > before);
    }

    #[test]
    fn threads_of_this_user_are_counted() {
        assert!(user_thread_count().unwrap() >= 1);
    }

    #[test]
    fn open_file_limit_is_raised_to_the_hard_limit() {
        let limit = raise_open_file_limit().unwrap();
        assert_eq!(getrlimit(Resource::Nofile).current, limit);
    }
}
