//! A first project: what `couplet new` writes builds, its test passes, and its tool answers; the README's manifest and
//! programs build in an empty folder.

use std::{fs, path::Path, process::Command};

use crate::{
    Failure,
    workspace::{self, capture, command, root, show},
};

const NAME: &str = "starter";

/// As in the workspace, so that most of what is built already is not built again.
const CONFIG: &str = "[profile.dev]\ndebug = \"line-tables-only\"\n\n[profile.dev.package.\"*\"]\ndebug = false\n";

/// The crate, as seen from a project beside the checkout.
const BESIDE: &str = "../couplet/crates/couplet";

/// Writes a project as a user would, into the folder that cargo builds in, and tries what it is told to try.
pub(crate) fn run() -> Result<(), Failure> {
    workspace::build_programs()?;
    let target = workspace::target()?;
    let couplet = target.join("debug").join(format!("couplet{}", std::env::consts::EXE_SUFFIX));
    let home = target.join("new");
    let project = home.join(NAME);
    if project.exists() {
        fs::remove_dir_all(&project).map_err(|e| told(&project, &e))?;
    }
    write(&home.join(".cargo/config.toml"), CONFIG)?;
    show(command(&couplet.to_string_lossy()).arg("new").arg(&project).arg("--path").arg(root()))?;
    // The same versions as here, so that nothing has to be fetched.
    let lock = project.join("Cargo.lock");
    fs::copy(root().join("Cargo.lock"), &lock).map_err(|e| told(&lock, &e))?;
    let there = |program: &str| -> Command {
        let mut command = command(program);
        command.current_dir(&project).env("CARGO_TARGET_DIR", &target);
        command
    };
    show(there("cargo").args(["test", "--quiet"]))?;
    show(there("cargo").args(["build", "--quiet"]))?;
    let call = ["call", "cargo run -q", "greet", "name=Ada"];
    match capture(there(&couplet.to_string_lossy()).args(call))?.trim_end() {
        "Hello, Ada!" => readme(&home.join("readme"), &target),
        other => Err(format!("the tool of a new server answered `{other}`")),
    }
}

/// Builds the README's programs with its manifest, and with nothing of the workspace but the crate itself.
fn readme(project: &Path, target: &Path) -> Result<(), Failure> {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).map_err(|e| told(&path, &e))?;
    let manifests = blocks(&text, "toml");
    let [manifest] = manifests.as_slice() else {
        return Err(format!("README.md has {} blocks of TOML; one was expected", manifests.len()));
    };
    if !manifest.contains(BESIDE) {
        return Err(format!("the manifest of README.md does not name `{BESIDE}`, the crate in a checkout beside it"));
    }
    if project.exists() {
        fs::remove_dir_all(project).map_err(|e| told(project, &e))?;
    }
    let here = root().join("crates/couplet");
    let manifest = format!("{}\n[workspace]\n", manifest.replace(BESIDE, &here.to_string_lossy()));
    write(&project.join("Cargo.toml"), &manifest)?;
    let programs = blocks(&text, "rust,no_run");
    for (at, program) in programs.iter().enumerate() {
        let main = if program.contains("fn main()") { "" } else { "\nfn main() {}\n" };
        let allow = "#![allow(dead_code)]\n";
        write(&project.join(format!("src/bin/program{at}.rs")), &format!("{allow}{program}{main}"))?;
    }
    let lock = project.join("Cargo.lock");
    fs::copy(root().join("Cargo.lock"), &lock).map_err(|e| told(&lock, &e))?;
    println!("the README's manifest and its {} programs", programs.len());
    show(command("cargo").args(["build", "--quiet"]).current_dir(project).env("CARGO_TARGET_DIR", target))
}

/// The code blocks of one language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    text.split(start.as_str()).skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block).collect()
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).and_then(|()| fs::write(path, text)).map_err(|e| told(path, &e))
}

fn told(path: &Path, error: &std::io::Error) -> Failure {
    format!("{}: {error}", path.display())
}
