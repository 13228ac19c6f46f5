//! Checks of packages: where the server is published, and how it is started.

use super::{Facts, check_version};
use crate::rules::{Found, Need, Object};

const MEMBERS: [&str; 10] = [
    "registryType",
    "registryBaseUrl",
    "identifier",
    "version",
    "fileSha256",
    "runtimeHint",
    "transport",
    "runtimeArguments",
    "packageArguments",
    "environmentVariables",
];
const REGISTRIES: [&str; 8] = ["npm", "pypi", "nuget", "oci", "mcpb", "cargo", "go", "maven"];
const INPUT: [&str; 9] =
    ["description", "isRequired", "isSecret", "default", "choices", "placeholder", "format", "value", "variables"];

pub(super) fn check(root: &Object<'_>, facts: &Facts<'_>, found: &mut Found) {
    for package in root.objects("packages", found) {
        package.only(&MEMBERS, found);
        let fix = "say where it is published, such as `cargo`";
        let registry = package.one_of("registryType", &REGISTRIES, Need::Required(fix), found);
        let identifier = package.text("identifier", Need::Required("write the name of the package"), found);
        if identifier.is_some_and(|name| name.contains(char::is_whitespace)) {
            found.error(&package.path("identifier"), "contains spaces", "remove them");
        }
        let version = package.text("version", Need::Optional, found);
        if let Some(version) = version {
            check_version(&package.path("version"), version, found);
        }
        package.url("registryBaseUrl", found);
        package.text("runtimeHint", Need::Optional, found);
        let digest = package.text("fileSha256", Need::Optional, found);
        let is_digest =
            |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if digest.is_some_and(|digest| !is_digest(digest)) {
            found.error(&package.path("fileSha256"), "is not a digest", "write 64 lower-case hexadecimal digits");
        }
        match registry {
            Some("mcpb") => mcpb(&package, identifier, digest, facts, found),
            Some("cargo") => cargo(&package, version, digest, found),
            Some("oci") => oci(&package, identifier, version, found),
            _ => {}
        }
        let names = inputs(&package, found);
        transport(&package, &names, found);
    }
}

fn mcpb(package: &Object<'_>, url: Option<&str>, digest: Option<&str>, facts: &Facts<'_>, found: &mut Found) {
    if let Some(url) = url {
        let at = package.path("identifier");
        if !url.starts_with("https://") {
            found.error(&at, "is not an `https` URL", "write where the bundle can be downloaded");
        } else if !url.to_lowercase().contains("mcp") {
            found.error(&at, "does not contain `mcp`, which the registry requires", "name the file `….mcpb`");
        } else if !["https://github.com/", "https://gitlab.com/"].iter().any(|start| url.starts_with(start)) {
            found.error(&at, "is not a release on GitHub or GitLab", "attach the bundle to a release");
        }
    }
    let at = package.path("fileSha256");
    match (digest, facts.bundle_sha256) {
        (None, Some(known)) => found.error(&at, "is missing", format!("write `{known}`")),
        (None, None) => found.error(&at, "is missing", "write the digest that `couplet pack` shows"),
        (Some(digest), Some(known)) if digest != known => {
            found.error(&at, "is not the digest of the local bundle", format!("write `{known}`"));
        }
        _ => {}
    }
}

fn cargo(package: &Object<'_>, version: Option<&str>, digest: Option<&str>, found: &mut Found) {
    if version.is_none() {
        found.error(&package.path("version"), "is missing", "write the version that is on crates.io");
    }
    if digest.is_some() {
        found.error(&package.path("fileSha256"), "is for bundles only", "remove it");
    }
    if package.get("runtimeHint").is_some() {
        found.warning(&package.path("runtimeHint"), "has no effect on crates", "remove it");
    }
    let base = package.get("registryBaseUrl").and_then(|url| url.as_str());
    if base.is_some_and(|url| url.trim_end_matches('/') != "https://crates.io") {
        found.error(&package.path("registryBaseUrl"), "is not crates.io", "remove it");
    }
}

fn oci(package: &Object<'_>, image: Option<&str>, version: Option<&str>, found: &mut Found) {
    if version.is_some() {
        found.error(&package.path("version"), "is part of the identifier", "remove it, and write `…:1.0.0` there");
    }
    let has_tag = |image: &str| image.rsplit('/').next().is_some_and(|last| last.contains(':')) || image.contains('@');
    if image.is_some_and(|image| !has_tag(image)) {
        found.error(&package.path("identifier"), "names no version of the image", "write `…:1.0.0` at its end");
    }
}

