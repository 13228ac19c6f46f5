//! `couplet gateway explain`: why a tool is missing, denied or asked about.

use std::{fmt::Write, path::PathBuf, sync::Arc};

use couplet::core::clock::unix_seconds;
use couplet::types::ToolAnnotations;
use couplet_gateway::{Approvals, Config, Inspected, PinFile, Unapproved, config::Server, inspect};
use couplet_host::{
    names::{Kind, ServerId},
    pins::{Lock, Pin, Seen},
    policy::{Door, Effects, Glob, Subject},
};
use couplet_hosts::Env;

use super::{here, load};
use crate::{
    exit::Failure,
    output::{Output, text},
};

/// The arguments of `couplet gateway explain`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Configuration
    config: PathBuf,
    /// Tool, as SERVER/TOOL with its name at the server
    #[arg(value_name = "SERVER/TOOL")]
    tool: String,
    /// Add the servers of a project's file, if it is approved
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = ".mcp.json")]
    project: Vec<PathBuf>,
    /// Profile that the caller uses
    #[arg(long, value_name = "NAME", default_value = "default")]
    profile: String,
    /// Name of the caller
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
}

pub(super) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let _ = couplet::stdio::children::guard();
    let env = here()?;
    let config = with_projects(&args, &env, output)?;
    let (key, tool) = args.tool.split_once('/').ok_or_else(|| {
        Failure::usage(format!("`{}` is not SERVER/TOOL", args.tool)).hint("for example files/read_file")
    })?;
    if config.disabled.iter().any(|disabled| disabled == key) {
        return output.print(&format!("the server `{}` is disabled in the configuration\n", text::line(key)));
    }
    let server = find(&config, key)?;
    let lock = PinFile::new(config.lock_path()).read()?;
    let naming = config.naming(&args.profile);
    // With bare names, any other server can claim the name, too.
    let wanted = |other: &Server| naming.is_bare() || other.key == server.key;
    let found = inspect(&config, &env, &lock, |other| wanted(other).then_some(Unapproved::Leave)).await;
    let mut page = String::new();
    if let Some(one) = found.iter().find(|one| one.server.key == server.key) {
        let name = naming.name(&server.id, tool);
        let _ = writeln!(page, "name: {}", text::line(&name));
        explain(&mut page, &args, &config, one, tool, &lock);
        let is_shown = in_profile(&config, server, &args.profile, tool).is_ok();
        let others = found.iter().filter(|_| is_shown).flat_map(|one| claimants(&args, &config, one, &lock, &name));
        for (id, raw) in others.filter(|(id, raw)| **id != server.id || *raw != tool) {
            let what = format!("hidden: {id}/{raw} has the same name; rename one of them in the profile");
            let _ = writeln!(page, "collision: {}", text::line(&what));
        }
    }
    output.print(&page)
}

/// Loads the configuration, with the servers and rules of projects.
fn with_projects(args: &Args, env: &Env, output: &Output) -> Result<Config, Failure> {
    let mut config = load(Some(args.config.clone()), env, output)?;
    let known = config.notes.len();
    for path in &args.project {
        config.add_project(Approvals::of(env).read(path, env)?);
    }
    for note in config.notes.iter().skip(known) {
        output.warn(&text::line(note));
    }
    Ok(config)
}

/// The tools of a server that have a name in a profile. Rules do not count here: they depend on the caller.
fn claimants<'a>(
    args: &Args,
    config: &Config,
    one: &'a Inspected,
    lock: &Lock,
    name: &str,
) -> Vec<(&'a ServerId, &'a str)> {
    let (server, naming) = (&one.server, config.naming(&args.profile));
    let is_shown = |seen: &&Seen| {
        seen.kind == Kind::Tool
            && naming.name(&server.id, &seen.raw) == name
            && in_profile(config, server, &args.profile, &seen.raw).is_ok()
            && is_approved(config, server, seen, lock)
    };
    one.seen.iter().flatten().filter(is_shown).map(|seen| (&server.id, &*seen.raw)).collect()
}

fn find<'a>(config: &'a Config, key: &str) -> Result<&'a Server, Failure> {
    let by_id = || config.servers.iter().find(|server| server.id.as_str() == key);
    config.server(key).or_else(by_id).ok_or_else(|| {
        let close = couplet_hosts::suggest::sentence(key, config.servers.iter().map(|server| server.key.clone()));
        Failure::usage(format!("`{}` has no server `{key}`{close}", config.path.display()))
    })
}

