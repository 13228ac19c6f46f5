//! Servers that people use, as they come from their registries, and what they are told and answer.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use super::{
    peer::{Missing, node, npm, venv},
    text,
};
use crate::workspace::{capture, command, root};

use Server::{Everything, FastMcp, Fetch, Filesystem, Git, Memory, Time, TsV2};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// `@modelcontextprotocol/server-everything` of npm.
    Everything,
    /// `@modelcontextprotocol/server-filesystem` of npm.
    Filesystem,
    /// `@modelcontextprotocol/server-memory` of npm.
    Memory,
    /// `mcp-server-time` of PyPI.
    Time,
    /// `mcp-server-git` of PyPI.
    Git,
    /// `mcp-server-fetch` of PyPI.
    Fetch,
    /// `fastmcp_server.py`, with FastMCP of PyPI.
    FastMcp,
    /// The server of `interop/ts-v2`, with version 2 of the TypeScript SDK.
    TsV2,
}

impl Server {
    pub(super) const ALL: [Self; 8] = [Everything, Filesystem, Memory, Time, Git, Fetch, FastMcp, TsV2];
}

/// What came of installing everything.
pub(super) struct Servers {
    folder: PathBuf,
    python: Result<(), Missing>,
    node: Result<(), Missing>,
    ts: Result<(), Missing>,
    repository: Result<(), Missing>,
    files: Result<(), Missing>,
    page: Result<String, Missing>,
}

impl Servers {
    /// Installs all servers below a folder.
    pub(super) fn install(folder: &Path) -> Self {
        thread::scope(|scope| {
            let python = scope.spawn(|| venv(folder, &here().join("requirements.txt")).map(drop));
            let ts = scope.spawn(|| node(&folder.join("ts-v2")).map(drop));
            let everything = npm(&folder.join("npm"), &here().join("package.json"));
            Self {
                folder: folder.to_owned(),
                python: python.join().expect("a thread does not panic"),
                node: everything,
                ts: ts.join().expect("a thread does not panic"),
                repository: repository(&folder.join("repository")),
                files: files(&folder.join("files")),
                page: page(),
            }
        })
    }

    /// Whether a server is there, with what it looks at.
    pub(super) fn there(&self, server: Server) -> Result<(), Missing> {
        let there = match server {
            Everything => self.node.as_ref().copied(),
            Filesystem | Memory => self.node.as_ref().and(self.files.as_ref()).copied(),
            Git => self.python.as_ref().and(self.repository.as_ref()).copied(),
            Fetch => self.python.as_ref().and(self.page.as_ref()).map(drop),
            Time | FastMcp => self.python.as_ref().copied(),
            TsV2 => self.ts.as_ref().copied(),
        };
        there.map_err(Clone::clone)
    }

    /// The command line of a server on standard input and output.
    pub(super) fn line(&self, server: Server) -> Vec<String> {
        let program = |name: &str| text(&self.folder.join("venv/bin").join(name));
        let package = |name: &str| {
            text(&self.folder.join(format!("npm/node_modules/@modelcontextprotocol/server-{name}/dist/index.js")))
        };
        let files = self.folder.join("files");
        match server {
            Everything => vec!["node".to_owned(), package("everything"), "stdio".to_owned()],
            Filesystem => vec!["node".to_owned(), package("filesystem"), text(&files)],
            Memory => {
                let file = format!("MEMORY_FILE_PATH={}", text(&files.join("memory.jsonl")));
                vec!["env".to_owned(), file, "node".to_owned(), package("memory")]
            }
            Time => vec![program("mcp-server-time")],
            Git => vec![program("mcp-server-git")],
            Fetch => {
                let flags = ["--ignore-robots-txt", "--allow-private-ips"].map(str::to_owned);
                [program("mcp-server-fetch")].into_iter().chain(flags).collect()
            }
            FastMcp => vec![program("python"), text(&here().join("fastmcp_server.py"))],
            TsV2 => vec!["node".to_owned(), text(&self.folder.join("ts-v2/server.mjs")), "stdio".to_owned()],
        }
    }

    /// The same as one argument, without an apostrophe in it.
    pub(super) fn target(&self, server: Server) -> String {
        self.line(server).iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ")
    }

    /// An argument, with what this machine has for the words in it.
    pub(super) fn fill(&self, word: &str) -> String {
        let page = self.page.as_ref().map_or("", String::as_str);
        let files = text(&self.folder.join("files"));
        let word = word.replace("REPOSITORY", &text(&self.folder.join("repository")));
        word.replace("PAGE", page).replace("FILES", &files)
    }

    /// Where programs store their state.
    pub(super) fn state(&self) -> PathBuf {
        self.folder.join("state")
    }
}

/// The target of npm's `server-everything`, installed below a folder.
pub(crate) fn everything(folder: &Path) -> Result<String, Missing> {
    npm(&folder.join("npm"), &here().join("package.json"))?;
    let program = folder.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    Ok(format!("node \"{}\" stdio", program.display()))
}

/// The target of `fastmcp_panels.py`, with FastMCP installed below a folder.
pub(crate) fn fastmcp_panels(folder: &Path) -> Result<String, Missing> {
    let python = venv(folder, &here().join("requirements.txt"))?;
    Ok(format!("\"{}\" \"{}\"", python.display(), here().join("fastmcp_panels.py").display()))
}

fn here() -> PathBuf {
    root().join("interop/servers")
}

/// A repository for the server that looks at them.
fn repository(folder: &Path) -> Result<(), Missing> {
    if capture(command("git").arg("--version")).is_err() {
        return Err(Missing::Skipped("there is no `git`".to_owned()));
    }
    if folder.join(".git").exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|e| Missing::Broken(e.to_string()))?;
    let git = |words: &[&str]| {
        let mut git = command("git");
        git.arg("-C").arg(folder).args(["-c", "user.name=Nobody", "-c", "user.email=nobody@example.com"]).args(words);
        capture(&mut git).map(drop).map_err(Missing::Broken)
    };
    git(&["init", "--quiet"])?;
    git(&["commit", "--quiet", "--allow-empty", "--message", "The first of all"])
}

/// A folder for the servers that read and write files.
fn files(folder: &Path) -> Result<(), Missing> {
    let memory = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["writes programs"]}"#;
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(folder.join("tides.txt"), "Low water at six.\n"))
        .and_then(|()| fs::write(folder.join("memory.jsonl"), memory))
        .map_err(|e| Missing::Broken(format!("{}: {e}", folder.display())))
}

/// A page on this machine for the server that fetches them, as long as this process lives; its address.
fn page() -> Result<String, Missing> {
    let broken = |e: std::io::Error| Missing::Broken(format!("a page cannot be served: {e}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(broken)?;
    let address = listener.local_addr().map_err(broken)?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // One that asks nothing, or reads nothing, must not stop the others for long.
            let _ = answer(stream);
        }
    });
    Ok(format!("http://{address}/tides.txt"))
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    let mut request = [0; 4096];
    let _ = stream.read(&mut request)?;
    let text = "High water at noon.\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len())
}
