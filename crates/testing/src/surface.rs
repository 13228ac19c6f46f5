//! Snapshots of everything that a server lists.

use std::{fmt, path::Path};

use couplet_client::Client;
use couplet_core::Error;
use serde_json::{Value, json};

use crate::golden;

/// A snapshot of a server: capabilities, instructions, tools, resources, templates and prompts.
///
/// In a file beside the tests, it shows in a review what a change means for clients.
///
/// ```no_run
/// # async fn test(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
/// couplet_testing::Surface::of(&client).await?.assert_matches("tests/surface.json");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Surface(Value);

impl Surface {
    /// Requests all lists of the server.
    ///
    /// # Errors
    /// If a request fails.
    pub async fn of(client: &Client) -> Result<Self, Error> {
        let server = client.server();
        Ok(Self(json!({
            "capabilities": server.capabilities,
            "instructions": server.instructions,
            "tools": client.tools().await?,
            "resources": client.resources().await?,
            "resourceTemplates": client.resource_templates().await?,
            "prompts": client.prompts().await?,
        })))
    }

    /// Returns the snapshot as JSON.
    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// Compares the snapshot with a golden file. With `UPDATE_GOLDEN=1` in the environment (or `UPDATE_SURFACE=1`) the
    /// file is written instead. So is a file that does not exist, unless `CI` is set: a test without anything to
    /// compare with proves nothing there.
    ///
    /// # Panics
    /// If the two differ, with the first line that does; if the file cannot be read or written; and if it does not
    /// exist while `CI` is set.
    #[track_caller]
    pub fn assert_matches(&self, path: impl AsRef<Path>) {
        self.compare(path.as_ref(), golden::is_updating(), golden::is_set("CI"));
    }

    #[track_caller]
    fn compare(&self, path: &Path, update: bool, is_ci: bool) {
        golden::compare(path, &self.to_string(), update || !(is_ci || path.exists()));
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:#}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_missing_file_is_written_but_not_in_continuous_integration() {
        let folder = std::env::temp_dir().join(format!("couplet-surface-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let path = folder.join("surface.json");
        let surface = Surface(json!({ "tools": [] }));
        let missing = std::panic::catch_unwind(|| surface.compare(&path, false, true));
        assert!(missing.is_err() && !path.exists());
        surface.compare(&path, false, false);
        surface.compare(&path, false, true);
        let changed = std::panic::catch_unwind(|| Surface(json!({ "tools": [1] })).compare(&path, false, true));
        assert!(changed.is_err());
        fs::remove_dir_all(&folder).expect("the temporary folder");
    }
}
