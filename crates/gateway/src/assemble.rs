//! A host from a configuration.

use std::sync::Arc;

use couplet_core::clock::unix_seconds;
use couplet_host::{
    Host, HostBuilder, Profile, Server as HostServer,
    consent::Elicited,
    names::{Kind, Naming},
    pins::{Baseline, Launch, Pins},
    policy::Glob,
};
use couplet_hosts::Env;
use couplet_types::{Implementation, RawJson};

use crate::{
    Config,
    audit::AuditFile,
    config::{self, Names, Server},
    consent::{ElicitOrLocal, Local, Queue},
    pins::approval,
    upstreams::Upstreams,
};

/// The parts of a host.
pub(crate) struct Assembly<'a> {
    pub(crate) config: &'a Config,
    pub(crate) env: &'a Env,
    pub(crate) pins: Option<Pins>,
    pub(crate) audit: Option<&'a AuditFile>,
    pub(crate) questions: &'a Arc<Queue>,
}

impl Assembly<'_> {
    pub(crate) fn builder(self) -> HostBuilder {
        let config = self.config;
        let info = Implementation::new("couplet-gateway", env!("CARGO_PKG_VERSION"));
        let upstreams = Upstreams::new(self.env);
        let mut host = Host::builder().info(info).policy(config.policy());
        for server in &config.servers {
            host = host.add(self.server(server, &upstreams));
        }
        for profile in profiles(config) {
            host = host.profile(profile);
        }
        let local = Local { queue: self.questions.clone(), timeout: config.consent_timeout.0 };
        host = match config.consent {
            config::Consent::Elicit => host.consent(Elicited),
            config::Consent::Local => host.consent(local),
            config::Consent::ElicitOrLocal => host.consent(ElicitOrLocal(local)),
            config::Consent::Deny => host,
        };
        if let Some(audit) = self.audit {
            host = host.audit(audit.sink());
        }
        match self.pins {
            Some(pins) => host.pins(pins),
            None => host,
        }
    }

    fn server(&self, server: &Server, upstreams: &Upstreams) -> HostServer {
        let digest = server.launch_digest();
        let mut made = upstreams.server(server).launch(digest).trust(server.trust());
        for (glob, effects) in server.effects() {
            made = made.effects(glob, effects);
        }
        for (glob, labels) in server.labels() {
            made = made.labels(glob, labels);
        }
        let Some(pins) = self.pins.as_ref().filter(|_| server.is_pinned()) else { return made.unpinned() };
        // The user has written this server into the configuration, or approved the project that did.
        let made = made.baseline(Baseline::Approve(approval()));
        match pins.snapshot().launch(&server.id, &digest, unix_seconds()) {
            Launch::Changed => made.quarantine(format!(
                "it would be started in another way than the approved one; see `couplet gateway pins diff {}`",
                self.config.path.display()
            )),
            Launch::Approved | Launch::New => made,
        }
    }
}

impl Config {
    /// Returns how a profile names tools and prompts.
    #[must_use]
    pub fn naming(&self, profile: &str) -> Naming {
        let written = self.profiles.get(profile);
        let names = written.and_then(|profile| profile.names).unwrap_or(self.names);
        let naming = if names == Names::Bare { Naming::bare() } else { Naming::qualified() };
        let tools = written.iter().flat_map(|profile| &profile.tools);
        let renames = tools.filter_map(|(key, tools)| Some((self.server(key)?, &tools.rename)));
        renames.fold(naming, |naming, (server, renames)| {
            renames.iter().fold(naming, |naming, (raw, to)| naming.rename(server.id.clone(), raw, to))
        })
    }
}

/// The profiles, and the one that shows all servers.
fn profiles(config: &Config) -> Vec<Profile> {
    let mut profiles: Vec<_> = config.profiles.iter().map(|(name, profile)| named(config, name, profile)).collect();
    if !config.profiles.contains_key("default") {
        profiles.push(named(config, "default", &config::Profile::default()));
    }
    profiles
}

fn named(config: &Config, name: &str, written: &config::Profile) -> Profile {
    let mut profile = Profile::new(name);
    if let Some(keys) = &written.servers {
        profile = profile.only();
        let servers = keys.iter().filter_map(|key| config.server(key));
        profile = servers.fold(profile, |profile, server| profile.server(server.id.clone()));
    }
    if written.names.unwrap_or(config.names) == Names::Bare {
        profile = profile.bare();
    }
    for (key, tools) in &written.tools {
        let Some(server) = config.server(key) else { continue };
        let id = || server.id.clone();
        let globs = |patterns: &[String]| patterns.iter().filter_map(|p| Glob::new(p).ok()).collect::<Vec<_>>();
        for glob in globs(&tools.allow) {
            profile = profile.allow(id(), Kind::Tool, glob);
        }
        for glob in globs(&tools.deny) {
            profile = profile.deny(id(), Kind::Tool, glob);
        }
        for (raw, to) in &tools.rename {
            profile = profile.rename(id(), raw, to);
        }
        for (raw, text) in &tools.describe {
            profile = profile.description(id(), raw, text);
        }
        for (raw, arguments) in &tools.preset {
            for (argument, value) in arguments {
                profile = profile.preset(id(), raw, argument, RawJson::from(value.clone()));
            }
        }
    }
    profile
}
