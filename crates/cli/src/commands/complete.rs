//! `couplet complete`: completes an argument of a prompt or resource template.

use std::{fmt::Write, sync::Arc};

use couplet::types::CompletionReference;

use crate::{
    exit::Failure,
    output::{Output, text},
    show,
    target::{self, Opening, Session, TargetArgs},
};

/// The arguments of `couplet complete`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Name of a prompt, or a resource template such as notes://{name}
    of: String,
    /// Argument to complete, with the text typed so far: city or city=Os
    argument: String,
    /// Arguments already filled in: key=value
    #[arg(value_parser = target::pair)]
    context: Vec<(String, String)>,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening::of(&args.target)?;
    let (argument, typed) = args.argument.split_once('=').unwrap_or((&args.argument, ""));
    Session::with(opening, output, async |session: &Session| {
        let asked = session.client.complete(reference(&args.of), argument, typed);
        let found = match args.context.is_empty() {
            true => asked.await?,
            false => asked.context(args.context.clone()).await?,
        };
        if output.json {
            return output.print(&show::json_line(&found)?);
        }
        let mut page = String::new();
        for value in &found.values {
            let _ = writeln!(page, "{}", output.said(value));
        }
        output.print(&page)?;
        if found.has_more == Some(true) {
            let total = found.total.map_or(String::new(), |total| format!(" of {total}"));
            output.note(&output.err.faint(format!("first {}{total} suggestions", found.values.len())));
        } else if found.values.is_empty() {
            output.note(&output.err.faint(format!("no suggestions for `{}`", text::line(argument))));
        }
        Ok(())
    })
    .await
}

/// Parses the name of a prompt, or a resource template.
pub(crate) fn reference(of: &str) -> CompletionReference {
    if of.contains("://") || of.contains('{') {
        CompletionReference::resource(of)
    } else {
        CompletionReference::prompt(of)
    }
}
