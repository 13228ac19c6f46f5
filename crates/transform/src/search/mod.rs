//! Many tools behind a search.

mod index;
mod words;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use couplet_core::{BoxFuture, Call, Description, IntoService, Reply, message::Params, sync::lock};
use couplet_types::{CallToolResult, Map, RawJson, RequestMethod, Tool, ToolAnnotations};
use serde_json::json;

use self::index::Index;
use crate::{
    added::{self, Added, Base},
    list::{self, TOOLS},
};

const SEARCH: &str = "search_tools";
const CALL: &str = "call_tool";

/// The number of tools that a search returns, unless the caller or the server sets another one.
const LIMIT: usize = 10;

/// The maximum number of tools that a search returns.
const MAX_LIMIT: usize = 50;

/// The number of indexes that are cached: lists differ between revisions, and may differ between callers.
const CATALOGS: usize = 8;

/// A service whose tools are found with a search, so that a model does not read all definitions: clients see the tools
/// `search_tools` and `call_tool`, and those that are [always listed](ToolSearch::always).
///
/// `search_tools` ranks the tools that the caller may see by the words of a query (BM25, over names, titles, descriptions and
/// argument names), and returns definitions with their schemas. `call_tool` calls one of them; scopes, policies, elicitation
/// and progress are those of the called tool. All tools can still be called by their own names; in 2025-11-25 that is the way
/// to run one as a task, because the client decides it there.
///
/// The list of tools is requested with each search, as the caller, and indexed again only if it has changed. A call needs
/// no list.
///
/// ```
/// use couplet_core::IntoService;
/// use couplet_server::{Server, tool};
/// use couplet_transform::ToolSearch;
/// use serde_json::json;
/// # couplet_testing::block_on(async {
///
/// let server: Server = Server::new("shop", "1.0.0")
///     .tool(tool("find_books", || "3 books").description("Searches the catalog."))
///     .tool(tool("cancel_order", || "cancelled").description("Cancels an order."));
/// let service = ToolSearch::new(server).into_service();
///
/// let client = couplet_client::Client::new("test", "1.0.0").connect(service).await?;
/// let found = client.call("search_tools", json!({ "query": "order" })).await?.text();
/// assert!(found.contains("cancel_order") && !found.contains("find_books"));
/// assert_eq!(client.call("call_tool", json!({ "name": "cancel_order" })).await?.text(), "cancelled");
/// # Ok::<(), couplet_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ToolSearch {
    base: Base,
    limit: usize,
    always: Arc<[String]>,
    catalogs: Arc<Mutex<VecDeque<Arc<Catalog>>>>,
}

/// A list of tools with its index.
struct Catalog {
    tools: Vec<RawJson>,
    index: Index,
}

impl ToolSearch {
    /// Wraps a service.
    #[track_caller]
    pub fn new(service: impl IntoService) -> Self {
        Self { base: Base::new(service), limit: LIMIT, always: Arc::default(), catalogs: Arc::default() }
    }

    /// Sets the number of tools that a search returns (default: 10, at most 50).
    #[must_use]
    pub fn limit(mut self, tools: usize) -> Self {
        self.limit = tools.clamp(1, MAX_LIMIT);
        self
    }

    /// Sets the tools that are always listed, by their names.
    #[must_use]
    pub fn always(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.always = tools.into_iter().map(Into::into).collect();
        self
    }

    async fn listed(self, call: Call) -> Reply {
        if call.params.get("cursor").is_some_and(|cursor| cursor.as_str() != "null") {
            return couplet_types::RpcError::invalid_params("`cursor` is not one of this list").into();
        }
        let about = self.base.service.describe();
        if !self.is_active(&about) {
            return self.base.service.call(call).await;
        }
        let mut listed = Vec::new();
        if !self.always.is_empty() {
            listed = match list::all(&self.base.service, &call, TOOLS).await {
                Ok(tools) => tools,
                Err(reply) => return reply,
            };
            let is_listed = |name: &str| self.always.iter().any(|own| own == name) && !self.names().contains(&name);
            listed.retain(|tool| name(tool).is_some_and(|name| is_listed(&name)));
        }
        let body = added::encoded(&call, self.tools(), listed);
        // The tools of the service may depend on the caller.
        Reply::Complete(if self.always.is_empty() { body } else { body.private() })
    }

