//! Resolution of TARGET.

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

use couplet::http::client::ConnectFailure;

use super::{ConnectionArgs, Known, LoginWay, TlsArgs, file};
use crate::exit::Failure;

/// The location of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A URL.
    Url { url: String, headers: Vec<(String, String)>, tls: TlsArgs, login: LoginWay },
    /// A command to start. The words are never passed to a shell.
    Program { words: Vec<String>, env: Vec<(String, String)>, cwd: Option<PathBuf> },
}

/// A resolved target.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) place: Place,
    /// The host or file that it is configured in.
    pub(crate) host: Option<String>,
}

impl Target {
    /// Resolves a text: a URL by its scheme, a configuration file or script by its extension, a command by its spaces or
    /// slashes, and any other word as the name of a configured server or else as a program.
    pub(crate) fn find(
        text: &str,
        more: &ConnectionArgs,
        known: impl FnOnce() -> Result<Known, Failure>,
    ) -> Result<Self, Failure> {
        let text = text.trim();
        let found = if is_url(text) {
            Self {
                place: Place::Url {
                    url: text.to_owned(),
                    headers: Vec::new(),
                    tls: TlsArgs::default(),
                    login: LoginWay::Browser,
                },
                host: None,
            }
        } else if let Some(configured) = file::configured(text) {
            configured?
        } else if is_place(text) {
            Self { place: program(text)?, host: None }
        } else {
            by_name(text, &known()?)?
        };
        found.with(more)
    }

    /// Adds a hint about a wrong or missing scheme to an error.
    pub(crate) fn explain(&self, mut failure: Failure) -> Failure {
        match &self.place {
            Place::Url { url, .. } => {
                if let Some(right) = failure.way.and_then(|way| other_scheme(url, way)) {
                    failure.hint = Some(format!("try {right}"));
                }
                failure
            }
            Place::Program { words, .. } if failure.message.contains("was not found") => {
                match words.first().and_then(|program| address(program)) {
                    Some(url) => failure.hint(format!("write a URL with its scheme: {url}")),
                    None => failure,
                }
            }
            Place::Program { .. } => failure,
        }
    }

    /// Adds the connection options.
    fn with(mut self, more: &ConnectionArgs) -> Result<Self, Failure> {
        match &mut self.place {
            Place::Url { headers, tls, .. } => {
                if !more.env.is_empty() || more.cwd.is_some() {
                    return Err(Failure::usage("--env and --cwd need a command, and TARGET is a URL"));
                }
                headers.extend_from_slice(&more.header);
                *tls = more.tls.clone();
            }
            Place::Program { env, cwd, .. } => {
                if !more.header.is_empty() {
                    return Err(Failure::usage("--header needs a URL, and TARGET is a command"));
                }
                if more.tls.is_set() {
                    let what = "--cacert, --cert, --key and --insecure need a URL, and TARGET is a command";
                    return Err(Failure::usage(what));
                }
                env.extend_from_slice(&more.env);
                *cwd = more.cwd.clone().or(cwd.take());
            }
        }
        Ok(self)
    }
}

impl fmt::Display for Target {
    /// Formats the target without headers and variables, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Url { url, .. } => f.write_str(url.split(['?', '#']).next().unwrap_or(url)),
            Place::Program { words, .. } => {
                let words: Vec<_> = words.iter().map(|w| shlex::try_quote(w).unwrap_or(w.into())).collect();
                f.write_str(&words.join(" "))
            }
        }
    }
}

/// Whether the text is a command: it has a space or a slash.
fn is_command(text: &str) -> bool {
    text.contains(|c: char| c.is_whitespace() || c == '/' || c == std::path::MAIN_SEPARATOR)
}

/// Whether the text is a URL, command or file, and not the name of a configured server.
pub(crate) fn is_place(text: &str) -> bool {
    is_url(text) || is_command(text) || file::is_file(text)
}

fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|s| s == "http" || s == "https")
}

