//! Reads and writes entries in the layout of a host.

use crate::{
    Entry, Host, Remote, Scope, Stdio, Text, Transport,
    entry::set,
    node::{Node, Value},
};

/// The keys of commands, URLs, variables and headers in any host. All are read everywhere: users copy entries.
const COMMANDS: &[&str] = &["command", "cmd"];
pub(crate) const URLS: &[&str] = &["url", "serverUrl", "httpUrl", "uri", "baseUrl"];
const ENVS: &[&str] = &["env", "envs", "environment"];
const HEADERS: &[&str] = &["headers", "http_headers"];
/// The keys of the variable that has a bearer token.
const BEARERS: &[&str] = &["bearer_token_env_var", "bearer_token_env", "bearerTokenEnvVar", "bearerTokenEnv"];
/// The other keys that are about how a server is reached.
const OTHERS: &[&str] = &[
    "args",
    "env_vars",
    "env_keys",
    "cwd",
    "env_http_headers",
    "type",
    "transport",
    "transportType",
    "source",
    "name",
    "oauth",
];

/// Whether a key is about how a server is reached. All other members of an entry are settings of the user, which are
/// preserved when the entry is replaced.
fn is_own(key: &str) -> bool {
    [COMMANDS, URLS, ENVS, HEADERS, BEARERS, OTHERS].iter().any(|keys| keys.contains(&key))
}

impl Entry {
    /// Returns whether a member of an entry says how the server is reached, in any host: `command`, `url`, `env`, ….
    #[must_use]
    pub fn is_key(key: &str) -> bool {
        is_own(key)
    }
}

/// An entry in the layout of a host, and notes about what could not be expressed.
pub(crate) struct Written {
    pub(crate) node: Node,
    pub(crate) notes: Vec<String>,
}

/// The reason why a host cannot have an entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cannot {
    /// It does not support the transport.
    Transport,
    /// It has no syntax to refer to this variable there.
    Refer(String),
}

/// Reads an entry; the error is a sentence about what it is instead.
pub(crate) fn read(host: &Host, node: &Node) -> Result<Entry, String> {
    if node.members().is_none() {
        return Err(format!("it is {}, not a table", node.kind()));
    }
    let command = first(node, COMMANDS);
    let url = URLS.iter().find_map(|&key| Some((key, node.get(key)?)));
    match (command, url) {
        (Some(command), _) => read_stdio(host, node, command).map(Entry::Stdio),
        (None, Some((key, url))) => read_remote(host, node, key, url).map(Entry::Remote),
        (None, None) => Err("it has neither a command nor a URL".to_owned()),
    }
}

/// Whether an entry is the host's own: a built-in server, or the settings of an extension.
pub(crate) fn is_hosts_own(host: &Host, node: &Node) -> bool {
    let data = host.data();
    let kind = node.get("type").and_then(Node::as_text).unwrap_or_default();
    let is_other_type = !data.types.is_empty() && !data.types.iter().any(|t| t == kind);
    let has_target = first(node, COMMANDS).is_some() || first(node, URLS).is_some();
    is_other_type || (!has_target && data.own_key.as_ref().is_some_and(|key| node.get(key).is_some()))
}

/// Whether the host would use an entry.
pub(crate) fn is_enabled(node: &Node) -> bool {
    let is = |key: &str, value: bool| matches!(node.get(key).map(|n| &n.value), Some(Value::Bool(b)) if *b == value);
    !is("disabled", true) && !is("enabled", false)
}

