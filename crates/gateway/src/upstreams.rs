//! Supervised upstreams from the servers of a configuration.

use std::path::PathBuf;

use couplet_client::{Client, ClientBuilder};
use couplet_host::{
    Server as HostServer,
    pins::Digest,
    upstream::{Isolation, Start, StartLimit, Upstream, UpstreamOptions},
};
use couplet_hosts::Env;

use crate::{
    config::{self, Server},
    connect::Target,
    files,
    secrets::Secrets,
};

/// What all upstreams of a gateway share.
#[derive(Clone, Debug)]
pub(crate) struct Upstreams {
    env: Env,
    logins: PathBuf,
    starts: StartLimit,
}

impl Upstreams {
    pub(crate) fn new(env: &Env) -> Self {
        Self { env: env.clone(), logins: files::logins(env), starts: StartLimit::default() }
    }

    fn target(&self, server: &Server) -> Target {
        Target::new(server, Secrets::new(self.env.clone(), &server.folder), self.logins.clone())
    }

    /// Creates the upstream of a server by itself, which is not started yet.
    pub(crate) fn upstream(&self, server: &Server) -> Upstream {
        let target = self.target(server);
        let stderr = target.stderr();
        Upstream::builder(server.id.clone(), client(), target)
            .options(options(server))
            .start_limit(&self.starts)
            .stderr(move || stderr.text())
            .build()
    }

    /// Creates a server of a host.
    pub(crate) fn server(&self, server: &Server) -> HostServer {
        let target = self.target(server);
        let stderr = target.stderr();
        HostServer::new(server.id.clone(), target)
            .client(client())
            .options(options(server))
            .stderr(move || stderr.text())
    }
}

impl Server {
    /// Returns the digest of the launch, as the lock file has it.
    #[must_use]
    pub fn launch_digest(&self) -> Digest {
        Digest::of(self.launch.canonical())
    }
}

fn client() -> ClientBuilder {
    Client::new("couplet-gateway", env!("CARGO_PKG_VERSION")).title("Couplet")
}

fn options(server: &Server) -> UpstreamOptions {
    let (settings, limits) = (&server.settings, &server.settings.limits);
    let mut options = UpstreamOptions::default();
    options.start = match settings.start {
        config::Start::Lazy => Start::Lazy,
        config::Start::Eager => Start::Eager,
    };
    options.idle_stop = settings.idle_stop.map(|time| time.0);
    options.max_message = limits.message.map(|size| size.0);
    options.revision = settings.revision.map(|revision| revision.0);
    let set = |option: &mut std::time::Duration, time: Option<config::Time>| {
        *option = time.map_or(*option, |time| time.0);
    };
    set(&mut options.connect_timeout, limits.connect_timeout);
    set(&mut options.list_timeout, limits.list_timeout);
    set(&mut options.queue_timeout, limits.queue_timeout);
    // A timeout of zero is none.
    let unless_zero = |time: config::Time| Some(time.0).filter(|time| !time.is_zero());
    options.call_timeout = limits.timeout.map_or(options.call_timeout, unless_zero);
    options.max_call_timeout = limits.max_timeout.map_or(options.max_call_timeout, unless_zero);
    options.isolation = match settings.isolation {
        config::Isolation::Session => Isolation::Session,
        config::Isolation::Principal => Isolation::Principal,
        config::Isolation::Shared => Isolation::Shared,
    };
    options.calls = limits.calls.unwrap_or(options.calls);
    options.queue = limits.queue.unwrap_or(options.queue);
    options.connections = limits.connections.unwrap_or(options.connections);
    options.restarts = limits.restarts.map_or(options.restarts, |restarts| restarts as usize);
    options
}
