//! `couplet discover`: what a server is and speaks, and which servers are known here.

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
    target::{ConnectionArgs, Opening, Place, Session, Target, TargetArgs, known},
};

/// Whom to ask.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A URL, a command in one argument, or the name of a configured server
    target: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Tries every revision, with a connection for each
    #[arg(long)]
    all_revisions: bool,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let Some(target) = args.target else { return configured(output) };
    let args_of = TargetArgs { target, connection: args.connection };
    if args.all_revisions {
        return revisions(&args_of, output).await;
    }
    Session::with(Opening::of(&args_of)?, output, async |session: &Session| {
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

/// What the server says that it speaks, where it is asked.
async fn supported(session: &Session) -> Result<Vec<String>, Failure> {
    if !session.client.serves(Discover::METHOD) {
        return Ok(Vec::new());
    }
    Ok(session.client.request::<Discover>(DiscoverParams::new()).await?.supported_versions)
}

/// Tries each revision.
async fn revisions(args: &TargetArgs, output: &Arc<Output>) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for version in ProtocolVersion::ALL {
        let connection = ConnectionArgs { revision: Some(version), ..args.connection.clone() };
        let opening = Opening::of(&TargetArgs { target: args.target.clone(), connection })?;
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
            None => writeln!(page, "  {version}  {}", output.out.good("spoken")),
            Some(why) => writeln!(
                page,
                "  {version}  {} {}",
                output.out.warning("not spoken"),
                output.out.faint(text::line(why))
            ),
        };
    }
    output.print(&page)
}

/// The servers that hosts on this machine have.
fn configured(output: &Output) -> Result<(), Failure> {
    let servers = known().servers()?;
    if output.json {
        let rows: Vec<_> = servers
            .iter()
            .map(|s| {
                let target = Target { place: s.place.clone(), host: None };
                json!({ "name": s.name, "host": s.host, "target": target.to_string() })
            })
            .collect();
        return output.print(&show::json_line(&rows)?);
    }
    if servers.is_empty() {
        output.note("no host on this machine has a server configured");
        return Ok(());
    }
    let entries: Vec<_> = servers
        .iter()
        .map(|server| {
            let target = Target { place: server.place.clone(), host: None };
            let kind = match server.place {
                Place::Url { .. } => "remote",
                Place::Program { .. } => "command",
            };
            show::Entry {
                name: format!("{}:{}", server.host, text::line(&server.name)),
                more: String::new(),
                description: format!("{kind}  {}", text::line(&target.to_string())),
            }
        })
        .collect();
    output.print(&show::columns(&entries, output.out))
}