/// Checks arguments and variables; returns the names that a URL may refer to.
fn inputs<'a>(package: &Object<'a>, found: &mut Found) -> Vec<&'a str> {
    let mut names = Vec::new();
    for key in ["runtimeArguments", "packageArguments"] {
        for argument in package.objects(key, found) {
            names.extend(self::argument(&argument, found));
        }
    }
    for variable in package.objects("environmentVariables", found) {
        variable.only(&[INPUT.as_slice(), &["name"]].concat(), found);
        names.extend(variable.text("name", Need::Required("name the variable"), found));
        input(&variable, found);
    }
    names
}

fn argument<'a>(argument: &Object<'a>, found: &mut Found) -> Vec<&'a str> {
    argument.only(&[INPUT.as_slice(), &["type", "name", "valueHint", "isRepeated"]].concat(), found);
    let need = Need::Required("write `positional` or `named`");
    let kind = argument.one_of("type", &["positional", "named"], need, found);
    argument.flag("isRepeated", found);
    input(argument, found);
    let hint = argument.text("valueHint", Need::Optional, found);
    let value = argument.get("value").and_then(|value| value.as_str());
    if kind == Some("positional") && hint.is_none() && value.is_none() {
        found.error(&argument.at, "has neither `value` nor `valueHint`", "write the value, or what it is for");
    }
    if kind != Some("named") {
        return hint.into_iter().collect();
    }
    let name = argument.text("name", Need::Required("write the option, such as `--port`"), found);
    if name.is_some_and(|name| name.contains(['<', '>', ' ', '$'])) {
        found.error(
            &argument.path("name"),
            "contains more than the option",
            "write only `--port`, and the value as `value`",
        );
    }
    for key in ["value", "default"] {
        let starts = |text: &str| name.is_some_and(|name| text.starts_with(name));
        if argument.get(key).and_then(|v| v.as_str()).is_some_and(starts) {
            found.error(&argument.path(key), "begins with the option again", "write only the value");
        }
    }
    name.into_iter().chain(hint).collect()
}

/// Checks a value that is fixed or asked for.
pub(super) fn input(input: &Object<'_>, found: &mut Found) {
    for key in ["description", "placeholder"] {
        input.text(key, Need::Optional, found);
    }
    for key in ["isRequired", "isSecret"] {
        input.flag(key, found);
    }
    input.one_of("format", &["string", "number", "boolean", "filepath"], Need::Optional, found);
    let choices = input.texts("choices", found);
    let default = input.get("default");
    if default.is_some_and(|default| !default.is_string()) {
        found.error(&input.path("default"), "is not a string", "write it in quotes");
    }
    if let Some(default) = default.and_then(|d| d.as_str())
        && !choices.is_empty()
        && !choices.iter().any(|(_, choice)| *choice == default)
    {
        found.error(&input.path("default"), "is not one of `choices`", "choose one of them");
    }
    let is_secret = input.get("isSecret") == Some(&true.into());
    if is_secret
        && (default.is_some() || input.get("value").is_some_and(|v| v.as_str().is_some_and(|v| !v.contains('{'))))
    {
        found.error(&input.at, "has a secret that would be published", "remove the value: the user is asked for it");
    }
}

fn transport(package: &Object<'_>, names: &[&str], found: &mut Found) {
    let fix = "add `\"transport\": { \"type\": \"stdio\" }`";
    let Some(transport) = package.object("transport", Need::Required(fix), found) else { return };
    transport.only(&["type", "url", "headers"], found);
    let types = ["stdio", "streamable-http", "sse"];
    let kind = transport.one_of("type", &types, Need::Required("write `stdio`"), found);
    let url = transport.get("url").and_then(|url| url.as_str());
    match (kind, url) {
        (Some("stdio"), Some(_)) => found.error(&transport.path("url"), "is not for stdio", "remove it"),
        (Some("streamable-http" | "sse"), None) => {
            found.error(
                &transport.path("url"),
                "is missing",
                "write where the server listens, such as `http://localhost:{port}/mcp`",
            );
        }
        (Some(_), Some(url)) => templates(&transport.path("url"), url, names, found),
        _ => {}
    }
    super::remotes::headers(&transport, found);
}

/// Checks that `{name}` in a URL is an argument or a variable.
pub(super) fn templates(at: &str, url: &str, names: &[&str], found: &mut Found) {
    let mut rest = url;
    while let Some(start) = rest.find('{') {
        let Some(end) = rest[start..].find('}') else { break };
        let name = &rest[start + 1..start + end];
        rest = &rest[start + end + 1..];
        if !names.contains(&name) {
            let fix = "use the name of an argument or a variable, or add one";
            found.error(at, format!("has `{{{name}}}`, which is not defined"), fix);
        }
    }
}
