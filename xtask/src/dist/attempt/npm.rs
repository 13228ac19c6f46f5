//! The npm packages, installed without the network, and what the program for Node.js that starts them has to pass on.

use std::{path::Path, process::Command, time::Duration};

use super::{Attempt, Tried};
use crate::{
    Failure, group,
    workspace::{capture, describe},
};

/// How long a server may take to end after SIGTERM.
#[cfg(unix)]
const END: Duration = Duration::from_secs(60);

const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
const NPX: &str = if cfg!(windows) { "npx.cmd" } else { "npx" };

pub(super) fn run(attempt: &Attempt<'_>) -> Result<Tried, Failure> {
    let place = attempt.place("npm")?;
    let at = |program: &str| Attempt::start(Path::new(program), &place);
    if capture(at(NPM).arg("--version")).is_err() {
        return Ok(Tried::NotRun("there is no `npm`".to_owned()));
    }
    let (system, machine) = attempt.product.platform.node;
    let version = &attempt.product.version;
    let starter = attempt.package("npm package", |name| name == format!("couplet-{version}.tgz"))?;
    let own = format!("couplet-cli-{system}-{machine}-{version}.tgz");
    let own = attempt.package("npm package of the platform", |name| name == own)?;
    let install = |packages: &[&Path]| {
        let mut npm = at(NPM);
        npm.args(["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(&place);
        capture(npm.args(packages)).map(drop)
    };
    // The program says what is wrong as long as the package of the platform is missing.
    install(&[&starter])?;
    let mut npx = at(NPX);
    fails_with(npx.args(["--no", "couplet"]), "is not installed. It is an optional dependency")?;
    install(&[&starter, &own])?;
    attempt.check(|| {
        let mut npx = at(NPX);
        npx.args(["--no", "--offline", "--", "couplet"]);
        npx
    })?;
    let script = place.join("node_modules/couplet/bin/couplet.js");
    another_platform(at("node"), &script)?;
    exit_code(attempt, at("node").arg(&script))?;
    #[cfg(unix)]
    signal(|| at("node"), &script, &place)?;
    Ok(Tried::Ran("installed by npm without the network, run by npx".to_owned()))
}

/// A platform without a package is named, with the way out.
fn another_platform(mut node: Command, script: &Path) -> Result<(), Failure> {
    let pretend = format!(
        "Object.defineProperty(process, 'arch', {{ value: 'mips' }}); require({})",
        serde_json::Value::from(script.to_string_lossy())
    );
    fails_with(node.args(["--eval", &pretend]), "-mips; there are darwin-arm64, ")
}

fn fails_with(command: &mut Command, expected: &str) -> Result<(), Failure> {
    match capture(command) {
        Err(why) if why.contains(expected) => Ok(()),
        other => Err(format!("`{}` did not fail with `{expected}`: {other:?}", describe(command))),
    }
}

/// The exit code is that of the program.
fn exit_code(attempt: &Attempt<'_>, starter: &mut Command) -> Result<(), Failure> {
    let code = |command: &mut Command| {
        let output = command.args(["call", &attempt.url, "no-such-tool"]).output();
        output.map(|output| output.status.code()).map_err(|e| e.to_string())
    };
    let expected = code(&mut Attempt::start(&attempt.program, &attempt.folder))?;
    match code(starter)? {
        Some(code) if code != 0 && Some(code) == expected => Ok(()),
        other => Err(format!("the exit code {expected:?} became {other:?}")),
    }
}

/// SIGTERM reaches the program, whose graceful shutdown then decides the exit code.
#[cfg(unix)]
fn signal(node: impl Fn() -> Command, script: &Path, folder: &Path) -> Result<(), Failure> {
    let demo = |port: &str| {
        let mut demo = node();
        demo.arg(script).args(["demo", "--http", &format!("127.0.0.1:{port}")]);
        demo
    };
    let (server, _) = group::serve(demo, &folder.join("server.log"))?;
    server.signal("TERM")?;
    match server.wait(END)? {
        status if status.success() => Ok(()),
        status => Err(format!("after SIGTERM the program for Node.js ended with {status}")),
    }
}
