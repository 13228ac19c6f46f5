//! Members that hosts have in their files, and their meaning here.

use std::time::Duration;

use couplet_hosts::tree::{Member, Node, Value};

use super::{
    de::{self, Problem},
    settings::{Auth, Limits, Oauth, Settings},
    units::Time,
};

/// Members of entries that only hosts have. They are named as ignored.
const IGNORED: &[&str] = &[
    "alwaysAllow",
    "alwaysLoad",
    "authProviderType",
    "autoApprove",
    "bearer_token",
    "bearerToken",
    "bundled",
    "clientName",
    "debug",
    "default_tools_approval_mode",
    "description",
    "dev",
    "directTools",
    "display_name",
    "environment_id",
    "experimental_environment",
    "exposeResources",
    "extension",
    "filterMapping",
    "gallery",
    "headersHelper",
    "icon",
    "idleTimeout",
    "isDefaultServer",
    "lifecycle",
    "logging",
    "oauth_client_id",
    "oauth_resource",
    "oauthClientId",
    "oauthClientSecret",
    "oauthClientSecretEnv",
    "oauthCommand",
    "oauthPublicClient",
    "oauthRedirectUrl",
    "oauthScope",
    "oauthScopes",
    "oauthTokenEndpointAuthMethod",
    "protocolEra",
    "remote",
    "remoteConfig",
    "remoteConfigured",
    "required",
    "sandboxEnabled",
    "scopes",
    "settings",
    "sourcePath",
    "supports_parallel_tool_calls",
    "targetAudience",
    "targetServiceAccount",
    "tokenCacheDir",
    "tool_timeouts",
    "version",
    "watchPaths",
];

/// Timeouts, with their unit in milliseconds and what they limit. A `timeout` has the unit of its host.
const TIMEOUTS: &[(&str, &str, u32, Timeout)] = &[
    ("", "startupTimeoutMs", 1, Timeout::Connect),
    ("", "startup_timeout_ms", 1, Timeout::Connect),
    ("", "startup_timeout_sec", 1000, Timeout::Connect),
    ("", "toolTimeoutMs", 1, Timeout::Call),
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
const DENY: &[&str] = &["blockedTools", "disabledTools", "disabled_tools", "excludeTools"];
const ALLOW: &[&str] = &["allowedTools", "enabledTools", "enabled_tools", "includeTools"];

/// A list of tools to offer that means all of them if it is empty, as `tools.allow` does (goose).
const ALLOW_OR_ALL: &str = "available_tools";

/// The members of `auth` in files of Cursor. They are those of a client that was registered for Cursor, with a redirect to it.
const CLIENT: &[&str] = &["CLIENT_ID", "CLIENT_SECRET", "scopes"];

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
    IGNORED.iter().chain(DENY).chain(ALLOW).chain(&["enabled", "envFile", ALLOW_OR_ALL]).copied().chain(timeouts)
}

/// Returns the members of `auth` that only hosts have, for the schema.
pub(super) fn client_keys() -> impl Iterator<Item = &'static str> {
    CLIENT.iter().copied()
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
    /// It was mapped to a setting, without these members of it.
    Partly(Vec<String>),
    /// It has a member that is not known.
    Wrong(Problem),
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
        ("tools" | ALLOW_OR_ALL, Value::List(_)) => settings.tools.allow.extend(names()),
        // Codex: whether calls of single tools are confirmed. A table with lists is ours.
        ("tools", Value::Table(tools)) if are_approvals(tools) => return Foreign::Ignored,
        // Pi: a token from another member.
        ("auth", Value::Text(text)) if text == "bearer" => return Foreign::Ignored,
        ("auth", Value::Text(text)) if text == "oauth" => settings.auth = Some(Auth::Oauth(Oauth::default())),
        ("auth", Value::Bool(false)) => settings.auth = Some(Auth::None),
        ("auth", Value::Table(members)) => return auth(members, settings),
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
        _ if IGNORED.contains(&key) || is_timeout(key) || key == ALLOW_OR_ALL => return Foreign::Ignored,
        _ => return Foreign::Own,
    }
    Foreign::Mapped
}

/// Whether a table of tools has settings of the tools themselves.
fn are_approvals(tools: &[Member]) -> bool {
    let is_approval = |tool: &Member| tool.value.get("approval_mode").is_some();
    !tools.is_empty() && tools.iter().all(is_approval)
}

/// Maps the client that a host uses to the stored login, which has a client of its own.
fn auth(members: &[Member], settings: &mut Settings) -> Foreign {
    if members.iter().any(|member| member.key == "oauth" || member.key == "none") {
        return Foreign::Own;
    }
    if let Some(wrong) = members.iter().find(|member| !CLIENT.contains(&member.key.as_str())) {
        let what = format!("`auth`: {}", de::unknown(&wrong.key, &[CLIENT, &["oauth"]].concat()));
        return Foreign::Wrong(Problem::new(&wrong.span, what));
    }
    settings.auth = Some(Auth::Oauth(Oauth::default()));
    Foreign::Partly(members.iter().map(|member| format!("auth.{}", member.key)).collect())
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
