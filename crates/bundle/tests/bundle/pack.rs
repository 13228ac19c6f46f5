//! Bundles, made and opened again.

use std::{fs, io::Read};

use couplet_bundle::{
    Error, ErrorKind, Files, Package, Surface,
    cli::{self, PackArgs},
    manifest::{self, Binary},
    pack,
};
use serde_json::Value;

use super::{Folder, parsed};

const MANIFEST: &str = r#"{
    "manifest_version": "0.3", "name": "My-Weather", "version": "1.0.0-rc.1", "description": "Tells.", "author": { "name": "Ann" },
    "server": { "type": "binary", "entry_point": "bin/weather", "mcp_config": { "command": "${__dirname}/bin/weather" } },
    "compatibility": { "platforms": ["linux"] }
}"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("manifest.json", MANIFEST);
    folder.write("bin/weather", b"\x7fELF and so on, and so on, and so on");
    folder.write("data/é ü.txt", "text");
    folder.write(".env", "SECRET=1");
    folder.write(".git/config", "");
    folder.write("debug.log", "");
    folder.write("notes/private.md", "");
    folder.write(".mcpbignore", "notes/\n");
    folder
}

fn run(folder: &Folder, args: &[&str]) -> (String, Result<(), Error>) {
    let mut out = Vec::new();
    let result = cli::pack(&parsed::<PackArgs>(args), folder.path(), &mut out);
    (String::from_utf8(out).unwrap(), result)
}

#[test]
fn a_bundle_has_what_belongs_into_it() {
    let packed = pack(Files::in_folder(folder().path()).unwrap()).unwrap();
    assert_eq!(packed.file_name, "my-weather-1.0.0-rc.1.mcpb");
    assert!(packed.warnings.is_empty());
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&packed.bytes)).unwrap();
    let mut seen = Vec::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        seen.push((file.name().unwrap().to_string(), file.unix_mode().unwrap() & 0o777, bytes.len()));
    }
    let expected = [("bin/weather", 0o755, 36), ("data/é ü.txt", 0o644, 4), ("manifest.json", 0o644, MANIFEST.len())];
    assert_eq!(seen, expected.map(|(name, mode, size)| (name.to_owned(), mode, size)));
}

#[test]
fn the_same_files_are_the_same_bytes() {
    let make = || {
        let folder = folder();
        // Times and modes differ from one checkout to another.
        let path = folder.write("data/later.txt", "x".repeat(10_000));
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)).unwrap();
        pack(Files::in_folder(folder.path()).unwrap()).unwrap()
    };
    let (a, b) = (make(), make());
    assert!(a.bytes == b.bytes);
    assert_eq!(a.sha256, b.sha256);
    assert!(a.bytes.len() < 2_000, "{}", a.bytes.len());
}

#[test]
fn pack_says_what_it_did() {
    let folder = folder();
    let (out, result) = run(&folder, &["--dry-run"]);
    result.unwrap();
    assert!(out.starts_with("would write my-weather-1.0.0-rc.1.mcpb\n  3 files, "), "{out}");
    assert!(!folder.path().join("my-weather-1.0.0-rc.1.mcpb").exists());
    let (out, result) = run(&folder, &["--output", "out/weather.mcpb"]);
    result.unwrap();
    assert!(out.starts_with("wrote out/weather.mcpb\n  3 files, ") && out.contains("\n  sha256: "), "{out}");
    // Bundles are not packed into bundles, so the next one is the same, and nothing is to be done.
    run(&folder, &["--output", "out/weather.mcpb"]).1.unwrap();
    folder.write("data/new.txt", "new");
    let error = run(&folder, &["--output", "out/weather.mcpb"]).1.unwrap_err();
    assert!(error.to_string().ends_with("already exists, and differs") && error.hint().unwrap().contains("--force"));
    run(&folder, &["--output", "out/weather.mcpb", "--force"]).1.unwrap();
    let names: Vec<_> = fs::read_dir(folder.path().join("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["weather.mcpb"]);
    let mut out = Vec::new();
    cli::pack(&PackArgs { json: true, ..parsed(&["--dry-run"]) }, folder.path(), &mut out).unwrap();
    let json: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&json["files"], &json["dryRun"]), (&4.into(), &true.into()));
}

