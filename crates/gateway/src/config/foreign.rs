//! Members that hosts have in their files, and their meaning here.

use std::time::Duration;

use couplet_hosts::tree::{Member, Node, Value};

use super::{
    settings::{Limits, Settings},
    units::Time,
};

/// Members of entries that only hosts have. They are named as ignored.
const IGNORED: &[&str] = &[
    "alwaysAllow",
    "authProviderType",
    "autoApprove",
    "available_tools",
    "bearer_token",
    "bundled",
    "default_tools_approval_mode",
    "description",
    "dev",
    "display_name",
    "experimental_environment",
    "gallery",
    "icon",
    "lifecycle",
    "remoteConfig",
    "required",
    "sandboxEnabled",
    "scopes",
    "settings",
    "supports_parallel_tool_calls",
    "version",
];

/// Timeouts, with their unit in milliseconds and what they limit. A `timeout` has the unit of its host.
const TIMEOUTS: &[(&str, &str, u32, Timeout)] = &[
    ("", "startup_timeout_ms", 1, Timeout::Connect),
    ("", "startup_timeout_sec", 1000, Timeout::Connect),
    ("", "tool_timeout_sec", 1000, Timeout::Call),
    ("amazon-q", "timeout", 1, Timeout::Call),
    ("cline", "timeout", 1000, Timeout::Call),
    ("cline-cli", "timeout", 1000, Timeout::Call),
    ("gemini-cli", "timeout", 1, Timeout::Call),
    ("goose", "timeout", 1000, Timeout::Call),
    ("opencode", "timeout", 1, Timeout::List),
    ("roo-code", "timeout", 1000, Timeout::Call),
];

/// What a timeout limits.
#[derive(Clone, Copy)]
enum Timeout {
    Connect,
    List,
    Call,
}

/// Lists of tools to hide, and of tools to offer, under the names that hosts use.
const DENY: &[&str] = &["disabledTools", "disabled_tools", "excludeTools"];
const ALLOW: &[&str] = &["enabledTools", "enabled_tools", "includeTools"];

/// Top-level members that only hosts have, in files with `mcpServers`.
const TOP_IGNORED: &[&str] =
    &["globalShortcut", "imports", "inputs", "mcpServersConfig", "preferences", "scale", "theme"];

/// Returns whether a top-level member is one that only hosts have.
pub(super) fn is_top_ignored(key: &str) -> bool {
    TOP_IGNORED.contains(&key)
}

/// Returns all members of hosts, for the schema.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    let timeouts = TIMEOUTS.iter().map(|(_, key, ..)| *key);
    IGNORED.iter().chain(DENY).chain(ALLOW).chain(&["enabled", "envFile"]).copied().chain(timeouts)
}

/// Returns all top-level members of hosts, for the schema.
pub(super) fn top_keys() -> impl Iterator<Item = &'static str> {
    TOP_IGNORED.iter().copied()
}

/// The outcome of [`take`].
pub(super) enum Foreign {
    /// It was mapped to a setting.
    Mapped,
    /// It is ignored.
    Ignored,
    /// It is not a member of hosts only.
    Own,
}

/// Maps a member of an entry that only hosts have. Members that narrow what is offered are mapped; members that approve
/// calls are not, since only the gateway's own policy does that.
pub(super) fn take(member: &Member, owner: Option<&str>, settings: &mut Settings) -> Foreign {
    let key = member.key.as_str();
    let names = || member.value.as_list().unwrap_or_default().iter().filter_map(Node::as_text).map(str::to_owned);
    match (key, &member.value.value) {
        ("enabled", Value::Bool(enabled)) => settings.disabled |= !enabled,
        // Copilot: a list of tools. A table is ours.
        ("tools", Value::List(_)) => settings.tools.allow.extend(names()),
        // Gemini: whether calls are confirmed. A string is ours.
        ("trust", Value::Bool(_)) => return Foreign::Ignored,
        (_, Value::List(_)) if DENY.contains(&key) => settings.tools.deny.extend(names()),
        (_, Value::List(_)) if ALLOW.contains(&key) => {
            let mut names = names().peekable();
            // An empty list means none, and an empty list of ours means all.
            if names.peek().is_none() {
                settings.tools.deny.push("*".to_owned());
            }
            settings.tools.allow.extend(names);
        }
        (_, Value::Number(number)) if is_timeout(key) => return timeout(key, number, owner, &mut settings.limits),
        _ if IGNORED.contains(&key) || is_timeout(key) => return Foreign::Ignored,
        _ => return Foreign::Own,
    }
    Foreign::Mapped
}

fn is_timeout(key: &str) -> bool {
    TIMEOUTS.iter().any(|(_, timeout, ..)| *timeout == key)
}

/// Maps a timeout. One of a host whose unit is not known is ignored, and so is one that is no time.
fn timeout(key: &str, number: &str, owner: Option<&str>, limits: &mut Limits) -> Foreign {
    let is_here = |host: &str| host.is_empty() || owner == Some(host);
    let row = TIMEOUTS.iter().find(|(host, timeout, ..)| *timeout == key && is_here(host));
    let Some((_, _, unit, what)) = row else { return Foreign::Ignored };
    let time = number.replace('_', "").parse().ok().map(|number: f64| number * f64::from(*unit) / 1000.0);
    let time = time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).filter(|time| !time.is_zero());
    let Some(time) = time else { return Foreign::Ignored };
    match what {
        Timeout::Connect => limits.connect_timeout = Some(Time(time)),
        Timeout::List => limits.list_timeout = Some(Time(time)),
        Timeout::Call => limits.timeout = Some(Time(time)),
    }
    Foreign::Mapped
}
