//! The rules for manifests, one at a time.

use couplet_bundle::{Files, manifest};
use serde_json::{Value, json};

use super::{assert_told, short};

fn good() -> Value {
    json!({
        "$schema": "https://example.com/schema.json",
        "manifest_version": "0.3",
        "name": "weather",
        "display_name": "Weather",
        "version": "1.2.3",
        "description": "Tells the weather.",
        "long_description": "All of it.",
        "author": { "name": "Ann", "email": "ann@example.com", "url": "https://example.com" },
        "repository": { "type": "git", "url": "https://github.com/ann/weather" },
        "homepage": "https://example.com", "documentation": "https://example.com/docs", "support": "https://example.com/help",
        "icon": "icon.png",
        "icons": [{ "src": "icon.png", "size": "128x128", "theme": "dark" }],
        "screenshots": ["icon.png"],
        "localization": { "resources": "l10n/${locale}.json", "default_locale": "en-US" },
        "server": {
            "type": "binary",
            "entry_point": "server/weather",
            "mcp_config": {
                "command": "${__dirname}/server/weather",
                "args": ["--city", "${user_config.city}", "${user_config.folders}", "${HOME}/x", "${__dirname}/data"],
                "env": { "API_KEY": "${user_config.key}" },
                "platform_overrides": { "win32": { "command": "${__dirname}/server/weather.exe" } }
            }
        },
        "tools": [{ "name": "forecast", "description": "Tells." }, { "name": "now" }],
        "tools_generated": true,
        "prompts": [{ "name": "ask", "arguments": ["city"], "text": "Ask about ${arguments.city}" }],
        "prompts_generated": false,
        "keywords": ["weather"],
        "license": "MIT",
        "privacy_policies": ["https://example.com/privacy"],
        "compatibility": { "claude_desktop": ">=1.0.0", "platforms": ["linux", "win32"], "runtimes": { "node": ">=20" } },
        "user_config": {
            "city": { "type": "string", "title": "City", "description": "Where", "default": "Rome" },
            "folders": { "type": "directory", "title": "Folders", "description": "Which", "multiple": true, "default": ["/x"] },
            "key": { "type": "string", "title": "Key", "description": "Yours", "required": true, "sensitive": true },
        },
        "_meta": { "com.example": { "a": 1 } }
    })
}

fn files() -> Files {
    let mut files = Files::default();
    files.add("icon.png", b"\x89PNG\r\n\x1a\n and so on".as_slice());
    files.add("icon.gif", b"GIF89a".as_slice());
    files.add_program("server/weather", b"\x7fELF".as_slice());
    files.add_program("server/weather.exe", b"MZ\x90\x00".as_slice());
    files.add("data/a.txt", b"a".as_slice());
    files
}

#[test]
fn what_is_right_is_left_alone() {
    assert_eq!(short(&manifest::check(&good(), &files())), Vec::<String>::new());
}

