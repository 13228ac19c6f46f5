//! `cargo xtask order`: records the functions that commands call, for the linker.
//!
//! A page fault brings 64 KiB of a program into memory. A command calls 2 MB of functions, and these are spread over 30 MB, so
//! that three quarters of the memory are functions which are never called. The linker places the functions of the list next
//! to each other. Symbols contain hashes of the compiler and of the versions of crates: with others, the list is recorded anew.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use super::{HAS_LLD, ORDER, cargo_with};
use crate::{
    Failure,
    gateway::{self, Names, Pins, Upstream},
    group::{Group, serve},
    workspace::{self, capture, command, root, show},
};

/// How long a command may take under callgrind.
const DEADLINE: Duration = Duration::from_secs(120);

/// What is before the token in the URL of an inspector.
const TOKEN: &str = "#token=";

/// The symbols of the functions that a command has called.
type Called = BTreeSet<String>;

pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    if !HAS_LLD {
        return Err("functions are ordered for x86_64-unknown-linux-gnu only".to_owned());
    }
    let recorder = Recorder::new()?;
    let commands = [recorder.list()?, recorder.inspect()?, recorder.gateway()?, recorder.proxy()?];
    let text = ordered(&commands);
    let path = root().join(ORDER);
    fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(|e| format!("{}: {e}", path.display()))?;
    fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{} functions in {ORDER}", text.lines().count());
    Ok(())
}

/// A line for each function; those that most commands call come first, and those that the same commands call are together.
fn ordered(commands: &[Called]) -> String {
    let mut callers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (command, called) in commands.iter().enumerate() {
        called.iter().for_each(|symbol| callers.entry(symbol).or_default().push(command));
    }
    let mut symbols: Vec<_> = callers.into_iter().map(|(symbol, by)| (Reverse(by.len()), by, symbol)).collect();
    symbols.sort();
    symbols.into_iter().map(|(_, _, symbol)| format!("{symbol}\n")).collect()
}

struct Recorder {
    folder: PathBuf,
    couplet: String,
    server: String,
}

