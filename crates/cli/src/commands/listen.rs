//! `couplet listen`: change notifications, one per line.

use std::sync::Arc;

use couplet::{
    client::{Change, Changes, Ended, Filter},
    types::code,
};
use serde_json::json;

use super::TalkArgs;
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    show,
    target::{Session, TargetArgs},
};

/// The arguments of `couplet listen`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Resources to subscribe to; changes of the lists are always included
    uris: Vec<String>,
    /// Exit after this many changes
    #[arg(short = 'n', long, value_name = "NUMBER")]
    count: Option<usize>,
    #[command(flatten)]
    talk: TalkArgs,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = args.talk.open(&args.target)?;
    let outcome = Session::with(opening, output, async |session: &Session| {
        changes(session, &args.uris, args.count, output).await
    })
    .await;
    match outcome {
        // Ctrl-C is the usual way to stop listening.
        Err(failure) if failure.exit == Exit::Interrupted => Ok(()),
        outcome => outcome,
    }
}

/// Subscribes to the changes that the server declares. A server that declares none may not support the request.
async fn begin(session: &Session, wanted: Filter) -> Result<Changes, Failure> {
    let declared = session.client.declared_changes(wanted);
    if declared == Filter::new() {
        let what = "the server sends no change notifications: it declares neither `listChanged` nor `subscribe`";
        return Err(Failure::new(Exit::Protocol, what).hint("`couplet list` shows its current lists"));
    }
    session.client.listen(declared).await.map_err(|error| match error.rpc() {
        Some(refused) if refused.code == code::METHOD_NOT_FOUND => {
            let what = "the server declares change notifications, but does not support `subscriptions/listen`";
            Failure::new(Exit::Protocol, what).hint("an older revision may support them: --revision")
        }
        _ => error.into(),
    })
}

/// Prints changes of the lists and of the given resources, up to a number.
pub(crate) async fn changes(
    session: &Session,
    uris: &[String],
    most: Option<usize>,
    output: &Output,
) -> Result<(), Failure> {
    let wanted = uris.iter().fold(Filter::new().tools().prompts().resources(), |all, uri| all.resource(uri));
    let mut changes = begin(session, wanted.clone()).await?;
    check(&wanted, &changes, output)?;
    let mut count = 0;
    while most.is_none_or(|most| count < most) {
        let Some(change) = changes.next().await else { return over(&changes) };
        output.print(&line(&change, output)?)?;
        count += 1;
    }
    Ok(())
}

/// Warns about subscriptions that the server did not accept, and fails if it accepted none.
fn check(wanted: &Filter, changes: &Changes, output: &Output) -> Result<(), Failure> {
    let honoured = changes.honoured();
    let lists = [("tools", honoured.tools), ("prompts", honoured.prompts), ("resources", honoured.resources)];
    let accepted = lists.iter().filter(|(_, accepted)| *accepted).map(|(name, _)| (*name).to_owned());
    let accepted: Vec<_> = accepted.chain(honoured.uris.iter().map(|uri| text::line(uri))).collect();
    if accepted.is_empty() {
        return Err(Failure::new(Exit::Protocol, "the server accepted none of the subscriptions"));
    }
    for uri in wanted.uris.difference(&honoured.uris) {
        output.warn(&format!("the server does not accept a subscription to {}", text::line(uri)));
    }
    output.note(&output.err.faint(format!("listening for changes of {}", accepted.join(", "))));
    Ok(())
}

fn line(change: &Change, output: &Output) -> Result<String, Failure> {
    let (what, uri) = match change {
        Change::Tools => ("tools", None),
        Change::Prompts => ("prompts", None),
        Change::Resources => ("resources", None),
        Change::Updated(uri) => ("resource", Some(uri.as_str())),
        _ => ("something", None),
    };
    match (output.json, uri) {
        (true, Some(uri)) => show::json_line(&json!({ "change": what, "uri": uri })),
        (true, None) => show::json_line(&json!({ "change": what })),
        (false, Some(uri)) => Ok(format!("updated {}\n", output.out.name(output.said(uri)))),
        (false, None) => Ok(format!("the list of {what} changed\n")),
    }
}

fn over(changes: &Changes) -> Result<(), Failure> {
    match changes.ended() {
        Some(Ended::Failed(error)) => Err(error.clone().into()),
        _ => Err(Failure::new(Exit::Unreachable, "the server ended the subscription")),
    }
}
