//! Configuration files of projects, which are not the user's own.
//!
//! The file that a user names as CONFIG is the user's own. A file that is found in the folder of a project comes with the
//! project: a repository that was cloned must not start programs. Such a file
//!
//! * has no effect until the user has approved exactly this content, by its hash, with the content of the files in the
//!   project that it refers to;
//! * adds servers and rules, and nothing else. Its rules can deny and ask; what they allow is still decided by the user's.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use couplet_hosts::{Env, read_file};

use crate::{Config, Error, ErrorKind, config::Settings, files, project_files::ProjectFiles};

/// The files of projects that the user has approved, by path and hash.
#[derive(Clone, Debug)]
pub struct Approvals {
    path: PathBuf,
}

/// The file of a project.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Project {
    /// Its configuration.
    pub config: Config,
    /// Whether the user has approved exactly this content, and that of the files in the project that it refers to.
    pub is_approved: bool,
    pub(crate) files: ProjectFiles,
    hash: String,
}

impl Project {
    /// Returns the files in the project that its configuration refers to: their content is part of the approval.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.paths()
    }
}

impl Approvals {
    /// Returns those of a user.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        Self { path: files::state_folder(env).join("approved-projects.json") }
    }

    /// Returns the path of the file that has them.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file of a project, and whether it is approved.
    ///
    /// # Errors
    /// If it cannot be read, is invalid, or sets what only the user's own file may set.
    pub fn read(&self, path: &Path, env: &Env) -> Result<Project, Error> {
        let path = path.canonicalize().map_err(|error| Error::io(path, "read", &error))?;
        let text = read_file(&path)?.ok_or_else(|| Error::io(&path, "read", &io::ErrorKind::NotFound.into()))?;
        let mut config = Config::parse(&path, &text, env)?;
        check(&config)?;
        config.servers.iter_mut().for_each(|server| server.project = Some(path.clone()));
        let files = ProjectFiles::of(&config, env);
        let hash = files.digest(&text);
        let is_approved = self.load()?.get(&path.display().to_string()) == Some(&hash);
        Ok(Project { config, is_approved, files, hash })
    }

    /// Approves the content of a project's file.
    ///
    /// # Errors
    /// If the file of approvals cannot be read or written.
    pub fn approve(&self, project: &Project) -> Result<(), Error> {
        let mut all = self.load()?;
        all.insert(project.config.path.display().to_string(), project.hash.clone());
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let text = serde_json::to_string_pretty(&all).unwrap_or_default() + "\n";
        let written = files::private_folder(folder).and_then(|()| files::replace(&self.path, &text));
        written.map_err(|error| Error::io(&self.path, "written", &error))
    }

    fn load(&self) -> Result<BTreeMap<String, String>, Error> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(Error::io(&self.path, "read", &error)),
        };
        serde_json::from_str(&text).map_err(|error| Error::config(&self.path, None, error))
    }
}

impl Config {
    /// Adds the servers and rules of a project that the user has approved. A server with the name of one of the user's is
    /// left out.
    pub fn add_project(&mut self, project: Project) {
        if !project.is_approved {
            let path = project.config.path.display();
            let what =
                format!("`{path}` is not approved: its servers are left out; see `couplet gateway trust {path}`");
            return self.notes.push(what);
        }
        for server in project.config.servers {
            match self.servers.iter().find(|own| own.key == server.key || own.id == server.id) {
                Some(own) => {
                    self.notes
                        .push(format!("the project's server `{}` is left out: there is `{}`", server.key, own.key));
                }
                None => self.servers.push(server),
            }
        }
        self.project_policy.extend(project.config.policy.into_iter().flatten());
        self.notes.extend(project.config.notes);
    }
}

