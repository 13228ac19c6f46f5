//! The languages: their tools, and how a client is compiled, tested and run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure,
    interop::peer::{Missing, npm, venv},
    workspace::{command, root, target},
};

/// A language on the command line of `couplet generate`.
pub(super) struct Language {
    pub(super) name: &'static str,
    /// The golden files that are compiled, too.
    pub(super) golden: &'static [&'static str],
    /// The program that does the round trip.
    pub(super) round_trip: &'static str,
    /// Installs the tools in a folder.
    pub(super) prepare: fn(&Path) -> Result<(), Missing>,
    /// The folder of the sources.
    pub(super) place: fn(&Path) -> PathBuf,
    /// The commands: a check of types, the tests, and the round trip.
    pub(super) steps: fn(&Path) -> Result<Vec<Command>, Failure>,
}

pub(super) const LANGUAGES: &[Language] = &[
    Language {
        name: "typescript",
        golden: &["kitchen.ts", "kitchen.test.ts", "hostile.ts", "hostile.test.ts"],
        round_trip: "round_trip.ts",
        prepare: |here| {
            npm(here, &interop("package.json"))?;
            let copied = fs::copy(interop("tsconfig.json"), here.join("tsconfig.json"));
            copied.map(drop).map_err(|e| Missing::Broken(format!("tsconfig.json: {e}")))
        },
        place: Path::to_path_buf,
        steps: typescript,
    },
    Language {
        name: "python",
        golden: &["kitchen.py", "test_kitchen.py", "hostile.py", "test_hostile.py"],
        round_trip: "round_trip.py",
        prepare: |here| {
            fs::create_dir_all(here.join("src")).map_err(|e| Missing::Broken(e.to_string()))?;
            venv(here, &interop("requirements.txt")).map(drop)
        },
        place: |here| here.join("src"),
        steps: python,
    },
    Language {
        name: "rust",
        golden: &["kitchen.rs", "hostile.rs"],
        round_trip: "round_trip.rs",
        prepare: |here| project(here).map_err(Missing::Broken),
        place: |here| here.join("src"),
        steps: rust,
    },
];

fn interop(file: &str) -> PathBuf {
    root().join("interop/generate").join(file)
}

fn typescript(here: &Path) -> Result<Vec<Command>, Failure> {
    let node = |arguments: &[&str]| {
        let mut node = command("node");
        node.current_dir(here).args(arguments);
        node
    };
    let mut tsc = command(&here.join("node_modules/.bin/tsc").to_string_lossy());
    tsc.current_dir(here).args(["--project", "."]);
    Ok(vec![tsc, node(&["--test", "out/"]), node(&["out/round_trip.js"])])
}

fn python(here: &Path) -> Result<Vec<Command>, Failure> {
    let python = |arguments: &[&str]| {
        let mut python = command(&here.join("venv/bin/python").to_string_lossy());
        python.current_dir(here.join("src")).args(arguments);
        python
    };
    Ok(vec![python(&["-m", "mypy", "--strict", "."]), python(&["-m", "unittest"]), python(&["round_trip.py"])])
}

/// The tests of the golden files are those of `crates/generate`; those of the clients run here.
fn rust(here: &Path) -> Result<Vec<Command>, Failure> {
    let target = target()?;
    let cargo = |arguments: &[&str]| {
        let mut cargo = command("cargo");
        cargo.current_dir(here).args(arguments).env("CARGO_TARGET_DIR", &target);
        cargo
    };
    Ok(vec![cargo(&["test", "--quiet"]), cargo(&["run", "--quiet"])])
}

/// A package with the versions of this workspace, so that nothing has to be fetched.
fn project(here: &Path) -> Result<(), Failure> {
    let couplet = root().join("crates/couplet");
    let manifest = format!(
        "[package]\nname = \"generated\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         couplet = {{ path = '{}', default-features = false, features = [\"client\"] }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\nserde_json = \"1\"\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt\"] }}\n\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n\n[profile.dev.package.\"*\"]\ndebug = false\n\n[workspace]\n",
        couplet.display()
    );
    let told = |e: std::io::Error| format!("{}: {e}", here.display());
    fs::create_dir_all(here.join("src")).map_err(told)?;
    fs::write(here.join("Cargo.toml"), manifest).map_err(told)?;
    fs::copy(root().join("Cargo.lock"), here.join("Cargo.lock")).map(drop).map_err(told)
}
