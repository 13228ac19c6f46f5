//! What a process has in memory, and how many files it may open.

use std::fs;

use peak_alloc::PeakAlloc;

use super::skipped::skipped;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// What this process has allocated and not freed, in bytes.
pub(crate) fn held() -> usize {
    HEAP.current_usage()
}

/// A line of what the system tells of a process, in kB; nothing where there is no `/proc`.
pub(crate) fn of(process: u32, line: &str) -> Option<u64> {
    let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else {
        skipped("memory is not measured: there is no `/proc`");
        return None;
    };
    let found = status.lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(':'));
    found.and_then(|kb| kb.trim().strip_suffix(" kB")?.trim().parse().ok())
}

/// How many connections a test can open with this many in mind: each needs a file, and so does everything else.
pub(crate) fn within_open_files(wanted: usize) -> usize {
    let room = usize::try_from(raise_open_files()).unwrap_or(usize::MAX).saturating_sub(200);
    if room < wanted {
        skipped(&format!("only {room} connections instead of {wanted}: the system allows no more open files"));
    }
    wanted.min(room)
}

/// Allows this process and its children as many open files as the system lets it; returns how many.
#[cfg(unix)]
pub(crate) fn raise_open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum.unwrap_or(u64::MAX),
        Err(_) => current.unwrap_or(u64::MAX),
    }
}

/// Allows this process and its children as many open files as the system lets it; returns how many.
#[cfg(not(unix))]
pub(crate) fn raise_open_files() -> u64 {
    u64::MAX
}

/// Prints a measurement.
#[expect(clippy::print_stderr, reason = "what was measured is said")]
pub(crate) fn say(what: &str) {
    eprintln!("{what}");
}
