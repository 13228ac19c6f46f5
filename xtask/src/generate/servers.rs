//! The servers that clients are generated from: two of npm, and our own for SQLite.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure,
    interop::peer::{Missing, npm},
    workspace::{root, target},
};

/// The command lines of the servers by name, and a folder with what they work on.
pub(super) struct Servers {
    pub(super) lines: Vec<(&'static str, Vec<String>)>,
    data: PathBuf,
}

impl Servers {
    pub(super) fn install(folder: &Path) -> Result<Self, Missing> {
        let target = target().map_err(Missing::Broken)?;
        let packages = target.join("interop/servers/npm");
        npm(&packages, &root().join("interop/servers/package.json"))?;
        let data = folder.join("data");
        let package = |name: &str| {
            text(&packages.join(format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js")))
        };
        let node = "node".to_owned();
        let sqlite = target.join("debug").join(format!("couplet-sqlite{}", std::env::consts::EXE_SUFFIX));
        let database = text(&data.join("data.db"));
        let servers = Self {
            lines: vec![
                ("everything", vec![node.clone(), package("everything"), "stdio".to_owned()]),
                ("filesystem", vec![node, package("filesystem"), text(&data)]),
                ("sqlite", vec![text(&sqlite), "--db".to_owned(), database, "--write".to_owned()]),
            ],
            data,
        };
        servers.renew().map_err(Missing::Broken)?;
        Ok(servers)
    }

    /// Empties what the servers work on.
    pub(super) fn renew(&self) -> Result<(), Failure> {
        let told = |e: std::io::Error| format!("{}: {e}", self.data.display());
        if self.data.exists() {
            fs::remove_dir_all(&self.data).map_err(told)?;
        }
        fs::create_dir_all(&self.data).and_then(|()| fs::write(self.data.join("data.db"), "")).map_err(told)
    }

    /// Passes the command lines to a program.
    pub(super) fn announce<'c>(&self, program: &'c mut Command) -> &'c mut Command {
        let lines: serde_json::Map<_, _> =
            self.lines.iter().map(|(name, line)| ((*name).to_owned(), line.as_slice().into())).collect();
        let lines = serde_json::Value::from(lines).to_string();
        program.env("GENERATE_SERVERS", lines).env("GENERATE_FOLDER", &self.data)
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
