//! `couplet gateway explain`: why a tool is missing, denied or asked about.

use std::{fmt::Write, path::PathBuf, sync::Arc};

use couplet::core::clock::unix_seconds;
use couplet::types::ToolAnnotations;
use couplet_gateway::{Config, Inspected, PinFile, Unapproved, config::Server, inspect};
use couplet_host::{
    names::{Kind, exposed_name},
    pins::{Pin, Seen},
    policy::{Door, Effects, Glob, Subject},
};

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
    let config = load(Some(args.config.clone()), &env, output)?;
    let (key, tool) = args.tool.split_once('/').ok_or_else(|| {
        Failure::usage(format!("`{}` is not SERVER/TOOL", args.tool)).hint("for example files/read_file")
    })?;
    if config.disabled.iter().any(|disabled| disabled == key) {
        return output.print(&format!("the server `{}` is disabled in the configuration\n", text::line(key)));
    }
    let server = find(&config, key)?;
    let lock = PinFile::new(config.lock_path()).read()?;
    let found = inspect(&config, &env, &lock, |other| (other.key == server.key).then_some(Unapproved::Leave)).await;
    let mut page = String::new();
    if let Some(one) = found.first() {
        explain(&mut page, &args, &config, one, tool, &lock);
    }
    output.print(&page)
}

fn find<'a>(config: &'a Config, key: &str) -> Result<&'a Server, Failure> {
    let by_id = || config.servers.iter().find(|server| server.id.as_str() == key);
    config.server(key).or_else(by_id).ok_or_else(|| {
        let close = couplet_hosts::suggest::sentence(key, config.servers.iter().map(|server| server.key.clone()));
        Failure::usage(format!("`{}` has no server `{key}`{close}", config.path.display()))
    })
}

fn explain(
    page: &mut String,
    args: &Args,
    config: &Config,
    one: &Inspected,
    tool: &str,
    lock: &couplet_host::pins::Lock,
) {
    let server = &one.server;
    let name = exposed_name(&server.id, tool);
    let _ = writeln!(page, "name: {}", text::line(&name));
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

fn pinned(config: &Config, server: &Server, definition: &Seen, lock: &couplet_host::pins::Lock) -> String {
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
fn selected(config: &Config, server: &Server, profile: &str, tool: &str) -> String {
    let matches = |patterns: &[String]| patterns.iter().any(|p| Glob::new(p).is_ok_and(|glob| glob.matches(tool)));
    let hides = |allow: &[String], deny: &[String]| (!allow.is_empty() && !matches(allow)) || matches(deny);
    let own = &server.settings.tools;
    if hides(&own.allow, &own.deny) {
        return "hidden by `tools` of the server".to_owned();
    }
    let Some(profile) = config.profiles.get(profile) else { return "shown".to_owned() };
    if profile.servers.as_ref().is_some_and(|servers| !servers.contains(&server.key)) {
        return "hidden: the profile does not have the server".to_owned();
    }
    match profile.tools.get(&server.key) {
        Some(tools) if hides(&tools.allow, &tools.deny) => "hidden by `tools` of the profile".to_owned(),
        Some(tools) => match tools.rename.get(tool) {
            Some(name) => format!("shown, as `{}`", text::line(name)),
            None => "shown".to_owned(),
        },
        None => "shown".to_owned(),
    }
}

fn effects(config: &Config, server: &Server, definition: &Seen) -> Effects {
    let configured = server.effects().into_iter().find(|(glob, _)| glob.matches(&definition.raw));
    configured.map(|(_, effects)| effects).unwrap_or_else(|| {
        let tool = definition.text.parse::<couplet::types::Tool>().ok();
        let annotations: Option<ToolAnnotations> = tool.and_then(|tool| tool.annotations);
        Effects::of_tool(annotations.as_ref(), server.trust(), config.pins && server.is_pinned())
    })
}
