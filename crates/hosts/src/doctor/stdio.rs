//! Checks of a command and its arguments.

use std::path::Path;

use super::Look;
use crate::{Os, Scope, Stdio, program, words};

/// Programs that are scripts on Windows, which only its command interpreter can start.
const SCRIPTS: [&str; 6] = ["npx", "npm", "pnpm", "yarn", "bunx", "pnpx"];
/// File extensions of sources that interpreters run.
const SOURCES: [&str; 7] = [".js", ".mjs", ".cjs", ".ts", ".py", ".jar", ".rb"];

pub(super) fn check(look: &mut Look<'_>, stdio: &Stdio) {
    // References to variables are not resolved here.
    let Some(command) = stdio.command.plain() else { return };
    let args: Vec<&str> = stdio.args.iter().map(|arg| arg.plain().unwrap_or_default()).collect();
    if command.trim().is_empty() {
        return look.error("no-command", "its command is empty", "name the program to start");
    }
    if is_line(look, command) {
        return;
    }
    is_there(look, command, stdio.cwd.is_some());
    for arg in &args {
        argument(look, arg, stdio.cwd.is_some());
    }
    launchers(look, command, &args);
}

/// Reports a whole command line in place of a program.
fn is_line(look: &mut Look<'_>, command: &str) -> bool {
    let words = words::split(command, look.env.os()).unwrap_or_default();
    if words.len() < 2 || Path::new(command).exists() {
        return false;
    }
    let has_folder = words[0].contains(['/', '\\']) && words[1].contains(['/', '\\']);
    let (program, rest) = (&words[0], words[1..].join("`, `"));
    let fix = match has_folder {
        true => "check that the file exists: its name contains a space".to_owned(),
        false => format!("write `{program}` as the command, and the arguments one by one: `{rest}`"),
    };
    look.error(
        "command-is-line",
        format!("the command `{command}` is a whole command line, but no shell splits it"),
        fix,
    );
    true
}

fn is_there(look: &mut Look<'_>, command: &str, has_cwd: bool) {
    let (env, host) = (look.env, look.host);
    if command.starts_with('~') {
        let fix = format!("write `{}`", env.home().join(command.trim_start_matches(['~', '/'])).display());
        return look.error("tilde", format!("no shell expands the `~` in `{command}`"), fix);
    }
    if program::is_absolute(command) {
        return absolute(look, command);
    }
    if command.contains(['/', '\\']) {
        if !has_cwd && look.server.scope == Scope::User {
            let what = format!("`{command}` is relative to the folder that {} was started in", host.name());
            let fix = format!("write the absolute path, such as `{}`", env.cwd().join(command).display());
            look.warning("relative-path", what, fix);
        }
        return;
    }
    let found = program::find(env, command, &program::own_path(env));
    let seen = program::find(env, command, &program::search_path(env, host));
    match (seen, found) {
        (Some(_), _) => {}
        (None, Some(path)) => {
            let what = format!("{} does not find `{command}` in its search path", host.name());
            look.warning("command-not-seen", what, format!("write the absolute path: `{}`", path.display()));
        }
        (None, None) => look.error(
            "command-not-found",
            format!("there is no program `{command}` on the path"),
            install_hint(command),
        ),
    }
}

fn absolute(look: &mut Look<'_>, command: &str) {
    let is_foreign = (command.starts_with('/')) == (look.env.os() == Os::Windows);
    match program::find(look.env, command, &[]) {
        // A path of another system cannot be looked up, and cannot be right either.
        _ if is_foreign && !Path::new(command).exists() => look.error(
            "command-not-found",
            format!("`{command}` is a path of another operating system"),
            "write the path that it has here",
        ),
        Some(_) => {}
        None if Path::new(command).is_dir() => {
            look.error("command-not-program", format!("`{command}` is a folder"), "name the program in it");
        }
        None if Path::new(command).exists() => {
            look.error(
                "command-not-program",
                format!("`{command}` is not executable"),
                format!("chmod +x '{command}'"),
            );
        }
        None => look.error("command-not-found", format!("there is no file `{command}`"), install_hint(command)),
    }
}

