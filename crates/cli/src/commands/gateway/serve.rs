//! `couplet gateway CONFIG`: serves a configuration on stdio or over HTTP.

use std::{sync::Arc, time::Duration};

use couplet::{
    auth::server::Tokens,
    core::{BoxFuture, Caller, Sealer, Service, Transport},
    http::server::{AllowList, Authorize, Challenge, Endpoint, Routes},
    stdio::{children, stdio},
};
use couplet_gateway::{
    Gateway,
    config::{Listen, ListenAuth},
};
use couplet_hosts::Env;
use couplet_serve::{Signals, Socket, SocketArgs, StateKeys, serve_http, serve_until_signal};
use http::request::Parts;
use tokio::sync::watch;

use super::{ServeArgs, here, load};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    target::or_interrupted,
};

/// How long the first lists are waited for before serving.
const FIRST_LISTS: Duration = Duration::from_secs(1);

/// How long a server has to exit before it is stopped.
const GRACE: Duration = Duration::from_secs(1);

pub(super) async fn run(mut args: ServeArgs, output: &Arc<Output>) -> Result<(), Failure> {
    let env = here()?;
    let config = load(args.config.take(), &env, output)?;
    if !args.socket.is_http() && !args.stdio {
        args.socket = SocketArgs { http: config.listen.http.clone(), ..args.socket };
    }
    // Before a server is started, so that an address in use is reported at once.
    let socket = args.socket.bind(&args.site).await?;
    let keys = args.key.read().map_err(|error| Failure::new(Exit::File, error.to_string()))?;
    if let Some(warning) = args.key.warning() {
        output.warn(&text::line(&warning));
    }
    if let Some(socket) = &socket {
        check_reach(&args, &config.listen, socket, output)?;
    }
    // Servers end with this program, even if it is killed, where a guard can be started.
    let _ = children::guard();
    let known = config.notes.len();
    let key = keys.as_ref().map_or_else(Sealer::random, StateKeys::sealer);
    let gateway = Gateway::start_with_key(config, env.clone(), args.project.drain(..), key).await?;
    for note in gateway.config().notes.iter().skip(known) {
        output.warn(&text::line(note));
    }
    let outcome = serve(&args, &gateway, socket, &env, output).await;
    // A second signal does not wait for a server that does not exit.
    let closing = async {
        gateway.close().await;
        children::stop(GRACE).await;
        Ok(())
    };
    let _ = or_interrupted(closing).await;
    outcome
}

async fn serve(
    args: &ServeArgs,
    gateway: &Gateway,
    socket: Option<Socket>,
    env: &Env,
    output: &Arc<Output>,
) -> Result<(), Failure> {
    let service = gateway.service(args.profile.as_deref())?;
    let fail = |e: std::io::Error| Failure::new(Exit::File, format!("cannot listen for signals: {e}"));
    let (signals, hang_ups) = match socket {
        Some(_) => (Signals::without_hang_up().map_err(fail)?, HangUps::new().map_err(fail)?),
        None => (Signals::new().map_err(fail)?, HangUps::none()),
    };
    gateway.ready(FIRST_LISTS).await;
    let serving = async {
        match socket {
            Some(socket) => over_http(args, gateway, service, socket, signals, output).await,
            None => over_stdio(gateway, service, signals, args.site.grace).await,
        }
    };
    tokio::select! {
        served = serving => served,
        () = gateway.follow_file() => Ok(()),
        () = reload_on(hang_ups, gateway) => Ok(()),
        () = answer_status(gateway, env, output) => Ok(()),
        () = answer_control(gateway, env, output) => Ok(()),
    }
}

async fn over_stdio(
    gateway: &Gateway,
    service: Arc<dyn Service>,
    signals: Signals,
    grace: Duration,
) -> Result<(), Failure> {
    let (begin, begun) = tokio::sync::oneshot::channel::<()>();
    let serving = stdio().with_graceful_shutdown(async { drop(begun.await) }).serve(service, gateway.limits());
    let drain = move || {
        let _ = begin.send(());
    };
    Ok(serve_until_signal(signals, serving, drain, grace).await?)
}