/// Writes an entry with the host's template. Members that the scope or the alternate layout excludes are omitted.
pub(crate) fn write(host: &Host, scope: Scope, alternate: bool, name: &str, entry: &Entry) -> Result<Written, Cannot> {
    let data = host.data();
    let template = match entry {
        Entry::Stdio(_) => Some(&data.stdio),
        Entry::Remote(remote) if remote.transport == Transport::Sse => data.sse.as_ref(),
        Entry::Remote(_) => data.http.as_ref(),
    };
    let template = template.and_then(Node::members).ok_or(Cannot::Transport)?;
    let writer = Writer::new(host, name, entry, |what| template.iter().any(|m| m.value.as_text() == Some(what)));
    let unwanted = |key: &String| {
        (scope != Scope::User && data.user_only.contains(key)) || (alternate && data.alternate_without.contains(key))
    };
    let mut members = Vec::new();
    for member in template.iter().filter(|m| !unwanted(&m.key)) {
        if let Some(value) = writer.value(&member.value)? {
            members.push((member.key.clone(), value));
        }
    }
    let mut notes = Vec::new();
    let has_cwd = matches!(entry, Entry::Stdio(stdio) if stdio.cwd.is_some());
    if has_cwd && !template.iter().any(|m| m.value.as_text() == Some("{cwd}")) {
        notes.push(format!("{} does not support a working folder; it was left out", host.name()));
    }
    Ok(Written { node: Node::table(members), notes })
}

/// The new entry, with the settings of the old one that are not about how the server is reached.
pub(crate) fn merge(old: &Node, new: Node) -> Node {
    let fresh: Vec<_> = new.members().unwrap_or_default().iter().map(|m| (m.key.clone(), m.value.clone())).collect();
    let (mut members, mut rest) = (Vec::new(), Vec::new());
    for (key, value) in fresh {
        // A setting of the user, such as `disabled`, takes precedence over the template's default.
        let kept = old.get(&key).filter(|_| !is_own(&key)).cloned();
        members.push((key, kept.unwrap_or(value)));
    }
    for member in old.members().unwrap_or_default() {
        if !is_own(&member.key) && !members.iter().any(|(key, _)| *key == member.key) {
            rest.push((member.key.clone(), member.value.clone()));
        }
    }
    Node::table(members.into_iter().chain(rest))
}

fn read_stdio(host: &Host, node: &Node, command: &Node) -> Result<Stdio, String> {
    let style = host.style();
    // `"command": ["node", "server.js"]` here, `"command": {"path": …}` in old files of Zed.
    let (command, mut args, outer) = match &command.value {
        Value::Text(text) => (style.read(text), Vec::new(), None),
        Value::List(_) => {
            let mut words = texts(host, command, "the command")?.into_iter();
            let command = words.next().ok_or("its command is empty")?;
            (command, words.collect(), None)
        }
        Value::Table(_) => {
            let path = command.get("path").and_then(Node::as_text).ok_or("its command is a table without `path`")?;
            (style.read(path), Vec::new(), Some(command))
        }
        _ => return Err(format!("its command is {}", command.kind())),
    };
    let inner = outer.unwrap_or(node);
    if let Some(more) = inner.get("args").filter(|n| !matches!(n.value, Value::Null)) {
        args.extend(texts(host, more, "`args`")?);
    }
    let mut env = pairs(host, first(inner, ENVS), "the variables")?;
    for key in ["env_vars", "env_keys"] {
        let names = node.get(key).and_then(Node::as_list).unwrap_or_default();
        // Codex: `{ name = "KEY", source = "local" }`.
        let names = names.iter().filter_map(|node| node.get("name").unwrap_or(node).as_text());
        names.for_each(|name| set(&mut env, name.to_owned(), Text::var(name)));
    }
    let cwd = node.get("cwd").and_then(Node::as_text).map(|text| style.read(text));
    Ok(Stdio { command, args, env, cwd })
}

fn read_remote(host: &Host, node: &Node, key: &str, url: &Node) -> Result<Remote, String> {
    let url = url.as_text().ok_or_else(|| format!("its `{key}` is {}", url.kind()))?;
    let mut headers = pairs(host, first(node, HEADERS), "the headers")?;
    let vars = node.get("env_http_headers").and_then(Node::members).unwrap_or_default();
    for member in vars {
        if let Some(name) = member.value.as_text() {
            set(&mut headers, member.key.clone(), Text::var(name));
        }
    }
    let bearer = BEARERS.iter().find_map(|key| node.get(key)?.as_text());
    if let Some(name) = bearer {
        set(&mut headers, "Authorization".to_owned(), Text::from("Bearer ").then_var(name));
    }
    let said = ["type", "transport", "transportType"].iter().find_map(|key| node.get(key)?.as_text());
    // Without a type, the key may determine it: for Gemini, `url` is HTTP+SSE and `httpUrl` is Streamable HTTP.
    let uses = |template: &Option<Node>| template.as_ref().is_some_and(|t| t.get(key).is_some());
    let data = host.data();
    let transport = match said {
        Some("sse") => Transport::Sse,
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => Transport::Http,
        None if uses(&data.sse) && !uses(&data.http) => Transport::Sse,
        // Hosts with one key for both transports find out by trying; other hosts need to know.
        _ if url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/').ends_with("/sse") => Transport::Sse,
        _ => Transport::Http,
    };
    Ok(Remote { transport, url: host.style().read(url), headers })
}

