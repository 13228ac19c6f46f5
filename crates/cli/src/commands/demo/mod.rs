//! `couplet demo`: servers to play with, on one address of this machine.

mod toys;

use std::{env, sync::Arc};

use couplet::{
    Client, Server,
    core::{Limits, Service, Transport},
};

use super::{
    list::Offer,
    run::{self, SiteArgs},
};
use crate::{exit::Failure, output::Output, target::or_interrupted};

/// Where to serve.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The address to serve at; port 0 takes any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7878")]
    http: String,
    #[command(flatten)]
    site: SiteArgs,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let listener = run::listen(&args.http).await?;
    let url = run::url(&listener, &args.site);
    let service: Arc<dyn Service> = Arc::new(server().build());
    output.print(&page(&service, &url, output).await?)?;
    let serving = args.site.transport(listener).serve(service, Limits::default());
    match or_interrupted(async { Ok(serving.await?) }).await {
        Err(failure) if failure.exit == crate::exit::Exit::Interrupted => Ok(()),
        outcome => outcome,
    }
}

/// Everything that is served.
fn server() -> Server {
    toys::server()
}

/// What is there, and what to try.
async fn page(service: &Arc<dyn Service>, url: &str, output: &Output) -> Result<String, Failure> {
    let client = Client::new("couplet", env!("CARGO_PKG_VERSION")).connect(service.clone()).await?;
    let offer = Offer::from_client(&client, None).await?;
    client.close().await?;
    let couplet = program();
    let tries: String =
        toys::TRY.iter().map(|(command, rest)| format!("  {couplet} {command} {url} {rest}\n")).collect();
    Ok(format!(
        "{} {}\n{}\n{}\n{tries}\n{}\n",
        output.out.strong("Serving at"),
        output.out.name(url),
        offer.to_text(output),
        output.out.strong("Try, in another terminal:"),
        output.out.faint("Ctrl-C ends it."),
    ))
}

/// How this program was called.
fn program() -> String {
    let called = env::args().next().unwrap_or_default();
    if called.contains(std::path::MAIN_SEPARATOR) { called } else { "couplet".to_owned() }
}
