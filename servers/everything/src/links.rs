//! Tools of the contract that return resources: as links, and embedded.

use couplet::{
    prelude::*,
    types::{ContentBlock, Resource},
};

use crate::resources;

/// Returns up to ten resource links that reference different types of resources
#[tool(
    name = "get-resource-links",
    title = "Get Resource Links Tool",
    read_only,
    destructive = false,
    idempotent,
    open_world = false
)]
pub(crate) fn get_resource_links(
    /// Number of resource links to return (1-10)
    #[schemars(range(min = 1, max = 10))]
    #[default(3.0)]
    count: f64,
) -> Vec<ContentBlock> {
    let link = |id: u64| {
        let (contents, kind) =
            if id.is_multiple_of(2) { (resources::text(id), "Text") } else { (resources::blob(id), "Blob") };
        let link = Resource::new(contents.uri, format!("{kind} Resource {id}"));
        ContentBlock::link(link.description(format!("Resource {id}: plaintext resource")).mime_type("text/plain"))
    };
    let intro = format!("Here are {count} resource links to resources available in this server:");
    std::iter::once(intro.into()).chain((1..=count as u64).map(link)).collect()
}

/// Returns a resource reference that can be used by MCP clients
#[tool(
    name = "get-resource-reference",
    title = "Get Resource Reference Tool",
    read_only,
    destructive = false,
    idempotent,
    open_world = false
)]
pub(crate) fn get_resource_reference(
    #[serde(rename = "resourceType")]
    #[default(resources::Kind::Text)]
    kind: resources::Kind,
    /// ID of the text resource to fetch
    #[serde(rename = "resourceId")]
    #[default(1.0)]
    id: f64,
) -> Result<Vec<ContentBlock>, ToolError> {
    let contents = kind.make(resources::id(&id.to_string())?);
    let uri = contents.uri.clone();
    Ok(vec![
        format!("Returning resource reference for Resource {id}:").into(),
        ContentBlock::resource(contents),
        format!("You can access this resource using the URI: {uri}").into(),
    ])
}
