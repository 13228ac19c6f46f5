//! `manifest.json`: the description of a bundle, how its server is started, and the options that the user is asked for.

mod fields;
mod make;
mod places;

use serde_json::Value;

use crate::{
    Files, Problem,
    rules::{Found, Need, Object},
};

pub use make::{Binary, Platform, Surface, make};

/// The versions of the format.
const VERSIONS: [&str; 4] = ["0.1", "0.2", "0.3", "0.4"];

const MEMBERS: [&str; 27] = [
    "$schema",
    "dxt_version",
    "manifest_version",
    "name",
    "display_name",
    "version",
    "description",
    "long_description",
    "author",
    "repository",
    "homepage",
    "documentation",
    "support",
    "icon",
    "icons",
    "screenshots",
    "localization",
    "server",
    "tools",
    "tools_generated",
    "prompts",
    "prompts_generated",
    "keywords",
    "license",
    "privacy_policies",
    "compatibility",
    "user_config",
];

/// Checks a manifest against the specification, and that the files exist that it names.
///
/// ```
/// use couplet_bundle::{Files, manifest};
///
/// let problems = manifest::check(&serde_json::json!({ "name": "weather" }), &Files::default());
/// assert_eq!(problems[0].to_string(), "error: `manifest_version` is missing (do: add `\"manifest_version\": \"0.3\"`)");
/// ```
#[must_use]
pub fn check(manifest: &Value, files: &Files) -> Vec<Problem> {
    let mut found = Found::default();
    if let Some(root) = Object::root(manifest, &mut found) {
        check_root(&root, files, &mut found);
    }
    found.problems
}

fn check_root(root: &Object<'_>, files: &Files, found: &mut Found) {
    root.only(&[MEMBERS.as_slice(), &["_meta"]].concat(), found);
    let version = version(root, found);
    let name = root.text("name", Need::Required("name it, such as `weather`"), found);
    if name.is_some_and(|name| name.contains(char::is_whitespace)) {
        found.warning("name", "contains spaces, and is used as a file name", "use `display_name` for the display name");
    }
    if let Some(version) = root.text("version", Need::Required("add one, such as `1.0.0`"), found) {
        semantic(version, found);
    }
    root.text("description", Need::Required("say in a sentence what it does"), found);
    if let Some(author) = root.object("author", Need::Required("add `\"author\": { \"name\": … }`"), found) {
        author.only(&["name", "email", "url"], found);
        author.text("name", Need::Required("say who made it"), found);
        let email = author.text("email", Need::Optional, found);
        if email.is_some_and(|email| {
            email.split_once('@').is_none_or(|(user, host)| user.is_empty() || !host.contains('.'))
        }) {
            found.error("author.email", "is not an e-mail address", "correct it, or remove it");
        }
        author.url("url", found);
    }
    for key in ["display_name", "long_description", "license"] {
        root.text(key, Need::Optional, found);
    }
    for key in ["homepage", "documentation", "support"] {
        root.url(key, found);
    }
    for key in ["tools_generated", "prompts_generated"] {
        root.flag(key, found);
    }
    root.texts("keywords", found);
    fields::check(root, found);
    places::check(root, version, files, found);
}

fn version<'a>(root: &Object<'a>, found: &mut Found) -> Option<&'a str> {
    if let Some(old) = root.get("dxt_version") {
        let fix = format!("rename it to `manifest_version`, with the value `{}`", old.as_str().unwrap_or("0.3"));
        found.warning("dxt_version", "is the old name", fix);
        match root.get("manifest_version") {
            None => return root.one_of("dxt_version", &VERSIONS, Need::Optional, found),
            Some(new) if new != old => {
                found.error("dxt_version", "is not the same as `manifest_version`", "remove it");
            }
            Some(_) => {}
        }
    }
    root.one_of("manifest_version", &VERSIONS, Need::Required("add `\"manifest_version\": \"0.3\"`"), found)
}

fn semantic(version: &str, found: &mut Found) {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<_> = core.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if numbers.len() != 3 || !numbers.iter().all(is_number) {
        let what = format!("is `{version}`, which hosts cannot compare");
        found.warning("version", what, "use three numbers, such as `1.0.0`");
    }
}
