//! Files as targets: a script, or a configuration file with servers.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use couplet::types::{Map, RawJson, from_json};
use couplet_hosts::{Entry, Remote, Stdio, Text};
use serde::Deserialize;

use super::{Place, Target, environment, place::is_program};
use crate::{
    arguments::nearest,
    exit::{Exit, Failure},
};

/// Expands `~` to the home directory.
pub(crate) fn expanded(path: &str) -> String {
    let home = || env::home_dir().map(|home| home.to_string_lossy().into_owned());
    match path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(['/', std::path::MAIN_SEPARATOR])) {
        Some(rest) => home().map_or_else(|| path.to_owned(), |home| home + rest),
        None => path.to_owned(),
    }
}

/// Whether the text names a script or a configuration file.
pub(super) fn is_file(text: &str) -> bool {
    script(text).is_some() || configuration(text).is_some()
}

/// Returns the command for a script: its interpreter and the script, or the script alone if it is executable and has a
/// `#!` line. `None` if the path is not a script.
pub(super) fn script(path: &str) -> Option<Vec<String>> {
    let run_by = |words: &[&str]| Some(words.iter().copied().chain([path]).map(str::to_owned).collect());
    let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    let is_script = matches!(extension.as_str(), "py" | "js" | "mjs" | "cjs" | "ts" | "mts");
    let text = fs::read(path).ok().filter(|_| is_script)?;
    if text.starts_with(b"#!") && is_executable(Path::new(path)) {
        // Without a slash it would be searched for in PATH.
        let path = if path.contains('/') { path.to_owned() } else { format!("./{path}") };
        return Some(vec![path]);
    }
    match extension.as_str() {
        // uv installs the dependencies that a script declares.
        "py" if is_program("uv") && text.windows(12).any(|part| part == b"# /// script") => run_by(&["uv", "run"]),
        "py" => run_by(&[&python()]),
        _ => run_by(&["node"]),
    }
}

/// Returns the Python interpreter of the active environment, or of the system.
fn python() -> String {
    let active = env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    match active.map(|folder| folder.join(inside)).filter(|program| program.is_file()) {
        Some(program) => program.to_string_lossy().into_owned(),
        None if is_program("python3") || !is_program("python") => "python3".to_owned(),
        None => "python".to_owned(),
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}

/// A configuration file, as most hosts write it.
#[derive(Deserialize)]
struct Configuration {
    #[serde(rename = "mcpServers", alias = "servers", alias = "context_servers")]
    servers: Option<Map<RawJson>>,
}

#[derive(Deserialize)]
struct Server {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Map<String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: Map<String>,
}

/// Resolves `mcp.json` (with one server) or `mcp.json:name`. `None` if the text does not name a JSON file.
///
/// # Errors
/// If the file cannot be read, or has no such server.
pub(super) fn configured(text: &str) -> Option<Result<Target, Failure>> {
    configuration(text).map(|(path, name)| read(&PathBuf::from(expanded(path)), name))
}

/// Splits a target into the path of a configuration file and the name of a server.
fn configuration(text: &str) -> Option<(&str, Option<&str>)> {
    let is_json = |path: &str| path.to_ascii_lowercase().ends_with(".json") && !path.contains(char::is_whitespace);
    match text.rsplit_once(':') {
        Some((path, name)) if is_json(path) => Some((path, Some(name))),
        _ => is_json(text).then_some((text, None)),
    }
}

fn read(path: &Path, name: Option<&str>) -> Result<Target, Failure> {
    let text = fs::read_to_string(path).map_err(|e| Failure::file(path, "read", &e))?;
    let shown = path.display();
    let broken = |what: &str| Failure::new(Exit::File, format!("`{shown}` {what}"));
    let configuration: Configuration = from_json(text.trim_start_matches('\u{feff}').trim())
        .map_err(|e| broken(&format!("is not a valid configuration file: {e}")))?;
    let servers = configuration.servers.unwrap_or_default();
    let names: Vec<&str> = servers.keys().collect();
    let (name, server) = match (name.or_else(|| only(&names)), names.as_slice()) {
        (_, []) => return Err(broken("has no servers").hint("expected them under `mcpServers`")),
        (Some(name), _) => match servers.get(name) {
            Some(server) => (name, server),
            None => {
                let failure = Failure::usage(format!("`{shown}` has no server `{name}`"));
                let near = nearest(name, names.iter().copied());
                let hint = near.map_or_else(
                    || format!("expected one of {}", names.join(", ")),
                    |n| format!("did you mean `{n}`?"),
                );
                return Err(failure.hint(hint));
            }
        },
        (None, [first, ..]) => {
            let hint = format!("select one, such as `{shown}:{first}`; it has {}", names.join(", "));
            return Err(Failure::usage(format!("`{shown}` has several servers")).hint(hint));
        }
    };
    let server: Server = server.parse().map_err(|e| broken(&format!("has an invalid entry `{name}`: {e}")))?;
    let entry =
        entry(server).ok_or_else(|| broken(&format!("has an entry `{name}` with neither `command` nor `url`")))?;
    let entry = entry.resolve(&environment()?).map_err(|e| broken(&format!("has an invalid entry `{name}`: {e}")))?;
    Ok(Target { place: Place::of(entry), host: Some(shown.to_string()) })
}

fn only<'a>(names: &[&'a str]) -> Option<&'a str> {
    if let [one] = names { Some(one) } else { None }
}

fn entry(server: Server) -> Option<Entry> {
    let text = |text: &str| Text::with_refs(text);
    match (server.command, server.url) {
        (Some(command), _) => {
            let stdio = server.args.iter().fold(Stdio::new(text(&command)), |stdio, arg| stdio.arg(text(arg)));
            let mut stdio = server.env.iter().fold(stdio, |stdio, (name, value)| stdio.env(name, text(value)));
            stdio.cwd = server.cwd.as_deref().map(text);
            Some(stdio.into())
        }
        (None, Some(url)) => {
            let remote = Remote::new(text(&url));
            Some(server.headers.iter().fold(remote, |remote, (name, value)| remote.header(name, text(value))).into())
        }
        (None, None) => None,
    }
}