/// Checks that a project's file has nothing that could widen the user's own.
fn check(config: &Config) -> Result<(), Error> {
    let refused = |what: String| {
        Err(Error::new(ErrorKind::Refused, format!("`{}`: {what}", config.path.display()))
            .hinted("set it in your own configuration"))
    };
    if let Some(section) = config.own_sections.first() {
        return refused(format!("the file of a project cannot set `{section}`"));
    }
    for server in &config.servers {
        let Settings { trust, effects, labels, pin, .. } = &server.settings;
        let widened = [
            ("trust", *trust != crate::config::Trust::Unknown),
            ("effects", !effects.is_empty()),
            ("labels", !labels.is_empty()),
            ("pin", *pin == Some(false)),
        ];
        if let Some((key, _)) = widened.iter().find(|(_, is_set)| *is_set) {
            return refused(format!("the file of a project cannot set `{key}` of the server `{}`", server.key));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use couplet_hosts::Os;

    use super::*;

    fn files() -> (tempfile::TempDir, Env, PathBuf) {
        let folder = tempfile::tempdir().expect("there is room");
        let env = Env::new(Os::Linux, folder.path(), folder.path());
        let path = folder.path().join(".mcp.json");
        (folder, env, path)
    }

    #[test]
    fn s25_a_project_has_no_effect_until_its_hash_is_approved() {
        let (_folder, env, path) = files();
        let user = r#"{ "mcpServers": { "mine": { "command": "mine" } } }"#;
        let text = r#"{ "mcpServers": { "theirs": { "command": "sh", "args": ["-c", "evil"] }, "mine": { "command": "x" } },
                        "policy": [{ "allow": {} }, { "deny": { "tool": "mine/*" } }] }"#;
        fs::write(&path, text).expect("it can be written");
        let approvals = Approvals::of(&env);
        let with_project = || {
            let mut config = Config::parse("a.json".as_ref(), user, &env).expect("it is valid");
            config.add_project(approvals.read(&path, &env).expect("it is valid"));
            config
        };
        let keys = |config: &Config| config.servers.iter().map(|server| server.key.clone()).collect::<Vec<_>>();

        let before = with_project();
        assert_eq!(keys(&before), ["mine"]);
        assert!(before.project_policy.is_empty() && before.notes[0].contains("is not approved"), "{:?}", before.notes);

        approvals.approve(&approvals.read(&path, &env).expect("it is valid")).expect("it can be written");
        let after = with_project();
        assert_eq!(keys(&after), ["mine", "theirs"]);
        assert_eq!(after.servers[0].launch.lines(), ["command: [\"mine\"]"], "the user's own server is not replaced");
        assert!(after.policy.is_none() && after.project_policy.len() == 2, "its rules are another layer");

        fs::write(&path, text.replace("evil", "worse")).expect("it can be written");
        assert_eq!(keys(&with_project()), ["mine"], "one changed byte needs another approval");
    }

    /// Files that the configuration refers to are part of the project as well.
    #[test]
    fn s25_files_that_a_project_refers_to_are_approved_with_it() {
        let (folder, env, path) = files();
        let (home, env) =
            (folder.path().join("home"), env.with("DOTENV", folder.path().join("vars").to_str().expect("it is text")));
        fs::create_dir(&home).expect("it can be written");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
        let approvals = Approvals::of(&env);
        for (name, entry) in [
            (".env", r#""command": "x", "envFile": ".env""#),
            ("vars", r#""command": "x", "envFile": "${env:DOTENV}""#),
            ("home/../key", r#""command": "x", "args": ["--key=${file:key}"]"#),
            ("key", r#""command": "x", "env": { "K": "a${file:./key}" }"#),
            ("key", r#""url": "https://a.example", "headers": { "K": "${file:key}" }"#),
        ] {
            write(name, "A=1");
            write(".mcp.json", &format!(r#"{{ "mcpServers": {{ "a": {{ {entry} }} }} }}"#));
            let read = || approvals.read(&path, &env).expect("it is valid");
            approvals.approve(&read()).expect("it can be written");
            assert!(read().is_approved && read().files().count() == 1, "{entry}");
            write(name, "A=1\nLD_PRELOAD=evil.so");
            assert!(!read().is_approved, "{entry}");
            write(name, "A=1");
            assert!(read().is_approved, "{entry}");
            fs::remove_file(folder.path().join(name)).expect("it is there");
            assert!(!read().is_approved, "{entry}");
            approvals.approve(&read()).expect("it can be written");
            assert!(read().is_approved, "{entry}");
            write(name, "A=1");
            assert!(!read().is_approved, "a file that appears: {entry}");
        }
    }

    /// A file of the user's own may change: a token that is renewed needs no approval.
    #[test]
    fn files_outside_of_a_project_are_not_approved() {
        let (folder, _, _) = files();
        let (home, project) = (folder.path().join("home"), folder.path().join("project/.vscode"));
        for folder in [&home, &project] {
            fs::create_dir_all(folder).expect("it can be written");
        }
        let env = Env::new(Os::Linux, &home, &project);
        let path = project.join("mcp.json");
        let text = r#"{ "servers": { "a": { "type": "stdio", "command": "x", "args": ["${file:~/token}"], "envFile": "../.env" } } }"#;
        fs::write(&path, text).expect("it can be written");
        let read = Approvals::of(&env).read(&path, &env).expect("it is valid");
        let read: Vec<_> = read.files().collect();
        assert!(matches!(read.as_slice(), [one] if one.ends_with("../.env")), "{read:?}");
    }

    #[test]
    fn s25_a_project_cannot_widen() {
        let (_folder, env, path) = files();
        for (member, section) in [
            (r#""x": { "command": "x", "trust": "owned" } }"#, "`trust` of the server `x`"),
            (r#""x": { "command": "x", "pin": false } }"#, "`pin` of the server `x`"),
            (r#""x": { "command": "x", "effects": { "*": "read" } } }"#, "`effects` of the server `x`"),
            (r#""x": { "command": "x", "labels": { "*": [] } } }"#, "`labels` of the server `x`"),
            (r#"}, "listen": { "auth": "none" }"#, "`listen`"),
            (r#"}, "audit": { "file": "/dev/null" }"#, "`audit`"),
            (r#"}, "consent": "deny""#, "`consent`"),
            (r#"}, "consentTimeout": "1d""#, "`consentTimeout`"),
            (r#"}, "pins": false"#, "`pins`"),
        ] {
            fs::write(&path, format!(r#"{{ "mcpServers": {{ {member} }}"#)).expect("it can be written");
            let error = Approvals::of(&env).read(&path, &env).expect_err(member);
            assert!(error.to_string().ends_with(&format!("the file of a project cannot set {section}")), "{error}");
        }
    }
}
