//! Generates a manifest for binaries from a `Cargo.toml`.

use serde::Serialize;

use super::places::system_of;
use crate::{Error, ErrorKind, Files, Package};

/// The tools of a server, which hosts show before they start it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Surface {
    /// The tools: name and description.
    pub tools: Vec<(String, Option<String>)>,
}

impl Surface {
    /// Creates a surface from the names and descriptions of tools.
    pub fn new(tools: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        Self { tools: tools.into_iter().collect() }
    }
}

/// An executable for one operating system.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The file name, such as `weather` or `weather.exe`.
    pub name: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// An operating system, as manifests name it: `linux`, `darwin` or `win32`.
pub type Platform = &'static str;

/// Generates a manifest for the binaries of a package, one per operating system, and adds all of them to `files`.
///
/// # Errors
/// If the package lacks a required field, there is no binary or there are two for one system, or a file is not an
/// executable for Linux, macOS or Windows.
pub fn make(package: &Package, binaries: Vec<Binary>, surface: &Surface, files: &mut Files) -> Result<(), Error> {
    let lacks = |what: &str| {
        Error::new(ErrorKind::Broken, format!("`Cargo.toml` of `{}` has no `{what}`", package.name))
            .with_hint(format!("add `{what}` to `[package]`: a bundle needs it"))
    };
    let description = package.description.as_deref().ok_or_else(|| lacks("description"))?;
    let author =
        package.authors.first().map(String::as_str).or_else(|| owner(package)).ok_or_else(|| lacks("authors"))?;
    let mut placed: Vec<(Platform, String)> = Vec::new();
    for binary in binaries {
        let system = system_of(&binary.bytes).ok_or_else(|| {
            Error::new(ErrorKind::Broken, format!("`{}` is not a program for Linux, macOS or Windows", binary.name))
                .with_hint("give the file that `cargo build --release` produces")
        })?;
        if placed.iter().any(|(other, _)| *other == system) {
            return Err(Error::new(ErrorKind::Usage, format!("there are two programs for {system}"))
                .with_hint("a bundle cannot select by architecture: pack one bundle for each"));
        }
        let name = format!("server/{system}/{}", binary.name);
        files.add_program(&name, binary.bytes);
        placed.push((system, name));
    }
    let Some((_, first)) = placed.first() else {
        return Err(Error::new(ErrorKind::Usage, "there is no program to pack").with_hint("name one with `--binary`"));
    };
    let command = |name: &str| format!("${{__dirname}}/{name}");
    let manifest = Manifest {
        manifest_version: "0.3",
        name: &package.name,
        version: &package.version,
        description,
        author: Author::new(author),
        repository: package.repository.as_deref().map(|url| Repository { r#type: "git", url }),
        homepage: package.homepage.as_deref(),
        license: package.license.as_deref(),
        keywords: &package.keywords,
        server: Server {
            r#type: "binary",
            entry_point: first,
            mcp_config: Config {
                command: command(first),
                args: &package.args,
                platform_overrides: placed[1..]
                    .iter()
                    .map(|(system, name)| (*system, Override { command: command(name) }))
                    .collect(),
            },
        },
        compatibility: Compatibility { platforms: placed.iter().map(|(system, _)| *system).collect() },
        tools: surface
            .tools
            .iter()
            .map(|(name, description)| Tool { name, description: description.as_deref() })
            .collect(),
    };
    let text = serde_json::to_string_pretty(&manifest).map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    files.add("manifest.json", format!("{text}\n"));
    Ok(())
}

fn owner(package: &Package) -> Option<&str> {
    crate::package::github(package.repository.as_deref()?).map(|(owner, _)| owner)
}

#[derive(Serialize)]
struct Manifest<'a> {
    manifest_version: &'a str,
    name: &'a str,
    version: &'a str,
    description: &'a str,
    author: Author<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<Repository<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    homepage: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    keywords: &'a [String],
    server: Server<'a>,
    compatibility: Compatibility,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct Author<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
}

impl<'a> Author<'a> {
    /// From `Ann <ann@example.com>`.
    fn new(text: &'a str) -> Self {
        match text.split_once('<') {
            Some((name, rest)) if !name.trim().is_empty() => {
                Self { name: name.trim(), email: Some(rest.trim_end_matches('>').trim()) }
            }
            _ => Self { name: text.trim(), email: None },
        }
    }
}

#[derive(Serialize)]
struct Repository<'a> {
    r#type: &'a str,
    url: &'a str,
}

#[derive(Serialize)]
struct Server<'a> {
    r#type: &'a str,
    entry_point: &'a str,
    mcp_config: Config<'a>,
}

#[derive(Serialize)]
struct Config<'a> {
    command: String,
    args: &'a [String],
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    platform_overrides: std::collections::BTreeMap<Platform, Override>,
}

#[derive(Serialize)]
struct Override {
    command: String,
}

#[derive(Serialize)]
struct Compatibility {
    platforms: Vec<Platform>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}
