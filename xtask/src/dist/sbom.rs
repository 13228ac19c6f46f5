//! The software bill of materials: the dependencies of the program on a platform, in CycloneDX, by cargo-cyclonedx.

use std::fs;

use serde_json::Value;

use crate::{
    Failure,
    full::{scratch::Scratch, tools},
    workspace::capture,
};

/// The name of the document in packages.
pub(super) const FILE: &str = "couplet.cdx.json";

/// The document. It has the given time and no number of its own, so that it is always the same.
pub(super) fn json(target: &str, time: u64) -> Result<Vec<u8>, Failure> {
    println!("software bill of materials");
    // The tool writes a file into the folder of each package, so it works on a copy.
    let copy = Scratch::new("sbom")?;
    let mut tool = copy.within(tools::CYCLONEDX.command()?);
    tool.env("SOURCE_DATE_EPOCH", time.to_string());
    tool.args(["--manifest-path", "crates/cli/Cargo.toml", "--format", "json", "--spec-version", "1.5", "--quiet"]);
    capture(tool.args(["--no-build-deps", "--target", target, "--override-filename", "bom"]))?;
    let path = copy.folder.join("crates/cli/bom.json");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    // Our own packages are named by their folders.
    let folder = copy.folder.to_string_lossy().replace('\\', "/");
    let text = text.replace(&*folder, "/couplet");
    check(&text)?;
    Ok(text.into_bytes())
}

/// The document names the program, its dependencies, and no time or number that changes.
fn check(text: &str) -> Result<(), Failure> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("the bill of materials: {e}"))?;
    let components = value["components"].as_array().map_or(0, Vec::len);
    let name = &value["metadata"]["component"]["name"];
    if name != "couplet-cli" || components < 50 {
        return Err(format!("the bill of materials of {name} has {components} components"));
    }
    if value.get("serialNumber").is_some() {
        return Err("the bill of materials has a random number".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_of_something_else_is_refused() {
        let document = |name: &str, count: usize| json!({ "metadata": { "component": { "name": name } }, "components": vec![json!({}); count] });
        assert_eq!(check(&document("couplet-cli", 60).to_string()), Ok(()));
        assert!(check(&document("couplet", 60).to_string()).is_err());
        assert!(check(&document("couplet-cli", 3).to_string()).unwrap_err().contains("3 components"));
        let mut numbered = document("couplet-cli", 60);
        numbered["serialNumber"] = json!("urn:uuid:0");
        assert!(check(&numbered.to_string()).unwrap_err().contains("random"));
    }
}
