//! Checks of manifest members that refer to files, variables and systems.

use crate::{
    Files,
    manifest::fields::PLATFORMS,
    rules::{Found, Need, Object},
};

const TYPES: [&str; 4] = ["python", "node", "binary", "uv"];
/// The variables that hosts expand, besides `user_config.…`.
const VARIABLES: [&str; 7] = ["__dirname", "HOME", "DESKTOP", "DOCUMENTS", "DOWNLOADS", "/", "pathSeparator"];
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

pub(super) fn check(root: &Object<'_>, version: Option<&str>, files: &Files, found: &mut Found) {
    if let Some(icon) = root.text("icon", Need::Optional, found) {
        image("icon", icon, files, found);
    }
    for icon in root.objects("icons", found) {
        icon.only(&["src", "size", "theme"], found);
        if let Some(src) = icon.text("src", Need::Required("name the file"), found) {
            image(&icon.path("src"), src, files, found);
        }
        let size = icon.text("size", Need::Required("write its size, such as `128x128`"), found);
        let is_size =
            |size: &str| size.split_once('x').is_some_and(|(w, h)| [w, h].iter().all(|n| n.parse::<u32>().is_ok()));
        if size.is_some_and(|size| !is_size(size)) {
            found.error(&icon.path("size"), "is not a size", "write width and height, such as `128x128`");
        }
        icon.text("theme", Need::Optional, found);
    }
    for (at, path) in root.texts("screenshots", found) {
        image(&at, path, files, found);
    }
    let Some(server) = root.object("server", Need::Required("say how the server is started"), found) else { return };
    server.only(&["type", "entry_point", "mcp_config"], found);
    let kind = server.one_of("type", &TYPES, Need::Required("say what it is: python, node, binary or uv"), found);
    if kind == Some("uv") && version.is_some_and(|version| version != "0.4") {
        found.error("server.type", "is `uv`, which only version 0.4 knows", "write `\"manifest_version\": \"0.4\"`");
    }
    let entry = server.text("entry_point", Need::Required("name the file that is started"), found);
    if let Some(entry) = entry {
        if files.get(entry).is_none() {
            let fix = nearest(entry, files).unwrap_or_else(|| "add the file, and check `.mcpbignore`".to_owned());
            found.error("server.entry_point", format!("is `{entry}`, which is not in the bundle"), fix);
        } else if kind == Some("binary") {
            systems(root, &server, entry, files, found);
        }
    }
    let need = Need::Required("add `\"mcp_config\": { \"command\": … }`");
    let Some(config) = server.object("mcp_config", need, found) else { return };
    config.only(&["command", "args", "env", "platform_overrides"], found);
    start(root, &config, Need::Required("write the program to start"), files, found);
    if let Some(overrides) = config.object("platform_overrides", Need::Optional, found) {
        overrides.only(&PLATFORMS, found);
        for platform in overrides.map.keys() {
            let Some(over) = overrides.object(platform, Need::Optional, found) else { continue };
            over.only(&["command", "args", "env"], found);
            start(root, &over, Need::Optional, files, found);
        }
    }
    unused(root, &config, found);
}

/// Checks how the server is started: command, arguments and variables.
fn start(root: &Object<'_>, config: &Object<'_>, command: Need, files: &Files, found: &mut Found) {
    let command = config.text("command", command, found).map(|text| (config.path("command"), text));
    let args = config.texts("args", found);
    let env = config.named_texts("env", found);
    for (at, text) in command.into_iter().chain(args).chain(env.iter().map(|(at, _, text)| (at.clone(), *text))) {
        variables(root, &at, text, found);
        if let Some(file) = text.strip_prefix("${__dirname}/").or_else(|| text.strip_prefix("${__dirname}${/}")) {
            let file = file.replace("${/}", "/");
            // A folder exists if a file is in it; a program may lack the extension that Windows adds.
            let is_there = files.names().any(|name| name == file || name.starts_with(&format!("{file}/")))
                || files.get(&format!("{file}.exe")).is_some();
            if !is_there && !file.contains('$') {
                let fix = nearest(&file, files).unwrap_or_else(|| "add the file".to_owned());
                found.error(&at, format!("names `{file}`, which is not in the bundle"), fix);
            }
        } else if text.starts_with('/') || text.as_bytes().get(1..3) == Some(b":\\") {
            found.warning(&at, format!("is `{text}`, which exists on this machine only"), "use `${__dirname}`");
        }
    }
    for (at, name, value) in env {
        let is_secret =
            ["TOKEN", "SECRET", "PASSWORD", "API_KEY"].iter().any(|word| name.to_uppercase().contains(word));
        if is_secret && !value.contains("${") && !value.is_empty() {
            found.error(
                &at,
                "looks like a secret that would be published with the bundle",
                "ask for it in `user_config`, with `sensitive`",
            );
        }
    }
}