fn argument(look: &mut Look<'_>, arg: &str, has_cwd: bool) {
    let is_quoted = |quote: char| arg.len() > 1 && arg.starts_with(quote) && arg.ends_with(quote);
    if is_quoted('"') || is_quoted('\'') {
        let what = format!("the argument `{arg}` contains quotes, which are passed to the program");
        return look.warning("quotes", what, format!("write {}", &arg[1..arg.len() - 1]));
    }
    if arg.starts_with("--") && arg.contains(' ') && !arg.contains('=') {
        let what = format!("`{arg}` is one argument, and no shell splits it");
        return look.warning("argument-is-two", what, "write its words as separate arguments");
    }
    if let Some(rest) = arg.strip_prefix("~/") {
        let fix = format!("write `{}`", look.env.home().join(rest).display());
        return look.warning("tilde", format!("no shell expands the `~` in `{arg}`"), fix);
    }
    if !SOURCES.iter().any(|end| arg.ends_with(end)) || arg.starts_with('-') || arg.contains("://") {
        return;
    }
    match (program::is_absolute(arg), Path::new(arg).exists()) {
        (true, false) => look.error("file-not-found", format!("there is no file `{arg}`"), "correct the path"),
        (false, _) if !has_cwd && look.server.scope == Scope::User => {
            let what = format!("`{arg}` is relative to the folder that {} was started in", look.host.name());
            look.warning(
                "relative-path",
                what,
                format!("write the absolute path, such as `{}`", look.env.cwd().join(arg).display()),
            );
        }
        _ => {}
    }
}

/// Checks programs that start others.
fn launchers(look: &mut Look<'_>, command: &str, args: &[&str]) {
    let (name, args) = match (stem(command).as_str(), args) {
        ("cmd", [switch, name, args @ ..]) if switch.eq_ignore_ascii_case("/c") => (stem(name), args),
        (name, _) => (name.to_owned(), args),
    };
    let is_wrapped = stem(command) == "cmd";
    if look.env.os() == Os::Windows && SCRIPTS.contains(&name.as_str()) && !is_wrapped {
        let what = format!("`{name}` is a script on Windows, which some hosts cannot start");
        look.warning("needs-cmd", what, format!("write `cmd` as the command, and `/c`, `{name}` before its arguments"));
    }
    let has = |names: &[&str]| args.iter().any(|arg| names.contains(arg));
    match name.as_str() {
        "npx" if !has(&["-y", "--yes"]) => {
            let what = "`npx` asks before it installs a package, and the server never starts";
            look.warning("npx-asks", what, "put `-y` before its other arguments");
        }
        "docker" | "podman" if args.contains(&"run") => container(look, &name, args),
        _ => {}
    }
}

fn container(look: &mut Look<'_>, name: &str, args: &[&str]) {
    let has = |letter: char, long: &str| {
        let is_short = |arg: &str| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter);
        args.iter().any(|arg| *arg == long || (is_short(arg) && arg.len() < 5))
    };
    if has('d', "--detach") {
        look.error("container-detached", format!("`{name} run -d` runs the server in the background"), "remove `-d`");
    } else if !has('i', "--interactive") {
        let what = format!("`{name} run` without `-i` closes the server's input at once");
        look.error("container-input", what, "put `-i` after `run`");
    }
    if has('t', "--tty") {
        look.error("container-tty", format!("`{name} run -t` changes the server's output"), "remove `-t`");
    }
}

fn stem(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command).to_lowercase();
    let is_script = [".exe", ".cmd", ".bat"].iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned);
    is_script.unwrap_or(name)
}

fn install_hint(command: &str) -> String {
    match stem(command).as_str() {
        "npx" | "npm" | "node" => "install Node.js, or write the absolute path".to_owned(),
        "uvx" | "uv" => "install uv, or write the absolute path".to_owned(),
        "docker" => "install Docker, or write the absolute path".to_owned(),
        "python" => "write `python3`, or the absolute path".to_owned(),
        _ => "install it, or write the absolute path".to_owned(),
    }
}
