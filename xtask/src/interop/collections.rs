//! `couplet test` with collections for servers that people use, and with one whose expectation is wrong.

use std::{fs, ops::Add, path::Path, process::Output};

use super::{
    peer::Missing,
    report::Counts,
    servers::{
        Server::{self, Everything, FastMcp, Time},
        Servers,
    },
    text,
};
use crate::workspace::{command, root};

/// The collections of `interop/collections`, their servers, and the revisions that at least have to run.
const COLLECTIONS: &[(&str, Server, &[&str])] = &[
    ("everything", Everything, &["2025-11-25", "2024-11-05"]),
    ("time", Time, &["2025-11-25", "2024-11-05"]),
    ("fastmcp", FastMcp, &["2026-07-28", "2025-11-25"]),
];

/// Runs each collection in all revisions, and a wrong one.
pub(super) fn suite(couplet: &Path, servers: &Servers, logs: &Path) -> Counts {
    let one = |(name, server, revisions): &(&str, Server, &[&str])| {
        let outcome = servers.there(*server).and_then(|()| {
            right(couplet, servers, logs, name, *server, revisions)
                .and_then(|()| wrong(couplet, servers, logs, name, *server))
                .map_err(Missing::Broken)
        });
        Counts::told(&format!("couplet test {name}.toml"), outcome)
    };
    COLLECTIONS.iter().map(one).fold(Counts::default(), Counts::add)
}

/// All calls pass, and the report has them.
fn right(
    couplet: &Path,
    servers: &Servers,
    logs: &Path,
    name: &str,
    server: Server,
    revisions: &[&str],
) -> Result<(), String> {
    let file = root().join(format!("interop/collections/{name}.toml"));
    let report = logs.join(format!("test-{name}.xml"));
    let output = test(couplet, servers, server, &[&text(&file), "--revision", "all", "--junit", &text(&report)])?;
    let said = said(&output);
    let xml = fs::read_to_string(&report).map_err(|e| format!("{}: {e}", report.display()))?;
    let missing = revisions.iter().find(|revision| !said.contains(&format!(" · {revision}\n")));
    match missing {
        _ if !output.status.success() => Err(format!("{}\n{said}", output.status)),
        Some(revision) => Err(format!("it did not run in {revision}:\n{said}")),
        None if !xml.contains("failures=\"0\" errors=\"0\"") => Err(format!("the report has failures:\n{xml}")),
        None => Ok(()),
    }
}

/// A call whose expectation is wrong fails with a difference, and the report has it.
fn wrong(couplet: &Path, servers: &Servers, logs: &Path, name: &str, server: Server) -> Result<(), String> {
    let (file, report) = (logs.join(format!("wrong-{name}.toml")), logs.join(format!("wrong-{name}.xml")));
    let call = "[[call]]\ntool = \"there-is-none\"\nexpect = { error = { message = \"something else\" } }\n";
    fs::write(&file, call).map_err(|e| format!("{}: {e}", file.display()))?;
    let output = test(couplet, servers, server, &[&text(&file), "--junit", &text(&report)])?;
    let said = said(&output);
    let xml = fs::read_to_string(&report).map_err(|e| format!("{}: {e}", report.display()))?;
    let is_shown = said.contains("\n      - something else\n      + ") && said.contains("1 failed");
    match output.status.code() == Some(1) && is_shown && xml.contains("<failure ") {
        true => Ok(()),
        false => Err(format!("a wrong expectation: {}\n{said}{xml}", output.status)),
    }
}

fn test(couplet: &Path, servers: &Servers, server: Server, words: &[&str]) -> Result<Output, String> {
    let mut test = command(&text(couplet));
    test.arg("test").args(words).args(["--target", &servers.target(server)]);
    test.env("XDG_STATE_HOME", servers.state()).output().map_err(|e| e.to_string())
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
