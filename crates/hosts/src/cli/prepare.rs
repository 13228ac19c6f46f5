//! Builds an entry from command-line arguments.

use std::path::Path;

use super::InstallArgs;
use crate::{Entry, Env, Error, Host, Os, Remote, Scope, Stdio, Text, Transport, dotenv, entry::set, program, words};

/// Launchers, which are written by name and not by path: the processes that they start need to find them, too.
const LAUNCHERS: [&str; 15] = [
    "npx", "npm", "pnpm", "yarn", "bunx", "bun", "node", "deno", "uvx", "uv", "pipx", "python", "python3", "docker",
    "cmd",
];
/// The launchers that are scripts on Windows.
const SCRIPTS: [&str; 5] = ["npx", "npm", "pnpm", "yarn", "bunx"];

/// The requested server, the same for all hosts.
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) entry: Entry,
}

impl Asked {
    pub(super) fn new(args: &InstallArgs, env: &Env) -> Result<Self, Error> {
        let vars = variables(args, env)?;
        let is_url = args.target.contains("://") && !args.target.contains(char::is_whitespace);
        let entry = if is_url { remote(args, &vars)? } else { stdio(args, env, vars)? };
        let name = match &args.name {
            Some(name) => name.clone(),
            None => name_of(&entry).ok_or_else(|| {
                Error::usage(format!("no name can be derived from `{}`", args.target))
                    .with_hint("give one: `--name NAME`")
            })?,
        };
        let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(Error::usage(format!("`{name}` cannot be the name of a server in every host"))
                .with_hint("use letters, digits, `-`, `_` and `.`, at most 64: `--name NAME`"));
        }
        Ok(Self { name, entry })
    }

    /// The entry as it is written to a host's file, and notes about what was adapted.
    pub(super) fn for_host(&self, env: &Env, host: &Host, scope: Scope) -> (Entry, Vec<String>) {
        match &self.entry {
            Entry::Stdio(stdio) => {
                let mut notes = Vec::new();
                let stdio = settled(env, stdio.clone(), scope, &mut notes);
                (stdio.into(), notes)
            }
            Entry::Remote(remote) if takes(host, remote.transport) => (self.entry.clone(), Vec::new()),
            Entry::Remote(remote) => {
                let note = format!("{} does not support this transport, so it starts a bridge instead", host.name());
                (bridge(env, remote).into(), vec![note])
            }
        }
    }
}

/// A command that bridges stdio to a remote server.
pub(super) fn bridge(env: &Env, remote: &Remote) -> Stdio {
    let mut stdio = Stdio::new(env.exe().display().to_string()).arg("run").arg(remote.url.clone());
    for (name, value) in &remote.headers {
        stdio = stdio.arg("--header").arg(value.prefixed(&format!("{name}: ")));
    }
    stdio
}

/// Whether a host supports servers over this transport.
pub(super) fn takes(host: &Host, transport: Transport) -> bool {
    match transport {
        Transport::Http => host.data().http.is_some(),
        Transport::Sse => host.data().sse.is_some(),
    }
}

/// The variables of `-f FILE`, overridden by `-e NAME=value`; `-e NAME` refers to the host's own variable.
fn variables(args: &InstallArgs, env: &Env) -> Result<Vec<(String, Text)>, Error> {
    let mut vars = Vec::new();
    for file in &args.env_file {
        let path = env.cwd().join(file);
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io(file, "cannot be read", &e))?;
        let read = dotenv::parse(&text).map_err(|what| Error::broken(file, None, what))?;
        read.into_iter().for_each(|(name, value)| set(&mut vars, name, value.into()));
    }
    for given in &args.env {
        let (name, value) = match given.split_once('=') {
            Some((name, value)) => (name, Text::from(value)),
            None => (given.as_str(), Text::var(given)),
        };
        if !dotenv::is_name(name) {
            return Err(Error::usage(format!("`-e {given}` is not `-e NAME=value`")));
        }
        set(&mut vars, name.to_owned(), value);
    }
    Ok(vars)
}

