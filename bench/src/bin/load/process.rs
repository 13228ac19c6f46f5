//! Resource usage of the server process. Without `/proc`, all values are zero.

use std::fs;

/// A reading, to subtract from a later one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reading {
    ticks: f64,
    threads: f64,
    switches: u64,
}

/// The difference between two readings.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    /// CPU time in seconds.
    pub(crate) cpu: f64,
    /// Voluntary context switches.
    pub(crate) switches: u64,
}

impl Reading {
    pub(crate) fn now(pid: u32) -> Self {
        Self { ticks: tick_seconds(pid), threads: thread_seconds(pid), switches: switches(pid) }
    }

    /// Returns the usage since this reading: from the per-thread nanoseconds, or from the process ticks if a thread ended
    /// meanwhile.
    pub(crate) fn since(self, pid: u32) -> Spent {
        let now = Self::now(pid);
        let (ticks, threads) = (now.ticks - self.ticks, now.threads - self.threads);
        let cpu = if (ticks - threads).abs() < 0.04 { threads } else { ticks };
        Spent { cpu, switches: now.switches.saturating_sub(self.switches) }
    }

    /// Returns the CPU time in seconds since the process started.
    pub(crate) const fn total(self) -> f64 {
        self.threads
    }
}

/// Returns the resident memory in kilobytes.
pub(crate) fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    number_after(&status, "VmRSS:")
}

/// Returns the most memory that was resident at once, in kilobytes.
pub(crate) fn peak_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    number_after(&status, "VmHWM:")
}

/// Returns the user and system time of the process in ticks, including ended threads and children.
fn tick_seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The program name is in parentheses and may contain anything.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

fn thread_seconds(pid: u32) -> f64 {
    let nanoseconds = |text: String| text.split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    of_threads(pid, "schedstat").map(nanoseconds).sum::<u64>() as f64 / 1e9
}

fn switches(pid: u32) -> u64 {
    of_threads(pid, "status").map(|status| number_after(&status, "\nvoluntary_ctxt_switches:")).sum()
}

/// Reads a file of each thread.
fn of_threads(pid: u32, file: &'static str) -> impl Iterator<Item = String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(move |thread| fs::read_to_string(thread.path().join(file)).ok())
}

fn number_after(text: &str, name: &str) -> u64 {
    let rest = text.split_once(name).map_or("", |(_, rest)| rest);
    rest.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
