//! Everything that a server offers, as a text.

use std::{fmt, fs, path::Path};

use couplet_client::Client;
use couplet_core::Error;
use serde_json::{Value, json};

/// What a server offers: its capabilities, instructions, tools, resources, templates and prompts.
///
/// Kept in a file beside the tests, it shows in a review what a change means for clients.
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
    /// Asks the server for everything that it lists.
    ///
    /// # Errors
    /// When the server does not answer.
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

    /// The same as JSON.
    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// Compares with a file. If the environment has `UPDATE_SURFACE=1`, it is written; so is one that does not exist,
    /// except where `CI` is set: a test that had nothing to compare with proves nothing there.
    ///
    /// # Panics
    /// When the two differ, showing the first line that does; when the file cannot be read or written; and when it does
    /// not exist where `CI` is set.
    #[track_caller]
    pub fn assert_matches(&self, path: impl AsRef<Path>) {
        let is_set = |name: &str| std::env::var(name).is_ok_and(|value| !["", "0", "false"].contains(&value.as_str()));
        self.compare(path.as_ref(), is_set("UPDATE_SURFACE"), is_set("CI"));
    }

    #[track_caller]
    fn compare(&self, path: &Path, update: bool, is_ci: bool) {
        let now = self.to_string();
        let exists = path.exists();
        assert!(
            exists || update || !is_ci,
            "`{}` does not exist; set UPDATE_SURFACE=1 to write it, and add it to the repository",
            path.display()
        );
        if update || !exists {
            fs::write(path, now).unwrap_or_else(|e| panic!("cannot write `{}`: {e}", path.display()));
            return;
        }
        let then = fs::read_to_string(path).unwrap_or_else(|e| panic!("cannot read `{}`: {e}", path.display()));
        let difference = then.lines().zip(now.lines()).enumerate().find(|(_, (then, now))| then != now);
        if let Some((line, (then, now))) = difference {
            panic!(
                "the server's surface differs from `{}` in line {}:\n- {then}\n+ {now}\nset UPDATE_SURFACE=1 to accept the change",
                path.display(),
                line + 1
            );
        }
        let (then, now) = (then.lines().count(), now.lines().count());
        assert!(
            then == now,
            "the server's surface has {now} lines, `{}` has {then}; set UPDATE_SURFACE=1 to accept the change",
            path.display()
        );
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:#}", self.0)
    }
}

#[cfg(test)]
mod tests {
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