fn explain(page: &mut String, args: &Args, config: &Config, one: &Inspected, tool: &str, lock: &Lock) {
    let server = &one.server;
    let seen = match &one.seen {
        Ok(seen) => seen,
        Err(why) => {
            let _ = writeln!(page, "server: not available: {}", text::visible(why));
            return;
        }
    };
    let tools = || seen.iter().filter(|seen| seen.kind == Kind::Tool);
    let Some(definition) = tools().find(|seen| *seen.raw == *tool) else {
        let close = couplet_hosts::suggest::sentence(tool, tools().map(|seen| seen.raw.to_string()));
        let _ = writeln!(page, "server: available, and has no tool `{}`{}", text::line(tool), text::line(&close));
        return;
    };
    let _ = writeln!(page, "server: available");
    let _ = writeln!(page, "lock file: {}", pinned(config, server, definition, lock));
    let _ = writeln!(page, "profile: {}", selected(config, server, &args.profile, tool));
    let policy = config.policy();
    let effects = effects(config, server, definition);
    for door in [Door::List, Door::Call] {
        let mut subject = Subject::new(&args.profile, &server.id, Kind::Tool, tool, door);
        subject.principal = args.principal.as_deref();
        subject.effects = effects;
        subject.trust = server.trust();
        // It is escaped already.
        page.push_str(&policy.explain(&subject));
    }
}

/// Whether the lock file does not hide a tool.
fn is_approved(config: &Config, server: &Server, seen: &Seen, lock: &Lock) -> bool {
    let is_new = !lock.servers().any(|id| *id == server.id);
    let state = || lock.state(&server.id, Kind::Tool, &seen.raw, &seen.fingerprint, unix_seconds());
    !config.pins || !server.is_pinned() || is_new || state() == Pin::Approved
}

fn pinned(config: &Config, server: &Server, definition: &Seen, lock: &Lock) -> String {
    if !config.pins || !server.is_pinned() {
        return "not used for this server".to_owned();
    }
    if !lock.servers().any(|id| *id == server.id) {
        return "it has no such server yet: the first definitions will be approved".to_owned();
    }
    match lock.state(&server.id, Kind::Tool, &definition.raw, &definition.fingerprint, unix_seconds()) {
        Pin::Approved => "approved".to_owned(),
        state => format!("{state}: hidden; see `couplet gateway pins diff`"),
    }
}

/// Whether the lists of tools in the configuration hide a tool.
fn selected(config: &Config, server: &Server, profile: &str, tool: &str) -> &'static str {
    let own = &server.settings.tools;
    match in_profile(config, server, profile, tool) {
        _ if hides(&own.allow, &own.deny, tool) => "hidden by `tools` of the server",
        Err(why) => why,
        Ok(()) => "shown",
    }
}

/// Whether a profile has a tool, or else why not.
fn in_profile(config: &Config, server: &Server, profile: &str, tool: &str) -> Result<(), &'static str> {
    let Some(profile) = config.profiles.get(profile) else { return Ok(()) };
    if profile.servers.as_ref().is_some_and(|servers| !servers.contains(&server.key)) {
        return Err("hidden: the profile does not have the server");
    }
    match profile.tools.get(&server.key) {
        Some(tools) if hides(&tools.allow, &tools.deny, tool) => Err("hidden by `tools` of the profile"),
        _ => Ok(()),
    }
}

fn hides(allow: &[String], deny: &[String], tool: &str) -> bool {
    let matches = |patterns: &[String]| patterns.iter().any(|p| Glob::new(p).is_ok_and(|glob| glob.matches(tool)));
    (!allow.is_empty() && !matches(allow)) || matches(deny)
}

fn effects(config: &Config, server: &Server, definition: &Seen) -> Effects {
    let configured = server.effects().into_iter().find(|(glob, _)| glob.matches(&definition.raw));
    configured.map(|(_, effects)| effects).unwrap_or_else(|| {
        let tool = definition.text.parse::<couplet::types::Tool>().ok();
        let annotations: Option<ToolAnnotations> = tool.and_then(|tool| tool.annotations);
        Effects::of_tool(annotations.as_ref(), server.trust(), config.pins && server.is_pinned())
    })
}
