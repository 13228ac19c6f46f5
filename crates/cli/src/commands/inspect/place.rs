//! A server as the inspector connects to it: every message is observed on the wire.

use std::{path::Path, sync::Arc, time::Duration};

use couplet::{
    Error, ProtocolVersion,
    auth::{
        client::OAuth,
        fetch::{Fetcher, Reach},
    },
    core::{BoxFuture, Connect},
    stdio::Direction as Flow,
    tasks::ClientTasks,
};
use couplet_inspector::{BenchOrder, Direction, Login, Opening, Place, PlaceKind, Seen, Tap};
use couplet_lint::{Config, lint};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{find::sentence, http::TappedClient, login::LoginLog};
use crate::{
    commands::{bench, lint::surface},
    exit::Failure,
    output::Output,
    questions,
    target::{self, ConnectionArgs, Target, TlsArgs, builder, logins, program},
};

/// A server of the command line, of a host, or of the page's form.
pub(super) struct Server {
    text: String,
    target: Target,
    connection: ConnectionArgs,
    output: Arc<Output>,
    login: Arc<LoginLog>,
}

impl Server {
    pub(super) fn new(text: &str, target: Target, connection: ConnectionArgs, output: &Arc<Output>) -> Self {
        let login = Arc::default();
        Self { text: text.trim().to_owned(), target, connection, output: output.clone(), login }
    }

    fn client(&self, revision: Option<ProtocolVersion>) -> Result<couplet::client::ClientBuilder, Failure> {
        builder(&ConnectionArgs { revision, ..self.connection.clone() })
    }

    fn connector(&self, tap: &Tap) -> Result<Box<dyn Connect>, Failure> {
        match &self.target.place {
            target::Place::Program { words, env, cwd } => {
                let (lines, messages) = (tap.clone(), tap.clone());
                let command = program(words, env, cwd.as_deref())
                    .on_stderr(move |line| lines.report(Seen::Stderr(line.to_owned())))
                    .on_message(move |flow, text| messages.message(direction(flow), text.clone()));
                Ok(Box::new(command))
            }
            target::Place::Url { url, headers, tls, .. } => self.remote(url, headers, tls, tap),
        }
    }

    fn remote(
        &self,
        url: &str,
        headers: &[(String, String)],
        tls: &TlsArgs,
        tap: &Tap,
    ) -> Result<Box<dyn Connect>, Failure> {
        let settings = tls.settings(&self.output)?;
        let limit = self.connection.limits().message;
        let client = TappedClient::new(Arc::new(settings.clone().build()?), tap, &self.login, limit);
        let target = couplet::http::connect(url).client(Arc::new(client));
        let target = headers.iter().fold(target, |target, (name, value)| target.header(name, value));
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Ok(Box::new(target));
        }
        // Discovery and token requests are observed, too.
        let reach = url.parse().map_or(Reach::Public, |uri| Reach::of(&uri));
        let fetching = settings.allow_address(move |address| reach.allows(address.ip())).build()?;
        let fetching = TappedClient::new(Arc::new(fetching), tap, &self.login, limit);
        let (shown, log) = (tap.clone(), self.login.clone());
        let oauth =
            OAuth::new("Couplet").fetcher(Fetcher::with_client(reach, Arc::new(fetching))).browser(move |page| {
                let opens = log.waits_at(&page);
                shown.report(Seen::Login(page.clone()));
                async move {
                    if opens {
                        // The page shows the address, too.
                        let _ = questions::open(&page);
                    }
                    Ok(())
                }
            });
        let oauth = match logins()? {
            Some(store) => oauth.store(store),
            None => oauth,
        };
        Ok(Box::new(target.authorize(oauth)))
    }
}

fn direction(flow: Flow) -> Direction {
    match flow {
        Flow::Sent => Direction::Out,
        Flow::Received => Direction::In,
    }
}

impl Place for Server {
    fn name(&self) -> String {
        match &self.target.place {
            _ if !target::is_place(&self.text) => self.text.clone(),
            target::Place::Url { url, .. } => {
                let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                rest.split(['/', '?', '#']).next().unwrap_or(rest).to_owned()
            }
            target::Place::Program { words, .. } => short_name(words),
        }
    }

    fn target(&self) -> String {
        match &self.target.place {
            target::Place::Url { .. } => self.target.to_string(),
            target::Place::Program { .. } => self.text.clone(),
        }
    }

    fn kind(&self) -> PlaceKind {
        match &self.target.place {
            target::Place::Url { .. } => PlaceKind::Url,
            target::Place::Program { .. } => PlaceKind::Command,
        }
    }

