//! References to secrets, resolved at use: `${env:NAME}`, `${file:PATH}`, `${keyring:NAME}`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use couplet_hosts::{Entry, Env, Hosts, Part, Text};

use crate::{
    Approvals, env_file,
    project_files::{self, ProjectFiles},
};

/// Resolves references. Values are returned to the one who uses them, and never logged or stored.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    env: Env,
    /// The folder that relative paths start from.
    folder: PathBuf,
    /// The files of the project that may be used.
    project: Option<Arc<ProjectFiles>>,
}

impl Secrets {
    pub(crate) fn new(env: Env, folder: &Path) -> Self {
        Self { env, folder: folder.to_owned(), project: None }
    }

    /// Returns the same for the server of a project, if the project's file and the files that it refers to are the approved
    /// ones now. This blocks.
    ///
    /// # Errors
    /// If they are not.
    pub(crate) fn of_project(mut self, path: &Path) -> Result<Self, String> {
        let project = Approvals::of(&self.env).read(path, &self.env).map_err(|error| error.to_string())?;
        if !project.is_approved {
            let path = path.display();
            return Err(format!(
                "`{path}`, or a file that it refers to, is not as it was approved: see `couplet gateway trust {path}`"
            ));
        }
        // What was compared is used: a file that changes from now on has no effect.
        self.project = Some(Arc::new(project.files));
        Ok(self)
    }

    /// Returns the text with its references resolved. This may block: files and keyrings are read.
    ///
    /// # Errors
    /// The reference that cannot be resolved, and why; never a value.
    pub(crate) fn resolve(&self, text: &Text) -> Result<String, String> {
        text.parts().iter().map(|part| self.part(part)).collect()
    }

    /// Returns the text of a section, as it is written, with its references resolved. This may block.
    ///
    /// # Errors
    /// The reference that cannot be resolved, and why; never a value.
    pub(crate) fn resolve_written(&self, written: &str) -> Result<String, String> {
        let host = Hosts::builtin().get("mcp-json").map_err(|error| error.to_string())?.clone();
        let host = host.with_references(&["${env:NAME}"]).map_err(|error| error.to_string())?;
        self.resolve(&host.read_text(written))
    }

    /// Returns an entry with all references resolved. This may block.
    ///
    /// # Errors
    /// The reference that cannot be resolved, and where it is.
    pub(crate) fn resolve_entry(&self, entry: &Entry) -> Result<Entry, String> {
        let mut resolved = entry.clone();
        let text = |what: &str, text: &mut Text| {
            let value = self.resolve(text).map_err(|why| format!("{what}: {why}"))?;
            *text = Text::from(value);
            Ok::<(), String>(())
        };
        match &mut resolved {
            Entry::Stdio(stdio) => {
                text("the command", &mut stdio.command)?;
                stdio.args.iter_mut().try_for_each(|arg| text("an argument", arg))?;
                stdio.env.iter_mut().try_for_each(|(name, value)| text(&format!("the variable `{name}`"), value))?;
                stdio.cwd.iter_mut().try_for_each(|cwd| text("the working folder", cwd))?;
            }
            Entry::Remote(remote) => {
                text("the URL", &mut remote.url)?;
                remote.headers.iter_mut().try_for_each(|(name, value)| text(&format!("the header `{name}`"), value))?;
            }
        }
        Ok(resolved)
    }

    fn part(&self, part: &Part) -> Result<String, String> {
        let Part::Host(raw) = part else { return Text::from(part.clone()).resolve(&self.env) };
        let inner = raw.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        match inner.split_once(':') {
            Some(("file", path)) => self.file(path),
            Some(("keyring", name)) => keyring(name),
            _ => Text::from(part.clone()).resolve(&self.env),
        }
    }

    /// Returns the variables of a file. This may block.
    ///
    /// # Errors
    /// If it cannot be read, or a line is not a variable; never a value.
    pub(crate) fn env_file(&self, path: &Text) -> Result<Vec<(String, String)>, String> {
        let path = self.resolve(path).map_err(|why| format!("`envFile`: {why}"))?;
        let what = format!("`envFile`: the file `{path}`");
        env_file::parse(&self.read(&path, &what)?).map_err(|line| format!("{what}: line {line} is not NAME=VALUE"))
    }

    fn file(&self, path: &str) -> Result<String, String> {
        let text = self.read(path, &format!("the file of `${{file:{path}}}`"))?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    fn read(&self, path: &str, what: &str) -> Result<String, String> {
        let place = self.path(Path::new(path));
        let read = match self.project.as_ref().filter(|project| project.has(Path::new(path), &place)) {
            Some(project) => project.content(&place),
            None => project_files::read(&place).map_err(|error| error.to_string()),
        };
        read.map_err(|error| format!("{what} cannot be read: {error}"))
    }

    /// Returns a path of the configuration: `~` is the home folder, a relative one starts from the file's folder.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        home_or(&self.env, &self.folder, path)
    }
}

/// Returns a path: `~` is the home folder, a relative one starts from this folder.
pub(crate) fn home_or(env: &Env, folder: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => env.home().join(rest),
        Err(_) => folder.join(path),
    }
}

#[cfg(feature = "keyring")]
fn keyring(name: &str) -> Result<String, String> {
    couplet_auth::client::Keychain::system("couplet")
        .and_then(|keychain| keychain.plain(name))
        .map_err(|error| format!("`${{keyring:{name}}}`: {error}"))?
        .map(|secret| secret.reveal().to_owned())
        .ok_or_else(|| format!("the keyring has no entry `{name}` of the service `couplet`"))
}

#[cfg(not(feature = "keyring"))]
fn keyring(name: &str) -> Result<String, String> {
    Err(format!("`${{keyring:{name}}}` cannot be resolved: this program is built without keyrings"))
}

#[cfg(test)]
mod tests {
    use couplet_hosts::Os;

    use super::*;

    #[test]
    fn references_are_resolved_at_use() {
        let folder = tempfile::tempdir().expect("there is room");
        std::fs::write(folder.path().join("key"), "s3cret\n").expect("it can be written");
        let env = Env::new(Os::Linux, "/u/ann", folder.path()).with("TOKEN", "abc");
        let secrets = Secrets::new(env, folder.path());
        let text = |text: &str| secrets.resolve_written(text);
        assert_eq!(text("Bearer ${env:TOKEN}").as_deref(), Ok("Bearer abc"));
        assert_eq!(text("${TOKEN}/${file:key}").as_deref(), Ok("abc/s3cret"));
        assert_eq!(text("${NONE:-default}").as_deref(), Ok("default"));
        for (wrong, says) in [
            ("${NONE}", "the variable `NONE` is not set"),
            ("${file:none}", "the file of `${file:none}` cannot be read"),
            ("${input:key}", "only the host can resolve `${input:key}`"),
        ] {
            let error = text(wrong).expect_err(wrong);
            assert!(error.contains(says), "{error}");
        }
    }
}