/// Returns the URL for an address without a scheme: `127.0.0.1:8080/mcp`, `example.com/mcp`.
pub(super) fn address(text: &str) -> Option<String> {
    let (place, _) = text.split_once('/').unwrap_or((text, ""));
    let (host, port) = place.rsplit_once(':').map_or((place, None), |(host, port)| (host, Some(port)));
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let is_host = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    let is_local = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok();
    let is_domain = host.contains('.') && !host.starts_with('.') && text.contains('/');
    let meant = is_host && is_port && (port.is_some() || is_local || is_domain) && !Path::new(text).exists();
    meant.then(|| format!("{}://{text}", if is_local || port.is_some() { "http" } else { "https" }))
}

/// Returns the URL with the other scheme, if the connection failed for that reason.
fn other_scheme(url: &str, why: ConnectFailure) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    match why {
        ConnectFailure::NotTls => Some(format!("http://{rest}")),
        ConnectFailure::NotHttp => Some(format!("https://{rest}")),
        _ => None,
    }
}

/// Splits a command into words. On Windows, backslashes are part of paths.
fn program(text: &str) -> Result<Place, Failure> {
    if let Some((scheme, _)) = text.split_once("://").filter(|(s, _)| s.chars().all(|c| c.is_ascii_alphanumeric())) {
        return Err(Failure::usage(format!("unsupported URL scheme `{scheme}://`")).hint("use http:// or https://"));
    }
    let text = if cfg!(windows) { text.replace('\\', r"\\") } else { text.to_owned() };
    let words = shlex::split(&text).filter(|words| !words.is_empty()).ok_or_else(|| {
        Failure::usage(format!("cannot split the command `{text}` into words")).hint("check for a missing quote")
    })?;
    if let Some(word) = words.iter().find(|w| ["|", "||", "&&", "&", ";", ">", "<", ">>", "2>&1"].contains(&w.as_str()))
    {
        return Err(Failure::usage(format!("`{word}` needs a shell, and commands are not run by one"))
            .hint("run a shell explicitly: \"sh -c '…'\""));
    }
    let mut words: Vec<String> = words.iter().map(|word| file::expanded(word)).collect();
    if let Some(script) = file::script(&words[0]) {
        words.splice(..1, script);
    }
    if words[0].contains('=') && !Path::new(&words[0]).exists() {
        return Err(
            Failure::usage(format!("`{}` is not a program", words[0])).hint("set variables with --env KEY=VALUE")
        );
    }
    Ok(Place::Program { words, env: Vec::new(), cwd: None })
}

/// Resolves a single word: a configured server (`name` or `host:name`), or a program.
fn by_name(word: &str, known: &Known) -> Result<Target, Failure> {
    match known.find(word)? {
        Some(target) => Ok(target),
        None if is_program(word) => Ok(Target { place: program(word)?, host: None }),
        None => Err(known.unknown(word)),
    }
}

/// Whether the word names a program in PATH.
pub(super) fn is_program(word: &str) -> bool {
    let endings: &[&str] = if cfg!(windows) { &["", ".exe", ".cmd", ".bat"] } else { &[""] };
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| endings.iter().any(|end| folder.join(format!("{word}{end}")).is_file()))
}

#[cfg(test)]
mod tests {
    use couplet_hosts::{Env, Os};

    use super::*;

