//! `server.json`: the entry of a server in the MCP registry, and its rules.

mod facts;
mod make;
mod packages;
mod remotes;

use serde_json::Value;

use crate::{
    Problem,
    package::github,
    rules::{Found, Need, Object},
};

pub use facts::Facts;
pub use make::{Bundle, make};

/// The schema version that [`make`] writes.
pub const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

const MEMBERS: [&str; 11] = [
    "$schema",
    "name",
    "description",
    "version",
    "title",
    "websiteUrl",
    "repository",
    "icons",
    "packages",
    "remotes",
    "_meta",
];

/// Checks a `server.json` against the rules of the registry, and against the package and the bundle.
///
/// ```
/// use couplet_bundle::server_json::{Facts, check};
///
/// let value = serde_json::json!({ "name": "weather", "description": "Tells the weather.", "version": "1.0.0" });
/// let problems = check(&value, &Facts::default());
/// assert!(problems.iter().any(|p| p.at == "name" && p.message.contains("namespace")));
/// ```
#[must_use]
pub fn check(value: &Value, facts: &Facts<'_>) -> Vec<Problem> {
    let mut found = Found::default();
    if let Some(root) = Object::root(value, &mut found) {
        check_root(&root, &mut found);
        packages::check(&root, facts, &mut found);
        remotes::check(&root, &mut found);
        facts.check(&root, &mut found);
        if root.get("packages").is_none() && root.get("remotes").is_none() {
            found.warning("", "it has neither `packages` nor `remotes`, so it cannot be installed", "add one of them");
        }
    }
    found.problems
}

fn check_root(root: &Object<'_>, found: &mut Found) {
    root.only(&MEMBERS, found);
    match root.text("$schema", Need::Required("add `\"$schema\"`: the registry rejects files without it"), found) {
        Some(schema) if schema != SCHEMA => {
            found.warning("$schema", "is not the supported version", format!("write `{SCHEMA}`"));
        }
        _ => {}
    }
    let fix = "name it, such as `io.github.ann/weather`";
    if let Some(name) = root.text("name", Need::Required(fix), found) {
        check_name(name, found);
    }
    if let Some(description) = root.text("description", Need::Required("say in a sentence what it does"), found) {
        let length = description.chars().count();
        if length > 100 {
            found.error(
                "description",
                format!("has {length} characters, but at most 100 are allowed"),
                "make it shorter",
            );
        }
    }
    if let Some(version) = root.text("version", Need::Required("add one, such as `1.0.0`"), found) {
        check_version("version", version, found);
    }
    if root.text("title", Need::Optional, found).is_some_and(|title| title.chars().count() > 100) {
        found.error("title", "has more than 100 characters", "make it shorter");
    }
    if root.url("websiteUrl", found).is_some_and(|url| url.starts_with("http://")) {
        found.error("websiteUrl", "is not `https`", "write it with `https://`");
    }
    repository(root, found);
    for icon in root.objects("icons", found) {
        icon.only(&["src", "mimeType", "sizes", "theme"], found);
        let src = icon.text("src", Need::Required("write its URL"), found);
        if src.is_some_and(|src| !src.starts_with("https://") || src.len() > 255) {
            found.error(&icon.path("src"), "is not a short `https` URL", "host the icon at an `https` URL");
        }
        let types = ["image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"];
        icon.one_of("mimeType", &types, Need::Optional, found);
        icon.one_of("theme", &["light", "dark"], Need::Optional, found);
        for (at, size) in icon.texts("sizes", found) {
            let is_size = size.split_once('x').is_some_and(|(w, h)| [w, h].iter().all(|n| n.parse::<u32>().is_ok()));
            if size != "any" && !is_size {
                found.error(&at, format!("is `{size}`, which is not a size"), "write `48x48`, or `any`");
            }
        }
    }
}

