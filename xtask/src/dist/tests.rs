//! Packages of a small program: they are the same each time, and have what registries ask for.

use std::{
    collections::BTreeMap,
    io::{Cursor, Read},
};

use serde_json::{Value, json};

use super::{
    Outcome, Package, deb,
    elf::{Glibc, Needs},
    files::{Effort, Files, empty},
    is_reproducible, npm, pack,
    platform::PLATFORMS,
    product::Product,
    sums, wheel,
};

fn product() -> Product {
    let mut texts = Files::default();
    for name in ["CHANGELOG.md", "LICENSE-APACHE", "README.md", "couplet.cdx.json", super::licenses::FILE] {
        texts.add(name, format!("{name}\n"));
    }
    texts.add("LICENSE-MIT", "Copyright (c) 2026 the authors\n\nPermission is hereby granted.\n\nMore.\n");
    let (mut man, mut completions) = (Files::default(), Files::default());
    man.add("couplet.1", ".TH couplet 1\n");
    completions.add("couplet.bash", "complete couplet\n");
    Product {
        platform: &PLATFORMS[0],
        version: "1.2.3".to_owned(),
        repository: "https://example.com/couplet".to_owned(),
        time: 1_700_000_000,
        program: b"program".to_vec(),
        needs: Needs { libraries: vec!["libc.so.6".to_owned()], glibc: Some(Glibc { major: 2, minor: 34 }) },
        texts,
        man,
        completions,
        effort: Effort::Quick,
    }
}

#[test]
#[cfg(target_os = "linux")]
fn packages_of_a_product_are_always_the_same() {
    let scratch = std::env::temp_dir().join(format!("xtask-dist-{}", std::process::id()));
    empty(&scratch).unwrap();
    let mut outcome = Outcome::default();
    let packages = pack(&product(), &scratch, &mut outcome).unwrap();
    // Files that were written at another time are no others.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let same = is_reproducible(&product(), &scratch, &packages);
    let mut other = product();
    other.program = b"another".to_vec();
    let different = is_reproducible(&other, &scratch, &packages).unwrap_err();
    std::fs::remove_dir_all(&scratch).unwrap();
    assert_eq!(same, Ok(()));
    // Everything but the package that starts the program has it.
    let different = different.strip_prefix("packed twice, other bytes: ").unwrap();
    assert_eq!(different.split(", ").count() + 1, packages.len(), "{different}");
    assert!(!different.contains("couplet-1.2.3.tgz"), "{different}");
    assert_eq!(packages.len() + outcome.not_run.len(), 5, "{outcome:?}");
}

fn zipped(bytes: Vec<u8>) -> BTreeMap<String, Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    names
        .into_iter()
        .map(|name| {
            let mut bytes = Vec::new();
            archive.by_name(&name).unwrap().read_to_end(&mut bytes).unwrap();
            (name, bytes)
        })
        .collect()
}

#[test]
fn a_wheel_has_its_tag_and_a_record_of_every_file() {
    let (name, bytes) = wheel::pack(&product()).unwrap();
    assert_eq!(name, "couplet-1.2.3-py3-none-manylinux_2_34_x86_64.whl");
    let files = zipped(bytes);
    let text = |name: &str| String::from_utf8(files[&format!("couplet-1.2.3.dist-info/{name}")].clone()).unwrap();
    assert!(text("WHEEL").contains("\nTag: py3-none-manylinux_2_34_x86_64\n"));
    assert!(text("METADATA").starts_with("Metadata-Version: 2.4\nName: couplet\nVersion: 1.2.3\n"));
    assert_eq!(files["couplet-1.2.3.data/scripts/couplet"], b"program");
    let record = text("RECORD");
    for (name, bytes) in files.iter().filter(|(name, _)| !name.ends_with("/RECORD")) {
        let line = format!("{name},sha256={},{}", sums::base64(bytes), bytes.len());
        assert!(record.lines().any(|l| l == line), "{line}: {record}");
    }
    assert!(record.ends_with("couplet-1.2.3.dist-info/RECORD,,\n"));
    assert_eq!(record.lines().count(), files.len());
}

fn manifest(package: &Package) -> Value {
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(package.1.as_slice()));
    let mut entries = tar.entries().unwrap().map(Result::unwrap);
    let entry = entries.find(|entry| entry.path().unwrap().ends_with("package/package.json")).unwrap();
    serde_json::from_reader(entry).unwrap()
}

#[test]
fn the_npm_packages_belong_together() {
    let [own, starter] = npm::pack(&product()).unwrap();
    assert_eq!((own.0.as_str(), starter.0.as_str()), ("couplet-cli-linux-x64-1.2.3.tgz", "couplet-1.2.3.tgz"));
    let (own, starter) = (manifest(&own), manifest(&starter));
    let wanted = starter["optionalDependencies"].as_object().unwrap();
    assert_eq!(wanted.len(), PLATFORMS.len());
    assert_eq!(wanted[own["name"].as_str().unwrap()], own["version"]);
    assert_eq!((&own["os"], &own["cpu"], &own["libc"]), (&json!(["linux"]), &json!(["x64"]), &json!(["glibc"])));
    assert_eq!(starter["bin"]["couplet"], "bin/couplet.js");
}

#[test]
fn a_platform_without_debian_has_no_debian_package() {
    let mac = Product { platform: &PLATFORMS[2], needs: Needs::default(), ..product() };
    let outcome = deb::pack(&mac, std::path::Path::new("nowhere"));
    assert!(matches!(outcome, Err(deb::Absent::NotHere(_))), "{outcome:?}");
    assert_eq!(wheel::pack(&mac).unwrap().0, "couplet-1.2.3-py3-none-macosx_11_0_arm64.whl");
}
