//! The processor time and the memory of a process and all that it has started, from Linux's `/proc`.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// The time between two looks at the memory.
const STEP: Duration = Duration::from_millis(50);

/// A process and all that it has started, as far as they count.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    root: u32,
    counts: Counts,
}

#[derive(Clone, Debug)]
enum Counts {
    /// All but this program, and what it has started.
    Without(PathBuf),
    /// The same, without the first process.
    Below(PathBuf),
    /// Those that draw pages.
    Renderers,
}

impl Tree {
    /// An inspector, without the server that it inspects.
    pub(super) fn inspector(root: u32, server: &str) -> Self {
        let server = fs::canonicalize(server).unwrap_or_else(|_| server.into());
        Self { root, counts: Counts::Without(server) }
    }

    /// An inspector without the process that has started it, which is `npx`.
    pub(super) fn below(&self) -> Self {
        match &self.counts {
            Counts::Without(server) => Self { root: self.root, counts: Counts::Below(server.clone()) },
            _ => self.clone(),
        }
    }

    /// The processes of Chromium that draw pages and run their scripts.
    pub(super) fn renderers(browser: u32) -> Self {
        Self { root: browser, counts: Counts::Renderers }
    }

    /// Returns the ids of the processes.
    fn processes(&self) -> Vec<u32> {
        match &self.counts {
            Counts::Without(program) => descendants(self.root, |id| !runs(id, program)),
            Counts::Below(program) => descendants(self.root, |id| !runs(id, program)).split_off(1),
            Counts::Renderers => {
                let mut all = descendants(self.root, |_| true);
                all.retain(|id| words(*id).iter().any(|word| word == "--type=renderer"));
                all
            }
        }
    }

    /// Returns the processor time so far, in milliseconds, with that of processes that have ended.
    pub(super) fn cpu_ms(&self) -> f64 {
        self.processes().into_iter().map(one_cpu_ms).sum()
    }

    /// Returns the memory in kilobytes; what processes share is divided among them.
    fn memory_kb(&self) -> u64 {
        let all = self.processes().into_iter().map(one_memory_kb);
        match self.counts {
            Counts::Without(_) | Counts::Below(_) => all.sum(),
            // Chromium has another one ready for the next page.
            Counts::Renderers => all.max().unwrap_or(0),
        }
    }
}

/// Returns the processes of a tree, by their ids, without the branches that are not wanted.
fn descendants(root: u32, is_wanted: impl Fn(u32) -> bool) -> Vec<u32> {
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
        found.extend(children.get(&found[at]).into_iter().flatten().filter(|id| is_wanted(**id)));
        at += 1;
    }
    found
}

fn runs(id: u32, program: &Path) -> bool {
    fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|path| path == program)
}

/// The command line of a process.
fn words(id: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    // Processes of Chromium have theirs as one text.
    line.split(|byte| matches!(byte, 0 | b' ')).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The numbers of `/proc/ID/stat`, from the parent on.
fn stat(id: u32) -> Vec<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name is in brackets, and may have any character; the state follows.
    let rest = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    rest.split_whitespace().skip(1).map(|number| number.parse().unwrap_or(0)).collect()
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

fn one_memory_kb(id: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
}

/// Follows the memory of a tree until it is dropped.
pub(super) struct Peak {
    most: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Peak {
    pub(super) fn follow(tree: Tree) -> Self {
        let peak = Self { most: Arc::default(), over: Arc::default() };
        let (most, over) = (peak.most.clone(), peak.over.clone());
        thread::spawn(move || {
            while !over.load(Relaxed) {
                most.fetch_max(tree.memory_kb(), Relaxed);
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
    fn children_count_with_their_parents_and_the_server_does_not() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 5";
        let mut shell =
            Command::new("sh").args(["-c", &format!("sh -c '{script}' & wait")]).spawn().expect("there is a shell");
        let id = shell.id();
        let all = Tree::inspector(id, "/no/such/program");
        let is_seen = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(20));
            all.processes().len() > 1 && all.cpu_ms() > 0.0 && all.memory_kb() > 0
        });
        let program = fs::read_link(format!("/proc/{id}/exe")).expect("it runs");
        let without = Tree::inspector(id, &program.to_string_lossy());
        let below = without.below().processes();
        let (without, renderers) = (without.processes(), Tree::renderers(id).processes());
        let all: Vec<_> = all.processes().iter().map(u32::to_string).collect();
        let _ = Command::new("kill").args(all).status();
        let _ = shell.wait();
        assert!(is_seen);
        // The first process is what was started, whatever it runs.
        assert_eq!((without, below, renderers), (vec![id], vec![], vec![]));
    }
}