async fn over_http(
    args: &ServeArgs,
    gateway: &Gateway,
    service: Arc<dyn Service>,
    socket: Socket,
    signals: Signals,
    output: &Arc<Output>,
) -> Result<(), Failure> {
    let access = gateway.access().await?;
    let (site, url) = (&args.site, socket.url(&args.site));
    if let Some(token) = &access.generated {
        // The only place where it is shown.
        output.note(&format!("token: {token}"));
    }
    let tokens = access.tokens.map(|tokens| Arc::new(Current(tokens)));
    let list = AllowList::new();
    let allowed = list.clone();
    let authorized = move |endpoint: Endpoint| match &tokens {
        Some(tokens) => endpoint.allow_list(&allowed).authorize(tokens.clone()),
        None => endpoint.allow_list(&allowed),
    };
    let routes = Routes::new();
    let further = {
        let (site, authorized, limits) = (site.clone(), authorized.clone(), gateway.limits());
        move |service| authorized(site.configure(Endpoint::from_shared(service)).connection_limits(limits.clone()))
    };
    if let Some(url) = socket.metrics_url() {
        output.note(&format!("serving metrics at {}", output.err.name(url)));
    }
    let transport = site.transport(socket).endpoint(authorized).routes(&routes);
    output.note(&format!("serving at {}", output.err.name(url)));
    tokio::select! {
        // The list is filled before the first request.
        biased;
        () = gateway.follow_allowed(&list) => Ok(()),
        served = serve_http(signals, service, gateway.limits(), transport, site) => Ok(served?),
        () = gateway.route_profiles(&routes, &site.path, further) => Ok(()),
    }
}

/// The tokens of the configuration in use.
struct Current(watch::Receiver<Arc<Tokens>>);

impl Current {
    fn tokens(&self) -> Arc<Tokens> {
        self.0.borrow().clone()
    }
}

impl Authorize for Current {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        let tokens = self.tokens();
        Box::pin(async move { tokens.authorize(request).await })
    }

    fn insufficient(&self, request: &Parts, caller: Option<&Caller>, needed: &[String]) -> Challenge {
        self.tokens().insufficient(request, caller, needed)
    }
}

/// Refuses to serve other machines without a reason to believe that only the right callers connect.
fn check_reach(args: &ServeArgs, listen: &Listen, socket: &Socket, output: &Output) -> Result<(), Failure> {
    if socket.is_local() || args.behind_proxy {
        return Ok(());
    }
    if listen.auth == ListenAuth::None {
        let what = "other machines could connect to this address, and callers are not authenticated";
        return Err(Failure::usage(what).hint(
            "listen on 127.0.0.1, remove `\"auth\": \"none\"`, or use --behind-proxy if a proxy authenticates callers",
        ));
    }
    output.warn("tokens are sent without encryption to this address: use a reverse proxy with TLS, and --behind-proxy");
    Ok(())
}

/// Answers `couplet gateway status`, if this system has sockets for that.
async fn answer_status(gateway: &Gateway, env: &Env, output: &Output) {
    #[cfg(unix)]
    match couplet_gateway::StatusSocket::bind(&couplet_gateway::runtime_folder(env)) {
        Ok(socket) => return socket.serve(|| gateway.status()).await,
        Err(error) => output.warn(&text::line(&format!("`couplet gateway status` will not work: {error}"))),
    }
    let _ = (gateway, env, output);
    std::future::pending::<()>().await;
}

/// Answers `couplet gateway consent` and `grants`, if this system has sockets for that.
async fn answer_control(gateway: &Gateway, env: &Env, output: &Output) {
    #[cfg(unix)]
    match couplet_gateway::ControlSocket::bind(&couplet_gateway::runtime_folder(env)) {
        Ok(socket) => return socket.serve(gateway).await,
        Err(error) => output.warn(&text::line(&format!("`couplet gateway consent` will not work: {error}"))),
    }
    #[cfg(not(unix))]
    if gateway.config().consent.is_local() {
        output.warn("`couplet gateway consent` needs Unix domain sockets: calls that ask on this machine are denied");
    }
    let _ = (gateway, env, output);
    std::future::pending::<()>().await;
}

/// SIGHUP, which reloads a gateway that serves HTTP.
struct HangUps {
    #[cfg(unix)]
    signals: Option<tokio::signal::unix::Signal>,
}

impl HangUps {
    #[cfg(unix)]
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { signals: Some(signal(SignalKind::hangup())?) })
    }

    #[cfg(unix)]
    fn none() -> Self {
        Self { signals: None }
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        if let Some(signals) = &mut self.signals
            && signals.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }

    #[cfg(not(unix))]
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    fn none() -> Self {
        Self {}
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}

async fn reload_on(mut hang_ups: HangUps, gateway: &Gateway) {
    loop {
        hang_ups.next().await;
        gateway.reload_logged().await;
    }
}
