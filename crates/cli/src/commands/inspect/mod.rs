//! `couplet inspect`: servers in the browser.
//!
//! The page and its service are in `couplet-inspector`. Here are the targets: how they are found, connected to, and
//! observed on the wire.

mod endpoint;
mod find;
mod http;
mod login;
mod mask;
mod open;
mod place;
mod tapped;

use std::{net::Ipv4Addr, path::PathBuf, sync::Arc};

use couplet::stdio::children;
use couplet_inspector::Inspector;
use couplet_serve::Signals;
use serde_json::json;
use tokio::net::TcpListener;

use self::{find::Finder, open::Open};
use crate::{
    command::run_to_end,
    exit::{Exit, Failure},
    output::Output,
    questions,
    show::json_line,
    target::{ConnectionArgs, or_interrupted},
};

/// The arguments of `couplet inspect`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// URLs, commands (each as one argument), files, names of configured servers, or recordings (.jsonl)
    #[arg(value_name = "TARGET", conflicts_with = "tap")]
    targets: Vec<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Port to listen on, at the loopback address (default: a free one)
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the URL and do not open the browser
    #[arg(long)]
    no_open: bool,
    /// Act as COMMAND for a host, and show its messages; the browser is opened only with --open
    #[arg(long, requires = "command")]
    tap: bool,
    /// Open the browser, with --tap
    #[arg(long, requires = "tap", conflicts_with = "no_open")]
    open: bool,
    /// Serve the files of the page from this folder, for its development
    #[arg(long, hide = true, value_name = "DIR")]
    page: Option<PathBuf>,
    /// Command of the server, with its arguments
    #[arg(last = true, requires = "tap", value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    match args.tap {
        true => tapped::run(args, output),
        false => run_to_end(serve(args, output)),
    }
}

async fn serve(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let mut signals =
        Signals::new().map_err(|e| Failure::new(Exit::File, format!("cannot listen for signals: {e}")))?;
    let finder = Arc::new(Finder::new(&args.connection, output));
    // What is wrong with a target is said before anything is opened.
    let targets = args.targets.iter().map(|text| Open::of(text, &finder, &args.connection));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    let (inspector, serving) = start(&args, finder).await?;
    for target in targets {
        target.add_to(&inspector, args.connection.revision);
    }
    announce(&inspector, &args, output)?;
    tokio::select! {
        () = serving => {}
        _ = signals.next() => {}
    }
    inspector.disconnect();
    // A second signal does not wait for a server that does not exit.
    let stopped = async {
        children::stop(std::time::Duration::from_secs(1)).await;
        Ok(())
    };
    or_interrupted(stopped).await
}

/// Binds the listeners and creates the inspector; the future serves it.
async fn start(args: &Args, finder: Arc<Finder>) -> Result<(Inspector, impl Future<Output = ()> + use<>), Failure> {
    let bind = async |port: u16| {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| {
            let failure = Failure::new(Exit::Unreachable, format!("cannot listen at 127.0.0.1:{port}: {error}"));
            if port == 0 { failure } else { failure.hint("choose another port with --port, or 0 for a free one") }
        })
    };
    let (page, sandbox) = (bind(args.port).await?, bind(0).await?);
    let builder = Inspector::builder(finder, endpoint::mount);
    let builder = args.page.iter().fold(builder, |builder, folder| builder.page_folder(folder));
    let inspector = builder
        .build(&page, &sandbox)
        .map_err(|error| Failure::new(Exit::Unreachable, format!("cannot start the inspector: {error}")))?;
    let serving = inspector.clone().serve(page, sandbox);
    Ok((inspector, serving))
}

/// Prints the URL, and opens it unless that is not wanted.
fn announce(inspector: &Inspector, args: &Args, output: &Output) -> Result<(), Failure> {
    let url = inspector.url();
    match output.json {
        true => output.print(&json_line(&json!({ "url": url }))?)?,
        false => output.print(&format!("{url}\n"))?,
    }
    if !args.no_open
        && let Err(why) = questions::open(&url)
    {
        output.note(&format!("cannot open a browser ({why}): open the URL yourself"));
    }
    Ok(())
}
