//! `couplet ping`: checks that a server responds, and measures the time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use couplet::{
    Client,
    types::{Discover, DiscoverParams, Ping, Request},
};
use serde_json::json;

use crate::{
    exit::Failure,
    output::{Output, text},
    show,
    target::{Opening, Session, TargetArgs},
};

/// The arguments of `couplet ping`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Number of pings
    #[arg(short = 'n', long, value_name = "NUMBER", default_value = "1")]
    count: u32,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening::of(&args.target)?;
    let began = Instant::now();
    Session::with(opening, output, async |session: &Session| {
        let connected = began.elapsed();
        let server = session.client.server();
        let name = server.info.as_ref().map_or("the server", |info| info.display_name());
        if !output.json {
            let line = format!("connected in {} ({})", shown(connected), server.version);
            output.note(&output.err.faint(line));
        }
        for _ in 0..args.count {
            let took = once(&session.client).await?;
            output.print(&match output.json {
                true => show::json_line(&json!({
                    "server": server.info, "revision": server.version.as_str(),
                    "connectMs": millis(connected), "pingMs": millis(took),
                }))?,
                false => format!("{} answered in {}\n", text::line(name), shown(took)),
            })?;
        }
        Ok(())
    })
    .await
}

/// Sends `ping`, or `server/discover` in revisions without it.
pub(crate) async fn once(client: &Client) -> Result<Duration, Failure> {
    let began = Instant::now();
    if client.serves(Ping::METHOD) {
        client.ping().await?;
    } else {
        client.request::<Discover>(DiscoverParams::new()).no_cache().await?;
    }
    Ok(began.elapsed())
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 1e2
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