fn remote(args: &InstallArgs, vars: &[(String, Text)]) -> Result<Entry, Error> {
    let scheme = args.target.split_once("://").map(|(scheme, _)| scheme.to_lowercase()).unwrap_or_default();
    if !["http", "https"].contains(&scheme.as_str()) {
        return Err(Error::usage(format!("`{scheme}` is not a supported URL scheme"))
            .with_hint("give a URL that begins with `https://` or `http://`"));
    }
    let extra =
        [(!args.args.is_empty(), "arguments"), (!vars.is_empty(), "variables"), (args.cwd.is_some(), "a folder")];
    if let Some((_, what)) = extra.iter().find(|(is_there, _)| *is_there) {
        return Err(Error::usage(format!("a server at a URL does not take {what}"))
            .with_hint("give headers: `-H 'NAME: value'`"));
    }
    let mut remote = Remote::new(args.target.as_str());
    if args.sse {
        remote = remote.transport(Transport::Sse);
    }
    for header in &args.header {
        let pair = header.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        let (name, value) = pair
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| Error::usage(format!("`-H {header}` is not `-H 'NAME: value'`")))?;
        remote = remote.header(name, Text::with_refs(value));
    }
    Ok(remote.into())
}

fn stdio(args: &InstallArgs, env: &Env, vars: Vec<(String, Text)>) -> Result<Entry, Error> {
    if !args.header.is_empty() || args.sse {
        return Err(
            Error::usage("headers and `--sse` are for servers at a URL").with_hint("give variables: `-e NAME=value`")
        );
    }
    // A file name may contain a space; if arguments are given, the target is the program alone.
    let is_whole = !args.args.is_empty() || env.cwd().join(&args.target).is_file();
    let mut words = match is_whole {
        true => vec![args.target.clone()],
        false => {
            words::split(&args.target, env.os()).map_err(|what| Error::usage(format!("{what}: `{}`", args.target)))?
        }
    };
    words.extend(args.args.iter().cloned());
    let mut words = words.into_iter();
    let Some(command) = words.next().filter(|command| !command.is_empty()) else {
        return Err(Error::usage("the command is empty").with_hint("give a program or a URL"));
    };
    let mut stdio = words.fold(Stdio::new(command), Stdio::arg);
    stdio.env = vars;
    stdio.cwd = args.cwd.as_ref().map(|cwd| env.cwd().join(cwd).display().to_string().into());
    Ok(stdio.into())
}

/// The same with absolute paths: a host starts it in another folder and with another search path than this terminal. In
/// a project's file, which is shared, everything stays as it was typed.
fn settled(env: &Env, mut stdio: Stdio, scope: Scope, notes: &mut Vec<String>) -> Stdio {
    let command = stdio.command.plain().unwrap_or_default().to_owned();
    let stem = Path::new(&command).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_launcher = LAUNCHERS.contains(&stem.as_str()) && !command.contains(['/', '\\']);
    if env.os() == Os::Windows && SCRIPTS.contains(&stem.as_str()) && !command.contains(['/', '\\']) {
        notes.push(format!("`{command}` is a script on Windows: it is started with `cmd /c`"));
        stdio.args.splice(0..0, ["/c".into(), command.as_str().into()]);
        stdio.command = "cmd".into();
    }
    if scope == Scope::Project {
        return stdio;
    }
    if !program::is_absolute(&command) {
        match program::find(env, &command, &program::own_path(env)) {
            // A host finds another one under that name, without the packages of this one.
            Some(path) if is_launcher && program::is_in_virtual_environment(env, &path) => {
                let whole = path.display().to_string();
                notes.push(format!("`{command}` is written as `{whole}`, which is in a virtual environment"));
                stdio.command = whole.into();
            }
            Some(_) if is_launcher => {}
            Some(path) => stdio.command = path.display().to_string().into(),
            None => notes.push(format!("the program `{command}` was not found")),
        }
    }
    for arg in &mut stdio.args {
        let Some(text) = arg.plain().filter(|text| is_relative_file(env, text)) else { continue };
        let whole = program::whole(env, text).display().to_string();
        notes.push(format!("`{text}` is written as `{whole}`"));
        *arg = whole.into();
    }
    stdio
}

