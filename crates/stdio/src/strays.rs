//! Processes that have left the process group of a server, such as daemons, found by a mark in their environment.

use std::{
    fs,
    io::Read,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use rustix::process::{Pid, Signal, kill_process};

/// The variable with the mark.
pub(crate) const VARIABLE: &str = "COUPLET_CHILD";

/// The number of passes over all processes: one that starts another during a pass is found in the next.
const PASSES: usize = 5;
/// The time between two passes.
const PAUSE: Duration = Duration::from_millis(20);
/// The maximum size of an environment that is read.
const LARGEST: u64 = 1 << 20;

/// Returns a mark that no other start of a server has.
pub(crate) fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}-{now}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Kills all processes with a mark. It reads the environment of every process of this user, so it blocks for a while.
pub(crate) fn kill(mark: &str) {
    let needle = format!("{VARIABLE}={mark}\0").into_bytes();
    for _ in 0..PASSES {
        let found: Vec<_> = processes().filter(|process| has(*process, &needle)).collect();
        if found.is_empty() {
            return;
        }
        for process in found {
            // It fails when the process is gone, which is what is wanted.
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
}

/// All processes but this one.
fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = i32::try_from(std::process::id()).ok();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(move |id| Some(*id) != own).filter_map(Pid::from_raw)
}

/// Whether the environment of a process has a variable.
fn has(process: Pid, needle: &[u8]) -> bool {
    let Ok(file) = fs::File::open(format!("/proc/{}/environ", process.as_raw_pid())) else { return false };
    let mut environment = Vec::new();
    let read = file.take(LARGEST).read_to_end(&mut environment);
    read.is_ok() && environment.split_inclusive(|byte| *byte == 0).any(|variable| variable == needle)
}
