//! `cargo xtask generate`: clients that `couplet generate` makes of real servers are compiled, pass their tests, and do a
//! round trip, in each language.
//!
//! The golden files of `crates/generate`, with names and texts that are hard, are compiled beside them.

mod languages;
mod servers;

use std::{fs, path::Path, process::Command, time::Instant};

use crate::{
    Failure, ci,
    interop::peer::Missing,
    skipped,
    workspace::{capture, cargo, command, describe, root, target},
};
use languages::LANGUAGES;
use servers::Servers;

/// Builds the programs and checks each language. One whose tools cannot be had is skipped.
pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    let folder = target()?.join("generate");
    cargo(["build", "--package", "couplet-cli", "--package", "couplet-sqlite", "--bins", "--all-features"])?;
    let servers = match Servers::install(&folder) {
        Ok(servers) => servers,
        Err(Missing::Skipped(why)) => return Err(format!("{}{why}", ci::NOT_RUN)),
        Err(Missing::Broken(why)) => return Err(why),
    };
    for language in LANGUAGES {
        let began = Instant::now();
        let here = folder.join(language.name);
        match (language.prepare)(&here) {
            Ok(()) => {}
            Err(Missing::Skipped(why)) => {
                println!("generate: {} is skipped: {why}", language.name);
                skipped::add(&format!("generate {}", language.name), &why);
                continue;
            }
            Err(Missing::Broken(why)) => return Err(why),
        }
        clients(language.name, &(language.place)(&here), &servers)?;
        golden(language, &(language.place)(&here))?;
        servers.renew()?;
        for mut step in (language.steps)(&here)? {
            quiet(servers.announce(&mut step)).map_err(|why| format!("{}: {why}", language.name))?;
        }
        println!("generate: {} is ok in {:.0} s", language.name, began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Runs a command, and shows what it says only if it fails: compilers complain on standard output.
fn quiet(command: &mut Command) -> Result<(), Failure> {
    let shown = describe(command);
    let output = command.output().map_err(|e| format!("`{shown}` did not start: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Err(format!("`{shown}` failed: {}\n{out}{err}", output.status))
}

/// Generates the clients with their tests, twice: the second time nothing may differ.
fn clients(language: &str, place: &Path, servers: &Servers) -> Result<(), Failure> {
    let couplet = target()?.join("debug").join(format!("couplet{}", std::env::consts::EXE_SUFFIX));
    let extension = match language {
        "rust" => "rs",
        "typescript" => "ts",
        _ => "py",
    };
    for (name, line) in &servers.lines {
        let words: Vec<String> = line.iter().map(|word| format!("\"{word}\"")).collect();
        let out = place.join(format!("{name}.{extension}"));
        for check in [None, Some("--check")] {
            let mut generate = command(&couplet.to_string_lossy());
            generate.args(["generate", language, &words.join(" "), "--tests", "--name", name, "--out"]);
            capture(generate.arg(&out).args(check))?;
        }
    }
    Ok(())
}

/// Copies the golden files of a language.
fn golden(language: &languages::Language, place: &Path) -> Result<(), Failure> {
    for file in language.golden {
        let from = root().join("crates/generate/tests/generate/expected").join(file);
        fs::copy(&from, place.join(file)).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    let name = language.round_trip;
    let from = root().join("interop/generate").join(name);
    let to = if language.name == "rust" { place.join("main.rs") } else { place.join(name) };
    fs::copy(&from, to).map(drop).map_err(|e| format!("{}: {e}", from.display()))
}
