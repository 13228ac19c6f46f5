//! Looks up programs as a host does.

use std::path::{Path, PathBuf};

use crate::{Env, Host, Os};

/// The folders in which a host looks for programs.
pub(crate) fn search_path(env: &Env, host: &Host) -> Vec<PathBuf> {
    let own = || split(env, env.var("PATH").unwrap_or_default());
    match (host.is_desktop(), env.os()) {
        // Programs started from the desktop do not have the environment of a shell.
        (true, Os::MacOs) => split(env, "/usr/bin:/bin:/usr/sbin:/sbin"),
        (true, Os::Linux) => split(env, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin"),
        _ => own(),
    }
}

/// The folders of the user's own `PATH`.
pub(crate) fn own_path(env: &Env) -> Vec<PathBuf> {
    split(env, env.var("PATH").unwrap_or_default())
}

/// The file that a command refers to.
pub(crate) fn find(env: &Env, command: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let has_folder = command.contains('/') || (env.os() == Os::Windows && command.contains('\\'));
    match has_folder {
        true => with_extension(env, &whole(env, command)),
        false => folders.iter().find_map(|folder| with_extension(env, &folder.join(command))),
    }
}

/// Whether a program belongs to a virtual environment of Python, active or not, or to an active one of Conda.
#[cfg(feature = "cli")]
pub(crate) fn is_in_virtual_environment(env: &Env, program: &Path) -> bool {
    let is_active = |name: &str| env.var(name).is_some_and(|folder| program.starts_with(folder));
    let is_marked = program.parent().and_then(Path::parent).is_some_and(|root| root.join("pyvenv.cfg").is_file());
    is_marked || is_active("VIRTUAL_ENV") || is_active("CONDA_PREFIX")
}

/// A path relative to the current folder, made absolute, without `.` components.
pub(crate) fn whole(env: &Env, path: &str) -> PathBuf {
    env.cwd().join(path).components().collect()
}

/// Whether a command is an absolute path on any system: configurations of other systems are checked, too.
pub(crate) fn is_absolute(command: &str) -> bool {
    let is_drive =
        |text: &str| text.len() > 2 && text.as_bytes()[1] == b':' && "\\/".contains(text.as_bytes()[2] as char);
    command.starts_with('/') || command.starts_with("\\\\") || is_drive(command)
}

fn split(env: &Env, list: &str) -> Vec<PathBuf> {
    let separator = if env.os() == Os::Windows { ';' } else { ':' };
    list.split(separator).filter(|folder| !folder.is_empty()).map(PathBuf::from).collect()
}

fn with_extension(env: &Env, path: &Path) -> Option<PathBuf> {
    if env.os() != Os::Windows {
        return is_program(path).then(|| path.to_owned());
    }
    let extensions = env.var("PATHEXT").unwrap_or(".COM;.EXE;.BAT;.CMD").to_lowercase();
    let with = |extension: &str| PathBuf::from(format!("{}{extension}", path.display()));
    let mut names = extensions.split(';').filter(|e| !e.is_empty()).map(with);
    let is_whole = path.extension().is_some() && path.is_file();
    if is_whole { Some(path.to_owned()) } else { names.find(|path| path.is_file()) }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
