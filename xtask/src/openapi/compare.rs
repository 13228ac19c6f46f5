//! The comparison: the same documents with Couplet, FastMCP and rmcp-openapi, one after the other.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::documents::{self, COMPARED};
use crate::{
    Failure, interop,
    workspace::{self, capture, command, root},
};

/// The versions, which stand in `interop/fastmcp/requirements.txt` and `bench/peers/openapi/Cargo.toml`.
const LIBRARIES: [&str; 3] = ["Couplet", "FastMCP 4.1.2", "rmcp-openapi 0.32.1"];

/// The programs, each a command that gets a document and a file for its list of tools.
struct Programs {
    ours: PathBuf,
    python: PathBuf,
    script: PathBuf,
    rmcp: PathBuf,
}

/// Builds everything, and prints a table for each document.
pub(super) fn run() -> Result<(), Failure> {
    let packages = documents::fetch()?.map_err(|why| format!("the documents cannot be had: {why}"))?;
    let python = interop::python("fastmcp")?.map_err(|why| format!("FastMCP cannot be had: {why}"))?;
    let folder = workspace::target()?.join("openapi");
    workspace::cargo(["build", "--release", "--package", "couplet-openapi", "--example", "tools"])?;
    let mut peer = command("cargo");
    peer.args(["build", "--release", "--locked", "--manifest-path"]).arg(root().join("bench/peers/openapi/Cargo.toml"));
    workspace::show(peer.env("CARGO_TARGET_DIR", folder.join("rmcp")))?;
    let programs = Programs {
        ours: workspace::target()?.join("release/examples/tools"),
        python,
        script: root().join("bench/peers/openapi/from_openapi.py"),
        rmcp: folder.join("rmcp/release/bench-rmcp-openapi"),
    };
    let head =
        "| document | library | tools | skipped | invalid | seconds | peak MiB |\n|---|---|---:|---:|---:|---:|---:|";
    println!("{head}");
    for (name, path) in COMPARED {
        let source = packages.join(path);
        let json = programs.json(&source, &folder)?;
        let operations = operations(&json)?;
        for library in LIBRARIES {
            let out = folder.join("tools.json");
            let row = programs.measure(library, &source, &json, &out, operations);
            println!("| {name}, {operations} operations | {library} | {row} |");
        }
    }
    Ok(())
}

impl Programs {
    /// Writes a document as JSON if it is YAML, for libraries that read nothing else.
    fn json(&self, source: &Path, folder: &Path) -> Result<PathBuf, Failure> {
        if source.extension().is_some_and(|ext| ext == "json") {
            return Ok(source.to_owned());
        }
        let json = folder.join("document.json");
        let mut convert = command(&self.python.to_string_lossy());
        capture(convert.arg(&self.script).arg("--json").arg(source).arg(&json))?;
        Ok(json)
    }

    fn command(&self, library: &str, source: &Path, json: &Path, out: &Path) -> Command {
        let (program, words): (&Path, Vec<&Path>) = match library {
            "Couplet" => (&self.ours, vec![Path::new("list"), source, out]),
            python if python.starts_with("FastMCP") => (&self.python, vec![&self.script, json, out]),
            _ => (&self.rmcp, vec![json, out]),
        };
        let mut command = command(&program.to_string_lossy());
        command.args(words);
        command
    }

    /// Runs one library, and checks its tools. A library that refuses the document makes none.
    fn measure(&self, library: &str, source: &Path, json: &Path, out: &Path, operations: usize) -> String {
        let _ = fs::remove_file(out);
        let mut run = self.command(library, source, json, out);
        let measured = capture(&mut run).and_then(|said| last(&said));
        let checked = measured.and_then(|measured| {
            let said = capture(command(&self.ours.to_string_lossy()).arg("check").arg(out))?;
            Ok((measured, last(&said)?))
        });
        match checked {
            Ok((measured, checked)) => {
                let tools = checked["tools"].as_u64().unwrap_or_default();
                let skipped = (operations as u64).saturating_sub(tools);
                let seconds = measured["seconds"].as_f64().unwrap_or_default();
                let mut row = format!("{tools} | {skipped} | {} | {seconds:.2}", checked["invalid"]);
                let _ = write!(row, " | {}", measured["kib"].as_u64().unwrap_or_default() >> 10);
                println!("<!-- {library}: {} -->", checked["rules"]);
                row
            }
            Err(why) => {
                let reason: String = why.lines().last().unwrap_or_default().chars().take(200).collect();
                println!("<!-- {library}: {reason} -->");
                format!("0 | {operations} | | |")
            }
        }
    }
}

/// The last line that a program printed, which is JSON.
fn last(said: &str) -> Result<Value, Failure> {
    let line = said.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|e| format!("`{line}`: {e}"))
}

/// The number of operations of a document: methods of its paths.
fn operations(document: &Path) -> Result<usize, Failure> {
    let text = fs::read(document).map_err(|e| format!("{}: {e}", document.display()))?;
    let document: Value = serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", document.display()))?;
    let methods = ["get", "put", "post", "delete", "patch", "head", "options"];
    let paths = document["paths"].as_object().into_iter().flatten();
    Ok(paths.map(|(_, item)| methods.iter().filter(|method| item.get(**method).is_some()).count()).sum())
}
