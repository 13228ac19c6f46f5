//! Checks of a `server.json` against the package, its README and the bundle.

use serde_json::Value;

use crate::{
    Package,
    rules::{Found, Object},
};

/// Facts that a `server.json` must agree with.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Facts<'a> {
    /// The package, for a server in Rust.
    pub package: Option<&'a Package>,
    /// The SHA-256 digest of the packed bundle.
    pub bundle_sha256: Option<&'a str>,
}

impl<'a> Facts<'a> {
    /// Sets the package.
    #[must_use]
    pub fn package(mut self, package: impl Into<Option<&'a Package>>) -> Self {
        self.package = package.into();
        self
    }

    /// Sets the SHA-256 digest of the bundle.
    #[must_use]
    pub fn bundle_sha256(mut self, digest: impl Into<Option<&'a str>>) -> Self {
        self.bundle_sha256 = digest.into();
        self
    }

    pub(super) fn check(&self, root: &Object<'_>, found: &mut Found) {
        let Some(package) = self.package else { return };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text(root.get("name"));
        if text(root.get("version")) != package.version {
            let what = format!("is not the version of the package, `{}`", package.version);
            found.warning("version", what, "use the same version in both");
        }
        if let Some(known) = package.mcp_name.as_ref().filter(|known| **known != name) {
            let what = format!("is not the name in `Cargo.toml`, `{known}`");
            found.warning("name", what, "use the same name in both");
        }
        let crates = root.get("packages").and_then(Value::as_array).into_iter().flatten().enumerate();
        for (index, entry) in crates.filter(|(_, entry)| entry["registryType"] == "cargo") {
            let at = |key: &str| format!("packages[{index}].{key}");
            let identifier = text(entry.get("identifier"));
            if identifier != package.name {
                let what = format!("is `{identifier}`, and the package here is `{}`", package.name);
                found.warning(&at("identifier"), what, "write the name of the crate");
                continue;
            }
            if text(entry.get("version")) != package.version {
                let what = format!("is not the version of the package, `{}`", package.version);
                found.error(&at("version"), what, format!("write `{}`, and publish that", package.version));
            }
            if !package.is_published {
                found.error(
                    &at("registryType"),
                    "is `cargo`, but `Cargo.toml` forbids publishing",
                    "remove `publish = false`",
                );
            }
            readme(package, &name, &at("identifier"), found);
        }
    }
}

/// Checks that the README names the server: the registry accepts a crate only if its rendered README does. Published
/// versions cannot be changed, so a forgotten name costs a release.
fn readme(package: &Package, name: &str, at: &str, found: &mut Found) {
    let fix = format!("add a line `mcp-name: {name}` to the README, before `cargo publish`");
    let Some(text) = &package.readme else {
        return found.error(at, "is a crate without a README, where the registry looks for the name", fix);
    };
    if declares(&visible(text), name) {
        return;
    }
    let what = match () {
        () if declares(text, name) => "has its name in a comment of the README, and crates.io strips comments",
        () if text.contains(&format!("mcp-name: {name}")) => {
            "has its name in the README, but it is not followed by white space"
        }
        () if text.contains("mcp-name:") => "has another name in its README",
        () => "does not have its name in the README, where the registry looks for it",
    };
    found.error(at, what, fix);
}

/// Whether a text contains the whole name.
fn declares(text: &str, name: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let token = format!("mcp-name: {name}");
    text.match_indices(&token).any(|(at, _)| !text[at + token.len()..].starts_with(is_name))
}

/// A text without its comments.
fn visible(text: &str) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        made.push_str(&rest[..start]);
        rest = rest[start..].find("-->").map_or("", |end| &rest[start + end + 3..]);
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_and_visible() {
        for (text, expected) in [
            ("mcp-name: io.github.ann/weather", true),
            ("a\n\nmcp-name: io.github.ann/weather\n", true),
            ("`mcp-name: io.github.ann/weather`", true),
            ("mcp-name: io.github.ann/weather-2", false),
            ("mcp-name: io.github.ann/weather.", false),
            ("<!-- mcp-name: io.github.ann/weather -->", false),
            ("<!-- a --> mcp-name: io.github.ann/weather <!-- b", true),
            ("mcp-name:io.github.ann/weather", false),
        ] {
            assert_eq!(declares(&visible(text), "io.github.ann/weather"), expected, "{text}");
        }
    }
}
