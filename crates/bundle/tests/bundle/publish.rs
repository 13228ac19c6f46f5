//! The rules of the registry, one at a time.

use std::fs;

use couplet_bundle::{
    Error, Package,
    cli::{self, PublishCheckArgs},
    server_json::{Facts, SCHEMA, check},
};
use serde_json::{Value, json};

use super::{Folder, assert_told, manifest::put, parsed, short};

const DIGEST: &str = "fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce";

fn good() -> Value {
    json!({
        "$schema": SCHEMA,
        "name": "io.github.ann/weather",
        "title": "Weather",
        "description": "Tells the weather.",
        "version": "1.2.3",
        "websiteUrl": "https://example.com",
        "repository": { "url": "https://github.com/ann/weather", "source": "github", "id": "1", "subfolder": "src/server" },
        "icons": [{ "src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "dark" }],
        "packages": [
            {
                "registryType": "cargo", "identifier": "weather", "version": "1.2.3", "transport": { "type": "stdio" },
                "packageArguments": [
                    { "type": "positional", "value": "serve" },
                    { "type": "named", "name": "--port", "value": "{port}", "default": "80", "choices": ["80", "81"] }
                ],
                "environmentVariables": [{ "name": "KEY", "description": "Yours", "isRequired": true, "isSecret": true, "format": "string" }]
            },
            {
                "registryType": "mcpb", "identifier": "https://github.com/ann/weather/releases/download/v1/weather.mcpb",
                "fileSha256": DIGEST, "transport": { "type": "stdio" }
            },
            {
                "registryType": "oci", "identifier": "ghcr.io/ann/weather:1.2.3",
                "transport": { "type": "streamable-http", "url": "http://localhost:{--port}/mcp" },
                "runtimeArguments": [{ "type": "named", "name": "--port", "valueHint": "port" }]
            }
        ],
        "remotes": [{
            "type": "streamable-http", "url": "https://{tenant}.example.com/mcp",
            "headers": [{ "name": "X-Key", "isSecret": true }], "variables": { "tenant": { "description": "Yours" } }
        }],
        "_meta": {}
    })
}

#[test]
fn what_is_right_is_left_alone() {
    assert_eq!(short(&check(&good(), &Facts::default())), Vec::<String>::new());
}

#[test]
fn each_rule_is_checked() {
    let long = "x".repeat(101);
    for (at, value, expected) in [
        ("/$schema", None, "E $schema: is missing"),
        ("/$schema", Some(json!("https://example.com/old.json")), "W $schema: is not the supported version"),
        ("/name", None, "E name: is missing"),
        ("/name", Some(json!("weather")), "E name: is `weather`, without a namespace"),
        ("/name", Some(json!("io.github.ann/a/b")), "E name: has more than one `/`"),
        (
            "/name",
            Some(json!("io.github.ann/a b")),
            "E name: is `io.github.ann/a b`, which has characters that are not allowed",
        ),
        (
            "/name",
            Some(json!("io.github.ann/-a")),
            "E name: is `io.github.ann/-a`, which has characters that are not allowed",
        ),
        (
            "/name",
            Some(json!("ann/weather")),
            "E name: has the namespace `ann`, which is neither a GitHub account nor a domain",
        ),
        (
            "/name",
            Some(json!("io.github.bob/weather")),
            "W name: is for `bob` on GitHub, but the repository belongs to `ann`",
        ),
        ("/description", Some(json!(long)), "E description: has 101 characters, but at most 100 are allowed"),
        ("/version", Some(json!("latest")), "E version: is `latest`, which changes"),
        ("/version", Some(json!("^1.2.3")), "E version: is `^1.2.3`, which is a range"),
        ("/version", Some(json!("1.2.x")), "E version: is `1.2.x`, which is a range"),
        ("/version", Some(json!("1 - 2")), "E version: is `1 - 2`, which is a range"),
        ("/title", Some(json!(long)), "E title: has more than 100 characters"),
        ("/title", Some(json!("  ")), "E title: is empty"),
        ("/websiteUrl", Some(json!("http://example.com")), "E websiteUrl: is not `https`"),
        ("/website_url", Some(json!("x")), "E website_url: is unknown"),
        ("/repository/source", Some(json!("bitbucket")), "E repository.source: is `bitbucket`, which is unknown"),
        (
            "/repository/url",
            Some(json!("https://github.com/ann")),
            "E repository.url: is `https://github.com/ann`, which is not a repository on github",
        ),
        (
            "/repository/url",
            Some(json!("git@github.com:ann/weather")),
            "E repository.url: is `git@github.com:ann/weather`, which is not a repository on github",
        ),
        ("/repository/subfolder", Some(json!("../x")), "E repository.subfolder: is `../x`"),
        ("/icons/0/src", Some(json!("http://example.com/i.png")), "E icons[0].src: is not a short `https` URL"),
        ("/icons/0/mimeType", Some(json!("image/gif")), "E icons[0].mimeType: is `image/gif`, which is unknown"),
        ("/icons/0/sizes/0", Some(json!("big")), "E icons[0].sizes[0]: is `big`, which is not a size"),
        (
            "/packages/0/registryType",
            Some(json!("crates")),
            "E packages[0].registryType: is `crates`, which is unknown",
        ),
        ("/packages/0/identifier", None, "E packages[0].identifier: is missing"),
        ("/packages/0/version", None, "E packages[0].version: is missing"),
        ("/packages/0/version", Some(json!("latest")), "E packages[0].version: is `latest`, which changes"),
        ("/packages/0/fileSha256", Some(json!(DIGEST)), "E packages[0].fileSha256: is for bundles only"),
        ("/packages/0/runtimeHint", Some(json!("cargo")), "W packages[0].runtimeHint: has no effect on crates"),
        (
            "/packages/0/registryBaseUrl",
            Some(json!("https://example.com")),
            "E packages[0].registryBaseUrl: is not crates.io",
        ),
        ("/packages/0/transport", None, "E packages[0].transport: is missing"),
        (
            "/packages/0/transport/type",
            Some(json!("http")),
            "E packages[0].transport.type: is `http`, which is unknown",
        ),
        ("/packages/0/transport/url", Some(json!("http://x")), "E packages[0].transport.url: is not for stdio"),
        (
            "/packages/0/packageArguments/0/value",
            None,
            "E packages[0].packageArguments[0]: has neither `value` nor `valueHint`",
        ),
        (
            "/packages/0/packageArguments/1/name",
            Some(json!("--port <n>")),
            "E packages[0].packageArguments[1].name: contains more than the option",
        ),
        (
            "/packages/0/packageArguments/1/value",
            Some(json!("--port=1")),
            "E packages[0].packageArguments[1].value: begins with the option again",
        ),
        (
            "/packages/0/packageArguments/1/default",
            Some(json!("82")),
            "E packages[0].packageArguments[1].default: is not one of `choices`",
        ),
        ("/packages/0/environmentVariables/0/name", None, "E packages[0].environmentVariables[0].name: is missing"),
        (
            "/packages/0/environmentVariables/0/value",
            Some(json!("abc")),
            "E packages[0].environmentVariables[0]: has a secret that would be published",
        ),
        (
            "/packages/0/environmentVariables/0/format",
            Some(json!("int")),
            "E packages[0].environmentVariables[0].format: is `int`, which is unknown",
        ),
        (
            "/packages/0/environmentVariables/0/required",
            Some(json!(true)),
            "E packages[0].environmentVariables[0].required: is unknown",
        ),
        ("/packages/1/fileSha256", None, "E packages[1].fileSha256: is missing"),
        ("/packages/1/fileSha256", Some(json!("FE33")), "E packages[1].fileSha256: is not a digest"),
        (
            "/packages/1/identifier",
            Some(json!("https://github.com/ann/weather.zip")),
            "E packages[1].identifier: does not contain `mcp`, which the registry requires",
        ),
        (
            "/packages/1/identifier",
            Some(json!("https://example.com/weather.mcpb")),
            "E packages[1].identifier: is not a release on GitHub or GitLab",
        ),
        (
            "/packages/2/identifier",
            Some(json!("ghcr.io/ann/weather")),
            "E packages[2].identifier: names no version of the image",
        ),
        ("/packages/2/version", Some(json!("1.2.3")), "E packages[2].version: is part of the identifier"),
        (
            "/packages/2/transport/url",
            Some(json!("http://localhost:{x}/mcp")),
            "E packages[2].transport.url: has `{x}`, which is not defined",
        ),
        ("/packages/2/transport/url", None, "E packages[2].transport.url: is missing"),
        ("/remotes/0/type", Some(json!("stdio")), "E remotes[0].type: is `stdio`, which is unknown"),
        (
            "/remotes/0/url",
            Some(json!("http://example.com")),
            "E remotes[0].url: is `http://example.com`, which is not `https`",
        ),
        ("/remotes/0/url", Some(json!("https://localhost/mcp")), "E remotes[0].url: is a local address"),
        ("/remotes/0/variables", None, "E remotes[0].url: has `{tenant}`, which is not defined"),
        ("/remotes/0/headers/0/name", None, "E remotes[0].headers[0].name: is missing"),
    ] {
        let mut value_of = good();
        put(&mut value_of, at, value.clone());
        let problems = check(&value_of, &Facts::default());
        assert_told(&problems);
        let found = short(&problems);
        assert!(found.contains(&expected.to_owned()), "{at} {value:?}: {found:#?}");
    }
    let nothing =
        json!({ "$schema": SCHEMA, "name": "io.github.ann/weather", "description": "Tells.", "version": "1.0.0" });
    let found = short(&check(&nothing, &Facts::default()));
    assert_eq!(found, ["W : it has neither `packages` nor `remotes`, so it cannot be installed"]);
}

const CARGO: &str = "[package]\nname = \"weather\"\nversion = \"1.2.3\"\ndescription = \"Tells.\"\nrepository = \"https://github.com/ann/weather.git\"\n";

fn run(folder: &Folder, args: &[&str]) -> (String, Result<(), Error>) {
    let mut out = Vec::new();
    let result = cli::publish_check(&parsed::<PublishCheckArgs>(args), folder.path(), &mut out);
    (String::from_utf8(out).unwrap(), result)
}

#[test]
fn server_json_is_made_and_checked() {
    let folder = Folder::new();
    folder.write("Cargo.toml", CARGO);
    let error = run(&folder, &[]).1.unwrap_err();
    assert!(error.to_string().contains("server.json` cannot be read"), "{error}");
    assert_eq!(error.hint(), Some("`--write` generates one from `Cargo.toml`"));

    let (out, result) = run(&folder, &["--write"]);
    assert_eq!(result.unwrap_err().to_string(), "`server.json` is not valid: 1 rule is violated");
    assert_eq!(
        out,
        "error: `packages[0].identifier` is a crate without a README, where the registry looks for the name\n  \
         do: add a line `mcp-name: io.github.ann/weather` to the README, before `cargo publish`\n"
    );
    let made = fs::read_to_string(folder.path().join("server.json")).unwrap();
    assert_eq!(
        made,
        format!(
            r#"{{
  "$schema": "{SCHEMA}",
  "name": "io.github.ann/weather",
  "description": "Tells.",
  "version": "1.2.3",
  "repository": {{
    "url": "https://github.com/ann/weather",
    "source": "github"
  }},
  "packages": [
    {{
      "registryType": "cargo",
      "identifier": "weather",
      "version": "1.2.3",
      "transport": {{
        "type": "stdio"
      }}
    }}
  ]
}}
"#
        )
    );
    folder.write("README.md", "# Weather\n\nmcp-name: io.github.ann/weather\n");
    let (out, result) = run(&folder, &[]);
    result.unwrap();
    assert_eq!(out, "`io.github.ann/weather` 1.2.3 passes all checks that need no network\n");
    let error = run(&folder, &["--write"]).1.unwrap_err();
    assert!(error.to_string().ends_with("server.json` already exists"), "{error}");
}

