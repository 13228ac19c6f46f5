//! The workspace as a place: its folder, its files, and the cargo that runs in it.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{Failure, skipped};

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    // Another package's program may have started this one.
    let here = if here.ends_with("xtask") { here } else { env!("CARGO_MANIFEST_DIR").into() };
    here.parent().expect("xtask is a folder of the workspace").to_owned()
}

/// A command in the folder of the workspace, without standard input.
pub(crate) fn command(program: &str) -> Command {
    let program = if program == "cargo" { env::var("CARGO").unwrap_or("cargo".to_owned()) } else { program.to_owned() };
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null()).env(skipped::VARIABLE, skipped::file());
    // What cargo told this program about itself is not for the next one.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|n| n.starts_with("CARGO_PKG_") || n.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs cargo and shows what it says.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    show(command("cargo").args(arguments))
}

/// Builds every program as the tests were built, so that little is left to do after them.
pub(crate) fn build_programs() -> Result<(), Failure> {
    cargo(["build", "--workspace", "--bins", "--all-features"])
}

/// Runs a command and shows what it says.
pub(crate) fn show(command: &mut Command) -> Result<(), Failure> {
    let shown = describe(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed: {status}")),
        Err(error) => Err(format!("`{shown}` did not start: {error}")),
    }
}

/// Runs a command and returns what it says; if it fails, what it complained about.
pub(crate) fn capture(command: &mut Command) -> Result<String, Failure> {
    let shown = describe(command);
    let output = command.output().map_err(|e| format!("`{shown}` did not start: {e}"))?;
    if output.status.success() {
        return String::from_utf8(output.stdout).map_err(|e| format!("`{shown}`: {e}"));
    }
    Err(format!("`{shown}` failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end()))
}

/// A command line, to be read by people.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args()).map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

/// The folder that cargo builds in.
pub(crate) fn target() -> Result<PathBuf, Failure> {
    let folder = metadata()?["target_directory"].as_str().map(PathBuf::from);
    folder.ok_or_else(|| "cargo metadata names no folder".to_owned())
}

/// The processor time of all processes that this one has started and that are over, and of those that they started.
pub(crate) fn children_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(|e| format!("/proc/self/stat: {e}"))?;
    // The name of the program may have anything in it; after it the fields are numbers.
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/self/stat cannot be read")?;
    let ticks = |at: usize| fields.split_whitespace().nth(at).and_then(|field| field.parse::<f64>().ok());
    let both = ticks(13).zip(ticks(14)).map(|(user, system)| user + system);
    // Linux counts a hundred ticks per second for programs, whatever it counts for itself.
    both.map(|ticks| ticks / 100.0).ok_or_else(|| "/proc/self/stat has too few fields".to_owned())
}

/// The first number of the version of a node, if it runs.
pub(crate) fn node_major(node: &Path) -> Option<u32> {
    let version = capture(command(&node.to_string_lossy()).arg("--version")).ok()?;
    version.trim().trim_start_matches('v').split('.').next()?.parse().ok()
}

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Its folder, from the root on, with `/` between the names.
    pub(crate) folder: String,
    pub(crate) features: Vec<String>,
    pub(crate) programs: Vec<String>,
    /// What it wants of others: names and features. Packages that want the same can be built together and get no more.
    pub(crate) wants: Vec<String>,
}

/// The packages of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>, Failure> {
    let metadata = metadata()?;
    let root = root().canonicalize().map_err(|e| e.to_string())?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    Ok(packages.map(|package| read_package(package, &root)).collect())
}

/// The packages of the workspace as cargo describes them, without their dependencies.
pub(crate) fn metadata() -> Result<Value, Failure> {
    let text = capture(command("cargo").args(["metadata", "--format-version", "1", "--no-deps"]))?;
    serde_json::from_str(&text).map_err(|e| format!("cargo metadata: {e}"))
}

/// Whether a package of `cargo metadata` may be published.
pub(crate) fn is_published(package: &Value) -> bool {
    package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

fn read_package(package: &Value, root: &Path) -> Package {
    let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent().unwrap_or(root);
    let folder = folder.canonicalize().unwrap_or(folder.to_owned());
    let programs = package["targets"].as_array().into_iter().flatten();
    let wanted = package["dependencies"].as_array().into_iter().flatten();
    let mut wants: Vec<_> = wanted
        .map(|d| format!("{} {} {}", d["name"], d["features"], d["uses_default_features"]))
        .filter(|wanted| wanted.contains("couplet"))
        .collect();
    wants.sort();
    let is_program = |target: &&Value| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == "bin"));
    Package {
        name: package["name"].as_str().unwrap_or_default().to_owned(),
        folder: slashes(folder.strip_prefix(root).unwrap_or(&folder)),
        features: package["features"].as_object().into_iter().flat_map(|f| f.keys().cloned()).collect(),
        programs: programs.filter(is_program).filter_map(|t| t["name"].as_str().map(str::to_owned)).collect(),
        wants,
    }
}

/// The files of the project, from the root on: those that git would keep, or all that are not build products.
pub(crate) fn files() -> Vec<String> {
    let listed = capture(command("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]));
    let mut files = match listed {
        Ok(text) => text.lines().map(str::to_owned).collect(),
        Err(_) => {
            let mut found = Vec::new();
            walk(&root(), &root(), &mut found);
            found
        }
    };
    files.retain(|file| root().join(file).is_file());
    files.sort();
    files.dedup();
    files
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_file() {
            found.push(slashes(path.strip_prefix(root).unwrap_or(&path)));
        } else if !matches!(name.to_str(), Some(".git" | "target" | "node_modules" | "artifacts" | "coverage")) {
            walk(root, &path, found);
        }
    }
}

fn slashes(path: &Path) -> String {
    path.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
