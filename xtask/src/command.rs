//! `cargo xtask bench-command`: the processor time that `couplet` itself takes, for commands that people wait for.

use std::{
    fs,
    process::{Child, Stdio},
    time::Duration,
};

use nix::{
    sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike,
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};

use crate::{
    Failure, optimized,
    workspace::{self, command, describe},
};

const RUNS: usize = 20;

/// What is measured, and how many milliseconds of processor time it should take at most, with all that it starts.
const CASES: [(&str, &[&str], f64); 2] =
    [("couplet --help", &["--help"], 10.0), ("couplet list", &["list", "SERVER"], 50.0)];

/// Prints a table; fails if something takes longer than it should.
pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    optimized::build()?;
    workspace::cargo(["build", "--quiet", "--profile", "dist", "--package", "couplet-everything"])?;
    let folder = workspace::target()?.join("dist");
    let (couplet, server) = (folder.join("couplet"), folder.join("couplet-everything"));
    let mut missed = Vec::new();
    println!("| | CPU ms | of it the command | slowest of {RUNS} | aim |\n|---|---:|---:|---:|---:|");
    for (name, words, aim) in CASES {
        let words = words.iter().map(|word| if *word == "SERVER" { server.to_string_lossy() } else { (*word).into() });
        let words: Vec<String> = words.map(String::from).collect();
        let mut runs = (0..RUNS).map(|_| once(&couplet.to_string_lossy(), &words)).collect::<Result<Vec<_>, _>>()?;
        let alone = middle(runs.iter().map(|(alone, _)| *alone).collect());
        runs.sort_by_key(|(_, all)| *all);
        let (all, slowest) = (ms(runs[RUNS / 2].1), ms(runs[RUNS - 1].1));
        println!("| `{name}` | {all:.1} | {:.1} | {slowest:.1} | {aim:.0} |", ms(alone));
        if all > aim {
            missed.push(name);
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("more than it should be: {}", missed.join(", "))) }
}

/// Runs a command, and gives the processor time of its main thread, and of all threads of all that it starts.
fn once(program: &str, words: &[String]) -> Result<(Duration, Duration), Failure> {
    let mut command = command(program);
    command.args(words).stdout(Stdio::null()).stderr(Stdio::piped());
    let before = of_children()?;
    let mut child = command.spawn().map_err(|e| format!("`{}` did not start: {e}", describe(&command)))?;
    let alone = at_end(&child)?;
    let status = child.wait().map_err(|e| e.to_string())?;
    let all = of_children()?.saturating_sub(before);
    if status.success() { Ok((alone, all)) } else { Err(format!("`{}` failed: {status}", describe(&command))) }
}

/// What the scheduler gave to a program, which has ended and is still in its tables.
fn at_end(child: &Child) -> Result<Duration, Failure> {
    let pid = i32::try_from(child.id()).map_err(|e| e.to_string())?;
    waitid(Id::Pid(Pid::from_raw(pid)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).map_err(|e| e.to_string())?;
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).map_err(|e| format!("Linux is needed: {e}"))?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.map(Duration::from_nanos).ok_or_else(|| format!("`{text}` is no time"))
}

fn of_children() -> Result<Duration, Failure> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| e.to_string())?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_measured_and_failures_are_told() {
        let loops =
            |count: &str| once("sh", &["-c".to_owned(), format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); done")]);
        let ((alone, all), (none, _)) = (loops("100000").unwrap(), loops("0").unwrap());
        assert!(alone > none && all >= alone / 2 && none > Duration::ZERO, "{alone:?} {all:?} {none:?}");
        assert!(once("false", &[]).is_err());
        assert_eq!(middle([3, 1, 2].map(Duration::from_millis).to_vec()), Duration::from_millis(2));
    }
}
