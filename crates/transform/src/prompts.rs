//! Prompts for hosts that know only tools.

use std::borrow::Cow;

use couplet_core::{BoxFuture, Call, Description, IntoService, Reply, message::Params};
use couplet_types::{
    CallToolResult, ContentBlock, GetPromptResult, Map, PromptMessage, RawJson, RequestMethod, Role, Tool,
};
use serde_json::json;

use crate::{
    added::{self, Added, Base},
    list::{self, PROMPTS},
};

const LIST: &str = "list_prompts";
const GET: &str = "get_prompt";

/// A service whose prompts can be listed and requested with tools, for hosts that know only tools: `list_prompts` and
/// `get_prompt`.
///
/// The tools obey the rules of the prompts. They are listed only if the service has prompts, in front of its own tools; a
/// tool of the service with the same name is hidden. Each message of a prompt is a block of content, text with its role in
/// front.
///
/// ```
/// use couplet_core::IntoService;
/// use couplet_server::{Server, prompt};
/// use couplet_transform::PromptsAsTools;
/// use serde_json::json;
/// # couplet_testing::block_on(async {
///
/// let server: Server = Server::new("texts", "1.0.0").prompt(prompt("greet", || "Say hello."));
/// let service = PromptsAsTools::new(server).into_service();
///
/// let client = couplet_client::Client::new("test", "1.0.0").connect(service).await?;
/// assert!(client.call("list_prompts", ()).await?.text().contains("greet"));
/// assert_eq!(client.call("get_prompt", json!({ "name": "greet" })).await?.text(), "user: Say hello.");
/// # Ok::<(), couplet_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct PromptsAsTools {
    base: Base,
}

impl PromptsAsTools {
    /// Wraps a service.
    #[track_caller]
    pub fn new(service: impl IntoService) -> Self {
        Self { base: Base::new(service) }
    }

    async fn list_prompts(self, call: Call) -> Reply {
        let cursor = added::arguments(&call)
            .and_then(|arguments| Ok(added::optional(&arguments, "cursor")?.map(Cow::into_owned)));
        let cursor = match cursor {
            Ok(cursor) => cursor,
            Err(what) => return Reply::wrong_arguments(&call, what),
        };
        let page = match list::page(&self.base.service, &call, PROMPTS, cursor.as_deref()).await {
            Ok(page) => page,
            Err(reply) => return added::for_model(&call, reply),
        };
        let mut result: Map<RawJson> = Map::new();
        result.insert(PROMPTS.member, RawJson::new(&page.items).unwrap_or_default());
        if let Some(next) = page.next {
            result.insert("nextCursor", RawJson::new(&next).unwrap_or_default());
        }
        let text = RawJson::new(&result).map(|text| text.get().to_owned()).unwrap_or_default();
        Reply::Complete(call.revision.encode(CallToolResult::text(text)))
    }

    async fn get_prompt(self, call: Call) -> Reply {
        let request = match added::request(&self, GET, "name", &call) {
            Ok(request) => request,
            Err(what) => return Reply::wrong_arguments(&call, what),
        };
        let reply = self.base.service.call(request).await;
        added::reply(&call, reply, |text| {
            let prompt: GetPromptResult = text.parse().ok()?;
            Some(CallToolResult::new(prompt.messages.into_iter().map(block).collect()))
        })
    }
}

/// A message as a tool returns it.
fn block(message: PromptMessage) -> ContentBlock {
    let role = match message.role {
        Role::Assistant => "assistant",
        _ => "user",
    };
    match message.content.as_text() {
        Some(text) => ContentBlock::text(format!("{role}: {text}")),
        None => message.content,
    }
}

impl Added for PromptsAsTools {
    fn base(&self) -> &Base {
        &self.base
    }

    fn names(&self) -> &'static [&'static str] {
        &[LIST, GET]
    }

    fn is_active(&self, about: &Description) -> bool {
        about.capabilities.prompts.is_some()
    }

    fn tools(&self) -> Vec<Tool> {
        let arguments = json!({
            "type": "object",
            "description": "The arguments of the prompt, as `list_prompts` describes them.",
            "additionalProperties": { "type": "string" }
        });
        let name = json!({ "type": "string", "description": "The name of a prompt." });
        let properties = json!({ "name": name, "arguments": arguments });
        vec![
            added::lists(LIST, "List prompts", "Lists the prompts that `get_prompt` returns, with their arguments."),
            Tool::new(GET, json!({ "type": "object", "properties": properties, "required": ["name"] }))
                .title("Get a prompt")
                .description("Returns the messages of a prompt.")
                .annotations(added::reads()),
        ]
    }

    fn run(self, tool: &str, call: Call) -> BoxFuture<'static, Reply> {
        match tool {
            LIST => Box::pin(self.list_prompts(call)),
            _ => Box::pin(self.get_prompt(call)),
        }
    }

    fn target(&self, tool: &str, params: &Params) -> Option<(RequestMethod, Params)> {
        if tool == GET { added::named(RequestMethod::GetPrompt, params) } else { None }
    }
}

added::wrap_added!(PromptsAsTools);
