//! Who may call which tool of a server.

use std::{collections::BTreeMap, fmt};

use couplet_types::Tool;

use crate::meta::{ToolUi, Visibility};

/// The tools of one server, as a host hands them out: some to the model, some to the views of that server.
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
    /// The tools of a server. A view of the server can call these and no others.
    pub fn new(tools: &[Tool]) -> Self {
        Self(tools.iter().map(|tool| (tool.name.clone(), ToolUi::of(tool).visibility)).collect())
    }

    /// The tools that the model may see.
    pub fn for_model(tools: Vec<Tool>) -> Vec<Tool> {
        tools.into_iter().filter(|tool| ToolUi::of(tool).visibility.for_model()).collect()
    }

    /// Whether a view may call a tool.
    ///
    /// # Errors
    /// Why not.
    pub fn allows(&self, tool: &str) -> Result<(), Refusal> {
        match self.0.get(tool) {
            Some(visibility) if visibility.for_app() => Ok(()),
            Some(_) => Err(Refusal(format!("the tool `{tool}` is not for views"))),
            None => Err(Refusal(format!("the server of the view has no tool `{tool}`"))),
        }
    }
}

/// Why a view may not do what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub(crate) String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}