impl Recorder {
    /// Builds the program with its symbols, and a server.
    fn new() -> Result<Self, Failure> {
        let folder = workspace::target()?;
        show(&mut cargo_with("dist", &["--config", "profile.dist.package.couplet-cli.strip=false"])?)?;
        workspace::cargo(["build", "--profile", "dist", "--package", "couplet-everything"])?;
        let program = |name: &str| folder.join("dist").join(name).display().to_string();
        let (couplet, server) = (program("couplet"), program("couplet-everything"));
        let folder = folder.join("order/recorded");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Self { folder, couplet, server })
    }

    /// A command under callgrind.
    fn command(&self, name: &str, words: &[&str]) -> Command {
        let mut valgrind = command("valgrind");
        let out = format!("--callgrind-out-file={}", self.folder.join(name).display());
        valgrind.args(["--tool=callgrind", "--demangle=no", &out, &self.couplet]).args(words);
        self.alone(&mut valgrind);
        valgrind
    }

    /// Nothing of the user's own is read.
    fn alone(&self, command: &mut Command) {
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(name, &self.folder);
        }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Runs the program without callgrind, as a client of the one that is recorded.
    fn client(&self, words: &[&str]) -> Result<(), Failure> {
        let mut client = command(&self.couplet);
        self.alone(&mut client);
        capture(client.args(words)).map(drop)
    }

    fn called(&self, name: &str) -> Result<Called, Failure> {
        let path = self.folder.join(name);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let called = called(&text, &self.couplet);
        println!("{name}: {} functions", called.len());
        if called.is_empty() { Err(format!("`{name}` has called nothing")) } else { Ok(called) }
    }

    fn list(&self) -> Result<Called, Failure> {
        capture(&mut self.command("list", &["list", &self.server]))?;
        self.called("list")
    }

    fn inspect(&self) -> Result<Called, Failure> {
        let (log, mut inspect) =
            (self.log("inspect"), self.command("inspect", &["inspect", "--no-open", &self.server]));
        let mut group = Group::start(&mut inspect, &log)?;
        let url = group.url(&log, TOKEN, DEADLINE).map_err(|why| format!("`couplet inspect` {why}"))?;
        let (page, token) = url.split_once(TOKEN).ok_or("the URL has no token")?;
        let (header, server) = (format!("Authorization: Bearer {token}"), format!("{page}mcp/t1"));
        for path in ["", "config.json", "api/targets"] {
            capture(command("curl").args(["-s", "-H", &header, &format!("{page}{path}")]))?;
        }
        self.client(&["list", &server, "--header", &header])?;
        self.client(&["call", &server, "echo", "message=hello", "--header", &header])?;
        end(group)?;
        self.called("inspect")
    }

    fn gateway(&self) -> Result<Called, Failure> {
        let upstream = Upstream::Command(vec![self.server.clone()]);
        let config = gateway::configure(&self.folder.join("config"), &[("all", upstream)], Names::Bare, Pins::Audited)?;
        self.serving("gateway", |port| gateway::listening(&config, port))
    }

    fn proxy(&self) -> Result<Called, Failure> {
        self.serving("run", |port| ["run", &self.server, "--http", port].map(str::to_owned).to_vec())
    }

    /// Records a command that listens, with a few calls.
    fn serving(&self, name: &str, words: impl Fn(&str) -> Vec<String>) -> Result<Called, Failure> {
        let start = |port: &str| {
            let words = words(port);
            self.command(name, &words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let (group, port) = serve(start, &self.log(name))?;
        let url = format!("http://127.0.0.1:{port}/mcp");
        for revision in ["2025-11-25", "2026-07-28"] {
            self.client(&["list", &url, "--revision", revision])?;
            self.client(&["call", &url, "echo", "message=hello", "--revision", revision])?;
        }
        end(group)?;
        self.called(name)
    }
}

/// Ends a command; callgrind writes its file then.
fn end(group: Group) -> Result<(), Failure> {
    group.signal("TERM")?;
    group.wait(DEADLINE).map(drop)
}

/// The functions of a program in a file of callgrind: `fn=(id) name`, where a name stands only once for each id, and is that
/// of the last `ob=(id) path`.
fn called(text: &str, program: &str) -> Called {
    let (mut names, mut objects) = (BTreeMap::new(), BTreeMap::new());
    let (mut is_ours, mut ids) = (false, BTreeSet::new());
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        let Some((id, name)) = value.strip_prefix('(').and_then(|rest| rest.split_once(')')) else { continue };
        let known = match key {
            "fn" | "cfn" => &mut names,
            "ob" | "cob" => &mut objects,
            _ => continue,
        };
        if !name.trim().is_empty() {
            known.insert(id, name.trim());
        }
        match key {
            "ob" => is_ours = objects.get(id) == Some(&program),
            "fn" if is_ours => drop(ids.insert(id)),
            _ => {}
        }
    }
    // A recursive call has a name of its own.
    let symbol = |id: &str| names.get(id).map(|name| name.split('\'').next().unwrap_or(name).to_owned());
    ids.into_iter().filter_map(symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_program_alone_are_recorded() {
        let text = "version: 1\nob=(1) /lib/libc.so\nfn=(1) malloc\n16 2\nob=(2) /bin/couplet\nfn=(2) main\n1 2\n\
                    cob=(1)\ncfn=(1)\ncalls=1 2\n3 4\ncfn=(3) later\ncalls=1 1\nfn=(3)\n5 6\nfn=(4) deep'2\n7 8\nob=(1)\nfn=(5) free\n";
        let expected = ["deep", "later", "main"].map(str::to_owned);
        assert_eq!(called(text, "/bin/couplet"), Called::from(expected));
        assert!(called(text, "/bin/other").is_empty());
    }

    #[test]
    fn what_most_commands_call_comes_first() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Called>();
        assert_eq!(ordered(&[set(&["b", "c", "e"]), set(&["a", "c", "d"])]), "c\nb\ne\na\nd\n");
    }
}
