//! Finding out what a server speaks.

use std::{sync::Arc, time::Duration};

use couplet_core::{
    Connect, Connected, Dialect, Error, ErrorKind, Event, Exchange, JsonText, Limits, Negotiation, Outcome, Probe,
    RequestOptions, Step,
};
use couplet_types::{
    ClientCapabilities, Discover, DiscoverParams, DiscoverResult, Implementation, Initialize, InitializeParams,
    InitializeResult, Initialized, Notification, NotificationParams, ProtocolVersion, Request, RequestMethod, RpcError,
    from_json,
};

use crate::{cache::Ticket, client::ServerInfo, clock::within, driver::beside, extension::Extensions, inbox::Inbox};

/// What a client brings to the negotiation.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) versions: Vec<ProtocolVersion>,
    pub(crate) info: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) extensions: Arc<Extensions>,
    pub(crate) probe_timeout: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) limits: Limits,
}

/// Opens a connection and agrees on how to speak.
pub(crate) async fn open(
    target: &mut dyn Connect,
    inbox: &Arc<Inbox>,
    greeting: &Greeting,
) -> Result<(Connected, ServerInfo), Error> {
    match open_once(target, inbox, greeting).await {
        Err(error) if error.is_outdated() => {
            tracing::debug!(%error, "what was known about the server is forgotten, and it is asked");
            open_once(target, inbox, greeting).await
        }
        opened => opened,
    }
}

async fn open_once(
    target: &mut dyn Connect,
    inbox: &Arc<Inbox>,
    greeting: &Greeting,
) -> Result<(Connected, ServerInfo), Error> {
    let (mut negotiation, mut step) = Negotiation::new(greeting.versions.clone())?;
    let mut line = target.connect(inbox.clone(), greeting.limits.clone()).await?;
    let mut server = None;
    loop {
        step = match step {
            Step::Discover(version) => {
                let dialect = greeting.dialect(version);
                // A client that cannot fall back has no reason to stop waiting early.
                let probe = negotiation.has_fallback().then_some(greeting.probe_timeout);
                match discover(&mut line, &dialect, probe.unwrap_or(greeting.timeout), inbox).await? {
                    Found::Late if probe.is_none() => return Err(unanswered(Discover::METHOD, greeting)),
                    Found::Late => negotiation.probed(&Probe::Silence)?,
                    Found::Server(result, info) => {
                        server = Some(ServerInfo::discovered(version, &result, info));
                        negotiation.probed(&Probe::Answer(result))?
                    }
                    Found::Nothing(probe) => negotiation.probed(&probe)?,
                    Found::Lost(why) => {
                        // There are servers that exit when they do not know the first message.
                        let next = negotiation.probed(&Probe::Silence).map_err(|e| e.with_source(why))?;
                        line = target.connect(inbox.clone(), greeting.limits.clone()).await?;
                        next
                    }
                }
            }
            Step::Initialize(version) => match initialize(&mut line, &greeting.dialect(version), greeting).await? {
                Ok(result) => {
                    let next = negotiation.initialized(Ok(&result))?;
                    server = Some(ServerInfo::initialized(version, *result));
                    next
                }
                Err(refused) => negotiation.initialized(Err(refused))?,
            },
            Step::Speak(version) => {
                let Some(mut server) = server else {
                    return Err(Error::new(ErrorKind::Protocol, "the server did not say what it is"));
                };
                server.version = version;
                let dialect = greeting.dialect(version);
                line.channel.agree(&dialect);
                if dialect.has_sessions() {
                    line.channel.notify(dialect.notification(Initialized::METHOD, &NotificationParams::new()));
                }
                inbox.agree(dialect);
                let _ = inbox.channel.set(Arc::downgrade(&line.channel));
                return Ok((line, server));
            }
        };
    }
}

impl Greeting {
    fn dialect(&self, version: ProtocolVersion) -> Dialect {
        Dialect::new(version, self.info.clone(), self.capabilities(version))
    }

    fn capabilities(&self, version: ProtocolVersion) -> ClientCapabilities {
        let mut all = self.capabilities.clone();
        self.extensions.declare(version, &mut all);
        all
    }
}