    fn headers(&self) -> Vec<String> {
        match &self.target.place {
            target::Place::Url { headers, .. } => headers.iter().map(|(name, _)| name.clone()).collect(),
            target::Place::Program { .. } => Vec::new(),
        }
    }

    fn has_login(&self) -> bool {
        let is_set = self.headers().iter().any(|name| name.eq_ignore_ascii_case("authorization"));
        !is_set && self.login.has_token()
    }

    fn open(&self, revision: Option<ProtocolVersion>, tap: &Tap) -> Result<Opening, String> {
        let opening = self.client(revision).and_then(|client| Ok(Opening { client, server: self.connector(tap)? }));
        opening.map_err(|failure| sentence(&failure))
    }

    fn explain(&self, error: &Error) -> String {
        sentence(&self.target.explain(error.clone().into()))
    }

    fn lint(&self) -> BoxFuture<'static, Result<Vec<Value>, String>> {
        let (target, connection) = (self.target.clone(), self.connection.clone());
        Box::pin(async move {
            let output = Arc::new(Output::silent());
            let surface = surface(&target, &connection, &output).await.map_err(|failure| sentence(&failure))?;
            Ok(lint(&surface, &Config::new()).iter().map(finding).collect())
        })
    }

    fn bench(&self, order: BenchOrder, progress: mpsc::Sender<Value>) -> BoxFuture<'static, Result<Value, String>> {
        /// The timeout of a number of calls.
        const LONGEST: Duration = Duration::from_secs(600);
        const USUAL: Duration = Duration::from_secs(5);
        let silent = Arc::new(Output::silent());
        let opening = self.client(order.revision).and_then(|client| {
            let diagnostics = Arc::new(target::Diagnostics::new(&silent));
            Ok((client.extension(ClientTasks::new()), self.target.connector(diagnostics, &silent)?))
        });
        let order = bench::Order {
            call: order.tool.map(|tool| (tool, order.arguments)),
            in_flight: order.concurrency,
            time: match (order.seconds, order.calls) {
                (Some(seconds), _) => Duration::try_from_secs_f64(seconds).unwrap_or(USUAL),
                (None, Some(_)) => LONGEST,
                (None, None) => USUAL,
            },
            calls: order.calls,
        };
        Box::pin(async move {
            let work = async {
                let (client, server) = opening?;
                let client = client.connect(server).await?;
                // A reader that is slow misses some of the steps.
                bench::measure(client, order, move |step| drop(progress.try_send(step))).await
            };
            work.await.map_err(|failure| sentence(&failure))
        })
    }

    fn login(&self) -> Login {
        self.login.login()
    }

    fn log_in(&self) -> BoxFuture<'static, Result<(), String>> {
        let target::Place::Url { url, .. } = &self.target.place else {
            return Box::pin(std::future::ready(Err("only servers at a URL have a login".to_owned())));
        };
        let (url, log) = (url.clone(), self.login.clone());
        Box::pin(async move {
            let store = logins().map_err(|failure| sentence(&failure))?;
            if let Some(store) = store {
                let deleted = OAuth::new("Couplet").store(store).delete_token(&url).await;
                deleted.map_err(|error| format!("the stored login cannot be deleted: {error}"))?;
            }
            log.restart();
            Ok(())
        })
    }
}

/// A finding as the page shows it.
fn finding(finding: &couplet_lint::Finding) -> Value {
    let mut found = json!(finding);
    let (message, path) = (found["what"].take(), found["pointer"].take());
    json!({
        "rule": found["rule"], "severity": found["severity"], "message": message, "why": found["why"],
        "fix": found["fix"], "kind": found["kind"], "name": found["name"], "path": path, "where": found["where"],
    })
}

/// The name of a command: that of its program, or of the script or package that an interpreter or runner starts.
fn short_name(words: &[String]) -> String {
    const RUNNERS: [&str; 12] =
        ["node", "python", "python3", "npx", "uvx", "uv", "bunx", "bun", "deno", "docker", "sh", "run"];
    let stem =
        |word: &str| Path::new(word).file_stem().map_or(word.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let mut words = words.iter().filter(|word| !word.starts_with('-')).map(|word| stem(word));
    let first = words.next().unwrap_or_default();
    if !RUNNERS.contains(&first.as_str()) {
        return first;
    }
    words.find(|word| !RUNNERS.contains(&word.as_str())).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        for (command, name) in [
            ("/usr/bin/everything --stdio", "everything"),
            ("node dist/server.js", "server"),
            ("npx -y @modelcontextprotocol/server-everything stdio", "server-everything"),
            ("uv run notes.py", "notes"),
            ("python3", "python3"),
        ] {
            let words: Vec<_> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(short_name(&words), name);
        }
    }
}
