//! The files that a project's configuration refers to, as they were approved.
//!
//! It does not know who approves them.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use couplet_hosts::{Entry, Env, Part, Text};
use hmac_sha256::Hash;

use crate::{Config, config::Server, files, secrets::home_or};

/// The size limit of a file with a secret or with variables.
const LONGEST: u64 = 64 * 1024;

/// The files in a project that its configuration refers to, by `envFile` and `${file:PATH}`, with their content.
///
/// A commit to the project can change them, and a file of variables can set `LD_PRELOAD`: so they are approved together
/// with the configuration. Files elsewhere are the user's own.
#[derive(Clone, Debug)]
pub(crate) struct ProjectFiles {
    root: PathBuf,
    /// The content, or why it cannot be read.
    contents: BTreeMap<PathBuf, Result<String, String>>,
}

impl ProjectFiles {
    /// Reads the files of a configuration. No keyring is asked, and no other reference is resolved than variables.
    pub(crate) fn of(config: &Config, env: &Env) -> Self {
        let mut all = Self { root: root(&config.path), contents: BTreeMap::new() };
        for server in &config.servers {
            for written in references(server, env) {
                let place = home_or(env, &server.folder, Path::new(&written));
                if all.has(Path::new(&written), &place) {
                    let read = || read(&place).map_err(|error| error.to_string());
                    all.contents.entry(place.clone()).or_insert_with(read);
                }
            }
        }
        all
    }

    /// Returns the hash of the text of a configuration and of its files.
    pub(crate) fn digest(&self, text: &str) -> String {
        let own = files::hex(&Hash::hash(text.as_bytes()));
        if self.contents.is_empty() {
            return own;
        }
        let mut lines = format!("{own}\n");
        for (place, content) in &self.contents {
            let hash =
                content.as_ref().map_or_else(|_| "-".to_owned(), |text| files::hex(&Hash::hash(text.as_bytes())));
            let _ = writeln!(lines, "{hash} {:?}", place.display().to_string());
        }
        files::hex(&Hash::hash(lines.as_bytes()))
    }

    /// Returns the paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.contents.keys().map(PathBuf::as_path)
    }

    /// Returns whether a path that a configuration has is in the project.
    pub(crate) fn has(&self, written: &Path, place: &Path) -> bool {
        let is_relative = written.is_relative() && !written.starts_with("~");
        let real = place.canonicalize();
        is_relative || cleaned(place).starts_with(&self.root) || real.is_ok_and(|real| real.starts_with(&self.root))
    }

    /// Returns the approved content of a file.
    pub(crate) fn content(&self, place: &Path) -> Result<String, String> {
        let missing = || Err("it is not among the files that were approved with the project".to_owned());
        self.contents.get(place).cloned().unwrap_or_else(missing)
    }
}

/// Reads a file with a secret or with variables.
pub(crate) fn read(place: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(place)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it has more than {} KiB", LONGEST / 1024)));
    }
    Ok(text)
}

/// The folder of a project: that of the repository, else that of the file, or the one above a folder such as `.vscode`.
fn root(file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new("/"));
    if let Some(repository) = folder.ancestors().find(|folder| folder.join(".git").exists()) {
        return repository.to_owned();
    }
    let is_hidden = |folder: &&Path| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let hidden = folder.ancestors().take(2).filter(is_hidden).last();
    hidden.and_then(Path::parent).unwrap_or(folder).to_owned()
}

/// A path without `.` and `..`, for a file that may not exist.
fn cleaned(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut clean, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
        clean
    })
}

/// The paths that a server refers to, as written.
fn references(server: &Server, env: &Env) -> Vec<String> {
    let texts: Vec<&Text> = match &server.entry {
        Entry::Stdio(stdio) => {
            let own = std::iter::once(&stdio.command).chain(&stdio.args).chain(&stdio.cwd);
            own.chain(stdio.env.iter().map(|(_, text)| text)).collect()
        }
        Entry::Remote(remote) => {
            std::iter::once(&remote.url).chain(remote.headers.iter().map(|(_, text)| text)).collect()
        }
    };
    let file = |part: &Part| match part {
        Part::Host(raw) => raw.strip_prefix("${file:")?.strip_suffix('}').map(str::to_owned),
        _ => None,
    };
    let parts = texts.into_iter().chain(&server.env_file).flat_map(Text::parts);
    // A path with a reference that only the host resolves is not used, since it cannot be resolved when the server is started.
    let env_file = server.env_file.as_ref().and_then(|path| path.resolve(env).ok());
    parts.filter_map(file).chain(env_file).collect()
}