/// What came of the probe.
enum Found {
    Server(Box<DiscoverResult>, Option<Implementation>),
    Nothing(Probe),
    /// No answer came in time.
    Late,
    Lost(Error),
}

async fn discover(
    line: &mut Connected,
    dialect: &Dialect,
    patience: Option<Duration>,
    inbox: &Inbox,
) -> Result<Found, Error> {
    let params = DiscoverParams::new();
    let key = dialect.cache_key::<Discover>(&params);
    let ticket = inbox.seat.as_ref().zip(key).map(|(seat, key)| seat.ticket(dialect, RequestMethod::Discover, key));
    if let Some(text) = ticket.as_ref().and_then(Ticket::cached) {
        return Ok(read_discovered(dialect, text));
    }
    let lead = ticket.map(|ticket| ticket.lead());
    let outgoing = dialect.request::<Discover>(line.channel.next_id(), params, &RequestOptions::default())?;
    let mut exchange = line.channel.open(outgoing);
    let channel = line.channel.clone();
    let answered = within(patience, &*channel, beside(&mut line.driver, answer(&mut exchange))).await;
    Ok(match answered {
        // A server that kept silent about this may not understand that it is not wanted any more, either.
        None => {
            exchange.abandon();
            Found::Late
        }
        Some(Err(why)) => Found::Lost(why),
        Some(Ok(Event::Failed(why))) if why.kind() == ErrorKind::Closed => Found::Lost(why),
        Some(Ok(Event::Failed(why))) if why.kind() != ErrorKind::Protocol => return Err(why),
        Some(Ok(Event::Answer(Err(refused)))) => Found::Nothing(Probe::Refused(refused)),
        Some(Ok(Event::Answer(Ok(text)))) => {
            let found = read_discovered(dialect, text.clone());
            if let (Some(lead), Found::Server(..)) = (lead, &found) {
                lead.settle(&text);
            }
            found
        }
        // What cannot be read is no answer, and no reason not to try the handshake.
        Some(Ok(_)) => Found::Nothing(Probe::Silence),
    })
}

fn read_discovered(dialect: &Dialect, text: JsonText) -> Found {
    let info = dialect.server_info(&text);
    match dialect.outcome(text) {
        Ok(Outcome::Complete(text)) => match from_json(text.as_str()) {
            Ok(result) => Found::Server(Box::new(result), info),
            Err(_) => Found::Nothing(Probe::Silence),
        },
        _ => Found::Nothing(Probe::Silence),
    }
}

/// The inner error is what the server reported.
async fn initialize(
    line: &mut Connected,
    dialect: &Dialect,
    greeting: &Greeting,
) -> Result<Result<Box<InitializeResult>, RpcError>, Error> {
    let version = dialect.revision().version();
    let params = InitializeParams::new(version.as_str(), greeting.capabilities(version), greeting.info.clone());
    let outgoing = dialect.request::<Initialize>(line.channel.next_id(), params, &RequestOptions::default())?;
    let mut exchange = line.channel.open(outgoing);
    let channel = line.channel.clone();
    match within(greeting.timeout, &*channel, beside(&mut line.driver, answer(&mut exchange))).await {
        None => Err(unanswered(Initialize::METHOD, greeting)),
        Some(Err(why)) | Some(Ok(Event::Failed(why))) => Err(why),
        Some(Ok(Event::Answer(Err(refused)))) => Ok(Err(refused)),
        Some(Ok(Event::Answer(Ok(text)))) => from_json(text.as_str())
            .map(|r| Ok(Box::new(r)))
            .map_err(|e| Error::new(ErrorKind::Protocol, "the answer to `initialize` cannot be read").with_source(e)),
        Some(Ok(_)) => Err(Error::new(ErrorKind::Protocol, "the server ended `initialize` without an answer")),
    }
}

fn unanswered(method: &str, greeting: &Greeting) -> Error {
    let waited = greeting.timeout.unwrap_or_default();
    Error::new(ErrorKind::Timeout, format!("the server did not answer `{method}` within {waited:?}"))
}

/// The end of an exchange, whatever is told before it.
pub(crate) async fn answer(exchange: &mut Exchange) -> Event {
    loop {
        match exchange.next().await {
            Event::Notification { .. } => {}
            end => return end,
        }
    }
}
