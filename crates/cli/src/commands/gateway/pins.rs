//! `couplet gateway pins`: servers compared with the lock file.

use std::{fmt::Write, sync::Arc};

use clap::Subcommand;
use couplet::core::clock::unix_seconds;
use couplet_gateway::{Inspected, PinFile, Unapproved, inspect};
use couplet_host::{
    names::Kind,
    pins::{Launch, Lock},
};
use serde_json::json;

use super::{ConfigArgs, approve, here, load};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
};

/// The arguments of `couplet gateway pins`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: PinsCommand,
}

#[derive(Debug, Subcommand)]
enum PinsCommand {
    /// Show what differs from the lock file
    Diff(CompareArgs),
    /// Approve what servers offer now, and how they are started
    Approve(approve::Args),
    /// Fail if anything differs from the lock file, without a diff
    Check(CompareArgs),
}

#[derive(clap::Args, Debug)]
struct CompareArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let _ = couplet::stdio::children::guard();
    match args.command {
        PinsCommand::Diff(args) => compare(args, true, output).await,
        PinsCommand::Check(args) => compare(args, false, output).await,
        PinsCommand::Approve(args) => approve::run(args, output).await,
    }
}

async fn compare(args: CompareArgs, in_detail: bool, output: &Output) -> Result<(), Failure> {
    let env = here()?;
    let config = load(args.config.config, &env, output)?;
    let lock = PinFile::new(config.lock_path()).read()?;
    let found = inspect(&config, &env, &lock, |server| server.is_pinned().then_some(Unapproved::Leave)).await;
    let mut page = String::new();
    let (mut differs, mut failed) = (0, 0);
    for one in &found {
        let outcome = outcome(one, &lock, in_detail, output);
        differs += usize::from(outcome.differs);
        failed += usize::from(outcome.failed);
        page.push_str(&outcome.text);
    }
    output.print(&page)?;
    match (differs, failed) {
        (0, 0) => Ok(()),
        (0, failed) => {
            let what = format!("{} not available", text::count(failed, "server is", "servers are"));
            Err(Failure::new(Exit::Unreachable, what))
        }
        (differs, _) => {
            let what = format!("{} from the lock file", text::count(differs, "server differs", "servers differ"));
            let hint = format!("approve with `couplet gateway pins approve {}`", config.path.display());
            Err(Failure::new(Exit::Refused, what).hint(hint))
        }
    }
}

/// A server, compared.
struct Outcome {
    text: String,
    differs: bool,
    failed: bool,
}

fn outcome(one: &Inspected, lock: &Lock, in_detail: bool, output: &Output) -> Outcome {
    let (id, launch) = (&one.server.id, one.server.launch_digest());
    let seen = match &one.seen {
        Ok(seen) => seen,
        Err(why) => {
            let differs = one.launch == Launch::Changed;
            return Outcome { text: not_seen(one, why, output), differs, failed: !differs };
        }
    };
    let compared = lock.compare(id, &launch, seen, unix_seconds());
    let differs = !compared.is_clean();
    let mut page = String::new();
    if output.json {
        let names = |items: &[couplet_host::pins::Item]| {
            items.iter().map(|item| json!({ "kind": item.kind.as_str(), "name": item.raw })).collect::<Vec<_>>()
        };
        let line = json!({
            "server": one.server.key, "id": id, "launch": word(compared.launch), "pending": names(&compared.pending),
            "changed": names(&compared.changed), "gone": names(&compared.gone),
        });
        let _ = writeln!(page, "{line}");
        return Outcome { text: page, differs, failed: false };
    }
    let name = output.out.name(text::line(&one.server.key));
    if !differs {
        let number =
            text::count(seen.iter().filter(|seen| seen.kind != Kind::Resource).count(), "definition", "definitions");
        let _ = writeln!(page, "{name}  {} {number}", output.out.good("approved:"));
    } else if in_detail {
        let _ = write!(page, "{}", launched(one, output));
        // It is escaped already.
        let _ = writeln!(page, "{}", lock.diff(id, &launch, seen, unix_seconds()).to_string().trim_end());
    } else {
        let number = |items: &[couplet_host::pins::Item], what: &str| match items.len() {
            0 => None,
            number => Some(format!("{number} {what}")),
        };
        let launch = (compared.launch != Launch::Approved).then(|| format!("launch {}", word(compared.launch)));
        let parts = [
            launch,
            number(&compared.pending, "pending"),
            number(&compared.changed, "changed"),
            number(&compared.gone, "gone"),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        let _ = writeln!(page, "{name}  {}", output.out.warning(parts.join(", ")));
    }
    Outcome { text: page, differs, failed: false }
}

pub(super) fn not_seen(one: &Inspected, why: &str, output: &Output) -> String {
    if output.json {
        let lines = one.server.launch.lines();
        let line = json!({ "server": one.server.key, "launch": word(one.launch), "launchLines": lines, "error": why });
        return format!("{line}\n");
    }
    let name = output.out.name(text::line(&one.server.key));
    let head = format!("{name}  {}\n", output.out.error(text::visible(why).replace('\n', "\n    ")));
    if one.launch == Launch::Changed { head + &launched(one, output) } else { head }
}

/// The exact launch, for a server whose launch is not approved.
pub(super) fn launched(one: &Inspected, output: &Output) -> String {
    if one.launch == Launch::Approved {
        return String::new();
    }
    let lines = one.server.launch.lines().iter().map(|line| format!("    {}\n", text::line(line)));
    let head = format!("  {} {}\n", output.out.warning(format!("launch {}:", word(one.launch))), one.server.id);
    head + &lines.collect::<String>()
}

pub(super) fn word(launch: Launch) -> &'static str {
    match launch {
        Launch::Approved => "approved",
        Launch::New => "new",
        Launch::Changed => "changed",
    }
}
