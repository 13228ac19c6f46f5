//! The metadata of a `Cargo.toml`.

use std::{fs, path::Path};

use serde::Deserialize;

use crate::{Error, ErrorKind};

/// The parts of a `Cargo.toml` that bundles and the registry need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Package {
    /// The name of the crate.
    pub name: String,
    /// The version.
    pub version: String,
    /// The description.
    pub description: Option<String>,
    /// The authors.
    pub authors: Vec<String>,
    /// The licence expression.
    pub license: Option<String>,
    /// The URL of the repository.
    pub repository: Option<String>,
    /// The URL of the home page.
    pub homepage: Option<String>,
    /// The keywords.
    pub keywords: Vec<String>,
    /// The name of the server in the registry: `[package.metadata.mcp] name`, or derived from a GitHub repository.
    pub mcp_name: Option<String>,
    /// The arguments that start the program as a server: `[package.metadata.mcp] args`.
    pub args: Vec<String>,
    /// The text of the README.
    pub readme: Option<String>,
    /// Whether the package may be published.
    pub is_published: bool,
}

impl Package {
    /// Reads the `Cargo.toml` of a folder, with the values that it inherits from its workspace.
    ///
    /// # Errors
    /// If the file does not exist, is invalid, or has no `[package]`.
    pub fn in_folder(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("Cargo.toml");
        let text = fs::read_to_string(&path).map_err(|e| Error::io(&path, "cannot be read", &e))?;
        let manifest = Toml::read(&path, &text)?;
        let own = manifest.package.ok_or_else(|| {
            Error::broken(&path, "it has no `[package]`").with_hint("name the folder of the server's package")
        })?;
        let workspace = if own.inherits() { workspace_of(folder)? } else { Inherited::default() };
        let readme = own.readme_path(folder).and_then(|path| fs::read_to_string(path).ok());
        let mcp = own.metadata.and_then(|m| m.mcp).unwrap_or_default();
        let text = |own: Option<Field<String>>, shared: Option<String>| own.and_then(|field| field.value(shared));
        let list =
            |own: Option<Field<Vec<String>>>, shared| own.and_then(|field| field.value(shared)).unwrap_or_default();
        let repository = text(own.repository, workspace.repository);
        let version = text(own.version, workspace.version).ok_or_else(|| {
            Error::new(ErrorKind::Broken, format!("`{}` has no version", path.display())).with_hint("add `version`")
        })?;
        Ok(Self {
            mcp_name: mcp.name.or_else(|| name_from(repository.as_deref()?)),
            args: mcp.args,
            name: own.name,
            version,
            description: text(own.description, workspace.description),
            authors: list(own.authors, workspace.authors),
            license: text(own.license, workspace.license),
            homepage: text(own.homepage, workspace.homepage),
            keywords: list(own.keywords, workspace.keywords),
            repository,
            readme,
            is_published: !matches!(own.publish, Some(Publish::Flag(false))),
        })
    }
}

#[derive(Deserialize)]
struct Toml {
    package: Option<Own>,
    workspace: Option<Workspace>,
}

impl Toml {
    fn read(path: &Path, text: &str) -> Result<Self, Error> {
        toml_edit::de::from_str(text).map_err(|e| Error::broken(path, e.message().replace('\n', ", ")))
    }
}

#[derive(Deserialize)]
struct Workspace {
    package: Option<Inherited>,
}

/// The values that packages can inherit from their workspace.
#[derive(Default, Deserialize)]
struct Inherited {
    version: Option<String>,
    description: Option<String>,
    authors: Option<Vec<String>>,
    license: Option<String>,
    repository: Option<String>,
    homepage: Option<String>,
    keywords: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Own {
    name: String,
    version: Option<Field<String>>,
    description: Option<Field<String>>,
    authors: Option<Field<Vec<String>>>,
    license: Option<Field<String>>,
    repository: Option<Field<String>>,
    homepage: Option<Field<String>>,
    keywords: Option<Field<Vec<String>>>,
    readme: Option<Readme>,
    publish: Option<Publish>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    mcp: Option<Mcp>,
}

#[derive(Default, Deserialize)]
struct Mcp {
    name: Option<String>,
    #[serde(default)]
    args: Vec<String>,
}

impl Own {
    fn inherits(&self) -> bool {
        let shared = |field: &Option<Field<String>>| matches!(field, Some(Field::Shared));
        let list = |field: &Option<Field<Vec<String>>>| matches!(field, Some(Field::Shared));
        [&self.version, &self.description, &self.license, &self.repository, &self.homepage].into_iter().any(shared)
            || [&self.authors, &self.keywords].into_iter().any(list)
    }

    fn readme_path(&self, folder: &Path) -> Option<std::path::PathBuf> {
        match &self.readme {
            Some(Readme::Flag(false)) => None,
            Some(Readme::File(file)) => Some(folder.join(file)),
            // The defaults of cargo.
            _ => ["README.md", "README.txt", "README"].iter().map(|name| folder.join(name)).find(|path| path.exists()),
        }
    }
}

/// A value, or `{ workspace = true }`.
enum Field<T> {
    Value(T),
    Shared,
}

impl<T> Field<T> {
    fn value(self, shared: Option<T>) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Shared => shared,
        }
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Field<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if value.get("workspace") == Some(&true.into()) {
            return Ok(Self::Shared);
        }
        serde_json::from_value(value).map(Self::Value).map_err(serde::de::Error::custom)
    }
}

/// `readme = "FILE"`, `true`, `false`, or from the workspace.
enum Readme {
    File(String),
    Flag(bool),
    Shared,
}

/// `publish = true`, `false`, or a list of registries.
enum Publish {
    Flag(bool),
    Registries,
}

impl<'de> Deserialize<'de> for Readme {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(file) => Self::File(file),
            serde_json::Value::Bool(flag) => Self::Flag(flag),
            _ => Self::Shared,
        })
    }
}

impl<'de> Deserialize<'de> for Publish {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Bool(flag) => Self::Flag(flag),
            serde_json::Value::Array(registries) if registries.is_empty() => Self::Flag(false),
            _ => Self::Registries,
        })
    }
}

/// Finds the workspace of a folder.
fn workspace_of(folder: &Path) -> Result<Inherited, Error> {
    let folder = fs::canonicalize(folder).map_err(|e| Error::io(folder, "cannot be found", &e))?;
    for parent in folder.ancestors() {
        let path = parent.join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if let Some(workspace) = Toml::read(&path, &text)?.workspace {
            return Ok(workspace.package.unwrap_or_default());
        }
    }
    Err(Error::broken(&folder.join("Cargo.toml"), "it inherits from a workspace that does not exist"))
}

/// `io.github.owner/name`, derived from the URL of a repository.
fn name_from(repository: &str) -> Option<String> {
    let (owner, name) = github(repository)?;
    Some(format!("io.github.{owner}/{name}"))
}

/// The owner and the name of a repository on GitHub.
pub(crate) fn github(repository: &str) -> Option<(&str, &str)> {
    let rest = repository.split_once("://")?.1;
    let rest = rest.strip_prefix("www.").unwrap_or(rest).strip_prefix("github.com/")?;
    let (owner, rest) = rest.split_once('/')?;
    let name = rest.split('/').next()?;
    let name = name.strip_suffix(".git").unwrap_or(name);
    (!owner.is_empty() && !name.is_empty()).then_some((owner, name))
}
