//! Resources for hosts that know only tools.

use std::borrow::Cow;

use couplet_core::{BoxFuture, Call, Description, IntoService, JsonText, Reply, message::Params};
use couplet_types::{
    CallToolResult, ContentBlock, Map, RawJson, ReadResourceResult, RequestMethod, ResourceContents, Tool,
};
use serde_json::json;

use crate::{
    added::{self, Added, Base, inside},
    list::{self, RESOURCES, TEMPLATES},
};

const LIST: &str = "list_resources";
const READ: &str = "read_resource";

/// The beginnings of cursors.
const RESOURCES_FROM: &str = "resources:";
const TEMPLATES_FROM: &str = "templates:";

/// A service whose resources can be listed and read with tools, for hosts that know only tools: `list_resources` and
/// `read_resource`.
///
/// The tools obey the rules of the resources: scopes, visibility, elicitation. They are listed only if the service has
/// resources, in front of its own tools; a tool of the service with the same name is hidden.
///
/// ```
/// use couplet_core::IntoService;
/// use couplet_server::{Server, resource};
/// use couplet_transform::ResourcesAsTools;
/// use serde_json::json;
/// # couplet_testing::block_on(async {
///
/// let server: Server = Server::new("menu", "1.0.0").resource(resource("menu://today", || "soup"));
/// let service = ResourcesAsTools::new(server).into_service();
///
/// let client = couplet_client::Client::new("test", "1.0.0").connect(service).await?;
/// assert!(client.call("list_resources", ()).await?.text().contains("menu://today"));
/// assert_eq!(client.call("read_resource", json!({ "uri": "menu://today" })).await?.text(), "soup");
/// # Ok::<(), couplet_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ResourcesAsTools {
    base: Base,
}

impl ResourcesAsTools {
    /// Wraps a service.
    #[track_caller]
    pub fn new(service: impl IntoService) -> Self {
        Self { base: Base::new(service) }
    }

    /// One page of resources, then those of templates.
    async fn list_resources(self, call: Call) -> Reply {
        let place = added::arguments(&call).and_then(|arguments| Place::new(added::optional(&arguments, "cursor")?));
        let place = match place {
            Ok(place) => place,
            Err(what) => return Reply::wrong_arguments(&call, what),
        };
        match self.pages(&call, place).await {
            Ok(text) => Reply::Complete(call.revision.encode(CallToolResult::text(text))),
            Err(reply) => added::for_model(&call, reply),
        }
    }

    async fn pages(&self, call: &Call, place: Place) -> Result<String, Reply> {
        let mut result: Map<RawJson> = Map::new();
        let (mut next, mut templates) = (None, None);
        match place {
            Place::Resources(cursor) => {
                let page = list::page(&self.base.service, call, RESOURCES, cursor.as_deref()).await?;
                insert(&mut result, RESOURCES.member, &page.items);
                match page.next {
                    Some(cursor) => next = Some(format!("{RESOURCES_FROM}{cursor}")),
                    None => templates = Some(None),
                }
            }
            Place::Templates(cursor) => templates = Some(Some(cursor)),
        }
        if let Some(cursor) = templates {
            let page = list::page(&self.base.service, call, TEMPLATES, cursor.as_deref()).await?;
            insert(&mut result, TEMPLATES.member, &page.items);
            next = page.next.map(|cursor| format!("{TEMPLATES_FROM}{cursor}"));
        }
        if let Some(next) = next {
            insert(&mut result, "nextCursor", &next);
        }
        Ok(RawJson::new(&result).map(|text| text.get().to_owned()).unwrap_or_default())
    }

    async fn read_resource(self, call: Call) -> Reply {
        let request = match added::request(&self, READ, "uri", &call) {
            Ok(request) => request,
            Err(what) => return Reply::wrong_arguments(&call, what),
        };
        let reply = self.base.service.call(request).await;
        added::reply(&call, reply, |text| {
            let read: ReadResourceResult = text.parse().ok()?;
            Some(CallToolResult::new(read.contents.into_iter().map(block).collect()))
        })
    }
}

/// Where a page begins: resources come first, then templates.
enum Place {
    Resources(Option<String>),
    Templates(String),
}

impl Place {
    fn new(cursor: Option<Cow<'_, str>>) -> Result<Self, String> {
        let Some(cursor) = cursor else { return Ok(Self::Resources(None)) };
        match (cursor.strip_prefix(RESOURCES_FROM), cursor.strip_prefix(TEMPLATES_FROM)) {
            (Some(cursor), _) => Ok(Self::Resources(Some(cursor.to_owned()))),
            (_, Some(cursor)) => Ok(Self::Templates(cursor.to_owned())),
            _ => Err("argument `cursor`: expected a `nextCursor` of this tool".to_owned()),
        }
    }
}

fn insert(result: &mut Map<RawJson>, key: &str, value: &impl serde::Serialize) {
    if let Ok(value) = RawJson::new(value) {
        result.insert(key, value);
    }
}

/// The content of a resource as a tool returns it: text, images and audio as such, other bytes embedded.
fn block(contents: ResourceContents) -> ContentBlock {
    let kind = contents.mime_type.as_deref().unwrap_or_default();
    match (contents.as_text(), contents.as_blob()) {
        (Some(text), _) => ContentBlock::text(text),
        (_, Some(data)) if kind.starts_with("image/") => ContentBlock::image(data, kind),
        (_, Some(data)) if kind.starts_with("audio/") => ContentBlock::audio(data, kind),
        _ => ContentBlock::resource(contents),
    }
}

impl Added for ResourcesAsTools {
    fn base(&self) -> &Base {
        &self.base
    }

    fn names(&self) -> &'static [&'static str] {
        &[LIST, READ]
    }

    fn is_active(&self, about: &Description) -> bool {
        about.capabilities.resources.is_some()
    }

    fn tools(&self) -> Vec<Tool> {
        let uri = json!({ "type": "string", "description": "The URI of a resource, or one made from a URI template." });
        vec![
            added::lists(
                LIST,
                "List resources",
                "Lists the resources that `read_resource` reads, and the URI templates for others.",
            ),
            Tool::new(READ, json!({ "type": "object", "properties": { "uri": uri }, "required": ["uri"] }))
                .title("Read a resource")
                .description("Reads a resource by its URI.")
                .annotations(added::reads()),
        ]
    }

    fn run(self, tool: &str, call: Call) -> BoxFuture<'static, Reply> {
        match tool {
            LIST => Box::pin(self.list_resources(call)),
            _ => Box::pin(self.read_resource(call)),
        }
    }

    fn target(&self, tool: &str, params: &Params) -> Option<(RequestMethod, Params)> {
        if tool != READ {
            return None;
        }
        let arguments = Params::from_text(params.get("arguments")?).ok()?;
        let uri = JsonText::string(&arguments.read_str("uri").ok()??);
        Some((RequestMethod::ReadResource, inside(params, [("uri", Some(uri))])?))
    }
}

added::wrap_added!(ResourcesAsTools);
