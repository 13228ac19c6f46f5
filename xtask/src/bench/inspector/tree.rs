//! The processor time and the memory of a process and all that it has started.

use std::{
    collections::HashMap,
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// The time between two looks at the memory.
const STEP: Duration = Duration::from_millis(50);

/// Returns the processes of a tree, by their ids.
fn processes(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(parent) = stat(id).first() {
            children.entry(u32::try_from(*parent).unwrap_or(0)).or_default().push(id);
        }
    }
    let mut found = vec![root];
    let mut at = 0;
    while at < found.len() {
        found.extend(children.get(&found[at]).into_iter().flatten());
        at += 1;
    }
    found
}

/// The numbers of `/proc/ID/stat`, from the parent on.
fn stat(id: u32) -> Vec<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name is in brackets, and may have any character; the state follows.
    let rest = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    rest.split_whitespace().skip(1).map(|number| number.parse().unwrap_or(0)).collect()
}

/// Returns the processor time of a tree so far, in milliseconds, with that of its processes that have ended.
pub(super) fn cpu_ms(root: u32) -> f64 {
    processes(root).into_iter().map(one_cpu_ms).sum()
}

fn one_cpu_ms(id: u32) -> f64 {
    let numbers = stat(id);
    let ticks =
        |range: std::ops::Range<usize>| numbers.get(range).unwrap_or_default().iter().sum::<u64>() as f64 * 10.0;
    // Ticks have ended threads in them, and the times of threads are exact.
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let exact: f64 = tasks
        .filter_map(|task| {
            fs::read_to_string(task.path().join("schedstat")).ok()?.split(' ').next()?.parse::<f64>().ok()
        })
        .sum();
    ticks(10..12).max(exact / 1e6) + ticks(12..14)
}

/// Returns the memory of a tree in kilobytes; what processes share is divided among them.
fn memory_kb(root: u32) -> u64 {
    let one = |id: u32| {
        let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    processes(root).into_iter().map(one).sum()
}

/// Follows the memory of a tree until it is dropped.
pub(super) struct Peak {
    most: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Peak {
    pub(super) fn follow(root: u32) -> Self {
        let peak = Self { most: Arc::default(), over: Arc::default() };
        let (most, over) = (peak.most.clone(), peak.over.clone());
        thread::spawn(move || {
            while !over.load(Relaxed) {
                most.fetch_max(memory_kb(root), Relaxed);
                thread::sleep(STEP);
            }
        });
        peak
    }

    /// The most so far, in megabytes.
    pub(super) fn mb(&self) -> f64 {
        self.most.load(Relaxed) as f64 / 1e3
    }
}

impl Drop for Peak {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn children_count_with_their_parents() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 5";
        let mut shell =
            Command::new("sh").args(["-c", &format!("sh -c '{script}' & wait")]).spawn().expect("there is a shell");
        let id = shell.id();
        let is_seen = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(20));
            processes(id).len() > 1 && cpu_ms(id) > 0.0 && memory_kb(id) > 0
        });
        let all: Vec<_> = processes(id).iter().map(u32::to_string).collect();
        let _ = Command::new("kill").args(all).status();
        let _ = shell.wait();
        assert!(is_seen);
    }
}
