//! `couplet gateway trust`: approves the configuration file of a project.

use std::{fmt::Write, path::PathBuf};

use couplet_gateway::Approvals;

use super::here;
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    questions,
};

/// The arguments of `couplet gateway trust`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Configuration file of a project
    #[arg(default_value = ".mcp.json")]
    file: PathBuf,
    /// Approve without a question
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    let env = here()?;
    let approvals = Approvals::of(&env);
    let project = approvals.read(&args.file, &env)?;
    let mut page = String::new();
    for server in &project.config.servers {
        let _ = writeln!(page, "{}", output.out.name(text::line(&server.key)));
        for line in server.launch.lines() {
            let _ = writeln!(page, "  {}", text::line(line));
        }
    }
    output.print(&page)?;
    let path = text::line(&env.display_path(&project.config.path));
    if project.is_approved {
        output.note(&format!("{path} is approved already"));
        return Ok(());
    }
    if !args.yes {
        if !output.can_ask() {
            return Err(Failure::new(Exit::Unanswered, "there is no terminal to ask").hint("approve with --yes"));
        }
        match questions::line("Start these servers from now on? [y/N] ") {
            questions::Line::Text(answer) if matches!(answer.trim(), "y" | "Y" | "yes") => {}
            _ => return Err(Failure::new(Exit::Unanswered, "not approved")),
        }
    }
    approvals.approve(&project)?;
    output.note(&format!("approved {path}"));
    Ok(())
}
