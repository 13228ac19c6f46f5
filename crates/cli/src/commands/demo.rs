//! `couplet demo`: the everything and SQLite servers over HTTP.

use std::{env, sync::Arc};

use couplet::{
    Client,
    core::{Limits, Service},
};
use couplet_everything::ShownEnv;
use couplet_serve::{Signals, SiteArgs, bind, serve_http};
use couplet_sqlite::Database;

use super::list::Offer;
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
};

/// Commands to try: the subcommand, and the arguments after the URL.
const TRY: &[(&str, &str)] = &[
    ("call", "sqlite_query sql='SELECT planet, moon FROM largest_moons'"),
    ("call", "trigger-long-running-operation duration=3 steps=6"),
    ("call", "trigger-elicitation-request"),
];

/// The arguments of `couplet demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7878")]
    http: String,
    /// Environment variable that the tool get-env may show, besides COUPLET_*
    #[arg(long, value_name = "NAME")]
    show_env: Vec<String>,
    #[command(flatten)]
    site: SiteArgs,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let signals = Signals::new().map_err(|e| Failure::new(Exit::File, format!("cannot listen for signals: {e}")))?;
    let socket = bind(&args.http, &args.site).await?;
    let url = socket.url(&args.site);
    let service: Arc<dyn Service> = server(ShownEnv::only(args.show_env)).await?;
    output.print(&page(&service, &url, output).await?)?;
    Ok(serve_http(signals, service, Limits::default(), args.site.transport(socket), &args.site).await?)
}

/// Builds the server: the everything server with the SQLite server mounted.
async fn server(shown: ShownEnv) -> Result<Arc<dyn Service>, Failure> {
    let database = couplet_sqlite::server(Database::sample()?).await?;
    Ok(Arc::new(couplet_everything::server_showing(shown).mount("sqlite", database).build()))
}

/// Formats the page with the server's lists and commands to try.
async fn page(service: &Arc<dyn Service>, url: &str, output: &Output) -> Result<String, Failure> {
    let client = Client::new("couplet", env!("CARGO_PKG_VERSION")).connect(service.clone()).await?;
    let offer = Offer::from_client(&client, None).await?;
    client.close().await?;
    let couplet = program();
    let resources = offer.resources.iter().map(|r| &r.uri).chain(offer.templates.iter().map(|t| &t.uri_template));
    let names = [
        ("Tools", offer.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()),
        ("Resources", resources.cloned().collect()),
        ("Prompts", offer.prompts.iter().map(|prompt| prompt.name.clone()).collect()),
    ];
    let names: String =
        names.iter().map(|(what, names)| format!("{}\n{}", output.out.strong(what), wrapped(names))).collect();
    let tries: String = TRY.iter().map(|(command, rest)| format!("  {couplet} {command} {url} {rest}\n")).collect();
    Ok(format!(
        "{} {}\n\n{names}\n{}\n{tries}\n{}\n",
        output.out.strong("Serving at"),
        output.out.name(url),
        output.out.strong("Try in another terminal:"),
        output.out.faint("Press Ctrl-C to stop."),
    ))
}

/// Joins names into lines that fit a screen.
fn wrapped(names: &[String]) -> String {
    const WIDTH: usize = 80;
    let mut text = String::from("  ");
    let mut column = 2;
    for (at, name) in names.iter().enumerate() {
        let comma = if at + 1 == names.len() { "" } else { ", " };
        let width = text::width(name) + comma.len();
        if column > 2 && column + width > WIDTH {
            text.truncate(text.trim_end().len());
            text.push_str("\n  ");
            column = 2;
        }
        text.push_str(name);
        text.push_str(comma);
        column += width;
    }
    text + "\n"
}

/// Returns the name that this program was started with.
fn program() -> String {
    let called = env::args().next().unwrap_or_default();
    if called.contains(std::path::MAIN_SEPARATOR) { called } else { "couplet".to_owned() }
}
