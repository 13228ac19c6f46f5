//! `couplet card`: the card of a server (a draft), fetched and checked, or made from a running server.

use std::{fmt::Write, sync::Arc};

use couplet::{
    auth::fetch::{Fetched, Fetcher, Reach},
    http::card::ServerCard,
    types::Implementation,
};
use serde::Serialize;

use super::discover::supported;
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    show,
    target::{Opening, Place, Session, Stop, TargetArgs},
};

/// The maximum size of a card.
const LARGEST: usize = 1 << 20;

/// The arguments of `couplet card`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Make a card with this name from the running server, such as com.example/weather
    #[arg(long, value_name = "NAME")]
    make: Option<String>,
    /// Public URL of the server in the card that is made (default: TARGET)
    #[arg(long, value_name = "URL", requires = "make")]
    url: Option<String>,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    match &args.make {
        Some(name) => make(&args, name, output).await,
        None => fetch(&args, output).await,
    }
}

/// Fetches a card, checks it, and prints it.
async fn fetch(args: &Args, output: &Output) -> Result<(), Failure> {
    let Place::Url { url, tls, .. } = args.target.find()?.place else {
        let failure = Failure::usage("only a server with a URL has a card");
        return Err(failure.hint("make one with --make com.example/NAME --url URL"));
    };
    let place = if url.ends_with("/server-card") { url } else { ServerCard::location(&url) };
    let uri = place.parse().map_err(|_| Failure::usage(format!("`{place}` is not a URL")))?;
    let settings = tls.settings(output)?;
    // The user chose this server; a redirect may lead anywhere.
    let client = Arc::new(settings.clone().build()?);
    let fetcher = Fetcher::with_settings(Reach::Public, settings)?.trust_origin(&uri, client).limit(LARGEST);
    let stop = Stop::new(args.target.connection.max_time);
    let fetched = stop.in_time(async { Ok(fetcher.get(&place).await?) }).await?;
    let card = parsed(&place, &fetched)?;
    let problems = card.problems();
    output.print(&match output.json {
        true => show::json_line(&Checked { url: &place, card: &card, problems: &problems })?,
        false => page(&card, output),
    })?;
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(Exit::Refused, format!("the card is invalid: {}", problems.join("; ")))),
    }
}

/// A card with what is wrong with it.
#[derive(Serialize)]
struct Checked<'a> {
    url: &'a str,
    card: &'a ServerCard,
    problems: &'a [String],
}

fn parsed(place: &str, fetched: &Fetched) -> Result<ServerCard, Failure> {
    if !fetched.status.is_success() {
        let what = format!("`{place}` answers with the status {}", fetched.status.as_u16());
        return Err(
            Failure::new(Exit::Unreachable, what).hint("not every server has a card; make one with --make NAME")
        );
    }
    serde_json::from_slice(&fetched.body)
        .map_err(|error| Failure::new(Exit::Protocol, format!("`{place}` is not a server card: {error}")))
}

/// Makes a card from the server itself, as a document.
async fn make(args: &Args, name: &str, output: &Arc<Output>) -> Result<(), Failure> {
    let url = match (&args.url, args.target.find()?.place) {
        (Some(url), _) => url.clone(),
        (None, Place::Url { url, .. }) => url,
        (None, Place::Program { .. }) => {
            return Err(Failure::usage("--url URL is needed: a card is for remote servers"));
        }
    };
    Session::with(Opening::of(&args.target)?, output, async |session: &Session| {
        let server = session.client.server();
        let info = server.info.clone().unwrap_or_else(|| Implementation::new("server", "0"));
        let mut versions = supported(session).await?;
        if versions.is_empty() {
            versions.push(server.version.as_str().to_owned());
        }
        let card = ServerCard::of(name, &url, &info, versions);
        let problems = card.problems();
        if !problems.is_empty() {
            return Err(Failure::usage(format!("the card would be invalid: {}", problems.join("; "))));
        }
        output.print(&match output.json {
            true => show::json_line(&card)?,
            false => serde_json::to_string_pretty(&card).map_err(|e| Failure::usage(e.to_string()))? + "\n",
        })
    })
    .await
}

fn page(card: &ServerCard, output: &Output) -> String {
    let mut page = String::new();
    let mut row = |label: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(page, "  {}{}", output.out.faint(text::pad(label, 14)), text::line(value));
        }
    };
    row("name", &card.name);
    row("title", card.title.as_deref().unwrap_or_default());
    row("version", &card.version);
    row("description", &card.description);
    row("website", card.website_url.as_deref().unwrap_or_default());
    row("repository", card.repository.as_ref().map_or("", |repository| &repository.url));
    for remote in &card.remotes {
        row("endpoint", &format!("{} ({})", remote.url, remote.transport));
        row("supports", &remote.supported_protocol_versions.join(", "));
    }
    page
}
