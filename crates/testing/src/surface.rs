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

    /// Compares with a file. If the environment has `UPDATE_SURFACE=1`, or there is no file, it is written.
    ///
    /// # Panics
    /// When the two differ, showing the first line that does; or when the file cannot be read or written.
    #[track_caller]
    pub fn assert_matches(&self, path: impl AsRef<Path>) {
        let path = path.as_ref();
        let now = self.to_string();
        let update = std::env::var_os("UPDATE_SURFACE").is_some_and(|v| v == "1");
        if update || !path.exists() {
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
