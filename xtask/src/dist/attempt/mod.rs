//! Each package, installed from its file into an empty folder and run: `couplet call` has to answer.
//!
//! Nothing is downloaded but the tools that install (`requirements.txt`).

mod archive;
mod deb;
mod npm;
mod wheel;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Outcome,
    files::{Effort, empty},
    find,
    product::Product,
};
use crate::{
    Failure, group,
    workspace::{capture, command, describe},
};

/// How a package was tried, or why it was not.
enum Tried {
    Ran(String),
    NotRun(String),
}

type Try = fn(&Attempt<'_>) -> Result<Tried, Failure>;

/// What the tries of all packages share.
struct Attempt<'a> {
    product: &'a Product,
    /// The folder of the packages.
    packages: &'a Path,
    /// A folder for each try.
    folder: PathBuf,
    /// The program of the archive, and the address of the server that it runs.
    program: PathBuf,
    url: String,
}

/// Installs and runs each package. A server of the unpacked archive answers.
pub(super) fn all(product: &Product, packages: &Path, folder: &Path, outcome: &mut Outcome) -> Result<(), Failure> {
    empty(folder)?;
    let program = archive::unpack(product, packages, &folder.join("archive"))?;
    let demo = |port: &str| {
        let mut demo = Attempt::start(&program, folder);
        demo.args(["demo", "--http", &format!("127.0.0.1:{port}")]);
        demo
    };
    let (_server, port) = group::serve(demo, &folder.join("server.log"))?;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let attempt = Attempt { product, packages, folder: folder.to_owned(), program, url };
    let kinds: [(&str, Try); 5] = [
        ("archive", archive::run),
        ("Debian package", deb::run),
        ("npm packages", npm::run),
        ("wheel with pip", wheel::pip),
        ("wheel with uvx", wheel::uvx),
    ];
    // uv is fetched from PyPI, which a quick try does without.
    let count = if product.effort == Effort::Quick { kinds.len() - 1 } else { kinds.len() };
    for (name, run) in kinds.into_iter().take(count) {
        match run(&attempt).map_err(|why| format!("{name}: {why}"))? {
            Tried::Ran(how) => outcome.done.push(format!("{name}: {how}, and called a tool")),
            Tried::NotRun(why) => outcome.not_run.push(format!("try of the {name}: {why}")),
        }
    }
    Ok(())
}

impl Attempt<'_> {
    /// A command whose settings and caches are in a folder of its own.
    fn start(program: &Path, folder: &Path) -> Command {
        let mut command = command(&program.to_string_lossy());
        let home = folder.join("home");
        command.current_dir(folder).env("HOME", &home).env("USERPROFILE", &home);
        for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        command
    }

    /// An empty folder for a try.
    fn place(&self, name: &str) -> Result<PathBuf, Failure> {
        let place = self.folder.join(name);
        empty(&place)?;
        Ok(place)
    }

    /// The package whose name satisfies a condition.
    fn package(&self, what: &str, is_it: impl Fn(&str) -> bool) -> Result<PathBuf, Failure> {
        find(self.packages, is_it).ok_or_else(|| format!("there is no {what} in {}", self.packages.display()))
    }

    /// Asks an installed program for its version, and calls a tool over HTTP and over stdio.
    fn check(&self, start: impl Fn() -> Command) -> Result<(), Failure> {
        let version = format!("couplet {}", self.product.version);
        expect(start().arg("--version"), &version)?;
        expect(start().args(["call", &self.url, "echo", "message=hello"]), "Echo: hello")?;
        let bridge = format!("'{}' run {}", self.program.display(), self.url);
        expect(start().args(["call", &bridge, "echo", "message=hello"]), "Echo: hello")
    }
}

fn expect(command: &mut Command, expected: &str) -> Result<(), Failure> {
    match capture(command)?.trim_end() {
        answer if answer == expected => Ok(()),
        other => Err(format!("`{}` answered `{other}` instead of `{expected}`", describe(command))),
    }
}

/// The folder of the programs in an environment of Python.
const SCRIPTS: &str = if cfg!(windows) { "Scripts" } else { "bin" };

fn folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|e| format!("{}: {e}", path.display()))
}