    /// Two hosts with servers, one of them with a file that cannot be read beside it.
    fn two() -> Result<Known, Failure> {
        let home = std::env::temp_dir().join(format!("couplet-known-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = home.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".cursor/mcp.json", r#"{ "mcpServers": { "weather": { "command": "/a" } } }"#);
        write(
            ".config/zed/settings.json",
            r#"{ // comments are fine
                "context_servers": { "weather": { "command": "/b" }, "notes": { "command": "/c", "env": { "K": "v" } } } }"#,
        );
        write(".gemini/settings.json", "{ oops");
        Known::around(Env::new(Os::Linux, &home, &home))
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match Target::find(text, &ConnectionArgs::default(), two) {
            Ok(Target { place: Place::Url { url, .. }, .. }) => format!("url {url}"),
            Ok(Target { place: Place::Program { words, .. }, .. }) => format!("program {words:?}"),
            Err(failure) => format!("{} ({})", failure.message, failure.hint.unwrap_or_default()),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_target_is_what_it_looks_like() {
        check("HTTPS://example.com/mcp", "url HTTPS://example.com/mcp");
        check("node 'my server.js' --x", r#"program ["node", "my server.js", "--x"]"#);
        check("./server", r#"program ["./server"]"#);
        check("notes", r#"program ["/c"]"#);
        check("zed:weather", r#"program ["/b"]"#);
        check(
            "weather",
            "several hosts have a server `weather`, and they differ (select one: `cursor:weather` or `zed:weather`)",
        );
        check("note", "`note` is neither a configured server nor a program in PATH (did you mean `notes`?)");
        check("cargo", r#"program ["cargo"]"#);
        check("ftp://example.com", "unsupported URL scheme `ftp://` (use http:// or https://)");
        check("say 'hi", "cannot split the command `say 'hi` into words (check for a missing quote)");
        check(
            "server | tee log",
            "`|` needs a shell, and commands are not run by one (run a shell explicitly: \"sh -c '…'\")",
        );
        check("A=1 server", "`A=1` is not a program (set variables with --env KEY=VALUE)");
    }

    #[test]
    fn an_address_without_a_scheme_is_seen() {
        for (text, url) in [
            ("127.0.0.1:9103/mcp", Some("http://127.0.0.1:9103/mcp")),
            ("localhost:3000", Some("http://localhost:3000")),
            ("example.com/mcp", Some("https://example.com/mcp")),
            ("example.com:8443/mcp", Some("http://example.com:8443/mcp")),
            ("./server", None),
            ("bin/server", None),
            ("zed:weather", None),
            ("server.py", None),
            ("/usr/bin/x", None),
        ] {
            assert_eq!(address(text).as_deref(), url, "{text}");
        }
    }

    #[test]
    fn files_are_targets() {
        let folder = env::temp_dir().join(format!("couplet-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).unwrap();
            folder.join(name).display().to_string()
        };
        let js = file("server.js", "");
        check(&js, &format!("program {:?}", ["node", &js]));
        check(&format!("{js} --x"), &format!("program {:?}", ["node", &js, "--x"]));
        let one = r#"\u{feff}{ "mcpServers": { "a": { "command": "run", "args": ["x"], "env": { "K": "v" } } } }"#;
        let one = file("one.json", &one.replace("\\u{feff}", "\u{feff}"));
        check(&one, r#"program ["run", "x"]"#);
        check(&format!("{one}:a"), r#"program ["run", "x"]"#);
        check(&format!("{one}:b"), &format!("`{one}` has no server `b` (did you mean `a`?)"));
        let two =
            file("two.json", r#"{ "servers": { "a": { "url": "https://a.example" }, "b": { "command": "b" } } }"#);
        check(&format!("{two}:a"), "url https://a.example");
        let several = format!("`{two}` has several servers (select one, such as `{two}:a`; it has a, b)");
        check(&two, &several);
        let none = file("none.json", "{}");
        check(&none, &format!("`{none}` has no servers (expected them under `mcpServers`)"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn home_is_written_out() {
        let home = env::home_dir().unwrap().display().to_string();
        for (text, expected) in [("~/x", format!("{home}/x")), ("~", home), ("~x", "~x".into()), ("a~", "a~".into())] {
            assert_eq!(file::expanded(text), expected);
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let target = Target::find("https://example.com/mcp?key=secret", &ConnectionArgs::default(), two).unwrap();
        assert_eq!(target.to_string(), "https://example.com/mcp");
    }
}
