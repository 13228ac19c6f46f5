//! The npm packages: `couplet`, which starts the program, and one for each platform, which has it.
//!
//! npm installs the package of the platform alone, because the others are optional and say which system they are for.

use std::fs;

use serde_json::{Value, json};

use super::{
    files::Files,
    platform::PLATFORMS,
    product::{LICENSE, Product, SUMMARY},
};
use crate::{Failure, workspace::root};

/// The program for Node.js that starts the program of the platform.
const STARTER: &str = "packaging/npm/couplet.js";
const README: &str = "packaging/npm/README.md";

/// The names of the packages, and their bytes: that of this platform, and the one that finds it.
pub(super) fn pack(product: &Product) -> Result<[(String, Vec<u8>); 2], Failure> {
    let mut own = licenses(product, "LICENSE");
    own.add("package.json", pretty(&of_platform(product)));
    own.add_program(format!("bin/{}", product.platform.program()), product.program.as_slice());
    let mut starter = licenses(product, "LICENSE-");
    starter.add("package.json", pretty(&of_starter(product)));
    starter.add("README.md", read(README)?);
    starter.add_program("bin/couplet.js", read(STARTER)?);
    let (system, machine) = product.platform.node;
    let name = format!("couplet-cli-{system}-{machine}-{}.tgz", product.version);
    Ok([(name, packed(&own, product)?), (format!("couplet-{}.tgz", product.version), packed(&starter, product)?)])
}

fn of_platform(product: &Product) -> Value {
    let (system, machine) = product.platform.node;
    let mut package = common(product);
    package["name"] = json!(product.platform.npm());
    package["description"] = json!(format!("The program of `couplet` for {system} on {machine}"));
    package["os"] = json!([system]);
    package["cpu"] = json!([machine]);
    package["preferUnplugged"] = json!(true);
    if product.needs.glibc.is_some() {
        package["libc"] = json!(["glibc"]);
    }
    package
}

fn of_starter(product: &Product) -> Value {
    let mut package = common(product);
    package["name"] = json!("couplet");
    package["description"] = json!(SUMMARY);
    package["keywords"] = json!(["mcp", "model-context-protocol", "json-rpc", "cli"]);
    package["bin"] = json!({ "couplet": "bin/couplet.js" });
    package["engines"] = json!({ "node": ">=18" });
    package["optionalDependencies"] = PLATFORMS.iter().map(|p| (p.npm(), json!(product.version))).collect();
    package
}

fn common(product: &Product) -> Value {
    json!({
        "version": product.version,
        "license": LICENSE,
        "repository": { "type": "git", "url": format!("git+{}.git", product.repository) },
        "homepage": product.repository,
    })
}

/// The licenses, which each package has to have: those whose names begin so. The package without the program needs only
/// our own, and is the same on every platform.
fn licenses(product: &Product, start: &str) -> Files {
    let mut files = Files::default();
    for (name, text) in product.texts.iter().filter(|(name, _)| name.starts_with(start)) {
        files.add(name, text.bytes.as_slice());
    }
    files
}

/// npm expects everything in one folder.
fn packed(files: &Files, product: &Product) -> Result<Vec<u8>, Failure> {
    let mut package = Files::default();
    package.add_below("package", files);
    package.tar_gz(product.time, product.effort)
}

fn read(path: &str) -> Result<Vec<u8>, Failure> {
    fs::read(root().join(path)).map_err(|e| format!("{path}: {e}"))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