#[test]
fn what_is_wrong_is_not_packed() {
    for (path, bytes, kind, expected) in [
        ("manifest.json", "{", ErrorKind::Broken, "`manifest.json` is not JSON: "),
        ("manifest.json", "{}", ErrorKind::Findings, "`manifest.json` is not valid: 6 rules are violated"),
        (".mcpbignore", "bin", ErrorKind::Findings, "`manifest.json` is not valid: 2 rules are violated"),
        (".mcpbignore", "manifest.json", ErrorKind::Broken, "there is no `manifest.json` in the folder"),
    ] {
        let folder = folder();
        folder.write(path, bytes);
        let (out, result) = run(&folder, &[]);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().starts_with(expected), "{error}");
        assert_eq!(out.is_empty(), kind != ErrorKind::Findings, "{out}");
        assert!(!folder.path().join("my-weather-1.0.0-rc.1.mcpb").exists());
    }
    let (_, result) = run(&folder(), &["nowhere"]);
    assert_eq!(result.unwrap_err().to_string(), "the folder `nowhere` does not exist");
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out() {
    use std::os::unix::fs::symlink;
    let outside = Folder::new();
    outside.write("secret.txt", "secret");
    for (target, expected) in [
        (outside.path().join("secret.txt"), "it is a link that leads out of the folder"),
        (outside.path().to_owned(), "it is a link that leads out of the folder"),
        ("/dev/zero".into(), "it is a link that leads out of the folder"),
        (".".into(), "it is a link to one of its parent folders"),
    ] {
        let folder = folder();
        symlink(&target, folder.path().join("data/link")).unwrap();
        let error = Files::in_folder(folder.path()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let folder = folder();
    symlink("../bin/weather", folder.path().join("data/link")).unwrap();
    assert_eq!(Files::in_folder(folder.path()).unwrap().get("data/link").unwrap().len(), 36);
}

#[test]
fn a_manifest_is_made_from_cargo_toml() {
    let folder = Folder::new();
    folder.write(
        "Cargo.toml",
        "[package]\nname = \"weather\"\nversion = \"1.2.3\"\ndescription = \"Tells.\"\nauthors = [\"Ann <ann@example.com>\"]\n\
         license = \"MIT\"\nrepository = \"https://github.com/ann/weather\"\n[package.metadata.mcp]\nargs = [\"serve\"]\n",
    );
    folder.write("target/weather", b"\x7fELF");
    folder.write("target/weather.exe", b"MZ\x90\x00");
    folder.write("target/other", b"#!/bin/sh");
    let (out, result) = run(&folder, &["--binary", "target/weather", "--binary", "target/weather.exe"]);
    result.unwrap();
    assert!(out.starts_with("wrote weather-1.2.3.mcpb\n  3 files"), "{out}");
    let bytes = fs::read(folder.path().join("weather-1.2.3.mcpb")).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut text = String::new();
    archive.by_name("manifest.json").unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(
        text,
        r#"{
  "manifest_version": "0.3",
  "name": "weather",
  "version": "1.2.3",
  "description": "Tells.",
  "author": {
    "name": "Ann",
    "email": "ann@example.com"
  },
  "repository": {
    "type": "git",
    "url": "https://github.com/ann/weather"
  },
  "license": "MIT",
  "server": {
    "type": "binary",
    "entry_point": "server/linux/weather",
    "mcp_config": {
      "command": "${__dirname}/server/linux/weather",
      "args": [
        "serve"
      ],
      "platform_overrides": {
        "win32": {
          "command": "${__dirname}/server/win32/weather.exe"
        }
      }
    }
  },
  "compatibility": {
    "platforms": [
      "linux",
      "win32"
    ]
  }
}
"#
    );
    for (args, expected) in [
        (["--binary", "target/other"].as_slice(), "`other` is not a program for Linux, macOS or Windows"),
        (&["--binary", "target/weather", "--binary", "target/weather"], "there are two programs for linux"),
        (&["--binary", "target/none"], "`target/none` cannot be read"),
        (&["target", "--binary", "target/weather"], "Cargo.toml` cannot be read"),
    ] {
        let error = run(&folder, args).1.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.hint().is_some() || expected.contains("Cargo.toml"), "{error}");
    }
}

#[test]
fn tools_that_a_server_has_are_shown() {
    let folder = Folder::new();
    folder.write(
        "Cargo.toml",
        "[package]\nname = \"weather\"\nversion = \"1.2.3\"\ndescription = \"Tells.\"\nauthors = [\"Ann\"]\n",
    );
    let package = Package::in_folder(folder.path()).unwrap();
    let surface = Surface::new([("now".to_owned(), Some("Tells.".to_owned())), ("later".to_owned(), None)]);
    let mut files = Files::default();
    let binary = Binary { name: "weather".to_owned(), bytes: b"\xcf\xfa\xed\xfe".to_vec() };
    manifest::make(&package, vec![binary], &surface, &mut files).unwrap();
    let value: Value = serde_json::from_slice(files.get("manifest.json").unwrap()).unwrap();
    assert_eq!(value["tools"], serde_json::json!([{ "name": "now", "description": "Tells." }, { "name": "later" }]));
    assert_eq!(value["compatibility"]["platforms"], serde_json::json!(["darwin"]));
    assert!(pack(files).unwrap().warnings.is_empty());
}