#[test]
fn a_bundle_is_part_of_it() {
    let folder = Folder::new();
    folder.write(
        "Cargo.toml",
        format!("{CARGO}publish = false\n[package.metadata.mcp]\nname = \"com.example/weather\"\n"),
    );
    folder.write("weather.mcpb", "bundle");
    let url = "https://github.com/ann/weather/releases/download/v1/weather.mcpb";
    let (out, result) = run(&folder, &["--write", "--bundle", "weather.mcpb", "--bundle-url", url]);
    result.unwrap();
    assert!(out.starts_with("`com.example/weather` 1.2.3 passes"), "{out}");
    let made = fs::read_to_string(folder.path().join("server.json")).unwrap();
    assert!(made.contains("\"registryType\": \"mcpb\"") && !made.contains("cargo"), "{made}");
    folder.write("weather.mcpb", "another");
    let (out, result) = run(&folder, &["--bundle", "weather.mcpb"]);
    assert!(result.is_err() && out.contains("`packages[0].fileSha256` is not the digest of the local bundle"), "{out}");
}

#[test]
fn the_package_and_the_file_agree() {
    let cases = [
        ("# W\nmcp-name: io.github.ann/weather\n", "1.2.3", None),
        (
            "# W\n<!-- mcp-name: io.github.ann/weather -->\n",
            "1.2.3",
            Some("E packages[0].identifier: has its name in a comment of the README, and crates.io strips comments"),
        ),
        (
            "mcp-name: io.github.ann/weatherman\n",
            "1.2.3",
            Some("E packages[0].identifier: has its name in the README, but it is not followed by white space"),
        ),
        ("mcp-name: io.github.bob/x\n", "1.2.3", Some("E packages[0].identifier: has another name in its README")),
        (
            "# W\n",
            "1.2.3",
            Some("E packages[0].identifier: does not have its name in the README, where the registry looks for it"),
        ),
        (
            "mcp-name: io.github.ann/weather\n",
            "1.2.4",
            Some("E packages[0].version: is not the version of the package, `1.2.4`"),
        ),
    ];
    for (readme, version, expected) in cases {
        let folder = Folder::new();
        folder.write("Cargo.toml", CARGO.replace("1.2.3", version));
        folder.write("README.md", readme);
        let package = Package::in_folder(folder.path()).unwrap();
        let found = short(&check(&good(), &Facts::default().package(&package).bundle_sha256(DIGEST)));
        match expected {
            None => assert!(found.is_empty(), "{found:?}"),
            Some(expected) => assert!(found.contains(&expected.to_owned()), "{readme}: {found:?}"),
        }
    }
}

#[test]
fn a_workspace_fills_in_what_its_package_leaves_out() {
    let folder = Folder::new();
    folder.write("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n[workspace.package]\nversion = \"2.0.0\"\nlicense = \"MIT\"\nauthors = [\"Ann\"]\n");
    folder.write("a/Cargo.toml", "[package]\nname = \"a\"\nversion.workspace = true\nlicense = { workspace = true }\nauthors.workspace = true\nreadme = \"../R.md\"\n");
    folder.write("R.md", "hello");
    let package = Package::in_folder(&folder.path().join("a")).unwrap();
    assert_eq!(
        (package.version.as_str(), package.license.as_deref(), package.readme.as_deref()),
        ("2.0.0", Some("MIT"), Some("hello"))
    );
    assert_eq!((package.authors.as_slice(), package.is_published), (["Ann".to_owned()].as_slice(), true));
    for (text, expected) in [
        ("[workspace]\n", "it has no `[package]`"),
        ("[package]\nname = \"a\"\n", "has no version"),
        ("[package\n", "Cargo.toml`: "),
        ("[package]\nname = 1\n", "invalid type"),
    ] {
        folder.write("b/Cargo.toml", text);
        let error = Package::in_folder(&folder.path().join("b")).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
