//! `couplet gateway audit`: audit files.

use std::path::PathBuf;

use clap::Subcommand;
use couplet_host::audit::verify_file;
use serde_json::json;

use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
};

/// The arguments of `couplet gateway audit`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Check that no record was changed, removed or added
    Verify {
        /// Audit file; older files and the head are found beside it
        file: PathBuf,
    },
}

pub(super) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    let AuditCommand::Verify { file } = &args.command;
    match verify_file(file, None) {
        Ok(verified) if output.json => output.print(&format!("{}\n", json!({ "records": verified.lines }))),
        Ok(verified) => {
            let records = usize::try_from(verified.lines).unwrap_or(usize::MAX);
            let records = text::count(records, "record", "records");
            output.print(&format!("{} {records}, complete and unchanged\n", output.out.good("verified:")))
        }
        Err(broken) => Err(Failure::new(Exit::Refused, format!("`{}`: {broken}", file.display()))),
    }
}