fn first<'a>(node: &'a Node, keys: &[&str]) -> Option<&'a Node> {
    keys.iter().find_map(|key| node.get(key)).filter(|n| !matches!(n.value, Value::Null))
}

fn texts(host: &Host, node: &Node, what: &str) -> Result<Vec<Text>, String> {
    let items = node.as_list().ok_or_else(|| format!("{what} is {}, not a list", node.kind()))?;
    let text = |item: &Node| scalar(host, item).ok_or_else(|| format!("{what} has {} among its strings", item.kind()));
    items.iter().map(text).collect()
}

fn pairs(host: &Host, node: Option<&Node>, what: &str) -> Result<Vec<(String, Text)>, String> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let members = node.members().ok_or_else(|| format!("{what} are {}, not a table", node.kind()))?;
    let pair = |m: &crate::node::Member| {
        let text = scalar(host, &m.value).ok_or_else(|| format!("{what} have {} as `{}`", m.value.kind(), m.key))?;
        Ok((m.key.clone(), text))
    };
    members.iter().map(pair).collect()
}

fn scalar(host: &Host, node: &Node) -> Option<Text> {
    match &node.value {
        Value::Text(text) => Some(host.style().read(text)),
        Value::Number(raw) => Some(raw.as_str().into()),
        Value::Bool(value) => Some(value.to_string().into()),
        _ => None,
    }
}

/// The values of the placeholders in a template.
struct Writer<'a> {
    host: &'a Host,
    name: &'a str,
    entry: &'a Entry,
    env: Vec<(String, Text)>,
    env_names: Vec<String>,
    headers: Vec<(String, Text)>,
    header_vars: Vec<(String, String)>,
    bearer_var: Option<String>,
}

impl<'a> Writer<'a> {
    /// Decides which variables the template takes by name.
    fn new(host: &'a Host, name: &'a str, entry: &'a Entry, has: impl Fn(&str) -> bool) -> Self {
        let mut writer = Self {
            host,
            name,
            entry,
            env: Vec::new(),
            env_names: Vec::new(),
            headers: Vec::new(),
            header_vars: Vec::new(),
            bearer_var: None,
        };
        match entry {
            Entry::Stdio(stdio) => {
                for (name, text) in &stdio.env {
                    match text.only_var() {
                        Some(var) if var == name && has("{env_names}") => writer.env_names.push(name.clone()),
                        _ => writer.env.push((name.clone(), text.clone())),
                    }
                }
            }
            Entry::Remote(remote) => {
                for (name, text) in &remote.headers {
                    match (bearer(name, text), text.only_var()) {
                        (Some(var), _) if has("{bearer_var}") => writer.bearer_var = Some(var.to_owned()),
                        (_, Some(var)) if has("{header_vars}") => {
                            writer.header_vars.push((name.clone(), var.to_owned()));
                        }
                        _ => writer.headers.push((name.clone(), text.clone())),
                    }
                }
            }
        }
        writer
    }

