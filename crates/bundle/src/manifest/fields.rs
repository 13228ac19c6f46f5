//! Checks of manifest members that stand for themselves.

use serde_json::Value;

use crate::rules::{Found, Need, Object, check_url};

const CONFIG_TYPES: [&str; 5] = ["string", "number", "boolean", "directory", "file"];
pub(super) const PLATFORMS: [&str; 3] = ["darwin", "win32", "linux"];

pub(super) fn check(root: &Object<'_>, found: &mut Found) {
    if let Some(repository) = root.object("repository", Need::Optional, found) {
        repository.only(&["type", "url"], found);
        repository.text("type", Need::Required("write `git`"), found);
        repository.text("url", Need::Required("write where the source is"), found);
        repository.url("url", found);
    }
    for (at, url) in root.texts("privacy_policies", found) {
        check_url(&at, url, found);
    }
    for tool in root.objects("tools", found) {
        tool.only(&["name", "description"], found);
        tool.text("name", Need::Required("name the tool"), found);
        tool.text("description", Need::Optional, found);
    }
    for prompt in root.objects("prompts", found) {
        prompt.only(&["name", "description", "arguments", "text"], found);
        prompt.text("name", Need::Required("name the prompt"), found);
        prompt.text("description", Need::Optional, found);
        prompt.text("text", Need::Required("write the text of the prompt"), found);
        prompt.texts("arguments", found);
    }
    compatibility(root, found);
    localization(root, found);
    if let Some(config) = root.object("user_config", Need::Optional, found) {
        for (name, value) in config.map {
            match value.as_object() {
                Some(map) => option(&Object { at: config.path(name), map }, found),
                None => found.error(&config.path(name), "is not an object", "write `{ \"type\": …, \"title\": … }`"),
            }
        }
    }
    if let Some(meta) = root.object("_meta", Need::Optional, found) {
        for name in meta.map.keys() {
            meta.object(name, Need::Optional, found);
        }
    }
}

fn compatibility(root: &Object<'_>, found: &mut Found) {
    let Some(compatibility) = root.object("compatibility", Need::Optional, found) else { return };
    let known = ["claude_desktop", "platforms", "runtimes"];
    for host in compatibility.map.keys().filter(|key| !known.contains(&key.as_str())) {
        let what = "is allowed by the specification, but rejected by the official validator";
        found.warning(&compatibility.path(host), what, "remove it if a host rejects the bundle");
    }
    for (at, platform) in compatibility.texts("platforms", found) {
        if !PLATFORMS.contains(&platform) {
            let close = match platform {
                "macos" | "mac" | "osx" => "write `darwin`",
                "windows" | "win" => "write `win32`",
                _ => "use one of darwin, win32, linux",
            };
            found.error(&at, format!("is `{platform}`, which is unknown"), close);
        }
    }
    if let Some(runtimes) = compatibility.object("runtimes", Need::Optional, found) {
        runtimes.only(&["python", "node"], found);
        runtimes.text("python", Need::Optional, found);
        runtimes.text("node", Need::Optional, found);
    }
}

fn localization(root: &Object<'_>, found: &mut Found) {
    let Some(object) = root.object("localization", Need::Optional, found) else { return };
    object.only(&["resources", "default_locale"], found);
    let resources = object.text("resources", Need::Required("write a path with `${locale}` in it"), found);
    if resources.is_some_and(|path| !path.to_lowercase().contains("${locale}")) {
        found.error(&object.path("resources"), "has no placeholder for the locale", "put `${locale}` into the path");
    }
    let locale = object.text("default_locale", Need::Required("write one, such as `en-US`"), found);
    let is_tag = |tag: &str| {
        tag.len() <= 35
            && tag
                .split('-')
                .all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    if locale.is_some_and(|locale| !is_tag(locale) || locale.len() < 2) {
        found.error(&object.path("default_locale"), "is not a locale", "write one, such as `en-US`");
    }
}

/// Checks an option that the user is asked for.
fn option(option: &Object<'_>, found: &mut Found) {
    let members = ["type", "title", "description", "required", "default", "multiple", "sensitive", "min", "max"];
    option.only(&members, found);
    let kind = option.one_of("type", &CONFIG_TYPES, Need::Required("say what kind of value it is"), found);
    option.text("title", Need::Required("say what the user is asked for"), found);
    option.text("description", Need::Required("say what it is used for"), found);
    let required = option.flag("required", found).unwrap_or(false);
    let multiple = option.flag("multiple", found).unwrap_or(false);
    let sensitive = option.flag("sensitive", found).unwrap_or(false);
    let (min, max) = (option.number("min", found), option.number("max", found));
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        found.error(&option.path("min"), "is greater than `max`", "swap them");
    }
    let Some(kind) = kind else { return };
    if multiple && !["directory", "file"].contains(&kind) {
        found.warning(&option.path("multiple"), format!("has no effect on a {kind}"), "remove it");
    }
    if sensitive && kind != "string" {
        found.warning(&option.path("sensitive"), format!("has no effect on a {kind}"), "remove it");
    }
    if let Some(default) = option.get("default") {
        if !fits(kind, multiple, default) {
            found.error(&option.path("default"), format!("is not a {kind}"), "write a value of that type");
        }
        if sensitive {
            found.error(&option.path("default"), "is a secret that would be published with the bundle", "remove it");
        }
        if required {
            found.warning(&option.path("required"), "has no effect with a default", "remove one of them");
        }
    }
}

fn fits(kind: &str, multiple: bool, default: &Value) -> bool {
    match (kind, default) {
        ("number", Value::Number(_))
        | ("boolean", Value::Bool(_))
        | ("string" | "directory" | "file", Value::String(_)) => true,
        ("directory" | "file", Value::Array(items)) => multiple && items.iter().all(Value::is_string),
        _ => false,
    }
}
