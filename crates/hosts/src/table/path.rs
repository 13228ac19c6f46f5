//! Expands paths of the table.

use std::path::{Path, PathBuf};

use crate::{Env, Os};

/// Expands a path. A `*` is preserved.
pub(super) fn expand(template: &str, env: &Env) -> PathBuf {
    let (mut path, rest) = match template {
        _ if template.starts_with('~') => (env.home().to_owned(), &template[1..]),
        _ => match template.strip_prefix('{').and_then(|t| Some(t.split_at(closing(t)?))) {
            Some((variable, rest)) => (value(variable, env), &rest[1..]),
            None => (env.cwd().to_owned(), template),
        },
    };
    path.extend(rest.split('/').filter(|part| !part.is_empty()));
    path
}

/// Expands a path and resolves each `*`; `None` if nothing matches.
pub(super) fn find(template: &str, env: &Env) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    for part in expand(template, env).components() {
        match part.as_os_str().to_str().and_then(|name| name.split_once('*')) {
            Some((start, end)) => found = first_match(&found, start, end)?,
            None => found.push(part),
        }
    }
    Some(found)
}

/// The first entry of a folder, by name, with this prefix and suffix.
fn first_match(folder: &Path, start: &str, end: &str) -> Option<PathBuf> {
    let fits = |name: &str| name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end);
    let names = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| fits(name)).min().map(|name| folder.join(name))
}

/// `VARIABLE|fallback` or `support`.
fn value(variable: &str, env: &Env) -> PathBuf {
    let Some((name, fallback)) = variable.split_once('|') else { return expand(support(env.os()), env) };
    // The XDG specification requires relative paths to be ignored.
    let set = env.var(name).map(PathBuf::from).filter(|p| p.is_absolute() || env.os() == Os::Windows);
    set.unwrap_or_else(|| expand(fallback, env))
}

fn support(os: Os) -> &'static str {
    match os {
        Os::MacOs => "~/Library/Application Support",
        Os::Windows => "{APPDATA|~/AppData/Roaming}",
        Os::Linux => "{XDG_CONFIG_HOME|~/.config}",
    }
}

fn closing(text: &str) -> Option<usize> {
    text.find('}')
}

/// The folder of backups and locks.
pub(crate) fn state(env: &Env) -> PathBuf {
    expand(
        match env.os() {
            Os::MacOs => "~/Library/Application Support/couplet/backups",
            Os::Windows => "{LOCALAPPDATA|~/AppData/Local}/couplet/backups",
            Os::Linux => "{XDG_STATE_HOME|~/.local/state}/couplet/backups",
        },
        env,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_filled_in() {
        let env = |os| Env::new(os, "/u/ann", "/p").with("SET", "/set").with("RELATIVE", "set");
        for (template, os, expected) in [
            ("~/.a/b", Os::Linux, "/u/ann/.a/b"),
            (".a/b", Os::Linux, "/p/.a/b"),
            ("{SET|~/x}/b", Os::Linux, "/set/b"),
            ("{UNSET|~/x}/b", Os::Linux, "/u/ann/x/b"),
            ("{RELATIVE|~/x}/b", Os::Linux, "/u/ann/x/b"),
            ("{set|~/x}/b", Os::Linux, "/u/ann/x/b"),
            ("{set|~/x}/b", Os::Windows, "/set/b"),
            ("{support}/b", Os::Linux, "/u/ann/.config/b"),
            ("{support}/b", Os::MacOs, "/u/ann/Library/Application Support/b"),
            ("{support}/b", Os::Windows, "/u/ann/AppData/Roaming/b"),
        ] {
            assert_eq!(expand(template, &env(os)), Path::new(expected), "{template}");
        }
    }
}
