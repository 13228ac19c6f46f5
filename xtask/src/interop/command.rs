//! The command `couplet` with servers that people use, as they come from their registries.

use std::{
    ops::Add,
    path::Path,
    process::{Command, Output},
    thread,
};

use super::{
    peer::Missing,
    report::Counts,
    servers::{
        Server::{self, Everything, FastMcp, Fetch, Git, Time},
        Servers,
    },
    text,
};
use crate::workspace::command;

/// A command line: what comes before TARGET and after it, and what has to be said on standard output and error.
struct Line {
    server: Server,
    words: (&'static str, &'static [&'static str]),
    says: &'static [&'static str],
    tells: &'static [&'static str],
}

const fn line(
    server: Server,
    verb: &'static str,
    words: &'static [&'static str],
    says: &'static [&'static str],
    tells: &'static [&'static str],
) -> Line {
    Line { server, words: (verb, words), says, tells }
}

const LINES: &[Line] = &[
    line(Everything, "list", &[], &["echo(message: string)", "args-prompt(city, state?)"], &[]),
    line(Everything, "call", &["echo", "message=hi"], &["Echo: hi"], &[]),
    line(
        Everything,
        "call",
        &["trigger-long-running-operation", "duration=1", "steps=2", "-v"],
        &["Long running operation completed"],
        &["progress 1 of 2", "progress 2 of 2"],
    ),
    line(
        Everything,
        "call",
        &["trigger-elicitation-request", "--answer", "name=Ada", "--answer", "integer=7"],
        &["- Name: Ada", "- Favorite Integer: 7"],
        &["asks: Please provide inputs"],
    ),
    line(
        Everything,
        "call",
        &["trigger-sampling-request", "prompt=Hello", "--sample", "Good morning."],
        &["\"text\": \"Good morning.\""],
        &["context: Hello"],
    ),
    line(Everything, "read", &["demo://resource/dynamic/text/1"], &["Resource 1: This is a plaintext resource"], &[]),
    line(Everything, "prompt", &["args-prompt", "city=Oslo"], &["user: What's weather in Oslo?"], &[]),
    line(Everything, "complete", &["completable-prompt", "department=E"], &["Engineering"], &[]),
    line(Everything, "discover", &["--all-revisions"], &["2025-11-25  supported", "2026-07-28  not supported"], &[]),
    line(Everything, "lint", &["--least", "error"], &["no findings"], &[]),
    line(
        Time,
        "call",
        &["convert_time", "source_timezone=UTC", "time=12:30", "target_timezone=Asia/Tokyo"],
        &["T21:30:00+09:00", "\"time_difference\": \"+9.0h\""],
        &[],
    ),
    line(Fetch, "call", &["fetch", "url=PAGE"], &["High water at noon."], &[]),
    line(Git, "call", &["git_log", "repo_path=REPOSITORY", "max_count=1"], &["The first of all"], &[]),
    line(FastMcp, "call", &["add", "a=2", "b=3"], &["5\n"], &[]),
    line(
        FastMcp,
        "call",
        &["count", "to=2", "-v"],
        &["counted to 2"],
        &["progress 1 of 2 number 1", "progress 2 of 2"],
    ),
    line(
        FastMcp,
        "call",
        &["greet", "--answer", "name=Ada", "--answer", "age=36", "--revision", "2025-11-25"],
        &["Hello Ada, 36"],
        &["asks: Who are you?"],
    ),
    line(
        FastMcp,
        "call",
        &["poem", "about=rust", "--sample", "Crabs.", "--revision", "2025-11-25"],
        &["The model says: Crabs."],
        &["Write a poem about rust."],
    ),
    line(
        FastMcp,
        "call",
        &["interview", "--answer", "name=Ada", "--sample", "Crabs."],
        &["Ada reads: Crabs."],
        &["asks: Who are you?", "Write a poem about you."],
    ),
    line(FastMcp, "read", &["fastmcp://greeting/Ada"], &["Hello, Ada!"], &[]),
    line(FastMcp, "prompt", &["explain", "what=MCP"], &["user: Explain MCP, please."], &[]),
];

/// Runs all lines, and prints what came of each. Each server has a thread: most of the time is spent in starting it.
pub(super) fn suite(couplet: &Path, servers: &Servers) -> Counts {
    thread::scope(|scope| {
        let threads = Server::ALL.map(|server| {
            scope.spawn(move || {
                let lines = LINES.iter().filter(|line| line.server == server);
                lines.map(|line| counted(line, couplet, servers)).fold(Counts::default(), Counts::add)
            })
        });
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a thread does not panic"))
            .fold(Counts::default(), Counts::add)
    })
}

fn counted(line: &Line, couplet: &Path, servers: &Servers) -> Counts {
    let outcome = servers.there(line.server).and_then(|()| run(line, couplet, servers).map_err(Missing::Broken));
    let name = format!("couplet {} {:?} {}", line.words.0, line.server, line.words.1.join(" "));
    Counts::told(&name, outcome)
}

fn run(line: &Line, couplet: &Path, servers: &Servers) -> Result<(), String> {
    let (verb, words) = line.words;
    let mut call: Command = command(&text(couplet));
    call.args([verb, &servers.target(line.server)]).args(words.iter().map(|word| servers.fill(word)));
    let output = call.env("XDG_STATE_HOME", servers.state()).output().map_err(|e| e.to_string())?;
    judge(line, &output)
}

fn judge(line: &Line, output: &Output) -> Result<(), String> {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let missing = line.says.iter().find(|words| !out.contains(**words));
    let untold = line.tells.iter().find(|words| !err.contains(**words));
    match missing.or(untold) {
        _ if !output.status.success() => Err(format!("{}\n{out}{err}", output.status)),
        Some(words) => Err(format!("`{words}` is not there:\n{out}{err}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_not_said_is_missed() {
        let said = |script: &str| Command::new("sh").args(["-c", script]).output().unwrap();
        let line = line(Time, "call", &[], &["one"], &["two"]);
        assert_eq!(judge(&line, &said("echo one; echo two >&2")), Ok(()));
        assert!(judge(&line, &said("echo one")).unwrap_err().contains("`two` is not there"));
        assert!(judge(&line, &said("echo one; echo two >&2; exit 3")).is_err());
    }
}
