//! `couplet discover`: a server's name, revisions and capabilities.

use std::{fmt::Write, sync::Arc};

use couplet::{
    ProtocolVersion,
    types::{Discover, DiscoverParams, Request},
};
use serde_json::json;

use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    show,
    target::{ConnectionArgs, Opening, Session, TargetArgs},
};

/// The arguments of `couplet discover`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Try each protocol revision, on a connection of its own
    #[arg(long)]
    all_revisions: bool,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    if args.all_revisions {
        return revisions(&args.target, output).await;
    }
    Session::with(Opening::of(&args.target)?, output, async |session: &Session| {
        let server = session.client.server();
        let said = supported(session).await?;
        output.print(&match output.json {
            true => show::json_line(&json!({
                "server": server.info,
                "revision": server.version.as_str(),
                "supportedRevisions": said,
                "capabilities": server.capabilities,
                "instructions": server.instructions,
            }))?,
            false => {
                let heading = show::heading(server, &session.target, output.out);
                format!("{heading}\n{}", show::about(server, &said, output.out))
            }
        })
    })
    .await
}

/// Requests the supported revisions, where `server/discover` exists.
pub(super) async fn supported(session: &Session) -> Result<Vec<String>, Failure> {
    if !session.client.serves(Discover::METHOD) {
        return Ok(Vec::new());
    }
    Ok(session.client.request::<Discover>(DiscoverParams::new()).await?.supported_versions)
}

/// Connects in each revision.
async fn revisions(args: &TargetArgs, output: &Arc<Output>) -> Result<(), Failure> {
    let (target, mut rows) = (args.find()?, Vec::new());
    for &version in ProtocolVersion::ALL {
        let connection = ConnectionArgs { revision: Some(version), ..args.connection.clone() };
        let opening = Opening::to(target.clone(), connection);
        let outcome = Session::with(opening, output, async |_: &Session| Ok(())).await;
        match outcome {
            Ok(()) => rows.push((version, None)),
            Err(failure) if failure.exit == Exit::Protocol || failure.exit == Exit::Refused => {
                rows.push((version, Some(failure.message)));
            }
            Err(failure) => return Err(failure),
        }
    }
    if output.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(v, why)| json!({ "revision": v.as_str(), "spoken": why.is_none(), "why": why }))
            .collect();
        return output.print(&show::json_line(&rows)?);
    }
    let mut page = String::new();
    for (version, why) in &rows {
        let _ = match why {
            None => writeln!(page, "  {version}  {}", output.out.good("supported")),
            Some(why) => writeln!(
                page,
                "  {version}  {} {}",
                output.out.warning("not supported:"),
                output.out.faint(text::line(why))
            ),
        };
    }
    output.print(&page)
}
