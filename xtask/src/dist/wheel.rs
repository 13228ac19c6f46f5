//! A wheel for PyPI, so that `uvx couplet` and `pipx run couplet` work: the program is a script of it.
//!
//! There is no Python in it, so it fits every version; the platform tag says which glibc the program really needs.

use super::{
    files::Files,
    product::{DESCRIPTION, LICENSE, Product, SUMMARY},
    sums,
};
use crate::Failure;

/// The name of the wheel, and its bytes.
pub(super) fn pack(product: &Product) -> Result<(String, Vec<u8>), Failure> {
    let Product { platform, version, .. } = product;
    let tag = format!("py3-none-{}", platform.wheel(product.needs.glibc)?);
    let data = format!("couplet-{version}.data");
    let info = format!("couplet-{version}.dist-info");
    let mut files = Files::default();
    files.add_program(format!("{data}/scripts/{}", platform.program()), product.program.as_slice());
    if !platform.is_windows() {
        for (name, page) in product.man.iter() {
            files.add(format!("{data}/data/share/man/man1/{name}"), page.bytes.as_slice());
        }
    }
    let mut licenses = Vec::new();
    for (name, text) in product.texts.iter().filter(|(name, _)| name.contains("LICENSE")) {
        files.add(format!("{info}/licenses/{name}"), text.bytes.as_slice());
        licenses.push(name);
    }
    for (name, text) in product.texts.iter().filter(|(name, _)| name.ends_with(".cdx.json")) {
        files.add(format!("{info}/sboms/{name}"), text.bytes.as_slice());
    }
    files.add(format!("{info}/METADATA"), metadata(product, &licenses));
    let generator = "Wheel-Version: 1.0\nGenerator: couplet-xtask\nRoot-Is-Purelib: false\n";
    files.add(format!("{info}/WHEEL"), format!("{generator}Tag: {tag}\n"));
    let record = record(&files, &info);
    files.add(format!("{info}/RECORD"), record);
    Ok((format!("couplet-{version}-{tag}.whl"), files.zip(product.effort)?))
}

/// The core metadata, in the version that has expressions of licenses.
fn metadata(product: &Product, licenses: &[&str]) -> String {
    let Product { version, repository, .. } = product;
    let licenses: String = licenses.iter().map(|name| format!("License-File: {name}\n")).collect();
    let file = |path: &str| format!("{repository}/blob/v{version}/{path}");
    format!(
        "Metadata-Version: 2.4\nName: couplet\nVersion: {version}\nSummary: {SUMMARY}\n\
         License-Expression: {LICENSE}\n{licenses}Keywords: mcp,model-context-protocol,json-rpc,cli\n\
         Classifier: Environment :: Console\nClassifier: Intended Audience :: Developers\n\
         Classifier: Programming Language :: Rust\nClassifier: Topic :: Software Development\n\
         Requires-Python: >=3.8\nProject-URL: Repository, {repository}\n\
         Project-URL: Changelog, {}\nDescription-Content-Type: text/markdown\n\n\
         # couplet\n\n{DESCRIPTION}\n\n```sh\nuvx couplet --help\n```\n\nSee the [README]({}).\n",
        file("CHANGELOG.md"),
        file("README.md"),
    )
}

/// A line for each file, with its sum and its size; the list itself has neither.
fn record(files: &Files, info: &str) -> String {
    let lines =
        files.iter().map(|(path, file)| format!("{path},sha256={},{}\n", sums::base64(&file.bytes), file.bytes.len()));
    lines.collect::<String>() + &format!("{info}/RECORD,,\n")
}
