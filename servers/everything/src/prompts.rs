//! The prompts of the contract.

use couplet::{
    prelude::*,
    server::extract::Completing,
    types::{ContentBlock, PromptMessage},
};

use crate::{
    App,
    resources::{self, Kind},
};

const TEAMS: [(&str, [&str; 3]); 4] = [
    ("Engineering", ["Alice", "Bob", "Charlie"]),
    ("Sales", ["David", "Eve", "Frank"]),
    ("Marketing", ["Grace", "Henry", "Iris"]),
    ("Support", ["John", "Kim", "Lee"]),
];

pub(crate) fn register(server: Server<App>) -> Server<App> {
    server.prompt(simple_prompt).prompt(args_prompt).prompt(completable_prompt).prompt(resource_prompt)
}

/// A prompt with no arguments
#[prompt(name = "simple-prompt", title = "Simple Prompt")]
fn simple_prompt() -> &'static str {
    "This is a simple prompt without arguments."
}

/// A prompt with two arguments, one required and one optional
#[prompt(name = "args-prompt", title = "Arguments Prompt")]
fn args_prompt(
    /// Name of the city
    city: String,
    state: Option<String>,
) -> String {
    let state = state.filter(|state| !state.is_empty()).map(|state| format!(", {state}"));
    format!("What's weather in {city}{}?", state.unwrap_or_default())
}

/// First argument choice narrows values for second argument.
#[prompt(name = "completable-prompt", title = "Team Management", complete(department = departments, name = members))]
fn completable_prompt(
    /// Choose the department.
    department: String,
    /// Choose a team member to lead the selected department.
    name: String,
) -> String {
    format!("Please promote {name} to the head of the {department} team.")
}

fn departments(typed: Completing) -> Vec<&'static str> {
    TEAMS.into_iter().map(|(team, _)| team).filter(|team| team.starts_with(&typed.value)).collect()
}

/// Completes the members of the department given before.
fn members(typed: Completing) -> Vec<&'static str> {
    let chosen = typed.arguments.get("department");
    let team = TEAMS.into_iter().find(|(team, _)| chosen.is_some_and(|chosen| chosen == team));
    team.into_iter().flat_map(|(_, members)| members).filter(|name| name.starts_with(&typed.value)).collect()
}

/// A prompt that includes an embedded resource reference
#[prompt(name = "resource-prompt", title = "Resource Prompt", complete(resourceType = kinds, resourceId = resources::ids))]
fn resource_prompt(
    /// Type of resource to fetch
    #[serde(rename = "resourceType")]
    kind: String,
    /// ID of the text resource to fetch
    #[serde(rename = "resourceId")]
    number: String,
) -> Result<Vec<PromptMessage>, ToolError> {
    let id = resources::id(&number)?;
    let contents = match &*kind {
        "Text" => Kind::Text.make(id),
        "Blob" => Kind::Blob.make(id),
        _ => return Err(ToolError::new(format!("Invalid resourceType: {kind}. Must be Text or Blob."))),
    };
    let intro =
        format!("This prompt includes the {kind} resource with id: {id}. Please analyze the following resource:");
    Ok(vec![PromptMessage::user(intro), PromptMessage::user(ContentBlock::resource(contents))])
}

fn kinds(typed: Completing) -> Vec<&'static str> {
    ["Text", "Blob"].into_iter().filter(|kind| kind.starts_with(&typed.value)).collect()
}