    async fn search(self, call: Call) -> Reply {
        let (query, limit) = match self.query(&call) {
            Ok(query) => query,
            Err(what) => return Reply::wrong_arguments(&call, what),
        };
        let catalog = match list::all(&self.base.service, &call, TOOLS).await {
            Ok(mut tools) => {
                // A tool of the service with the name of an added one is hidden.
                tools.retain(|tool| name(tool).is_none_or(|name| !self.names().contains(&&*name)));
                self.catalog(tools)
            }
            Err(reply) => return added::for_model(&call, reply),
        };
        let found = catalog.index.search(&query);
        let tools: Vec<RawJson> = found.iter().take(limit).filter_map(|at| brief(catalog.tools.get(*at)?)).collect();
        let text = match RawJson::new(&json!({ "tools": tools, "matches": found.len() })) {
            Ok(text) if !tools.is_empty() => text.get().to_owned(),
            _ => "No tool matches. Use other words.".to_owned(),
        };
        Reply::Complete(call.revision.encode(CallToolResult::text(text)))
    }

    /// The words of a search, and the number of tools to return.
    fn query(&self, call: &Call) -> Result<(String, usize), String> {
        let arguments = added::arguments(call)?;
        let query = added::required(&arguments, "query")?.into_owned();
        let limit = arguments.read_opt::<usize>("limit");
        let limit = limit.map_err(|_| format!("argument `limit`: expected an integer from 1 to {MAX_LIMIT}"))?;
        Ok((query, limit.unwrap_or(self.limit).clamp(1, MAX_LIMIT)))
    }

    async fn forward(self, call: Call) -> Reply {
        let request = match added::request(&self, CALL, "name", &call) {
            Ok(request) => request,
            Err(what) => return Reply::wrong_arguments(&call, what),
        };
        if let Some(hidden) = request.tool_name().filter(|name| self.names().contains(&&**name)) {
            return Reply::wrong_arguments(&call, format!("there is no tool `{hidden}`"));
        }
        let reply = self.base.service.call(request).await;
        added::for_model(&call, reply)
    }

    /// The index of a list of tools.
    fn catalog(&self, tools: Vec<RawJson>) -> Arc<Catalog> {
        if let Some(known) = lock(&self.catalogs).iter().find(|known| known.tools == tools) {
            return known.clone();
        }
        let index = Index::new(&tools);
        let catalog = Arc::new(Catalog { tools, index });
        let mut catalogs = lock(&self.catalogs);
        catalogs.push_front(catalog.clone());
        catalogs.truncate(CATALOGS);
        catalog
    }
}

fn name(tool: &RawJson) -> Option<String> {
    tool.parse::<Map<RawJson>>().ok()?.get("name")?.parse().ok()
}

/// The definition without members that a model does not need.
fn brief(tool: &RawJson) -> Option<RawJson> {
    let mut tool: Map<RawJson> = tool.parse().ok()?;
    for key in ["icons", "_meta", "execution"] {
        tool.remove(key);
    }
    RawJson::new(&tool).ok()
}

impl Added for ToolSearch {
    fn base(&self) -> &Base {
        &self.base
    }

    fn names(&self) -> &'static [&'static str] {
        &[SEARCH, CALL]
    }

    fn is_active(&self, about: &Description) -> bool {
        about.capabilities.tools.is_some()
    }

    fn tools(&self) -> Vec<Tool> {
        let query = json!({ "type": "string", "description": "Words for the task, such as `create calendar event`." });
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": self.limit });
        let search = json!({
            "type": "object", "properties": { "query": query, "limit": limit }, "required": ["query"]
        });
        let name = json!({ "type": "string", "description": "The name of a tool, as `search_tools` returns it." });
        let arguments =
            json!({ "type": "object", "description": "The arguments, as the tool's `inputSchema` wants them." });
        let call = json!({
            "type": "object", "properties": { "name": name, "arguments": arguments }, "required": ["name"]
        });
        let searches = added::reads().open_world_hint(false);
        let calls = ToolAnnotations::new().read_only_hint(false).destructive_hint(true).open_world_hint(true);
        let call = Tool::new(CALL, call)
            .title("Call a tool")
            .description("Calls a tool that `search_tools` has found.")
            .annotations(calls);
        let search = Tool::new(SEARCH, search)
            .title("Search tools")
            .description(
                "Finds tools for a task by words, and returns their definitions. Most tools of this server are not \
                 listed: search for them before you conclude that there is none.",
            )
            .annotations(searches);
        vec![search, call]
    }

    fn list(self, call: Call) -> BoxFuture<'static, Reply> {
        Box::pin(self.listed(call))
    }

    fn run(self, tool: &str, call: Call) -> BoxFuture<'static, Reply> {
        match tool {
            SEARCH => Box::pin(self.search(call)),
            _ => Box::pin(self.forward(call)),
        }
    }

    fn target(&self, tool: &str, params: &Params) -> Option<(RequestMethod, Params)> {
        if tool == CALL { added::named(RequestMethod::CallTool, params) } else { None }
    }
}

added::wrap_added!(ToolSearch);