/// Checks the variables `${…}` of a text.
fn variables(root: &Object<'_>, at: &str, text: &str, found: &mut Found) {
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(end) = rest[start..].find('}') else {
            return found.error(at, "has a `${` that is not closed", "close it with `}`");
        };
        let name = &rest[start + 2..start + end];
        rest = &rest[start + end + 1..];
        match name.strip_prefix("user_config.") {
            Some(key) => {
                let is_there = root.get("user_config").is_some_and(|config| config.get(key).is_some());
                if !is_there {
                    let fix = format!("add `{key}` to `user_config`");
                    found.error(at, format!("refers to `{key}`, which is not in `user_config`"), fix);
                }
            }
            None if !VARIABLES.contains(&name) => {
                found.error(
                    at,
                    format!("has `${{{name}}}`, which no host expands"),
                    "use `${user_config.…}` or `${__dirname}`",
                );
            }
            None => {}
        }
    }
}

/// Reports options that the user is asked for and that are not used.
fn unused(root: &Object<'_>, config: &Object<'_>, found: &mut Found) {
    let text = serde_json::to_string(config.map).unwrap_or_default();
    let asked = root.get("user_config").and_then(|config| config.as_object());
    for key in asked.into_iter().flat_map(|map| map.keys()) {
        if !text.contains(&format!("${{user_config.{key}}}")) {
            let fix = format!("use `${{user_config.{key}}}` in `mcp_config`, or remove it");
            found.warning(&format!("user_config.{key}"), "is asked for and not used", fix);
        }
    }
}

/// Reports a manifest that does not name the only system that its program is for.
fn systems(root: &Object<'_>, server: &Object<'_>, entry: &str, files: &Files, found: &mut Found) {
    let Some(system) = files.get(entry).and_then(system_of) else { return };
    let said = root.get("compatibility").and_then(|c| c.get("platforms")).and_then(|p| p.as_array());
    let Some(said) = said else {
        let fix = format!("add `\"compatibility\": {{ \"platforms\": [\"{system}\"] }}`");
        return found.warning("compatibility", format!("does not say that the program is for {system} only"), fix);
    };
    let overrides = server.get("mcp_config").and_then(|config| config.get("platform_overrides"));
    for other in said.iter().filter_map(|platform| platform.as_str()).filter(|platform| *platform != system) {
        if overrides.is_none_or(|all| all.get(other).is_none()) {
            let what = format!("has {other}, but `{entry}` is a program for {system}");
            let fix =
                format!("add `server.mcp_config.platform_overrides.{other}` with a program for it, or remove {other}");
            found.error("compatibility.platforms", what, fix);
        }
    }
}

/// The system that an executable is for, by its magic number.
pub(super) fn system_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes.get(..4)? {
        b"\x7fELF" => Some("linux"),
        [b'M', b'Z', ..] => Some("win32"),
        b"\xcf\xfa\xed\xfe" | b"\xce\xfa\xed\xfe" | b"\xfe\xed\xfa\xcf" | b"\xca\xfe\xba\xbe" => Some("darwin"),
        _ => None,
    }
}

fn image(at: &str, path: &str, files: &Files, found: &mut Found) {
    match path {
        _ if path.starts_with("https://") || path.starts_with("http://") => {
            found.warning(at, "is a URL, which hosts do not fetch", "add the file to the bundle");
        }
        _ if path.contains("${") || path.starts_with('/') => {
            found.error(at, "is not a path in the bundle", "write it relative to the bundle's top folder: `icon.png`");
        }
        _ => match files.get(path) {
            None => found.error(at, format!("is `{path}`, which is not in the bundle"), "add the file"),
            Some(bytes) if !bytes.starts_with(PNG) => {
                found.error(at, format!("is `{path}`, which is not PNG"), "convert it to PNG");
            }
            Some(_) => {}
        },
    }
}

/// Suggests a file of that name in another folder.
fn nearest(path: &str, files: &Files) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_same = |other: &&str| other.rsplit('/').next() == Some(name) && *other != path;
    files.names().find(is_same).map(|other| format!("write `{other}`"))
}