/// Checks `namespace/name`. The publisher has to prove ownership of the namespace.
fn check_name(name: &str, found: &mut Found) {
    let fix = "write `io.github.USER/NAME`, or your reversed domain name: `com.example/NAME`";
    let Some((namespace, rest)) = name.split_once('/') else {
        return found.error("name", format!("is `{name}`, without a namespace"), fix);
    };
    let is_part = |part: &str, more: &str| {
        let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let is_inner = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        part.len() > 1 && is_end(part.chars().next()) && is_end(part.chars().last()) && part.chars().all(is_inner)
    };
    if rest.contains('/') {
        found.error("name", "has more than one `/`", fix);
    } else if !is_part(namespace, ".-") || !is_part(rest, "._-") {
        found.error("name", format!("is `{name}`, which has characters that are not allowed"), fix);
    } else if !(3..=200).contains(&name.len()) {
        found.error("name", "has more than 200 characters", "make it shorter");
    } else if !namespace.contains('.') {
        found.error(
            "name",
            format!("has the namespace `{namespace}`, which is neither a GitHub account nor a domain"),
            fix,
        );
    }
}

/// Checks that a version is one version: neither a range nor `latest`.
pub(super) fn check_version(at: &str, version: &str, found: &mut Found) {
    let fix = "write one version, such as `1.0.0`";
    let is_wild = |part: &str| ["x", "X", "*"].contains(&part);
    match version.trim() {
        "latest" => found.error(at, "is `latest`, which changes", fix),
        range if range.starts_with(['^', '~', '<', '>', '=']) || range.contains(" - ") || range.contains("||") => {
            found.error(at, format!("is `{range}`, which is a range"), fix);
        }
        wild if wild.contains('.') && wild.split('.').any(is_wild) => {
            found.error(at, format!("is `{wild}`, which is a range"), fix);
        }
        long if long.len() > 255 => found.error(at, "has more than 255 characters", fix),
        _ => {}
    }
}

fn repository(root: &Object<'_>, found: &mut Found) {
    let Some(repository) = root.object("repository", Need::Optional, found) else { return };
    repository.only(&["url", "source", "id", "subfolder"], found);
    let url = repository.text("url", Need::Required("write where the source is"), found);
    let source =
        repository.one_of("source", &["github", "gitlab"], Need::Required("write `github` or `gitlab`"), found);
    repository.text("id", Need::Optional, found);
    if let (Some(url), Some(source)) = (url, source) {
        let rest = url.split_once("://").filter(|(scheme, _)| ["https", "http"].contains(scheme)).map(|(_, rest)| rest);
        let rest = rest.map(|rest| rest.strip_prefix("www.").unwrap_or(rest));
        let parts: Vec<_> = rest.unwrap_or_default().trim_end_matches('/').split('/').collect();
        let is_part = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
        let is_right = parts.first() == Some(&format!("{source}.com").as_str())
            && parts[1..].iter().all(is_part)
            && if source == "github" { parts.len() == 3 } else { parts.len() >= 3 };
        if !is_right {
            let fix = format!("write `https://{source}.com/OWNER/NAME`; a folder in it goes into `subfolder`");
            found.error("repository.url", format!("is `{url}`, which is not a repository on {source}"), fix);
        }
        owner(root, url, found);
    }
    if let Some(folder) = repository.text("subfolder", Need::Optional, found) {
        let is_plain = |part: &str| !["", ".", ".."].contains(&part);
        if !folder.split('/').all(is_plain) {
            let fix = "write a relative path without `.` and `..`, such as `src/server`";
            found.error("repository.subfolder", format!("is `{folder}`"), fix);
        }
    }
}

/// Compares the namespace with the owner of the repository on GitHub.
fn owner(root: &Object<'_>, url: &str, found: &mut Found) {
    let Some((owner, _)) = github(url) else { return };
    let name = root.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some(namespace) = name.split_once('/').and_then(|(ns, _)| ns.strip_prefix("io.github.")) else { return };
    if !namespace.eq_ignore_ascii_case(owner) {
        let what = format!("is for `{namespace}` on GitHub, but the repository belongs to `{owner}`");
        found.warning("name", what, format!("write `io.github.{owner}/…`, if you publish as `{owner}`"));
    }
}