    /// Expands a member of the template; `None` if it has no value.
    fn value(&self, template: &Node) -> Result<Option<Node>, Cannot> {
        let Some(word) = template.as_text() else { return Ok(Some(template.clone())) };
        let text = |text: &Text| self.text(text).map(Node::text);
        Ok(match (word, self.entry) {
            ("{name}", _) => Some(Node::text(self.name)),
            ("{command}", Entry::Stdio(stdio)) => Some(text(&stdio.command)?),
            ("{args}", Entry::Stdio(stdio)) => Some(self.list(&stdio.args)?),
            ("{line}", Entry::Stdio(stdio)) => Some(self.list(std::iter::once(&stdio.command).chain(&stdio.args))?),
            ("{cwd}", Entry::Stdio(stdio)) => stdio.cwd.as_ref().map(text).transpose()?,
            ("{env}", _) => self.pairs(&self.env)?,
            ("{env_names}", _) => some(&self.env_names).map(|names| Node::list(names.iter().cloned())),
            ("{url}", Entry::Remote(remote)) => Some(text(&remote.url)?),
            ("{headers}", _) => self.pairs(&self.headers)?,
            ("{header_vars}", _) => some(&self.header_vars)
                .map(|vars| Node::table(vars.iter().map(|(name, var)| (name.clone(), Node::text(var))))),
            ("{bearer_var}", _) => self.bearer_var.as_ref().map(Node::text),
            (_, _) => Some(template.clone()),
        })
    }

    fn text(&self, text: &Text) -> Result<String, Cannot> {
        self.host.style().write(text).map_err(Cannot::Refer)
    }

    fn list<'t>(&self, texts: impl IntoIterator<Item = &'t Text>) -> Result<Node, Cannot> {
        Ok(Node::list(texts.into_iter().map(|text| self.text(text)).collect::<Result<Vec<_>, _>>()?))
    }

    fn pairs(&self, pairs: &[(String, Text)]) -> Result<Option<Node>, Cannot> {
        let pair = |(name, text): &(String, Text)| Ok((name.clone(), Node::text(self.text(text)?)));
        let written: Vec<_> = pairs.iter().map(pair).collect::<Result<_, _>>()?;
        Ok(some(&written).map(|_| Node::table(written.clone())))
    }
}

/// The variable of `Authorization: Bearer ${…}`.
fn bearer<'a>(name: &str, text: &'a Text) -> Option<&'a str> {
    match text.parts() {
        [crate::Part::Plain(before), crate::Part::Var { name: var, default: None }]
            if name.eq_ignore_ascii_case("authorization") && before.eq_ignore_ascii_case("bearer ") =>
        {
            Some(var)
        }
        _ => None,
    }
}

fn some<T>(items: &[T]) -> Option<&[T]> {
    (!items.is_empty()).then_some(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hosts;

    #[test]
    fn a_key_that_is_read_is_never_kept_as_a_setting() {
        for key in [COMMANDS, URLS, ENVS, HEADERS, BEARERS].concat() {
            let [old, new] = [key, "new"].map(|key| Node::table([(key.to_owned(), Node::text("x"))]));
            let merged = merge(&old, new);
            assert!(merged.get(key).is_none() && merged.get("new").is_some(), "`{key}` is kept");
        }
        let old = Node::table([("disabled".to_owned(), Node::text("x"))]);
        assert!(merge(&old, Node::table([])).get("disabled").is_some());
    }

    /// A template with another key would write entries that cannot be read again.
    #[test]
    fn what_templates_fill_in_is_read() {
        let read: [(&str, &[&str]); 7] = [
            ("{command}", COMMANDS),
            ("{line}", COMMANDS),
            ("{url}", URLS),
            ("{env}", ENVS),
            ("{headers}", HEADERS),
            ("{bearer_var}", BEARERS),
            ("{name}", OTHERS),
        ];
        let hosts = Hosts::builtin();
        for host in hosts.iter() {
            let data = host.data();
            let templates = [Some(&data.stdio), data.http.as_ref(), data.sse.as_ref()];
            for member in templates.into_iter().flatten().filter_map(Node::members).flatten() {
                let Some(word) = member.value.as_text().filter(|text| text.starts_with('{')) else { continue };
                let keys = read.iter().find(|(known, _)| *known == word).map_or(OTHERS, |(_, keys)| keys);
                assert!(keys.contains(&member.key.as_str()), "{}: `{}` for {word} is not read", host.id(), member.key);
            }
        }
    }
}
