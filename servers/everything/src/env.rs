//! The environment variables that the tool `get-env` shows.

use std::{collections::BTreeMap, env, ffi::OsString};

use couplet::prelude::*;

use crate::App;

/// The environment variables that the tool `get-env` shows: by default those that start with `COUPLET_`.
///
/// Over HTTP any process that can connect can call the tool, and environments contain secrets.
#[derive(Clone, Debug, Default)]
pub struct ShownEnv {
    /// Every variable.
    all: bool,
    /// Variables shown by name.
    names: Vec<String>,
}

impl ShownEnv {
    /// Shows all variables, for a client that started the server and set them itself.
    #[must_use]
    pub fn all() -> Self {
        Self { all: true, names: Vec::new() }
    }

    /// Shows variables that start with `COUPLET_`, and those with these names.
    #[must_use]
    pub fn only(names: impl IntoIterator<Item = String>) -> Self {
        Self { all: false, names: names.into_iter().collect() }
    }

    fn shows(&self, name: &str) -> bool {
        self.all || name.starts_with("COUPLET_") || self.names.iter().any(|shown| shown == name)
    }
}

/// Returns all environment variables, helpful for debugging MCP server configuration
#[tool(
    name = "get-env",
    title = "Print Environment Tool",
    read_only,
    destructive = false,
    idempotent,
    open_world = false
)]
pub(crate) fn get_env(State(app): State<App>) -> Result<String, ToolError> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let all = env::vars_os().map(|(name, value)| (text(name), text(value)));
    let all: BTreeMap<_, _> = all.filter(|(name, _)| app.shown.shows(name)).collect();
    Ok(serde_json::to_string_pretty(&all)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_variables_are_shown() {
        let only = ShownEnv::only(["HOME".to_owned()]);
        for (name, by_default, named) in
            [("COUPLET_X", true, true), ("HOME", false, true), ("SECRET", false, false), ("XCOUPLET_", false, false)]
        {
            assert_eq!((ShownEnv::default().shows(name), only.shows(name)), (by_default, named), "{name}");
            assert!(ShownEnv::all().shows(name), "{name}");
        }
    }
}
