//! Generates a `server.json` from a `Cargo.toml`.

use serde::Serialize;

use super::SCHEMA;
use crate::{Error, ErrorKind, Package, package::github};

/// A bundle that can be downloaded.
#[derive(Clone, Copy, Debug)]
pub struct Bundle<'a> {
    /// The URL.
    pub url: &'a str,
    /// The SHA-256 digest.
    pub sha256: &'a str,
}

/// Generates the text of a `server.json`, with the crate and an optional bundle as its packages.
///
/// # Errors
/// If the package has no description, or no name for the registry.
pub fn make(package: &Package, bundle: Option<Bundle<'_>>) -> Result<String, Error> {
    let lacks = |what: &str, fix: &str| {
        Error::new(ErrorKind::Broken, format!("`Cargo.toml` of `{}` has no {what}", package.name))
            .with_hint(fix.to_owned())
    };
    let name = package.mcp_name.as_deref().ok_or_else(|| {
        lacks(
            "name for the registry",
            "add `[package.metadata.mcp]` with `name = \"io.github.USER/NAME\"`, or `repository`",
        )
    })?;
    let description = package.description.as_deref();
    let description = description.ok_or_else(|| lacks("`description`", "say in a sentence what it does"))?;
    let arguments: Vec<_> = package.args.iter().map(|value| Argument { r#type: "positional", value }).collect();
    let crate_package = Entry {
        registry_type: "cargo",
        identifier: &package.name,
        version: Some(&package.version),
        file_sha256: None,
        package_arguments: arguments,
        transport: Transport { r#type: "stdio" },
    };
    let bundle = bundle.map(|bundle| Entry {
        registry_type: "mcpb",
        identifier: bundle.url,
        version: None,
        file_sha256: Some(bundle.sha256),
        package_arguments: Vec::new(),
        transport: Transport { r#type: "stdio" },
    });
    let repository = package.repository.as_deref().filter(|url| github(url).is_some());
    let server = Server {
        schema: SCHEMA,
        name,
        description,
        version: &package.version,
        website_url: package.homepage.as_deref().filter(|url| url.starts_with("https://")),
        repository: repository.map(|url| Repository { url: url.trim_end_matches(".git"), source: "github" }),
        packages: package.is_published.then_some(crate_package).into_iter().chain(bundle).collect(),
    };
    let text = serde_json::to_string_pretty(&server).map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    Ok(text + "\n")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Server<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    name: &'a str,
    description: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    website_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<Repository<'a>>,
    packages: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Repository<'a> {
    url: &'a str,
    source: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    registry_type: &'a str,
    identifier: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_sha256: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    package_arguments: Vec<Argument<'a>>,
    transport: Transport<'a>,
}

#[derive(Serialize)]
struct Argument<'a> {
    r#type: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct Transport<'a> {
    r#type: &'a str,
}
