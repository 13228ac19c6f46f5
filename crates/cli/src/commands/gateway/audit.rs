//! `couplet gateway audit`: audit files.

use std::{fs, io, path::PathBuf};

use clap::Subcommand;
use couplet_gateway::audit_key;
use couplet_host::audit::{Head, verify_file};
use serde_json::json;

use super::{here, load};
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
    Verify(Verify),
}

#[derive(clap::Args, Debug)]
struct Verify {
    /// Audit file; older files and the head are found beside it
    file: PathBuf,
    /// Configuration of the gateway that wrote it, if that has a key for it
    /// (default: your own key)
    #[arg(long, value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Do not check the signature: for a file of another user or machine
    #[arg(long, conflicts_with = "config")]
    without_key: bool,
}

pub(super) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    let AuditCommand::Verify(args) = &args.command;
    let key = key(args, output)?;
    let head = head(args)?;
    let fail = |why: &str| Failure::new(Exit::Refused, format!("`{}`: {why}", args.file.display()));
    let verified = verify_file(&args.file, key.as_ref()).map_err(|broken| {
        let failure = fail(&broken.to_string());
        let hint = "a file of another user or machine has another key: --config names its configuration, and --without-key \
                    leaves the signature out";
        if key.is_some() { failure.hint(hint) } else { failure }
    })?;
    if key.is_some() && head.is_none() {
        return Err(fail("there is no head: records at the end may be missing").hint("--without-key checks the rest"));
    }
    let signature = match (&key, &head) {
        (Some(_), _) => "signed",
        (None, Some(head)) if head.mac.is_some() => "signature not checked",
        (None, Some(_)) => "not signed",
        (None, None) => "without a head: records at the end may be missing",
    };
    if output.json {
        let is_signed = head.is_some_and(|head| head.mac.is_some());
        let line = json!({ "records": verified.lines, "signed": is_signed, "signatureChecked": key.is_some() });
        return output.print(&format!("{line}\n"));
    }
    let records = text::count(usize::try_from(verified.lines).unwrap_or(usize::MAX), "record", "records");
    output.print(&format!("{} {records}, complete and unchanged, {signature}\n", output.out.good("verified:")))
}

fn key(args: &Verify, output: &Output) -> Result<Option<[u8; 32]>, Failure> {
    if args.without_key {
        return Ok(None);
    }
    let env = here()?;
    let config = args.config.clone().map(|path| load(Some(path), &env, output)).transpose()?;
    Ok(audit_key(config.as_ref(), &env)?)
}

/// The head beside the file.
fn head(args: &Verify) -> Result<Option<Head>, Failure> {
    let mut name = args.file.clone().into_os_string();
    name.push(".head");
    let path = PathBuf::from(name);
    match fs::read(&path) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file(&path, "read", &error)),
    }
}
