//! A host from a configuration.

use std::{path::PathBuf, sync::Arc};

use couplet_core::clock::unix_seconds;
use couplet_host::{
    Host, HostBuilder, Profile, Server as HostServer,
    audit::{Arguments, AuditOptions, JsonLines, WhenFull},
    consent::Elicited,
    names::Kind,
    pins::{Baseline, Launch, Pins},
    policy::Glob,
};
use couplet_hosts::Env;
use couplet_types::{Implementation, RawJson};

use crate::{
    Config, Error, ErrorKind,
    config::{self, Audit, AuditArgs, Names, OnFull, Server},
    pins::approval,
    secrets::Secrets,
    upstreams::Upstreams,
};

/// The parts of a host.
pub(crate) struct Assembly<'a> {
    pub(crate) config: &'a Config,
    pub(crate) env: &'a Env,
    pub(crate) pins: Option<Pins>,
    pub(crate) audit: Option<&'a AuditFile>,
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
        if config.consent == config::Consent::Elicit {
            host = host.consent(Elicited);
        }
        if let Some(audit) = self.audit {
            host = host.audit(audit.lines.clone());
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

/// The audit file of a configuration, open.
#[derive(Clone)]
pub(crate) struct AuditFile {
    settings: Audit,
    path: PathBuf,
    lines: Arc<JsonLines>,
}

impl AuditFile {
    /// Opens the audit file of a configuration, unless it is the one that is open.
    pub(crate) fn open(config: &Config, env: &Env, current: Option<Self>) -> Result<Option<Self>, Error> {
        let Some(settings) = &config.audit else { return Ok(None) };
        let path = Secrets::new(env.clone(), config.folder()).path(&settings.file);
        if let Some(current) = current.filter(|current| current.settings == *settings && current.path == path) {
            return Ok(Some(current));
        }
        let mut options = AuditOptions::default();
        options.arguments = match settings.args {
            AuditArgs::Shape => Arguments::Shape,
            AuditArgs::Redacted => Arguments::Redacted,
        };
        options.when_full = match settings.on_full {
            OnFull::Block => WhenFull::Block,
            OnFull::Drop => WhenFull::Drop,
        };
        if let Some(size) = settings.rotate {
            options.rotate = size.0 as u64;
        }
        let lines = JsonLines::open(&path, options)
            .map_err(|error| Error::new(ErrorKind::Io, format!("`{}` cannot be used: {error}", path.display())))?;
        Ok(Some(Self { settings: settings.clone(), path, lines: Arc::new(lines) }))
    }

    pub(crate) async fn flush(&self) {
        if let Err(error) = self.lines.flush().await {
            tracing::error!(file = %self.path.display(), "the audit file is not complete: {error}");
        }
    }
}
