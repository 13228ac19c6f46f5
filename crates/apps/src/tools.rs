//! Access of the model and of views to a server's tools.

use std::{collections::BTreeMap, fmt};

use couplet_types::Tool;

use crate::meta::{ToolUi, Visibility};

/// The tools of one server with their [visibility](Visibility), for the host to enforce: some are for the model, some
/// for the views of that server.
///
/// ```
/// use couplet_apps::AppTools;
/// use couplet_types::{Meta, RawJson, Tool};
/// use serde_json::json;
///
/// let hidden = Meta::new().with("ui", json!({ "visibility": ["app"] }));
/// let tools = vec![
///     Tool::new("weather", RawJson::empty_object()),
///     Tool::new("refresh", RawJson::empty_object()).meta(hidden),
/// ];
/// assert_eq!(AppTools::for_model(tools.clone()).len(), 1);
/// assert!(AppTools::new(&tools).allows("refresh").is_ok());
/// assert!(AppTools::new(&tools).allows("tool_of_another_server").is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct AppTools(BTreeMap<String, Visibility>);

impl AppTools {
    /// Collects the tools of a server. Its views can call these and no others.
    pub fn new(tools: &[Tool]) -> Self {
        Self(tools.iter().map(|tool| (tool.name.clone(), ToolUi::of(tool).visibility)).collect())
    }

    /// Filters a tool list down to the tools that the model may see.
    pub fn for_model(tools: Vec<Tool>) -> Vec<Tool> {
        tools.into_iter().filter(|tool| ToolUi::of(tool).visibility.for_model()).collect()
    }

    /// Checks whether a view may call a tool.
    ///
    /// # Errors
    /// Fails if the server has no such tool, or if the tool is not visible to views.
    pub fn allows(&self, tool: &str) -> Result<(), Refusal> {
        match self.0.get(tool) {
            Some(visibility) if visibility.for_app() => Ok(()),
            Some(_) => Err(Refusal(format!("the tool `{tool}` is not visible to views"))),
            None => Err(Refusal(format!("the server of the view has no tool `{tool}`"))),
        }
    }
}

/// The reason why the host rejected a request of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub(crate) String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}
