//! `couplet new`: creates a server project.

use std::{
    env, fs, io,
    io::Write,
    path::{self, Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};

use crate::{
    exit::{Exit, Failure},
    output::Output,
    show,
};

/// The template, which is compiled and tested as the example `starter`.
const MAIN: &str = include_str!("../../template/main.rs");

/// The arguments of `couplet new`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of the server, or path of the directory to create
    name: PathBuf,
    /// Use the Couplet checkout in this directory instead of the published crates
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &Arc<Output>) -> Result<(), Failure> {
    let folder = args.name.as_path();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    check(&name)?;
    let files = [
        ("Cargo.toml", manifest(&name, args.path.as_deref(), is_in_workspace(folder))?),
        ("src/main.rs", MAIN.to_owned()),
        (".gitignore", "/target\n".to_owned()),
    ];
    make_room(folder)?;
    for (file, text) in &files {
        write(&folder.join(file), text)?;
    }
    if output.json {
        let files: Vec<_> = files.iter().map(|(file, _)| *file).collect();
        return output.print(&show::json_line(&json!({ "name": name, "folder": folder, "files": files }))?);
    }
    let written = output.out.name(folder.join("src/main.rs").display());
    output.print(&format!(
        "Created {written}, a server with a tool, a resource, a prompt and a test.\n\n{}",
        steps(&name, folder)
    ))
}

/// Formats the next steps, as commands to copy.
fn steps(name: &str, folder: &Path) -> String {
    let folder = folder.to_string_lossy();
    let folder = shlex::try_quote(&folder).unwrap_or(folder.as_ref().into());
    let steps = [
        (format!("cd {folder}"), ""),
        ("cargo test".to_owned(), "in every protocol revision"),
        ("couplet list \"cargo run -q\"".to_owned(), "list what it offers"),
        ("couplet call \"cargo run -q\" greet name=Ada".to_owned(), ""),
        ("couplet inspect \"cargo run -q\"".to_owned(), "in the browser"),
        ("cargo install --path .".to_owned(), ""),
        (format!("couplet install {name} --all"), "add it to all hosts"),
    ];
    let line = |(command, why): &(String, &str)| match *why {
        "" => format!("  {command}\n"),
        why => format!("  {command:<46}# {why}\n"),
    };
    steps.iter().map(line).collect()
}

/// Checks that nothing would be overwritten.
fn make_room(folder: &Path) -> Result<(), Failure> {
    let taken = |what: &str| {
        let failure = Failure::new(Exit::File, format!("`{}` already exists and {what}", folder.display()));
        failure.hint("choose another name")
    };
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(taken("is not empty")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(taken("is not a directory")),
        Err(error) => Err(Failure::file(folder, "used", &error)),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|e| Failure::file(folder, "created", &e))?;
    let created = fs::OpenOptions::new().write(true).create_new(true).open(path);
    created.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| Failure::file(path, "written", &e))
}

/// Checks that a name is valid for a package, its program and its directory.
fn check(name: &str) -> Result<(), Failure> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let why = match name {
        "" => return Err(Failure::usage("expected a name, such as `my-server`")),
        name if !name.chars().all(allowed) => "use lower-case letters, digits, `-` and `_`",
        name if !name.starts_with(|c: char| c.is_ascii_lowercase()) => "it must start with a letter",
        name if TAKEN.split_whitespace().any(|taken| taken == name) => "the name is reserved by Rust or Cargo",
        _ => return Ok(()),
    };
    let failure = Failure::usage(format!("invalid name `{name}`: {why}"));
    let better = name.to_lowercase().replace(|c| !allowed(c), "-");
    let better = better.trim_matches(|c: char| !c.is_ascii_lowercase());
    let better = if better.is_empty() || better == name { "my-server" } else { better };
    Err(failure.hint(format!("try `{better}`")))
}

/// Keywords, directories that Cargo builds in, and packages that the server depends on.
const TAKEN: &str = "abstract alloc as async await become box break build const continue core couplet \
    couplet-testing crate deps do dyn else enum examples extern false final fn for gen if impl in incremental let loop \
    macro match mod move mut override priv proc-macro proc_macro pub ref return self serde_json static std struct super \
    test tokio trait true try type typeof unsafe unsized use virtual where while yield";

fn manifest(name: &str, checkout: Option<&Path>, in_workspace: bool) -> Result<String, Failure> {
    let from = |package: &str, folder: &str| match checkout {
        None => Ok::<_, Failure>(format!("{package} = \"{}\"", env!("CARGO_PKG_VERSION"))),
        Some(checkout) => {
            let package_folder = checkout.join("crates").join(folder);
            let found = package_folder.join("Cargo.toml").canonicalize();
            let found = found
                .map_err(|e| Failure::file(&package_folder, "used", &e).hint("--path needs a checkout of Couplet"))?;
            let found = found.parent().unwrap_or(&found).to_string_lossy().into_owned();
            // A JSON string is also a TOML string.
            Ok(format!("{package} = {{ path = {} }}", Value::from(found)))
        }
    };
    let alone = "\n# Not a member of the workspace in a parent directory.\n[workspace]\n";
    Ok(format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         description = \"A Model Context Protocol server\"\nauthors = [{}]\n\n[dependencies]\n{}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt\"] }}\n\n[dev-dependencies]\n{}\nserde_json = \"1\"\n{}",
        Value::from(author()),
        from("couplet", "couplet")?,
        from("couplet-testing", "testing")?,
        if in_workspace { alone } else { "" },
    ))
}

/// Returns the user's login name: bundles need an author, and the user can edit it.
fn author() -> String {
    let name = |variable| env::var(variable).ok().filter(|name| !name.trim().is_empty());
    name("USER").or_else(|| name("USERNAME")).unwrap_or_else(|| "the author".to_owned())
}

/// Whether Cargo would expect the server to be a member of a workspace.
fn is_in_workspace(folder: &Path) -> bool {
    let Ok(folder) = path::absolute(folder) else { return false };
    let has_one = |manifest: String| manifest.lines().any(|line| line.trim_start().starts_with("[workspace"));
    folder.ancestors().skip(1).any(|above| fs::read_to_string(above.join("Cargo.toml")).is_ok_and(has_one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "my-server", "server_2"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for (bad, better) in [
            ("2much", "much"),
            ("-x", "x"),
            ("My Server", "my-server"),
            ("naïve", "na-ve"),
            ("x.y", "x-y"),
            ("fn", "my-server"),
            ("tokio", "my-server"),
            ("77", "my-server"),
        ] {
            let hint = check(bad).err().and_then(|failure| failure.hint);
            assert_eq!(hint.as_deref(), Some(&*format!("try `{better}`")), "{bad}");
        }
        assert!(check("").is_err());
    }

    #[test]
    fn a_manifest_names_this_version() {
        let manifest = manifest("notes", None, true).unwrap();
        for part in
            ["name = \"notes\"", "\ndescription = \"", "\nauthors = [\"", env!("CARGO_PKG_VERSION"), "\n[workspace]\n"]
        {
            assert!(manifest.contains(part), "{manifest}");
        }
    }

    #[test]
    fn a_workspace_is_seen_from_below() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(is_in_workspace(&here.join("new")) && !is_in_workspace(Path::new("/nowhere/new")));
    }
}
