//! `couplet new`: a server to begin with.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    exit::{Exit, Failure},
    output::Output,
};

/// The server, which is also compiled and tested here: as the example `starter`.
const MAIN: &str = include_str!("../../template/main.rs");

/// What to write.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The name of the server, or the path of a new folder of that name
    name: PathBuf,
    /// Uses a copy of Couplet on this machine instead of the published one
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &Arc<Output>) -> Result<(), Failure> {
    let name = args.name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    check(&name)?;
    let files = [
        ("Cargo.toml", manifest(&name, args.path.as_deref())?),
        ("src/main.rs", MAIN.to_owned()),
        (".gitignore", "/target\n".to_owned()),
    ];
    make_room(&args.name)?;
    for (file, text) in &files {
        let path = args.name.join(file);
        let folder = path.parent().unwrap_or(&args.name);
        fs::create_dir_all(folder).map_err(|e| Failure::file(folder, "made", &e))?;
        fs::write(&path, text).map_err(|e| Failure::file(&path, "written", &e))?;
    }
    let folder = args.name.display();
    output.print(&format!(
        "{}\n\n  cd {folder}\n  cargo test\n  couplet list \"cargo run --quiet\"\n  couplet call \"cargo run --quiet\" greet name=Ada\n",
        output.out.strong(format!("{folder}/src/main.rs is a server; try it:"))
    ))
}

/// Nothing that is there is written over.
fn make_room(folder: &Path) -> Result<(), Failure> {
    let taken = || Failure::new(Exit::File, format!("`{}` is there already, and not empty", folder.display()));
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(taken().hint("choose another name, or remove it")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::file(folder, "used", &error)),
    }
}

/// A name that a package can have.
fn check(name: &str) -> Result<(), Failure> {
    const TAKEN: [&str; 9] = ["alloc", "core", "couplet", "crate", "proc-macro", "self", "std", "super", "test"];
    let wrong = |why: &str| Err(Failure::usage(format!("a server cannot be called `{name}`: {why}")));
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match name {
        "" => Err(Failure::usage("the server needs a name")),
        name if !name.starts_with(|c: char| c.is_ascii_alphabetic()) => wrong("it has to begin with a letter"),
        name if !name.chars().all(allowed) => wrong("it can have letters, digits, `-` and `_`"),
        name if TAKEN.contains(&name) => wrong("the name is taken"),
        _ => Ok(()),
    }
}

fn manifest(name: &str, copy: Option<&Path>) -> Result<String, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let from = |package: &str, folder: &str| match copy {
        None => Ok(format!("{package} = \"{version}\"")),
        Some(copy) => {
            let path = copy.join("crates").join(folder);
            let path = path.canonicalize().map_err(|e| Failure::file(&path, "found", &e))?;
            Ok(format!("{package} = {{ path = {} }}", serde_json::Value::from(path.to_string_lossy())))
        }
    };
    Ok(format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt\", \"time\"] }}\n\n[dev-dependencies]\n{}\n\
         serde_json = \"1\"\n",
        from("couplet", "couplet")?,
        from("couplet-testing", "testing")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "my-server", "server_2", "Notes"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in ["", "2much", "-x", "my server", "naïve", "a/b", "test", "std", "x.y"] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_manifest_names_this_version() {
        let manifest = manifest("notes", None).unwrap();
        assert!(manifest.contains("name = \"notes\"") && manifest.contains(env!("CARGO_PKG_VERSION")), "{manifest}");
    }
}