fn is_relative_file(env: &Env, text: &str) -> bool {
    let looks_like = text.contains(['/', '\\', '.']) && !text.starts_with('-') && !text.starts_with('@');
    looks_like && !program::is_absolute(text) && env.cwd().join(text).exists()
}

/// A short name for a server, derived from its command or URL.
fn name_of(entry: &Entry) -> Option<String> {
    let raw = match entry {
        Entry::Remote(remote) => {
            let url = remote.url.to_string();
            let host = url.split_once("://")?.1.split(['/', ':', '?', '#']).next()?.to_owned();
            let labels: Vec<_> = host.split('.').collect();
            let is_number = host.chars().all(|c| c.is_ascii_digit() || c == '.');
            let short = labels.len().saturating_sub(1).max(1);
            let named = labels[..short].iter().rev().find(|l| !["mcp", "api", "www", "app"].contains(l));
            if is_number { return None } else { (*named.or(labels.first())?).to_owned() }
        }
        Entry::Stdio(stdio) => {
            let command = stdio.command.plain()?;
            let stem = Path::new(command).file_stem()?.to_string_lossy().into_owned();
            let is_launcher = LAUNCHERS.contains(&stem.to_lowercase().as_str());
            let args = stdio.args.iter().filter_map(Text::plain);
            let passed_over = |arg: &&str| arg.starts_with('-') || ["run", "exec", "tool", "x", "-m"].contains(arg);
            let first = args.clone().find(|arg| !passed_over(arg));
            match first.filter(|_| is_launcher) {
                Some(package) => package_name(package),
                None => stem,
            }
        }
    };
    let plain: String = raw.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    Some(plain.trim_matches(['-', '.']).to_owned()).filter(|name| !name.is_empty())
}

/// `@scope/server-files@1.2` is `files`, `src/weather.py` is `weather`.
fn package_name(package: &str) -> String {
    let last = package.rsplit(['/', '\\']).next().unwrap_or(package);
    let name = last.split_once(['@', ':']).map_or(last, |(name, _)| name);
    let name =
        [".js", ".mjs", ".cjs", ".ts", ".py", ".jar"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let short = ["mcp-server-", "server-", "mcp-"].iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
    let short = ["-mcp-server", "-mcp"].iter().find_map(|end| short.strip_suffix(end)).unwrap_or(short);
    if short.is_empty() { name.to_owned() } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        for (line, expected) in [
            ("npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /tmp", Some("filesystem")),
            ("uvx mcp-server-time", Some("time")),
            ("node src/weather.js", Some("weather")),
            ("docker run -i ghcr.io/github/github-mcp-server:latest", Some("github")),
            ("/opt/bin/my server", Some("my-server")),
            ("python -m weather", Some("weather")),
            ("https://mcp.linear.app/sse", Some("linear")),
            ("http://localhost:8080/mcp", Some("localhost")),
            ("http://127.0.0.1:8080/mcp", None),
            ("https://example.com", Some("example")),
        ] {
            let entry = match line.contains("://") {
                true => Entry::from(Remote::new(line)),
                false if line.starts_with('/') => Stdio::new(line).into(),
                false => {
                    let mut words = line.split(' ');
                    let command = words.next().unwrap();
                    words.fold(Stdio::new(command), Stdio::arg).into()
                }
            };
            assert_eq!(name_of(&entry).as_deref(), expected, "{line}");
        }
    }
}
