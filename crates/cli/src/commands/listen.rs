//! `couplet listen`: changes, one per line, as they happen.

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

/// What to listen for.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Resources to subscribe to; changes of the lists are always told
    uris: Vec<String>,
    /// Ends after so many changes
    #[arg(short = 'n', long, value_name = "NUMBER")]
    count: Option<usize>,
    #[command(flatten)]
    talk: TalkArgs,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = args.talk.open(&args.target)?;
    let heard = Session::with(opening, output, async |session: &Session| {
        changes(session, &args.uris, args.count, output).await
    })
    .await;
    match heard {
        // Whoever has heard enough presses Ctrl-C.
        Err(failure) if failure.exit == Exit::Interrupted => Ok(()),
        heard => heard,
    }
}

/// Subscribes to what the server declares. One that declares nothing need not even know the request.
async fn begin(session: &Session, wanted: Filter) -> Result<Changes, Failure> {
    let declared = session.client.declared_changes(wanted);
    if declared == Filter::new() {
        let what = "the server does not notify of changes: it declares neither `listChanged` nor `subscribe`";
        return Err(Failure::new(Exit::Protocol, what).hint("its lists can still be read: couplet list"));
    }
    session.client.listen(declared).await.map_err(|error| match error.rpc() {
        Some(refused) if refused.code == code::METHOD_NOT_FOUND => {
            let what = "the server declares notifications of changes, but does not serve `subscriptions/listen`";
            Failure::new(Exit::Protocol, what).hint("an older revision may have them: --revision")
        }
        _ => error.into(),
    })
}

/// Prints changes of the lists and of some resources, as many as are wanted.
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

/// Says what the server will not tell. One that tells nothing is not worth waiting for.
fn check(wanted: &Filter, changes: &Changes, output: &Output) -> Result<(), Failure> {
    let honoured = changes.honoured();
    let lists = [("tools", honoured.tools), ("prompts", honoured.prompts), ("resources", honoured.resources)];
    let told: Vec<_> = lists.iter().filter(|(_, told)| *told).map(|(name, _)| (*name).to_owned()).collect();
    let told: Vec<_> = told.into_iter().chain(honoured.uris.iter().map(|uri| text::line(uri))).collect();
    if told.is_empty() {
        return Err(Failure::new(Exit::Protocol, "the server tells of no changes"));
    }
    for uri in wanted.uris.difference(&honoured.uris) {
        output.warn(&format!("the server does not tell of changes of {}", text::line(uri)));
    }
    output.note(&output.err.faint(format!("listening for changes of {}", told.join(", "))));
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
        _ => Err(Failure::new(Exit::Unreachable, "the server tells of no more changes")),
    }
}
