//! `cargo xtask openapi compare`: the tools that Couplet and its peers make of the same documents, judged by the same lint.
//!
//! Each program serves a document on stdio. Time and memory are those until it has answered `tools/list`.

mod inputs;
mod measure;
mod table;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

use self::{inputs::Input, measure::Measured};
use super::documents;
use crate::{
    Failure, bench, optimized,
    workspace::{self, command, describe, root, show},
};

/// The address of all APIs. It is never called.
const BASE_URL: &str = "https://api.example.com";

/// The revision that all of them support.
const REVISION: &str = "2025-11-25";

/// A program that makes tools of documents.
struct Peer {
    name: String,
    /// The program and its arguments, before the document.
    start: Vec<String>,
    /// The arguments after the document.
    more: Vec<String>,
    /// Whether it gets the document as it is, also in YAML.
    original: bool,
}

/// The outcome of one program with one document.
struct Row {
    peer: String,
    outcome: Result<Measured, Failure>,
    /// The tools with errors, or the reason why they are not known.
    invalid: Result<usize, Failure>,
}

/// Compares, and prints the table; `--write` also writes it into `docs/openapi.md`. Names select programs.
pub(super) fn run(options: &[&str]) -> Result<(), Failure> {
    let (flags, names): (Vec<&str>, Vec<&str>) = options.iter().partition(|option| option.starts_with('-'));
    let write = match flags[..] {
        [] => false,
        ["--write"] => true,
        _ => return Err("the only option is `--write`".to_owned()),
    };
    let folder = documents::fetch()?.map_err(|why| format!("the documents cannot be had: {why}"))?;
    optimized::build()?;
    let couplet = workspace::target()?.join("dist/couplet");
    let python = bench::fastmcp()?;
    let wanted = |name: &&(&str, Make)| names.is_empty() || names.contains(&name.0);
    let peers = PEERS.iter().filter(wanted).map(|(_, make)| make(&couplet, &python));
    let peers = peers.collect::<Result<Vec<Peer>, Failure>>()?;
    if peers.is_empty() {
        return Err(format!("there is no such program; there are {}", PEERS.map(|(name, _)| name).join(", ")));
    }
    let mut found = Vec::new();
    for input in inputs::all(&folder, &python)? {
        let rows: Vec<Row> = peers.iter().map(|peer| peer.row(&input, &couplet)).collect();
        rows.iter().for_each(|row| println!("{}", table::row(&input, row)));
        found.push((input, rows));
    }
    let table = table::whole(&found);
    println!("\n{table}");
    if write { table::write(&table) } else { Ok(()) }
}

/// Builds or installs a program. The paths are those of our command and of the interpreter that has FastMCP.
type Make = fn(&Path, &Path) -> Result<Peer, Failure>;

const PEERS: [(&str, Make); 3] = [
    ("couplet", |couplet, _| {
        let more = vec!["--base-url".to_owned(), BASE_URL.to_owned()];
        let start = vec![text(couplet), "openapi".to_owned()];
        Ok(Peer { name: "couplet".to_owned(), start, more, original: true })
    }),
    ("fastmcp", |_, python| {
        let start = vec![text(python), text(&root().join("interop/openapi/peers/serve_fastmcp.py"))];
        Ok(Peer { name: bench::fastmcp_version(), start, more: Vec::new(), original: false })
    }),
    ("rmcp-openapi", |_, _| {
        Ok(Peer { name: rmcp_version()?, start: vec![text(&rmcp()?)], more: Vec::new(), original: false })
    }),
];

impl Peer {
    fn row(&self, input: &Input, couplet: &Path) -> Row {
        let outcome = measure::serve(&mut self.command(input));
        let invalid = match &outcome {
            Ok(_) => self.invalid(input, couplet),
            Err(_) => Err(String::new()),
        };
        Row { peer: self.name.clone(), outcome, invalid }
    }

    fn words(&self, input: &Input) -> Vec<String> {
        let document = if self.original { &input.original } else { &input.json };
        let document = [text(document)];
        self.start.iter().chain(&document).chain(&self.more).cloned().collect()
    }

    fn command(&self, input: &Input) -> Command {
        let words = self.words(input);
        let (program, arguments) = words.split_first().expect("there is a program");
        let mut command = command(program);
        command.args(arguments);
        command
    }

    /// Counts the tools for which lint reports an error.
    fn invalid(&self, input: &Input, couplet: &Path) -> Result<usize, Failure> {
        let quoted: Vec<String> = self.words(input).iter().map(|word| format!("'{word}'")).collect();
        let mut lint = command(&text(couplet));
        lint.args(["lint", "--json", "--least", "error", "--revision", REVISION, "--timeout", "600"]);
        lint.args(["--max-message", "256M"]).arg(quoted.join(" "));
        // It fails if there are findings.
        let output = lint.output().map_err(|e| format!("`{}` did not start: {e}", describe(&lint)))?;
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let findings: Result<Vec<Value>, _> = lines.lines().map(serde_json::from_str).collect();
        let findings = findings.map_err(|e| format!("lint: {e}"))?;
        if findings.is_empty() && !output.status.success() {
            return Err(format!("lint: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let tools =
            findings.iter().filter(|finding| finding["kind"] == "tool").map(|finding| finding["name"].to_string());
        Ok(tools.collect::<BTreeSet<_>>().len())
    }
}

/// Builds the program around `rmcp-openapi`, which is a library.
fn rmcp() -> Result<std::path::PathBuf, Failure> {
    let target = workspace::target()?.join("openapi/peers");
    let mut build = command("cargo");
    build.current_dir(root().join("interop/openapi/peers/rmcp-openapi")).env("CARGO_TARGET_DIR", &target);
    show(build.args(["build", "--release", "--locked"]))?;
    Ok(target.join("release/openapi-rmcp"))
}

fn rmcp_version() -> Result<String, Failure> {
    let path = root().join("interop/openapi/peers/rmcp-openapi/Cargo.lock");
    let lock = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let version = lock.split("name = \"rmcp-openapi\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    Ok(format!("rmcp-openapi {}", version.ok_or("the lock file has no `rmcp-openapi`")?))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
