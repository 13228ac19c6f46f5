//! Members that hosts have in their files, and their meaning here.

use couplet_hosts::tree::{Member, Node, Value};

use super::settings::Settings;

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
    "envFile",
    "experimental_environment",
    "gallery",
    "icon",
    "lifecycle",
    "remoteConfig",
    "required",
    "sandbox",
    "sandboxEnabled",
    "scopes",
    "settings",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "supports_parallel_tool_calls",
    "timeout",
    "tool_timeout_sec",
    "version",
];

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
    IGNORED.iter().chain(DENY).chain(ALLOW).chain(&["enabled"]).copied()
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
pub(super) fn take(member: &Member, settings: &mut Settings) -> Foreign {
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
        _ if IGNORED.contains(&key) => return Foreign::Ignored,
        _ => return Foreign::Own,
    }
    Foreign::Mapped
}
