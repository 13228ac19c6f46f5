//! `couplet replay`: replays a recording, in the role of the server or of the client.

mod diff;
mod edit;
mod player;
pub(crate) mod recording;
mod sender;
mod wire;

use std::{
    io::{self, BufRead, Write},
    path::PathBuf,
    sync::Arc,
};

use serde_json::json;

use self::{player::Player, recording::Said, sender::Report};
use crate::{
    command::wait,
    exit::{Exit, Failure},
    output::{Output, text},
    show,
    target::{ConnectionArgs, Known, Target},
};

/// The arguments of `couplet replay`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Recording made with `couplet tap`
    file: PathBuf,
    /// Session in the recording (default: the last one)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Send the recorded requests to this server and compare its responses; without it, act as the server on stdio
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
    /// Member of the responses that may differ, such as result.structuredContent.time
    #[arg(long, value_name = "PLACE")]
    ignore: Vec<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

pub(crate) fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let said = recording::read(&args.file, args.session.as_deref())?;
    match args.to {
        None => play(said, output),
        Some(target) => {
            let target = Target::find(&target, &args.connection, Known::here)?;
            let report = wait(sender::send(said, &target, &args.connection, &args.ignore, output))?;
            print(&report, output)
        }
    }
}

/// Acts as the server on standard input and output.
fn play(said: Vec<Said>, output: &Output) -> Result<(), Failure> {
    let mut player = Player::new(said);
    let mut stdout = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|e| Failure::new(Exit::File, format!("cannot read standard input: {e}")))?;
        if line.trim().is_empty() {
            continue;
        }
        for answer in player.receive(&line) {
            let written = writeln!(stdout, "{answer}").and_then(|()| stdout.flush());
            if written.is_err() {
                return Ok(());
            }
        }
        for note in player.notes.drain(..) {
            output.note(&text::visible(&note));
        }
    }
    Ok(())
}

/// Prints the differences, and fails if there are any.
fn print(report: &Report, output: &Output) -> Result<(), Failure> {
    let differences: Vec<_> = report.answers.iter().flat_map(|answer| &answer.differences).collect();
    let extra = &report.extra;
    if output.json {
        let rows: Vec<_> = report
            .answers
            .iter()
            .flat_map(|answer| {
                answer.differences.iter().map(|d| {
                    json!({ "request": answer.id, "method": answer.method, "place": d.place, "then": d.then, "now": d.now })
                })
            })
            .collect();
        output.print(&show::json_line(&json!({
            "answers": report.answers.len(), "differences": rows, "unexpected": extra,
        }))?)?;
    } else {
        for answer in &report.answers {
            let verdict = match answer.differences.is_empty() {
                true => output.out.good("same   "),
                false => output.out.warning("differs"),
            };
            output.print(&format!("{verdict} {} {}\n", text::line(&answer.method), output.out.faint(&answer.id)))?;
            for difference in &answer.differences {
                output.print(&format!("        {}\n", text::line(&difference.to_string())))?;
            }
        }
        for line in extra {
            output.print(&format!("{} {}\n", output.out.warning("differs"), text::line(line)))?;
        }
        let answers = text::count(report.answers.len(), "answer", "answers");
        let changed = report.answers.iter().filter(|answer| !answer.differences.is_empty()).count() + extra.len();
        output.note(&output.err.faint(format!("{answers}, {changed} different")));
    }
    if differences.is_empty() && extra.is_empty() { Ok(()) } else { Err(Failure::silent(Exit::Refused)) }
}
