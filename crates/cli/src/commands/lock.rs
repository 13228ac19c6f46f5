//! `couplet lock`: approves the definitions of a server in a lock file.

use std::{path::PathBuf, sync::Arc};

use couplet::core::clock::unix_seconds;
use couplet_gateway::PinFile;
use couplet_host::pins::{Approval, Select};
use serde_json::json;

use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    target::{Diagnostics, LOCK, TargetArgs, definitions},
};

/// The arguments of `couplet lock`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Lock file
    #[arg(short, long, value_name = "FILE", default_value = LOCK)]
    file: PathBuf,
    /// Show what differs from the lock file, and write nothing; exit code 1 if anything does
    #[arg(long)]
    check: bool,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let target = args.target.find()?;
    let diagnostics = Arc::new(Diagnostics::new(output));
    let connector = target.connector(diagnostics.clone(), output)?;
    let seen = definitions(&target, &args.target.connection, connector).await;
    let seen = seen.map_err(|failure| target.explain(diagnostics.explain(failure)))?;
    let file = PinFile::new(&args.file);
    let mut lock = file.read()?;
    let (id, launch) = (target.lock_id(), target.launch());
    if args.check {
        if lock.compare(&id, &launch, &seen, unix_seconds()).is_clean() {
            return Ok(());
        }
        // It is escaped already.
        output.print(&lock.diff(&id, &launch, &seen, unix_seconds()).to_string())?;
        let what = format!("the server differs from `{}`", args.file.display());
        return Err(Failure::new(Exit::Refused, what).hint(format!("approve it with `couplet lock '{target}'`")));
    }
    let approval = Approval { at: unix_seconds(), ..Approval::default() };
    let number = lock.approve(&id, &launch, &seen, Select::Server, &approval);
    file.write(&lock)?;
    if output.json {
        return output.print(&format!("{}\n", json!({ "id": id, "definitions": number, "file": args.file })));
    }
    let number = text::count(number, "definition", "definitions");
    output.print(&format!(
        "{} {number} in {}\n",
        output.out.good("approved:"),
        text::line(&args.file.to_string_lossy())
    ))
}