#[test]
fn each_rule_is_checked() {
    // A path, what is put there (nothing: it is taken out), and what is found.
    for (at, value, expected) in [
        ("/manifest_version", None, "E manifest_version: is missing"),
        ("/manifest_version", Some(json!("1.0")), "E manifest_version: is `1.0`, which is unknown"),
        ("/manifest_version", Some(json!(0.3)), "E manifest_version: is a number, not a string"),
        ("/name", None, "E name: is missing"),
        ("/name", Some(json!("")), "E name: is empty"),
        ("/name", Some(json!("my server")), "W name: contains spaces, and is used as a file name"),
        ("/version", None, "E version: is missing"),
        ("/version", Some(json!("1.2")), "W version: is `1.2`, which hosts cannot compare"),
        ("/description", None, "E description: is missing"),
        ("/author", None, "E author: is missing"),
        ("/author", Some(json!("Ann")), "E author: is a string, not an object"),
        ("/author/name", None, "E author.name: is missing"),
        ("/author/nick", Some(json!("A")), "E author.nick: is unknown"),
        ("/author/url", Some(json!("example.com")), "E author.url: is `example.com`, which is not a URL"),
        ("/repository/url", None, "E repository.url: is missing"),
        ("/homepage", Some(json!("x")), "E homepage: is `x`, which is not a URL"),
        ("/displayName", Some(json!("x")), "E displayName: is unknown"),
        ("/icon", Some(json!("none.png")), "E icon: is `none.png`, which is not in the bundle"),
        ("/icon", Some(json!("icon.gif")), "E icon: is `icon.gif`, which is not PNG"),
        ("/icon", Some(json!("${__dirname}/icon.png")), "E icon: is not a path in the bundle"),
        ("/icon", Some(json!("https://example.com/icon.png")), "W icon: is a URL, which hosts do not fetch"),
        ("/icons/0/size", Some(json!("big")), "E icons[0].size: is not a size"),
        ("/screenshots", Some(json!([1])), "E screenshots[0]: is a number, not a string"),
        (
            "/localization/resources",
            Some(json!("l10n/en.json")),
            "E localization.resources: has no placeholder for the locale",
        ),
        ("/localization/default_locale", Some(json!("e_n")), "E localization.default_locale: is not a locale"),
        ("/server", None, "E server: is missing"),
        ("/server/type", Some(json!("rust")), "E server.type: is `rust`, which is unknown"),
        ("/server/type", Some(json!("uv")), "E server.type: is `uv`, which only version 0.4 knows"),
        (
            "/server/entry_point",
            Some(json!("weather")),
            "E server.entry_point: is `weather`, which is not in the bundle",
        ),
        ("/server/mcp_config", None, "E server.mcp_config: is missing"),
        ("/server/mcp_config/command", None, "E server.mcp_config.command: is missing"),
        ("/server/mcp_config/cwd", Some(json!("x")), "E server.mcp_config.cwd: is unknown"),
        (
            "/server/mcp_config/command",
            Some(json!("${__dirname}/x")),
            "E server.mcp_config.command: names `x`, which is not in the bundle",
        ),
        (
            "/server/mcp_config/command",
            Some(json!("/usr/bin/x")),
            "W server.mcp_config.command: is `/usr/bin/x`, which exists on this machine only",
        ),
        (
            "/server/mcp_config/args/0",
            Some(json!("${user_config.none}")),
            "E server.mcp_config.args[0]: refers to `none`, which is not in `user_config`",
        ),
        (
            "/server/mcp_config/args/0",
            Some(json!("${PATH}")),
            "E server.mcp_config.args[0]: has `${PATH}`, which no host expands",
        ),
        (
            "/server/mcp_config/args/0",
            Some(json!("${PATH")),
            "E server.mcp_config.args[0]: has a `${` that is not closed",
        ),
        ("/server/mcp_config/args/1", Some(json!("x")), "W user_config.city: is asked for and not used"),
        (
            "/server/mcp_config/env/MY_TOKEN",
            Some(json!("abc")),
            "E server.mcp_config.env.MY_TOKEN: looks like a secret that would be published with the bundle",
        ),
        (
            "/server/mcp_config/platform_overrides/windows",
            Some(json!({})),
            "E server.mcp_config.platform_overrides.windows: is unknown",
        ),
        ("/tools/0/name", None, "E tools[0].name: is missing"),
        ("/tools/0/inputSchema", Some(json!({})), "E tools[0].inputSchema: is unknown"),
        ("/prompts/0/text", None, "E prompts[0].text: is missing"),
        ("/tools_generated", Some(json!("yes")), "E tools_generated: is a string, not `true` or `false`"),
        ("/keywords", Some(json!("weather")), "E keywords: is a string, not a list"),
        ("/privacy_policies/0", Some(json!("here")), "E privacy_policies[0]: is `here`, which is not a URL"),
        (
            "/compatibility/platforms/1",
            Some(json!("windows")),
            "E compatibility.platforms[1]: is `windows`, which is unknown",
        ),
        (
            "/compatibility/platforms/1",
            Some(json!("darwin")),
            "E compatibility.platforms: has darwin, but `server/weather` is a program for linux",
        ),
        ("/compatibility/platforms", None, "W compatibility: does not say that the program is for linux only"),
        ("/compatibility/runtimes/ruby", Some(json!("3")), "E compatibility.runtimes.ruby: is unknown"),
        ("/user_config/city/type", Some(json!("text")), "E user_config.city.type: is `text`, which is unknown"),
        ("/user_config/city/title", None, "E user_config.city.title: is missing"),
        ("/user_config/city/description", None, "E user_config.city.description: is missing"),
        ("/user_config/city/default", Some(json!(1)), "E user_config.city.default: is not a string"),
        ("/user_config/city/multiple", Some(json!(true)), "W user_config.city.multiple: has no effect on a string"),
        (
            "/user_config/key/default",
            Some(json!("x")),
            "E user_config.key.default: is a secret that would be published with the bundle",
        ),
        (
            "/user_config/city/sensitive",
            Some(json!("x")),
            "E user_config.city.sensitive: is a string, not `true` or `false`",
        ),
        ("/_meta/com.example", Some(json!(1)), "E _meta.com.example: is a number, not an object"),
        ("/dxt_version", Some(json!("0.3")), "W dxt_version: is the old name"),
        ("/dxt_version", Some(json!("0.1")), "E dxt_version: is not the same as `manifest_version`"),
        ("/author/email", Some(json!("ann")), "E author.email: is not an e-mail address"),
        (
            "/compatibility/other_host",
            Some(json!(">1")),
            "W compatibility.other_host: is allowed by the specification, but rejected by the official validator",
        ),
    ] {
        let mut manifest = good();
        put(&mut manifest, at, value.clone());
        let problems = manifest::check(&manifest, &files());
        assert_told(&problems);
        let found = short(&problems);
        assert!(found.contains(&expected.to_owned()), "{at} {value:?}: {found:#?}");
    }
    assert_eq!(short(&manifest::check(&json!([]), &files())), ["E : it is a list, not an object"]);
}

/// Sets the value at a pointer, or takes it out.
pub(super) fn put(root: &mut Value, at: &str, value: Option<Value>) {
    let (parent, key) = at.rsplit_once('/').unwrap();
    match root.pointer_mut(parent).unwrap() {
        Value::Object(map) => drop(match value {
            Some(value) => map.insert(key.to_owned(), value),
            None => map.remove(key),
        }),
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value.unwrap(),
        other => panic!("{other}"),
    }
}
