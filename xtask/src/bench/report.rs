//! Puts the results into `bench/README.md`, and the picture beside it.

use std::fs;

use super::{chart, instructions::compiler, kits::Kit, results::Results, rig::Rig, tables};
use crate::{
    Failure,
    workspace::{capture, command, root},
};

/// The tables stand between these lines, and nothing else does.
const BEGIN: &str = "<!-- results: written by `cargo xtask bench --write` -->";
const END: &str = "<!-- end of results -->";
/// The same for what is measured through gateways.
const BEGIN_GATEWAY: &str = "<!-- gateway: written by `cargo xtask bench gateway --write` -->";
const END_GATEWAY: &str = "<!-- end of gateway -->";
/// The same for what middleware adds.
const BEGIN_MIDDLEWARE: &str = "<!-- middleware: written by `cargo xtask bench middleware --write` -->";
const END_MIDDLEWARE: &str = "<!-- end of middleware -->";
/// The same for replicas that share a store.
const BEGIN_CLUSTER: &str = "<!-- cluster: written by `cargo xtask cluster bench --write` -->";
const END_CLUSTER: &str = "<!-- end of cluster -->";

/// The same for the inspector.
const BEGIN_INSPECTOR: &str = "<!-- inspector: written by `cargo xtask bench inspector --write` -->";
const END_INSPECTOR: &str = "<!-- end of inspector -->";

/// Where and when something was measured.
pub(super) fn place() -> String {
    let said = |program: &str, words: &[&str]| capture(command(program).args(words)).unwrap_or_default();
    let date = said("date", &["-u", "+%F"]);
    let kernel = said("uname", &["-sr"]);
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let processor = processor.map_or("", |(_, name)| name.trim());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Measured on {} with {processor} ({cpus} processors), {}, {}", date.trim(), kernel.trim(), compiler())
}

/// What was measured, where and when.
pub(super) fn heading(rig: &Rig, kits: &[Kit], rounds: usize) -> String {
    let versions: Vec<String> = kits.iter().filter(|kit| !kit.is_ours()).map(|kit| kit.version()).collect();
    let place = if rig.pinned { "server and load on a processor each" } else { "server and load share processors" };
    let against = if versions.is_empty() { String::new() } else { format!(" Beside {}.", versions.join(", ")) };
    format!("{}: {rounds} rounds, {place}.{against}\n", self::place())
}

/// Writes the tables into the README, and the picture.
pub(super) fn write(results: &Results, heading: &str) -> Result<(), Failure> {
    let mut block = format!("{heading}\nTo repeat it: `cargo xtask bench --rounds {} --write`.\n", results.rounds());
    if let Some(picture) = chart::render(results) {
        let path = root().join("bench/chart.svg");
        fs::write(&path, picture).map_err(|e| format!("{}: {e}", path.display()))?;
        block += "\n![CPU time per small call](chart.svg)\n";
    }
    block += &tables::render(results);
    put(&block, [BEGIN, END])
}

/// Writes what was measured through gateways into the README.
pub(super) fn write_gateway(block: &str) -> Result<(), Failure> {
    put(block, [BEGIN_GATEWAY, END_GATEWAY])
}

/// Writes what middleware adds into the README.
pub(super) fn write_middleware(block: &str) -> Result<(), Failure> {
    put(block, [BEGIN_MIDDLEWARE, END_MIDDLEWARE])
}

/// Writes what was measured of the inspector into the README.
pub(super) fn write_inspector(block: &str) -> Result<(), Failure> {
    put(block, [BEGIN_INSPECTOR, END_INSPECTOR])
}

/// Writes what was measured of replicas into the README.
pub(crate) fn write_cluster(block: &str) -> Result<(), Failure> {
    put(block, [BEGIN_CLUSTER, END_CLUSTER])
}

fn put(block: &str, marks: [&str; 2]) -> Result<(), Failure> {
    let path = root().join("bench/README.md");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let text = replace(&text, block, marks).ok_or_else(|| format!("{} has no place for results", path.display()))?;
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Replaces the text between two marks.
pub(crate) fn replace(text: &str, block: &str, [begin, end]: [&str; 2]) -> Option<String> {
    let (before, rest) = text.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n\n{block}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let replace = |text: &str, block: &str| replace(text, block, [BEGIN, END]);
        let once = replace(&text, "new").unwrap();
        assert_eq!(once, format!("a\n{BEGIN}\n\nnew\n{END}\nb\n"));
        assert_eq!(replace(&once, "new").unwrap(), once);
        assert_eq!(replace("a", "new"), None);
    }
}
